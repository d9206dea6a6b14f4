//! A timed trial: the load engine asks the workload's operations of the server, and everything is observed each second.
//!
//! Purpose: from a planned load to its record; what makes the figures unusable is flagged. Outside this module: the target
//! below (`place`), judging (`record::stats`), rounds of queries (`rounds`).

mod account;
pub mod asked;
mod beside;

use super::place::Place;
use super::trial::Bench;
use account::Told;
use beside::{Beside, Latest};
use load::{Drivable, DriveError, Driven, Second, Tally, Watch, Window};
use record::{LiveSample, Trial};
use server::ServerError;
use spec::plan::PlannedTrial;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use workload::Workload;

/// How often an interruption is looked for while the engine drives.
const TICK: Duration = Duration::from_millis(50);

/// Called once a second with what it was like.
pub type EachSecond<'l> = &'l mut (dyn FnMut(u32, LiveSample) + Send);

/// What the engine did.
struct Driving {
    /// The names of the workload's operations.
    operations: Vec<String>,
    driven: Driven,
    told: Told,
}

pub struct Timed<'a> {
    pub bench: &'a Bench<'a>,
    pub workload: &'a dyn Workload,
    pub planned: &'a PlannedTrial,
    pub seed: u64,
}

impl Timed<'_> {
    /// Drives the load once, on a target that is started where it is not running. `live` is called every second. Returns a tally
    /// for each operation, for the audit.
    pub fn measure(
        &self,
        place: &mut Place,
        trial: &mut Trial,
        live: EachSecond,
    ) -> Result<Vec<Tally>, ServerError> {
        self.bench.progress.now("starting the target of the load");
        place.start(trial, self.bench.protocol.preload)?;
        let driver = self.driver(place)?;
        place.admits(self.planned, &driver.needs())?;
        let measured_from_s = asked::measured_from_s(self.bench.protocol);
        let mut beside = Beside::prepare(place, self.bench.actions, measured_from_s)?;
        let driving = self.drive(driver.as_ref(), &mut beside, live);
        let seen = beside.end();
        let driving = driving?;
        let tallies = driving.driven.tallies.clone();
        account::enter(self, trial, driving, seen);
        // The engine counts lost connections and tries again, which is no measurement of a server that is gone.
        place.still_runs()?;
        Ok(tallies)
    }

    fn driver(&self, place: &Place) -> Result<Box<dyn Drivable>, ServerError> {
        let driver = place.with_target(|target| self.workload.driver(target, self.seed))?;
        driver.ok_or_else(|| {
            ServerError::Unusable("the workload has no operations for a timed load".into())
        })
    }

    fn drive(
        &self,
        driver: &dyn Drivable,
        beside: &mut Beside,
        live: EachSecond,
    ) -> Result<Driving, ServerError> {
        let drive = asked::drive(self.planned, self.bench.protocol, self.seed);
        let operations = driver.operations();
        let (mut told, mut windows) = (Told::of(&operations), Vec::new());
        let latest = beside.latest.clone();
        let driven = {
            let mut second = self.each_second(drive.time.as_secs(), latest, live, &mut told);
            let watch = Watch {
                begun: &mut |origin| beside.begin(origin),
                second: &mut second,
                window: &mut |one: Window| windows.push(account::of_window(&operations, &one)),
            };
            until_interrupted(|stop| driver.drive(&drive, stop, watch)).map_err(explain)?
        };
        told.windows(windows);
        Ok(Driving {
            operations,
            driven,
            told,
        })
    }

    /// What is done with a second: shown to who waits, passed on to who watches, kept.
    fn each_second<'l>(
        &'l self,
        total_s: u64,
        latest: Latest,
        live: EachSecond<'l>,
        told: &'l mut Told,
    ) -> impl FnMut(Second) + Send + 'l {
        let label = self.planned.key.label();
        move |one| {
            self.bench.progress.now(&format!(
                "{label}: {} of {total_s} s, {} operations/s",
                one.second + 1,
                one.tally.done()
            ));
            live(one.second, account::live(&one, latest.take()));
            told.second(&one);
        }
    }
}

/// Drives with a flag that is raised when the user interrupts.
fn until_interrupted(
    drive: impl FnOnce(&AtomicBool) -> Result<Driven, DriveError>,
) -> Result<Driven, DriveError> {
    let (stop, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| pass_on_an_interruption(&stop, &ended));
        let driven = drive(&stop);
        ended.store(true, Ordering::Relaxed);
        driven
    })
}

fn pass_on_an_interruption(stop: &AtomicBool, ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        if host::interrupt::asked() {
            stop.store(true, Ordering::Relaxed);
        }
        std::thread::sleep(TICK);
    }
}

fn explain(error: DriveError) -> ServerError {
    match &error {
        DriveError::Open { failure, .. } if failure.transient => {
            ServerError::Lost(error.to_string())
        }
        _ => ServerError::Unusable(error.to_string()),
    }
}

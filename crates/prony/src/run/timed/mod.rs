//! A timed trial: the load engine asks the workload's operations of the server, and everything is observed each second.
//!
//! Goal: from a planned load to what was recorded of it; what makes its figures unusable is flagged. Non-goals: the server
//! below (`bed`), judging (`record::stats`), rounds of queries (`trial`).

mod account;
pub mod asked;
mod beside;

use super::bed::Bed;
use super::connections;
use super::round::Live;
use super::trial::{Bench, flag};
use account::Told;
use beside::{Beside, Latest};
use load::{Drivable, DriveError, Driven, Second, Watch, Window};
use record::{FlagKind, LiveSample, Trial, TrialState};
use server::ServerError;
use spec::plan::PlannedTrial;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use workload::{Target, Workload};

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
    /// Drives the load once, on a server that is started where it was not yet. `live` is called every second.
    pub fn measure(
        &self,
        bed: &mut Bed,
        trial: &mut Trial,
        live: EachSecond,
    ) -> Result<(), ServerError> {
        let fresh = !bed.is_started();
        bed.live(trial)?;
        self.enough_connections(bed)?;
        if fresh && self.bench.protocol.preload {
            self.preload(bed, trial)?;
        }
        let mut beside = Beside::prepare(bed, asked::measured_from_s(self.bench.protocol))?;
        let driving = self.drive(bed, &mut beside, live);
        let seen = beside.end();
        account::enter(self, trial, driving?, seen);
        // The engine counts lost connections and tries again, which is no measurement of a server that is gone.
        bed.still_runs()
    }

    fn preload(&self, bed: &mut Bed, trial: &mut Trial) -> Result<(), ServerError> {
        let Some(dataset) = self.workload.data() else {
            return Ok(());
        };
        self.bench.progress.now("reading the tables into the pool");
        let Live { session, watch, .. } = bed.live(trial)?;
        let (preloaded, _) = watch.over(None, || dataset.preload(session));
        let preloaded = preloaded?;
        if preloaded.held == Some(false) {
            let pages = preloaded.pages_read_again.unwrap_or_default();
            let text = format!(
                "the tables did not stay in the pool: reading them once more read {pages} pages from the disk; give innodb_buffer_pool_size more than the data"
            );
            flag(trial, FlagKind::NotPreloaded, text);
        }
        Ok(())
    }

    /// A server that refuses the last clients would be measured with fewer than the trial is named after.
    fn enough_connections(&self, bed: &Bed) -> Result<(), ServerError> {
        let Some(most) = bed.max_connections() else {
            return Ok(());
        };
        match connections::too_few(self.planned, most, bed.is_external()) {
            Some(why) => Err(ServerError::Unusable(why)),
            None => Ok(()),
        }
    }

    fn drive(
        &self,
        bed: &Bed,
        beside: &mut Beside,
        live: EachSecond,
    ) -> Result<Driving, ServerError> {
        let driver = self.driver(bed)?;
        self.enough_statements(bed, driver.needs().statements)?;
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

    fn driver(&self, bed: &Bed) -> Result<Box<dyn Drivable>, ServerError> {
        let no_driver =
            || ServerError::Unusable("the workload has no operations for a timed load".into());
        let target = Target::Server {
            login: asked::login(bed.dsn().ok_or_else(no_driver)?),
            session: &bed.session_statements(),
        };
        let driver = self.workload.driver(&target, self.seed);
        driver.ok_or_else(no_driver)
    }

    /// Prepared statements are limited over all connections of a server.
    fn enough_statements(&self, bed: &Bed, each: usize) -> Result<(), ServerError> {
        let Some(most) = bed.max_prepared_statements() else {
            return Ok(());
        };
        let wanted = each as u64 * u64::from(self.planned.load.clients());
        match wanted > most {
            true => Err(ServerError::Unusable(format!(
                "{wanted} prepared statements ({each} a client) are more than the server's max_prepared_stmt_count = {most}; raise it, or take fewer clients, tables or operations"
            ))),
            false => Ok(()),
        }
    }

    /// What is done with a second: shown to who waits, passed on to who watches, kept.
    fn each_second<'l>(
        &'l self,
        total_s: u64,
        latest: Latest,
        live: EachSecond<'l>,
        told: &'l mut Told,
    ) -> impl FnMut(Second) + Send + 'l {
        let label = super::trial::label(&self.planned.key);
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
        DriveError::Open { failure, .. } if failure.passing => ServerError::Lost(error.to_string()),
        _ => ServerError::Unusable(error.to_string()),
    }
}

/// What makes the figures of a drive something else than they are named after.
fn invalidate(trial: &mut Trial, kind: FlagKind, text: String) {
    if trial.state == TrialState::Done {
        trial.state = TrialState::Invalid;
    }
    flag(trial, kind, text);
}

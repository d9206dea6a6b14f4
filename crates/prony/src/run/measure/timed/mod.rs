//! A timed trial: the load engine drives the workload's operations, and every second is recorded.
//!
//! Purpose: execute a planned load, record it, and flag what makes the figures unusable. Outside this module: the target (`place`),
//! statistics (`stats`), rounds of queries (`rounds`).

mod account;
mod concurrent;
mod effects;
mod precondition;
mod refused;

use super::bench::Bench;
use super::seat::Connected;
use crate::lock;
use crate::run::audit::reached_disk::{self, Device};
use crate::run::audit::{self, Pending, device_queue, homes};
use crate::run::drive;
use crate::run::event::Action;
use crate::run::place::AnyPlace;
use account::Recorder;
use concurrent::{Concurrent, Latest};
use host::{cold, machine};
use load::{Drivable, Drive, DriveError, Driven, Second, Share, Tally, Turns, Watch, Window};
use record::{FlagKind, LiveSample, Slices, Standard, Trial};
use server::{ServerError, Session};
use spec::plan::PlannedTrial;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};
use workload::{Target, Witness, Work, Workload};

/// How often an interruption is checked for during a load.
const TICK: Duration = Duration::from_millis(50);

/// Called once per second with its number and figures.
pub(crate) type EachSecond<'l> = &'l mut (dyn FnMut(u32, LiveSample) + Send);

/// The result of a load.
struct Driving {
    /// The names of the workload's operations.
    operations: Vec<String>,
    standard: Option<Standard>,
    effects: Vec<load::Effects>,
    driven: Driven,
    recorded: Recorder,
    /// None for a load without a break.
    slices: Option<Slices>,
}

pub(crate) struct Timed<'a> {
    pub bench: &'a Bench<'a>,
    pub workload: &'a dyn Workload,
    pub planned: &'a PlannedTrial,
    pub seed: u64,
}

impl Timed<'_> {
    /// Starts the target if it is not running, and drives the load once. Calls `live` every second. Returns what the audit
    /// needs; None if the workload has no audit.
    pub(crate) fn measure(
        &self,
        place: &mut AnyPlace,
        trial: &mut Trial,
        live: EachSecond,
    ) -> Result<Option<Pending>, ServerError> {
        let preload = self.bench.protocol.preload;
        self.bench.progress.now(match preload {
            true => "starting the server and reading the tables into the buffer pool",
            false => "starting the load",
        });
        place.start(trial, preload)?;
        homes::check(self.workload, self.planned.load.clients(), trial);
        if let Some(files) = self.workload.files() {
            if let Target::Folder(folder) = place.target()? {
                let has_own_cache = cold::has_own_cache(&folder);
                reached_disk::before(files, has_own_cache, machine::memory_bytes(), trial);
                device_queue::check(files, self.planned.load.clients(), &folder, trial);
            }
            precondition::run(self, place, trial)?;
        }
        let Work {
            driver,
            mut audit,
            witness,
        } = self.work(place)?;
        let witness = witness.filter(|_| self.bench.meeting.is_none());
        if self.bench.meeting.is_some() && audit.take().is_some() {
            trial.flag(
                FlagKind::NotAudited,
                "the data was not audited: an audit compares it with what all clients wrote, and each shard knows only its own",
            );
        }
        if let Some(auditor) = &mut audit {
            audit::before(place, auditor.as_mut(), &self.bench.home.work())?;
        }
        place.admits(self.planned, &driver.needs())?;
        look(place, witness.as_ref(), Witness::prepare)?;
        let measured_from_s = drive::measured_from_s(self.bench.protocol);
        let is_in_slices = self.bench.seat.is_some();
        let mut concurrent =
            Concurrent::prepare(place, self.actions(), measured_from_s, is_in_slices)?;
        let device_before = self.device(place);
        let within = place.enter_limits()?;
        let connected = connected(place, &concurrent)?;
        let driving = self.drive(driver.as_ref(), &mut concurrent, connected, live);
        drop(within);
        let device = self.device(place).zip(device_before);
        let moved_bytes = device.and_then(|(now, before)| now.moved_since(&before));
        let seen = concurrent.end();
        trial.flags.extend(place.lost_quorum());
        place.restore(trial);
        let driving = driving?;
        let tallies = driving.driven.tallies.clone();
        let explain = |code| driver.explain(code);
        account::enter(self, trial, driving, seen, &explain);
        // The driver has the files open.
        drop(driver);
        place.power_back(trial)?;
        // The engine counts lost connections and reconnects, so a server that died must be detected here.
        place.still_runs()?;
        if let Some(text) = look(place, witness.as_ref(), Witness::check)?.flatten() {
            trial.invalidate(FlagKind::AuditFailed, text);
        }
        self.look_at_the_disk(place, &tallies, moved_bytes, trial)?;
        Ok(audit.map(|auditor| Pending { auditor, tallies }))
    }

    /// What the device below the files has moved; None for a server.
    fn device(&self, place: &AnyPlace) -> Option<Device> {
        let files = self.workload.files()?;
        match place.target().ok()? {
            Target::Folder(folder) => Device::below(files, &folder),
            Target::Server { .. } => None,
        }
    }

    /// Makes a trial invalid whose direct I/O did not reach the disk, and flags one whose buffered I/O did not, or that wrote over its own
    /// blocks. `moved_bytes`: by the device during the load, if it is known.
    fn look_at_the_disk(
        &self,
        place: &AnyPlace,
        tallies: &[Tally],
        moved_bytes: Option<u64>,
        trial: &mut Trial,
    ) -> Result<(), ServerError> {
        let Some(files) = self.workload.files() else {
            return Ok(());
        };
        let bytes = files.transferred_bytes(tallies);
        let cached = match place.target()? {
            Target::Folder(folder) => reached_disk::after(files, &folder)
                .or_else(|| reached_disk::served_from_elsewhere(files, bytes, moved_bytes?)),
            Target::Server { .. } => None,
        };
        match cached {
            Some(flag) if flag.kind == FlagKind::DirectIoCached => {
                trial.invalidate(flag.kind, flag.text);
            }
            // It may be known from the size of the files.
            Some(flag) if trial.flagged(FlagKind::SmallerThanCaches).is_none() => {
                trial.flags.push(flag);
            }
            _ => {}
        }
        let over = reached_disk::overwritten(files, bytes, trial.data_bytes > 0);
        trial.flags.extend(over);
        Ok(())
    }

    fn work(&self, place: &AnyPlace) -> Result<Work, ServerError> {
        let target = place.target()?;
        serves_reads(self.workload, &target)?;
        self.workload.work(&target, self.seed).ok_or_else(|| {
            ServerError::Unusable("the workload has no operations for a timed load".into())
        })
    }

    /// The events that this process executes: of the shards of a load, the first one does all.
    fn actions(&self) -> &[Action] {
        let meeting = self.bench.meeting.map(lock);
        match meeting.is_none_or(|meeting| meeting.shard().is_first()) {
            true => self.bench.actions,
            false => &[],
        }
    }

    fn drive(
        &self,
        driver: &dyn Drivable,
        concurrent: &mut Concurrent,
        mut connected: Option<Connected>,
        live: EachSecond,
    ) -> Result<Driving, ServerError> {
        let turns = connected.as_ref().map(|connected| connected.turns.clone());
        let drive = Drive {
            turns: turns.clone(),
            share: self.share(),
            ..drive::planned(self.planned, self.bench.protocol, self.seed)
        };
        let mut start = || match self.bench.meeting {
            Some(meeting) => lock(meeting).start(drive.time, self.bench.progress),
            None => Ok(Instant::now()),
        };
        let operations = driver.operations();
        let standard = driver.standard();
        let standard = standard.and_then(|standard| account::standard(&operations, standard));
        let measured_from_s = drive::measured_from_s(self.bench.protocol);
        let mut recorded = Recorder::of(&operations, measured_from_s);
        let mut windows = Vec::new();
        let (latest, uptime) = (concurrent.latest.clone(), concurrent.uptime.clone());
        let mut started_ns = None;
        let driven = {
            let mut second = self.each_second(drive.time.as_secs(), latest, live, &mut recorded);
            let watch = Watch {
                ready: match self.bench.meeting {
                    Some(_) => Some(&mut start),
                    None => None,
                },
                begun: &mut |origin| {
                    started_ns = Some(host::at_ns(origin));
                    match (self.bench.seat, connected.take()) {
                        (Some(seat), Some(connected)) => seat.hand_over(connected),
                        _ => concurrent.begin(origin),
                    }
                },
                second: &mut second,
                window: &mut |one: Window| windows.push(account::of_window(&operations, &one)),
            };
            let drive = |stop: &AtomicBool| driver.drive(&drive, stop, watch);
            until_stopped(uptime.stop(), drive).map_err(explain)
        };
        // Without a start there was nothing to hand over.
        let seat = self.bench.seat.filter(|_| connected.is_none());
        let slices = seat.map_or(Ok(None), |seat| seat.wait().slices())?;
        let mut driven = driven?;
        if let Some(began) = turns.and_then(|turns| turns.began()) {
            started_ns = Some(host::at_ns(began));
        }
        if uptime.is_lost() {
            let until_s = driven.until.as_secs_f64();
            driven.stopped = Some(format!("ended by an event at {until_s:.1} s"));
        }
        // By the clock of all timestamps in the record.
        driven.started_ns = started_ns.unwrap_or(driven.started_ns);
        recorded.windows(windows);
        Ok(Driving {
            operations,
            standard,
            effects: driver.effects(),
            driven,
            recorded,
            slices,
        })
    }

    /// The part of the load that this process runs.
    pub(crate) fn share(&self) -> Share {
        match self.bench.meeting {
            Some(meeting) => drive::share(lock(meeting).shard(), self.workload),
            None => Share::WHOLE,
        }
    }

    /// Handles each second: shows it as progress, passes it to `live`, records it.
    fn each_second<'l>(
        &'l self,
        total_s: u64,
        latest: Latest,
        live: EachSecond<'l>,
        recorded: &'l mut Recorder,
    ) -> impl FnMut(Second) + Send + 'l {
        move |one| {
            self.bench.progress.now(&format!(
                "{} of {total_s} s, {} ops/s",
                one.second + 1,
                one.tally.done()
            ));
            live(one.second, account::live(&one, latest.take()));
            recorded.second(&one);
        }
    }
}

/// What the group of a load in slices needs of its server; None for other loads.
fn connected(
    place: &mut AnyPlace,
    concurrent: &Concurrent,
) -> Result<Option<Connected>, ServerError> {
    let Some(edges) = &concurrent.edges else {
        return Ok(None);
    };
    Ok(Some(Connected {
        turns: Arc::new(Turns::new()),
        server: place.server()?.process()?,
        uptime: concurrent.uptime.clone(),
        edges: edges.clone(),
    }))
}

/// # Errors
/// The file sends reads to other nodes than writes, and the workload does not.
fn serves_reads(workload: &dyn Workload, target: &Target) -> Result<(), ServerError> {
    let is_routed = matches!(
        target,
        Target::Server {
            readers: Some(_),
            ..
        }
    );
    match is_routed && !workload.routes_reads() {
        false => Ok(()),
        true => Err(ServerError::Unusable("the server's key \"reads\" holds for operations of oltp and sql: a client of this workload has one connection, which goes where writes go; remove reads".into())),
    }
}

/// Lets the witness use a connection of its own, which no client uses. None without a witness, or without a single server.
fn look<T>(
    place: &AnyPlace,
    witness: Option<&Witness>,
    with: fn(&Witness, &mut Session) -> Result<T, ServerError>,
) -> Result<Option<T>, ServerError> {
    let Some(witness) = witness else {
        return Ok(None);
    };
    let mut session = place.single_session()?;
    let session = session.as_mut();
    session.map(|session| with(witness, session)).transpose()
}

/// Drives with a stop flag, which is also set when the user interrupts.
pub(crate) fn until_stopped(
    stop: &AtomicBool,
    drive: impl FnOnce(&AtomicBool) -> Result<Driven, DriveError>,
) -> Result<Driven, DriveError> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| forward_interrupt(stop, &ended));
        let _ends = Ends(&ended, watching.thread());
        drive(stop)
    })
}

/// Ends the thread that watches a drive when it is dropped, also by a panic.
struct Ends<'a>(&'a AtomicBool, &'a Thread);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.unpark();
    }
}

fn forward_interrupt(stop: &AtomicBool, ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        if host::interrupt::asked() {
            stop.store(true, Ordering::Relaxed);
        }
        std::thread::park_timeout(TICK);
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

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Readers;

    #[test]
    fn a_drive_that_panics_is_not_waited_for() {
        let (send, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let panicked = std::panic::catch_unwind(|| {
                until_stopped(&AtomicBool::new(false), |_| panic!("deliberate"))
            });
            let _ = send.send(panicked.is_err());
        });
        assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(true));
    }

    #[test]
    fn a_workload_that_does_not_route_reads_is_not_driven_where_they_are_routed() {
        let login = wire::Login {
            endpoints: Vec::new(),
            user: "app".into(),
            password: None,
            schema: None,
            protection: Default::default(),
            login_timeout: Duration::ZERO,
            stall_timeout: None,
        };
        let serves = |name: &str, is_routed: bool| {
            let readers = is_routed.then(|| {
                Box::new(Readers {
                    login: login.clone(),
                    in_turn: true,
                })
            });
            let target = Target::Server {
                login: login.clone(),
                readers,
                session: Vec::new(),
            };
            let workload = workload::open(name, &"".parse().unwrap()).unwrap();
            serves_reads(workload.as_ref(), &target).map_err(|error| error.to_string())
        };
        assert_eq!(serves("oltp", true), Ok(()));
        assert_eq!(serves("tpcc", false), Ok(()));
        let says = serves("tpcc", true).unwrap_err();
        assert!(says.contains("remove reads"), "{says}");
    }
}

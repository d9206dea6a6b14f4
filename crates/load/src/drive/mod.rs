//! Drives a workload: opens its sessions, issues its operations in closed or open loop, and counts the results.
//!
//! Goals: one code path for reactors and blocking threads; exact counts however a drive ends: by time, a full queue, an
//! interrupt, a stall, or no client left. Non-goals: waiting and polling (`io`, `executor`); storing results.
//!
//! A client is a task (`client`, `closed`, `open`) on one of the client threads (`sessions`, `threads`). The caller's thread
//! supervises (`control`), and one thread collects the seconds (`collect`). Times are nanoseconds since the start of the drive,
//! which is when all sessions are open (`gate`).

mod client;
mod collect;
mod control;
mod drivable;
mod driven;
mod gate;
mod panic_guard;
mod settings;
mod shared;
mod stalls;
mod threads;
mod turns;
mod usage;

pub use drivable::{Drivable, Needs};
pub use driven::{DriveError, Driven, OwnStall, Second, Window};
pub use settings::{Closed, Drive, Load, Open, RECONNECT_FOR};
pub use threads::cores;
pub use turns::{Latencies, Took, Turn, Turns};

use crate::executor;
use crate::io::Backend;
use crate::recorder::{Tally, Totals};
use crate::seam::{Placement, Workload};
use collect::Collector;
pub use collect::WINDOW_S;
use shared::{Shared, sessions};
use stalls::Gaps;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use threads::{ClientThread, Ran, assign, thread_not_started};
use usage::Usage;

/// Callbacks during a drive.
pub struct Watch<'w> {
    /// Called when all sessions are open, and returns when the drive starts, or why it does not. None: it starts at once.
    pub ready: Option<Ready<'w>>,
    /// Called when all sessions are open, a few milliseconds before the start, with the time from which seconds are counted.
    pub begun: &'w mut (dyn FnMut(Instant) + Send),
    /// Called once per second, in order, from a separate thread.
    pub second: &'w mut (dyn FnMut(Second) + Send),
    /// Called for each window of ten seconds and at the end, so that memory use does not grow with the duration.
    pub window: &'w mut (dyn FnMut(Window) + Send),
}

/// Agrees with others on the start of a drive.
pub type Ready<'w> = &'w mut (dyn FnMut() -> Result<Instant, String> + Send);

/// Callbacks that do nothing. Closures without captures have no size, so leaking them allocates nothing.
impl Default for Watch<'_> {
    fn default() -> Self {
        Watch {
            ready: None,
            begun: Box::leak(Box::new(|_| ())),
            second: Box::leak(Box::new(|_| ())),
            window: Box::leak(Box::new(|_| ())),
        }
    }
}

/// Opens all sessions, runs the load, and closes them. Setting `stop` ends the drive early, with the results so far.
///
/// # Errors
/// Why the drive could not start. No session is left open.
///
/// # Panics
/// If the workload or a callback of `watch` panics, after all clients have ended.
pub fn drive<W: Workload>(
    workload: &W,
    drive: &Drive,
    stop: &AtomicBool,
    watch: Watch,
) -> Result<Driven, DriveError> {
    drive.check().map_err(DriveError::Invalid)?;
    let whole = drive.load.clients();
    let drive = &drive.deepened(workload.depth()).divided();
    let backend = backend(workload, drive);
    let cores = cores();
    let threads = assign(
        workload.placement(),
        sessions(workload, drive),
        workload.depth(),
        drive.reactors,
        &cores,
    );
    let recorders = threads.iter().map(|thread| thread.recorder + 1).max();
    let mut shared = Shared::new(workload, drive, recorders.unwrap_or(0));
    shared.gate.meets(watch.ready.is_some());
    shared.number_clients(whole);
    let shared = shared;
    let _turns = begin_turns(workload, &shared)?;
    let (usage, gaps) = thread::scope(|scope| {
        let (over, is_over) = mpsc::channel();
        let collector = Collector::new(&shared);
        let collector = scope.spawn(move || collector.run(&is_over, watch.second, watch.window));
        let clients = start(scope, &shared, &threads, backend);
        let watched = control::watch(&shared, stop, watch.ready, watch.begun, || {
            clients.iter().all(ScopedJoinHandle::is_finished)
        });
        let ran: Vec<Ran> = clients.into_iter().map(joined).collect();
        let usage = ran
            .iter()
            .fold(Usage::default(), |sum, ran| sum + ran.usage);
        drop(over);
        joined(collector);
        (usage, Gaps::of(ran, watched))
    });
    match shared.gate.take_refusal() {
        Some(refusal) => Err(refusal),
        None => Ok(driven(&shared, &threads, usage, &gaps)),
    }
}

/// Lets the turns of a drive in slices begin, with all its clients waiting.
fn begin_turns<'s, W: Workload>(
    workload: &W,
    shared: &'s Shared<'_, W>,
) -> Result<Option<turns::Begun<'s>>, DriveError> {
    let Some(turns) = shared.turns() else {
        return Ok(None);
    };
    let clients = shared.drive.load.clients();
    let cannot = match workload.placement() {
        Placement::Threads => Some("its clients block their threads"),
        _ if workload.background(clients).is_some() => Some("it works in the background"),
        _ => None,
    };
    if let Some(why) = cannot {
        return Err(DriveError::Invalid(format!(
            "this workload cannot run in slices: {why}"
        )));
    }
    Ok(Some(turns.begin(shared.origin, clients)))
}

fn start<'scope, 'a, W: Workload>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'a, W>,
    threads: &'scope [ClientThread],
    backend: Backend,
) -> Vec<ScopedJoinHandle<'scope, Ran>> {
    let mut started = Vec::with_capacity(threads.len());
    for one in threads {
        let name = format!("clients {}", one.clients[0]);
        match thread::Builder::new()
            .name(name)
            .spawn_scoped(scope, move || one.run(shared, backend))
        {
            Ok(handle) => started.push(handle),
            Err(error) => {
                shared.gate.refuse(thread_not_started(one, &error));
                break;
            }
        }
    }
    started
}

fn joined<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn driven<W: Workload>(
    shared: &Shared<'_, W>,
    threads: &[ClientThread],
    usage: Usage,
    gaps: &Gaps,
) -> Driven {
    let totals = totals(shared);
    let zero_ns = shared.gate.zero_ns().unwrap_or(0);
    let queue = shared.queue_at_end();
    let of_clients = &totals.tallies[..shared.foreground];
    let started = of_clients.iter().sum::<Tally>().ended();
    Driven {
        started_ns: shared.origin_unix_ns + zero_ns as i64,
        until: Duration::from_nanos(shared.end.at_ns()),
        elapsed: Duration::from_nanos(totals.last_ended_ns),
        lateness: totals.lateness.histogram(),
        tallies: totals.tallies,
        late: totals.late,
        arrived: started + queue.queued + queue.dropped,
        started,
        queued_at_end: queue.queued,
        dropped: queue.dropped,
        held: Duration::from_nanos(queue.held_ns),
        ended_early: shared.take_ended_early(),
        refused_to_end: shared.take_refused(),
        stopped: shared.end.why().or(queue.full),
        cpu_user_s: usage.user_s,
        cpu_system_s: usage.system_s,
        backend: backend(shared.workload, shared.drive),
        reactors: threads.len(),
        open_s: shared.gate.opened_ns() as f64 / 1e9,
        woken: Duration::from_nanos(shared.woken_ns()),
        stalls: match shared.turns() {
            Some(turns) => {
                let gaps = gaps.mapped(|gaps| turns.of_slices(gaps));
                gaps.stalls(0, shared.end.at_ns())
            }
            None => gaps.stalls(zero_ns, shared.end.at_ns()),
        },
    }
}

fn totals<W: Workload>(shared: &Shared<'_, W>) -> Totals {
    let mut sum = Totals::new(shared.operations);
    for recorder in &shared.recorders {
        sum.add(&recorder.totals());
    }
    sum
}

fn backend<W: Workload>(workload: &W, drive: &Drive) -> Backend {
    match workload.placement() {
        Placement::Threads => Backend::Blocking,
        Placement::On(backend) => backend,
        Placement::Reactors => drive.backend.unwrap_or_else(executor::backend),
    }
}

#[cfg(test)]
mod tests;

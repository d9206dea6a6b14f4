//! Driving a workload: its sessions are opened, its operations asked for in closed or open loop, everything counted.
//!
//! Goals: one code path for reactors and for threads that block; exact numbers at any end: the time, a full queue, an
//! interrupt, a stall, no client left. Non-goals: waiting and polling (`io`, `executor`); keeping what was measured.
//!
//! A client is a task (`client`, `closed`, `open`), one of those of its thread (`sessions`, `threads`). The caller's thread
//! watches (`control`), one thread hands over the seconds (`collect`). Times are nanoseconds since the drive's
//! beginning, which is when all sessions are open (`gate`).

mod alarm;
mod asked;
mod backoff;
mod client;
mod closed;
mod collect;
mod control;
mod drivable;
mod driven;
mod gate;
mod open;
mod sessions;
mod shared;
mod threads;
mod usage;

pub use asked::{Closed, Drive, Load, Open, RECONNECT_FOR};
pub use drivable::{Drivable, Needs};
pub use driven::{DriveError, Driven, Second, Window};
pub use threads::cores;

use crate::executor;
use crate::io::Backend;
use crate::recorder::{Counts, Tally, Totals};
use crate::seam::{Placement, Workload};
use collect::Collector;
use shared::Shared;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use threads::{ClientThread, deal, no_thread};
use usage::Usage;

/// What the caller is told while a drive goes on.
pub struct Watch<'w> {
    /// When all sessions are open, a few milliseconds before the beginning, with the moment that seconds count from.
    pub begun: &'w mut (dyn FnMut(Instant) + Send),
    /// Once a second and in order, from a thread of its own.
    pub second: &'w mut (dyn FnMut(Second) + Send),
    /// After the last second of each ten, and at the end: nothing of a drive of hours stays in memory here.
    pub window: &'w mut (dyn FnMut(Window) + Send),
}

/// Opens all sessions, drives the workload, closes them. `stop` ends the drive soon, with everything that was measured.
///
/// # Errors
/// What makes it impossible to begin; nothing is left open then.
///
/// # Panics
/// Where the workload or the `watch` does, after all clients have ended.
pub fn drive<W: Workload>(
    workload: &W,
    drive: &Drive,
    stop: &AtomicBool,
    watch: Watch,
) -> Result<Driven, DriveError> {
    drive.check().map_err(DriveError::Asked)?;
    let backend = backend(workload, drive);
    let cores = cores();
    let threads = deal(
        workload.placement(),
        drive.load.clients(),
        drive.reactors,
        &cores,
    );
    let recorders = threads.iter().map(|thread| thread.recorder + 1).max();
    let shared = Shared::new(workload, drive, recorders.unwrap_or(0));
    let usage = thread::scope(|scope| {
        let (over, is_over) = mpsc::channel();
        let collector = Collector::new(&shared);
        let collector = scope.spawn(move || collector.run(&is_over, watch.second, watch.window));
        let clients = start(scope, &shared, &threads, backend);
        control::watch(&shared, stop, watch.begun, || {
            clients.iter().all(ScopedJoinHandle::is_finished)
        });
        let usage = clients.into_iter().map(joined);
        let usage = usage.fold(Usage::default(), |sum, usage| sum + usage);
        drop(over);
        joined(collector);
        usage
    });
    match shared.gate.take_refusal() {
        Some(refusal) => Err(refusal),
        None => Ok(driven(&shared, &threads, usage)),
    }
}

fn start<'scope, 'a, W: Workload>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'a, W>,
    threads: &'scope [ClientThread],
    backend: Backend,
) -> Vec<ScopedJoinHandle<'scope, Usage>> {
    let mut started = Vec::with_capacity(threads.len());
    for one in threads {
        let name = format!("clients {}", one.clients[0]);
        match thread::Builder::new()
            .name(name)
            .spawn_scoped(scope, move || one.run(shared, backend))
        {
            Ok(handle) => started.push(handle),
            Err(error) => {
                shared.gate.refuse(no_thread(one, &error));
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

fn driven<W: Workload>(shared: &Shared<'_, W>, threads: &[ClientThread], usage: Usage) -> Driven {
    let totals = totals(shared);
    let zero_ns = shared.gate.zero_ns().unwrap_or(0);
    let queue = shared.queue_at_end();
    let started = totals.tallies.iter().sum::<Tally>().ended();
    Driven {
        started_ns: shared.origin_unix_ns + zero_ns as i64,
        until: Duration::from_nanos(shared.end.at_ns()),
        elapsed: Duration::from_nanos(totals.last_ended_ns),
        lateness: totals.lateness.histogram(),
        tallies: totals.tallies,
        arrived: started + queue.queued + queue.dropped,
        started,
        queued_at_end: queue.queued,
        dropped: queue.dropped,
        held: Duration::from_nanos(queue.held_ns),
        ended_early: shared.take_ended_early(),
        stopped: shared.end.why().or(queue.full),
        cpu_user_s: usage.user_s,
        cpu_system_s: usage.system_s,
        backend: backend(shared.workload, shared.drive),
        reactors: threads.len(),
        open_s: zero_ns as f64 / 1e9,
    }
}

fn totals<W: Workload>(shared: &Shared<'_, W>) -> Totals {
    let mut sum = Totals {
        lateness: Counts::new(),
        tallies: vec![Tally::default(); shared.operations],
        last_ended_ns: 0,
    };
    for recorder in &shared.recorders {
        let totals = recorder.totals();
        sum.lateness.add(&totals.lateness);
        for (sum, tally) in sum.tallies.iter_mut().zip(&totals.tallies) {
            *sum += tally;
        }
        sum.last_ended_ns = sum.last_ended_ns.max(totals.last_ended_ns);
    }
    sum
}

fn backend<W: Workload>(workload: &W, drive: &Drive) -> Backend {
    match workload.placement() {
        Placement::Threads => Backend::Blocking,
        Placement::Reactors => drive.backend.unwrap_or_else(executor::backend),
    }
}

#[cfg(test)]
mod tests;

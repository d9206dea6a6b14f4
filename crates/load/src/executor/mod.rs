//! The executor: runs the tasks of one reactor on one thread until all have ended.
//!
//! Goals: a wake-up costs a few instructions; a ready task is polled once per turn of the event loop, so that no task starves
//! another. Non-goals: wakers (a task only waits for its own [`Io`], so it is polled with a no-op waker), moving tasks between
//! threads.

mod probe;
mod tasks;

pub use probe::backend;
pub use tasks::Task;

use crate::io::{Backend, Io};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::io;
use std::num::NonZeroU64;
use std::task::{Context, Waker};
use std::time::Instant;
use tasks::Tasks;

/// Runs the tasks of one reactor on this thread until all have ended. `make` is called on this thread with the reactor's [`Io`]
/// and returns the tasks, one per client. `capacity` is the expected number of streams. The thread stays pinned to `core`. Times
/// are relative to `origin`.
///
/// # Errors
/// If the kernel lacks what `backend` needs, the core does not exist, or the reactor fails. The tasks are dropped.
pub fn run<'a>(
    backend: Backend,
    origin: Instant,
    core: Option<usize>,
    capacity: usize,
    make: impl FnOnce(&Io) -> Vec<Task<'a>>,
) -> io::Result<()> {
    prepare_thread(core)?;
    allow_open_files();
    let io = Io::new(backend, origin, capacity)?;
    let tasks = make(&io);
    poll_all(&io, tasks)
}

fn poll_all(io: &Io, tasks: Vec<Task<'_>>) -> io::Result<()> {
    let schedule = io.schedule();
    let mut tasks = Tasks::woken(tasks, io);
    let mut context = Context::from_waker(Waker::noop());
    let mut batch = Vec::new();
    while tasks.any_left() {
        schedule.take_ready(&mut batch);
        for &place in &batch {
            schedule.set_current(place);
            tasks.poll(place, &mut context);
        }
        batch.clear();
        if tasks.any_left() {
            io.turn()?;
        }
    }
    Ok(())
}

/// Sets the timer slack of this thread to the minimum (the default is 50 us) and pins it to `core`.
fn prepare_thread(core: Option<usize>) -> io::Result<()> {
    // If the kernel refuses, timers are only less precise.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    core.map_or(Ok(()), |core| pin(&[core]))
}

/// Pins this thread, and the threads that it starts afterwards, to some cores.
///
/// # Errors
/// If none of the cores exists, or this process may not use them.
pub fn pin(cores: &[usize]) -> io::Result<()> {
    let mut only = CpuSet::new();
    let existing = cores.iter().filter(|core| **core < CpuSet::MAX_CPU);
    existing.for_each(|core| only.set(*core));
    sched_setaffinity(None, &only).map_err(|error| {
        io::Error::new(
            io::Error::from(error).kind(),
            format!("cannot pin a thread to cores {cores:?}: {error}"),
        )
    })
}

/// Raises the soft limit of open files (often 1,024) to the hard limit. Every connection is an open file.
fn allow_open_files() {
    let limits = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limits.maximum,
        maximum: limits.maximum,
    };
    // If it is refused, connecting reports the error.
    let _ = setrlimit(Resource::Nofile, most);
}

#[cfg(test)]
mod tests;

//! The executor: the tasks of one reactor, on one thread, until all have ended.
//!
//! Goals: a wake-up costs a few instructions; a ready task is polled once a turn, so that none starves another.
//! Non-goals: wakers (a task waits for its own [`Io`] alone, so the one it is polled with does nothing), moving tasks
//! between threads.

mod probe;
mod tasks;

pub use probe::backend;
pub use tasks::{Spawner, Task};

use crate::io::{Backend, Io};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::io;
use std::num::NonZeroU64;
use std::task::{Context, Waker};
use std::time::Instant;
use tasks::Tasks;

/// Runs the futures of one reactor on this thread until all have ended. `make` is called on this thread with the
/// reactor's [`Io`] and gives the tasks, one per client; `capacity` is how many streams to expect. The thread stays
/// pinned to `core`. Times are counted from `origin`.
///
/// # Errors
/// Where the kernel lacks what `backend` needs, the core does not exist, or the reactor breaks; the tasks are dropped.
pub fn run<'a>(
    backend: Backend,
    origin: Instant,
    core: Option<usize>,
    capacity: usize,
    make: impl FnOnce(&Io) -> Vec<Task<'a>>,
) -> io::Result<()> {
    run_spawning(backend, origin, core, capacity, |io, spawner| {
        spawner.extend(make(io));
    })
}

/// [`run`], for tasks that are not all known at the beginning: `make` spawns the first ones, and whoever has the spawner
/// more of them as long as one has not ended.
///
/// # Errors
/// As [`run`].
pub fn run_spawning<'a>(
    backend: Backend,
    origin: Instant,
    core: Option<usize>,
    capacity: usize,
    make: impl FnOnce(&Io, &Spawner<'a>),
) -> io::Result<()> {
    prepare_thread(core)?;
    allow_open_files();
    let io = Io::new(backend, origin, capacity)?;
    let spawner = Spawner::default();
    make(&io, &spawner);
    poll_all(&io, &spawner)
}

fn poll_all(io: &Io, spawner: &Spawner<'_>) -> io::Result<()> {
    let schedule = io.schedule();
    let mut tasks = Tasks::default();
    let mut context = Context::from_waker(Waker::noop());
    let mut batch = Vec::new();
    tasks.take_in(spawner, io);
    while tasks.are_left() {
        schedule.take_ready(&mut batch);
        for &place in &batch {
            schedule.set_current(place);
            tasks.poll(place, &mut context);
        }
        batch.clear();
        tasks.take_in(spawner, io);
        if tasks.are_left() {
            io.turn()?;
        }
    }
    Ok(())
}

/// Timers of this thread are exact to what the kernel can; by default it is 50 us late on purpose.
fn prepare_thread(core: Option<usize>) -> io::Result<()> {
    // A kernel that refuses only makes timers later.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    core.map_or(Ok(()), pin)
}

/// This thread runs on that core alone from now on.
///
/// # Errors
/// Where there is no such core, or it is not this process's.
pub fn pin(core: usize) -> io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(io::Error::other(format!("there is no core {core}")));
    }
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).map_err(|error| {
        io::Error::new(
            io::Error::from(error).kind(),
            format!("cannot pin a thread to core {core}: {error}"),
        )
    })
}

/// Every connection is an open file; the usual limit of 1,024 is a soft one.
fn allow_open_files() {
    let limits = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limits.maximum,
        maximum: limits.maximum,
    };
    // Where it is refused, connecting tells what is missing.
    let _ = setrlimit(Resource::Nofile, most);
}

#[cfg(test)]
mod tests;

//! State that all clients of a drive share.

use super::gate::Gate;
use super::settings::{Drive, Load};
use super::turns::Turns;
use crate::arrivals::Schedule;
use crate::io::Stopper;
use crate::pacer::Pacer;
use crate::recorder::{LatencyKind, RESPONSE_WAIT_SERVICE, Recorder, SERVICE, Sample};
use crate::seam::{Failure, Placement, Workload};
use crate::share::Share;
use std::cell::Cell;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Number of operation numbers that a reactor reserves at a time, to avoid contention on the shared counter. A blocking thread
/// reserves one, because its operations take longer, and sequential patterns should stay in order.
const NUMBERS: u64 = 32;

/// The shared state of one drive.
pub(super) struct Shared<'a, W> {
    pub workload: &'a W,
    pub drive: &'a Drive,
    /// Origin of the reactors' clock. Times of the drive are relative to `gate.zero_ns()` on it.
    pub origin: Instant,
    pub origin_unix_ns: i64,
    pub operations: usize,
    /// How many of them clients run; the others run in the background.
    pub foreground: usize,
    pub kinds: &'static [LatencyKind],
    pub gate: Gate,
    pub end: End,
    pub recorders: Vec<Recorder>,
    /// The numbers of the clients among those of all shares; empty: their own numbers.
    names: Vec<u32>,
    /// When the last client was awake, since the start of the drive.
    woken_ns: AtomicU64,
    pacer: Option<Mutex<Pacer>>,
    numbers: AtomicU64,
    alive: AtomicU32,
    /// Sessions of clients, without those of the background, that are not closed.
    unclosed: AtomicU32,
    stoppers: Mutex<Vec<Stopper>>,
    ended_early: Mutex<Vec<(u32, Failure)>>,
    refused: Mutex<Vec<(u32, Failure)>>,
}

impl<'a, W: Workload> Shared<'a, W> {
    pub(super) fn new(workload: &'a W, drive: &'a Drive, recorders: usize) -> Shared<'a, W> {
        let end_ns = u64::try_from(drive.time.as_nanos()).unwrap_or(u64::MAX / 2);
        let operations = workload.operations().len();
        let background = workload.background(drive.load.clients());
        let foreground = operations - usize::from(background.is_some());
        let kinds = match drive.load {
            Load::Closed(_) => SERVICE,
            Load::Open(_) => RESPONSE_WAIT_SERVICE,
        };
        Shared {
            workload,
            drive,
            origin: Instant::now(),
            origin_unix_ns: unix_now_ns(),
            operations,
            foreground,
            kinds,
            gate: Gate::new(sessions(workload, drive)),
            end: End::new(end_ns),
            recorders: (0..recorders)
                .map(|_| Recorder::new(operations, foreground, kinds))
                .map(|recorder| recorder.measured_from(drive.measured_from_ns()))
                .collect(),
            names: Vec::new(),
            woken_ns: AtomicU64::new(0),
            pacer: pacer(drive, end_ns),
            numbers: AtomicU64::new(0),
            alive: AtomicU32::new(sessions(workload, drive)),
            unclosed: AtomicU32::new(drive.load.clients()),
            stoppers: Mutex::new(Vec::new()),
            ended_early: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// Gives the clients of a share their numbers among the `whole` load's, and the workers in the background those that follow.
    pub(super) fn number_clients(&mut self, whole: u32) {
        let share = &self.drive.share;
        if share.is_whole() {
            return;
        }
        let background = sessions(self.workload, self.drive) - self.drive.load.clients();
        let background = (0..background).map(|worker| whole + share.number(worker.into()) as u32);
        self.names = share.clients(whole);
        self.names.extend(background);
    }

    /// The number of a client of this drive among those of all shares.
    pub(super) fn name(&self, client: u32) -> u32 {
        let name = self.names.get(client as usize);
        name.copied().unwrap_or(client)
    }

    /// A client is awake at this time since the start of the drive.
    pub(super) fn woke(&self, at_ns: u64) {
        self.woken_ns.fetch_max(at_ns, Relaxed);
    }

    pub(super) fn woken_ns(&self) -> u64 {
        self.woken_ns.load(Relaxed)
    }

    /// Counts of all operations, empty.
    pub(super) fn sample(&self) -> Sample {
        Sample::new(self.operations, self.foreground, self.kinds)
    }

    /// The operation that runs in the background: the last one.
    pub(super) fn background_operation(&self) -> u16 {
        (self.operations - 1) as u16
    }

    /// When an operation in the background counts as started. In closed loop there is only one time, and it includes the wait for
    /// a worker; in open loop that wait has its own histogram.
    pub(super) fn background_start(&self, left_ns: u64, now_ns: u64) -> u64 {
        match self.drive.load {
            Load::Closed(_) => left_ns,
            Load::Open(_) => now_ns,
        }
    }

    /// The turns of a drive in slices.
    pub(super) fn turns(&self) -> Option<&Turns> {
        self.drive.turns.as_deref()
    }

    /// Nanoseconds since the start of the drive, without those between its slices. None before it.
    pub(super) fn now_ns(&self) -> Option<u64> {
        if let Some(turns) = self.turns() {
            self.gate.zero_ns()?;
            return Some(turns.now_ns());
        }
        let now_ns = self.origin.elapsed().as_nanos() as u64;
        now_ns.checked_sub(self.gate.zero_ns()?)
    }

    /// The arrival queue. None in closed loop.
    #[inline]
    pub(super) fn pacer(&self) -> Option<MutexGuard<'_, Pacer>> {
        self.pacer.as_ref().map(held)
    }

    pub(super) fn numbers(&self) -> Numbers<'_> {
        Numbers {
            shared: &self.numbers,
            share: &self.drive.share,
            batch: match self.workload.placement() {
                Placement::Threads => 1,
                Placement::Reactors | Placement::On(_) => NUMBERS,
            },
            next: Cell::new(0),
            end: Cell::new(0),
        }
    }

    /// Ends the drive: no operation starts from `at_ns` on.
    pub(super) fn end_at(&self, at_ns: u64, why: String) {
        if let Some(mut pacer) = self.pacer() {
            pacer.end(at_ns);
        }
        self.end.bring_forward(at_ns, Some(why));
        if let Some(turns) = self.turns() {
            turns.end();
        }
    }

    /// Removes a client that ended early. The last one ends the drive.
    pub(super) fn client_ended(&self, client: u32, now_ns: u64, why: Failure) {
        let last = self.alive.fetch_sub(1, Relaxed) == 1;
        if last {
            let at_s = now_ns as f64 / 1e9;
            self.end_at(
                now_ns,
                format!("all clients had ended at {at_s:.1} s: {why}"),
            );
        }
        held(&self.ended_early).push((client, why));
    }

    /// Notes a client that got no session until the end of the drive.
    pub(super) fn client_refused(&self, client: u32, why: Failure) {
        held(&self.refused).push((client, why));
    }

    pub(super) fn alive(&self) -> u32 {
        self.alive.load(Relaxed)
    }

    /// Held by a client until its session is closed.
    pub(super) fn unclosed(&self) -> Unclosed<'_> {
        Unclosed(&self.unclosed)
    }

    /// Whether the sessions of all clients are closed, so that nothing more is left to the background.
    pub(super) fn are_closed(&self) -> bool {
        self.unclosed.load(Acquire) == 0
    }

    /// The final state of the queue. The drive must be over.
    pub(super) fn queue_at_end(&self) -> QueueAtEnd {
        let Some(mut pacer) = self.pacer() else {
            return QueueAtEnd::default();
        };
        pacer.advance(self.end.at_ns());
        self.end.bring_forward(pacer.end_ns(), None);
        let full = pacer.full_at_ns().map(|at_ns| {
            let at_s = at_ns as f64 / 1e9;
            format!("the queue of {} was full at {at_s:.1} s", pacer.capacity())
        });
        QueueAtEnd {
            queued: pacer.queued(),
            dropped: pacer.dropped(),
            held_ns: pacer.held_ns(),
            full,
        }
    }

    /// Ends every wait of every client now. Operations in flight are lost.
    pub(super) fn interrupt_waits(&self) {
        for stopper in held(&self.stoppers).iter() {
            stopper.interrupt();
        }
    }

    pub(super) fn add_stopper(&self, reactor: Stopper) {
        held(&self.stoppers).push(reactor);
    }

    pub(super) fn take_ended_early(&self) -> Vec<(u32, Failure)> {
        taken(&self.ended_early)
    }

    pub(super) fn take_refused(&self) -> Vec<(u32, Failure)> {
        taken(&self.refused)
    }
}

#[inline]
fn held<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In the order of the clients.
fn taken(clients: &Mutex<Vec<(u32, Failure)>>) -> Vec<(u32, Failure)> {
    let mut clients = std::mem::take(&mut *held(clients));
    clients.sort_by_key(|(client, _)| *client);
    clients
}

/// The number of sessions: of clients, and of workers in the background.
pub(super) fn sessions<W: Workload>(workload: &W, drive: &Drive) -> u32 {
    let clients = drive.load.clients();
    let background = workload.background(clients);
    let workers = background.map_or(0, |background| background.workers);
    clients + drive.share.background(workers)
}

fn pacer(drive: &Drive, end_ns: u64) -> Option<Mutex<Pacer>> {
    let Load::Open(open) = &drive.load else {
        return None;
    };
    let schedule = Schedule::of_share(&open.arrivals, drive.seed, &drive.share);
    let pacer = Pacer::new(schedule, open.queue, open.when_full, end_ns);
    Some(Mutex::new(pacer))
}

fn unix_now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i64)
}

#[derive(Debug, Default)]
pub(super) struct QueueAtEnd {
    pub queued: u64,
    pub dropped: u64,
    pub held_ns: u64,
    /// The message that the queue was full (`WhenFull::Stop`).
    pub full: Option<String>,
}

/// The end of the drive, from which on no operation starts, and why if it is early.
#[derive(Debug)]
pub(super) struct End {
    at_ns: AtomicU64,
    why: Mutex<Option<String>>,
}

impl End {
    fn new(at_ns: u64) -> End {
        End {
            at_ns: AtomicU64::new(at_ns),
            why: Mutex::new(None),
        }
    }

    #[inline]
    pub(super) fn at_ns(&self) -> u64 {
        self.at_ns.load(Relaxed)
    }

    /// Moves the end forward. The earliest end applies, with its cause.
    pub(super) fn bring_forward(&self, at_ns: u64, why: Option<String>) {
        let mut kept = held(&self.why);
        if at_ns < self.at_ns.fetch_min(at_ns, Relaxed) {
            *kept = why;
        }
    }

    pub(super) fn why(&self) -> Option<String> {
        held(&self.why).clone()
    }
}

/// The operation numbers that a thread has reserved for its clients.
pub(super) struct Numbers<'a> {
    shared: &'a AtomicU64,
    share: &'a Share,
    batch: u64,
    next: Cell<u64>,
    end: Cell<u64>,
}

impl Numbers<'_> {
    #[inline]
    pub(super) fn next(&self) -> u64 {
        if self.next == self.end {
            let next = self.shared.fetch_add(self.batch, Relaxed);
            self.next.set(next);
            self.end.set(next + self.batch);
        }
        self.share.number(self.next.replace(self.next.get() + 1))
    }
}

/// A client whose session is not closed. Dropped with the client's task, however it ends.
pub(super) struct Unclosed<'a>(&'a AtomicU32);

impl Drop for Unclosed<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Release);
    }
}

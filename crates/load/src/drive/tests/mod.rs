//! Drives of fake workloads. Times are short, so the tests assert counts and orders, which also hold on a busy machine.

mod background;
mod closed;
mod depth;
mod faults;
mod open;
mod outages;
mod shares;
mod stalls;
mod turns;

use super::*;
use crate::arrivals::Arrivals;
use crate::io::Io;
use crate::pacer::WhenFull;
use crate::recorder::{Ending, LatencyKind};
use crate::seam::{Failure, Outcome, Request};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

const MS: u64 = 1_000_000;

/// How a fake answers a client that opens a session.
type Opening = dyn FnMut(u32) -> Result<(), Failure> + Send;

/// A workload on a fake server, whose behaviour is `answer`. It is one type for all answers, so that the tests compile the drive once.
struct Fake<'a> {
    placement: Placement,
    answer: Box<dyn Fn(&Request) -> Answer + Sync + 'a>,
    open: Mutex<Box<Opening>>,
    /// Sessions that are open now.
    sessions: AtomicU32,
    started: Mutex<Vec<Request>>,
}

/// How a fake handles a request: the service time in nanoseconds, and the outcome.
type Answer = (u64, Outcome);

fn fake<'a>(answer: impl Fn(&Request) -> Answer + Sync + 'a) -> Fake<'a> {
    Fake {
        placement: Placement::Reactors,
        answer: Box::new(answer),
        open: Mutex::new(Box::new(|_| Ok(()))),
        sessions: AtomicU32::new(0),
        started: Mutex::new(Vec::new()),
    }
}

impl Workload for Fake<'_> {
    type Session = Io;

    fn placement(&self) -> Placement {
        self.placement
    }

    fn operations(&self) -> Vec<String> {
        vec!["even".into(), "odd".into()]
    }

    fn pick(&self, number: u64) -> u16 {
        (number % 2) as u16
    }

    async fn open(&self, io: &Io, client: u32) -> Result<Io, Failure> {
        (self.open.lock().unwrap())(client)?;
        self.sessions.fetch_add(1, SeqCst);
        Ok(io.clone())
    }

    async fn operate(&self, io: &mut Io, request: &Request) -> Outcome {
        self.started.lock().unwrap().push(*request);
        let (service_ns, outcome) = (self.answer)(request);
        if service_ns > 0 {
            io.sleep_until(io.now_ns() + service_ns).await;
        }
        outcome
    }

    async fn close(&self, _: Io) {
        self.sessions.fetch_sub(1, SeqCst);
    }
}

fn closed(clients: u32, time_ms: u64) -> Drive {
    Drive {
        reconnect_for: Duration::from_millis(100),
        ..Drive::new(Load::closed(clients), Duration::from_millis(time_ms))
    }
}

fn open(arrivals: Arrivals, workers: u32, queue: u64, when_full: WhenFull, time_ms: u64) -> Drive {
    Drive {
        load: Load::Open(Open {
            arrivals,
            workers,
            queue,
            when_full,
        }),
        ..closed(1, time_ms)
    }
}

fn unwatched<W: Workload>(
    workload: &W,
    settings: &Drive,
    stop: &AtomicBool,
) -> Result<Driven, DriveError> {
    drive(workload, settings, stop, Watch::default())
}

/// The longest time in which the engine did not run, as on a busy machine.
fn longest_stall_ns(driven: &Driven) -> u64 {
    let longest = driven.stalls.iter().map(|stall| stall.longest).max();
    longest.unwrap_or_default().as_nanos() as u64
}

/// Everything that the callbacks of a drive received.
struct Observed {
    seconds: Vec<Second>,
    windows: Vec<Window>,
}

fn driven(workload: &Fake<'_>, settings: &Drive) -> (Driven, Observed) {
    let mut begun = Vec::new();
    let (mut seconds, mut windows) = (Vec::new(), Vec::new());
    let watch = Watch {
        ready: None,
        begun: &mut |origin| begun.push(origin),
        second: &mut |second| seconds.push(second),
        window: &mut |window| windows.push(window),
    };
    let driven = drive(workload, settings, &AtomicBool::new(false), watch).expect("it starts");
    assert_eq!(begun.len(), 1, "the start is reported once");
    assert_eq!(workload.sessions.load(SeqCst), 0, "every session is closed");
    let observed = Observed { seconds, windows };
    let measured = observed.tally();
    let counted: Tally = [measured].iter().chain(&observed.carried()).sum();
    assert_eq!(
        counted.ended(),
        driven.started,
        "every operation is in a second"
    );
    let by_operation: Tally = driven.tallies.iter().sum();
    assert_eq!(
        by_operation, counted,
        "seconds and operations count the same"
    );
    let places: Vec<u32> = observed
        .seconds
        .iter()
        .map(|second| second.second)
        .collect();
    assert_eq!(places, (0..places.len() as u32).collect::<Vec<_>>());
    let counted = [LatencyKind::Service, LatencyKind::Failed].map(|kind| observed.of(kind).len());
    assert_eq!(
        counted.iter().sum::<u64>(),
        measured.ended(),
        "every operation is in a window"
    );
    (driven, observed)
}

impl Observed {
    fn tally(&self) -> Tally {
        self.seconds.iter().map(|second| &second.tally).sum()
    }

    /// What each second carried over from the warm-up.
    fn carried(&self) -> Vec<Tally> {
        let seconds = self.seconds.iter();
        seconds
            .map(|second| second.carried.tallies.iter().sum())
            .collect()
    }

    /// How many attempts ended with this error and ending.
    fn errors(&self, ending: Ending, code: u16) -> u64 {
        let errors = self.seconds.iter().flat_map(|second| &second.errors);
        let own = errors.filter(|(fault, _)| fault.ending == ending && fault.code == code);
        own.map(|(_, count)| count).sum()
    }

    /// The sum of all windows.
    fn of(&self, kind: LatencyKind) -> hdrhistogram::Histogram<u64> {
        let mut all = hdrhistogram::Histogram::new(3).unwrap();
        for window in self.windows.iter().filter(|window| window.kind == kind) {
            all.add(&window.nanoseconds).unwrap();
        }
        all
    }
}

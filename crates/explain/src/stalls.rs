//! Why the throughput stalled: causes whose evidence is in the series of the same seconds.
//!
//! Purpose: each cause is named only if its own series show it during the stall and not in the calm seconds. Boundaries: finding stalls
//! is in `stats`. Evidence in the same seconds suggests a cause and does not prove it.

use record::{Loaded, Stall, State, Summary, Trial};
use stats::{Usual, calm_seconds, each_once};
use std::ops::Range;

/// From this share of its limit on, the checkpoint age counts as being at it.
const AT_LIMIT: f64 = 0.95;
/// From this share of a second on, a disk counts as busy.
const BUSY: f64 = 0.95;
/// From this many cores on, stolen CPU time counts.
const STOLEN: f64 = 0.25;

/// A cause of a stall, in the order of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StallCause {
    /// An event of the experiment was under way; its kind.
    Event(String),
    /// The checkpoint age was at its limit, or pages were flushed synchronously.
    LogFull,
    /// A burst of pages was flushed ahead of the limit of the checkpoint age.
    FlushBurst,
    /// Clients waited for a free page, or searched for one to flush.
    NoFreePage,
    /// Pages were flushed from the end of the LRU list, more than usual.
    LruFlushing,
    /// Clients waited because the log buffer was too small.
    LogBuffer,
    /// Clients waited for row locks, more than usual.
    RowLocks,
    /// The history of old row versions was longer than usual.
    Purge,
    /// The disk had requests in flight the whole time.
    DiskBusy,
    /// Another virtual machine had the CPU.
    Stolen,
}

impl StallCause {
    /// The cause in words: `the redo log was full, so pages were flushed synchronously`.
    pub fn text(&self) -> String {
        let text = match self {
            StallCause::Event(kind) => return format!("the event \"{kind}\""),
            StallCause::LogFull => "redo log full: synchronous flushing",
            StallCause::FlushBurst => "burst of adaptive (asynchronous) flushing",
            StallCause::NoFreePage => "no free page in the buffer pool",
            StallCause::LruFlushing => "LRU flushing",
            StallCause::LogBuffer => "log buffer too small",
            StallCause::RowLocks => "row lock waits",
            StallCause::Purge => "purge fell behind",
            StallCause::DiskBusy => "disk busy",
            StallCause::Stolen => "CPU time stolen by the host",
        };
        text.to_string()
    }
}

/// A series during a stall.
#[derive(Clone, Debug, PartialEq)]
pub struct StallEvidence {
    pub series: String,
    /// The median of the calm seconds.
    pub usual: f64,
    /// The largest value during the stall.
    pub during: f64,
}

/// A cause with the series that show it.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedCause {
    pub cause: StallCause,
    /// Empty for an event.
    pub evidence: Vec<StallEvidence>,
}

/// The causes of a stall of this trial, with evidence. Empty if none of the known ones shows; then [`Stall::moved`] has what
/// rose. Needs a whole trial, with its series.
pub fn stall_causes(
    trial: &Trial,
    load: &Loaded,
    summary: &Summary,
    stall: &Stall,
) -> Vec<NamedCause> {
    let seconds = Seconds {
        load,
        stalled: stall.range(),
        calm: calm_seconds(&summary.steady, &summary.stalls),
    };
    let events = events(trial, load, &seconds.stalled).map(|kind| NamedCause {
        cause: StallCause::Event(kind),
        evidence: Vec::new(),
    });
    let shown = CAUSES.iter().filter_map(|(cause, signs)| {
        let evidence: Vec<StallEvidence> = signs
            .iter()
            .filter_map(|sign| sign.evidence(&seconds))
            .collect();
        (!evidence.is_empty()).then(|| NamedCause {
            cause: cause.clone(),
            evidence,
        })
    });
    events.chain(shown).collect()
}

/// What shows a cause.
enum Sign {
    /// A share of its limit, reached during the stall and not in the median of the calm seconds.
    NearLimit(State, f64),
    /// A value that is unusual in the calm seconds.
    Rises(State),
    /// A series of the machine at this value or more, and usually less.
    Reaches(&'static str, f64),
}

#[rustfmt::skip]
const CAUSES: [(StallCause, &[Sign]); 9] = [
    (
        StallCause::LogFull,
        &[
            Sign::NearLimit(State::CheckpointAge, AT_LIMIT),
            Sign::Rises(State::FlushedSync),
            Sign::Rises(State::LogSpaceWaits),
        ],
    ),
    (StallCause::FlushBurst, &[Sign::Rises(State::FlushedAdaptive)]),
    (StallCause::NoFreePage, &[Sign::Rises(State::FreePageWaits), Sign::Rises(State::SingleFlushes)]),
    (StallCause::LruFlushing, &[Sign::Rises(State::FlushedLru)]),
    (StallCause::LogBuffer, &[Sign::Rises(State::LogWaits)]),
    (StallCause::RowLocks, &[Sign::Rises(State::LockWaitMs), Sign::Rises(State::Deadlocks)]),
    (StallCause::Purge, &[Sign::Rises(State::HistoryLength)]),
    (StallCause::DiskBusy, &[Sign::Reaches("device busy", BUSY)]),
    (StallCause::Stolen, &[Sign::Reaches("machine stolen", STOLEN)]),
];

/// The kinds of the events that overlap these seconds, each once.
fn events(trial: &Trial, load: &Loaded, stalled: &Range<usize>) -> impl Iterator<Item = String> {
    let second = |at_ns: i64| (at_ns - load.started_ns) as f64 / 1e9;
    let (from, until) = (stalled.start as f64, stalled.end as f64);
    let overlapping = trial.events.iter().filter(|event| {
        let ended = event.over_ns(&trial.events).map_or(f64::INFINITY, second);
        second(event.at_ns) < until && ended >= from
    });
    each_once(overlapping.map(|event| event.kind.clone())).into_iter()
}

/// The seconds of a stall, and those of the measured part without any stall.
struct Seconds<'l> {
    load: &'l Loaded,
    stalled: Range<usize>,
    calm: Vec<usize>,
}

impl Seconds<'_> {
    fn at(&self, series: &str, second: usize) -> Option<f64> {
        self.load.at(series, second)
    }

    fn usual(&self, of: impl Fn(usize) -> Option<f64>) -> Option<Usual> {
        Usual::of(self.calm.iter().filter_map(|second| of(*second)))
    }

    fn largest(&self, of: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        self.stalled.clone().filter_map(of).reduce(f64::max)
    }
}

impl Sign {
    fn evidence(&self, seconds: &Seconds) -> Option<StallEvidence> {
        let value = |second| self.value(seconds, second);
        let during = seconds.largest(value)?;
        let Usual { median, fence } = seconds.usual(value)?;
        let shows = match self {
            Sign::NearLimit(_, from) | Sign::Reaches(_, from) => during >= *from && median < *from,
            Sign::Rises(_) => during > fence,
        };
        shows.then(|| StallEvidence {
            series: self.words(),
            usual: median,
            during,
        })
    }

    /// The value in a second: the share of the limit, or the series itself.
    fn value(&self, seconds: &Seconds, second: usize) -> Option<f64> {
        match self {
            Sign::NearLimit(state, _) => {
                state.share_of_limit(|state| seconds.at(state.as_str(), second))
            }
            Sign::Rises(state) => seconds.at(state.as_str(), second),
            Sign::Reaches(series, _) => seconds.at(series, second),
        }
    }

    fn words(&self) -> String {
        match self {
            Sign::NearLimit(state, _) => format!("{state} / limit"),
            Sign::Rises(state) => state.to_string(),
            Sign::Reaches(series, _) => series.to_string(),
        }
    }
}

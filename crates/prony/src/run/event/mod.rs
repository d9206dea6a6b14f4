//! Events: what happens beside the load.
//!
//! Purpose: every event begins on time, once or repeatedly, is noted with its beginning and its end, and does not outlive the load.
//! Outside this module: the kinds (`kinds`); what an event did to the load
//! (`stats`).

mod first_commit;
mod happening;
pub mod kinds;
mod observed;
pub(crate) mod recovery;
mod stops;
mod uptime;

use super::machine::changes::Changes;
use super::machine::volume::Power;
use super::watch::Stopper;
pub use happening::Action;
use happening::Happening;
pub use observed::Observed;
use record::{EventNote, FlagKind, Trial};
use server::{Server, ServerError, Session};
use spec::EventSpec;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use stops::Stops;
pub use uptime::Uptime;

/// How long a server may take to end a cancelled statement. After that its connection is cut.
const CANCELLED_WITHIN: Duration = Duration::from_secs(5);
/// Pause between two attempts to cancel. An attempt between two statements has no effect.
const CANCEL_EVERY: Duration = Duration::from_millis(20);

/// Opens a session in the workload's schema, with what ends its statements.
pub type Reopen = Box<dyn Fn() -> Result<(Session, Stopper), ServerError> + Send>;

/// What an event works with.
pub struct Means {
    /// In the workload's schema; None if the target is a folder.
    pub session: Option<Session>,
    /// Ends the statement that the session is executing.
    pub stopper: Stopper,
    /// Opens both anew after an outage.
    pub reopen: Reopen,
    /// The server of the trial, with all its nodes; None if the target is a folder.
    pub server: Option<Server>,
    /// What a power cut takes away; None if the data lies on an ordinary disk.
    pub power: Option<Power>,
    pub changes: Arc<Changes>,
}

impl Means {
    /// Those of a folder: no server and no connections.
    pub(crate) fn of_folder(changes: Arc<Changes>, power: Option<Power>) -> Means {
        Means {
            session: None,
            stopper: Box::new(|| ()),
            reopen: Box::new(|| Err(ServerError::Unusable("a folder has no connections".into()))),
            server: None,
            power,
            changes,
        }
    }
}

/// Events whose connections are open.
#[derive(Default)]
pub struct PreparedEvents {
    events: Vec<(EventSpec, Action, Means)>,
    uptime: Arc<Uptime>,
    observed: Arc<Observed>,
}

impl PreparedEvents {
    /// The events of a trial. `actions` has one for each event of the file, `means` opens the connections of one event.
    pub fn open<E>(
        events: &[EventSpec],
        actions: &[Action],
        means: impl Fn() -> Result<Means, E>,
    ) -> Result<PreparedEvents, E> {
        let open = |event: &EventSpec| {
            let action = actions.get(event.index)?;
            Some(means().map(|means| (event.clone(), action.clone(), means)))
        };
        let events = events.iter().filter_map(open).collect::<Result<_, E>>()?;
        Ok(PreparedEvents {
            events,
            ..PreparedEvents::default()
        })
    }

    /// Whether the server is up, before and during the load.
    pub fn uptime(&self) -> &Arc<Uptime> {
        &self.uptime
    }

    /// The states that events wait for. Put those of each second there.
    pub fn observed(&self) -> &Arc<Observed> {
        &self.observed
    }

    /// Their times count from `origin` on.
    pub fn begin(self, origin: Instant) -> Events {
        let running = self
            .events
            .into_iter()
            .map(|(event, action, means)| {
                let shared = (self.uptime.clone(), self.observed.clone());
                Running::begin(event, action, means, origin, shared)
            })
            .collect();
        Events { running }
    }
}

/// The events of a round or of a timed load, until they are stopped or cancelled.
pub struct Events {
    running: Vec<Running>,
}

struct Running {
    /// Closed to end it.
    stop: Sender<()>,
    is_cancelled: Arc<AtomicBool>,
    stops: Stops,
    uptime: Arc<Uptime>,
    thread: JoinHandle<Happened>,
}

/// The result of the events of a round or of a timed load.
#[derive(Debug, Default)]
pub struct Happened {
    pub notes: Vec<EventNote>,
    /// A sentence for each event that the server refused.
    pub failed: Vec<String>,
    /// A sentence for each event that was due only after the load had ended.
    pub missed: Vec<String>,
    /// A sentence for each setting of which the server uses another value than the event requested.
    pub adjusted: Vec<String>,
    /// A sentence for each event that the server was still executing when its connection was cut, or that changed its settings for good.
    pub left: Vec<String>,
}

impl Events {
    /// Ends them after the running statement. Returns what happened, in order of time.
    pub fn stop(self) -> Happened {
        Happened::of_all(self.running.into_iter().map(Running::stop))
    }

    /// Ends them within seconds, whatever the server does. A running statement is cancelled and noted as such. An outage under way is
    /// completed first, since the audit needs the server.
    pub fn cancel(self) -> Happened {
        // Cancel all of them first, so that none starts anything while another one ends.
        let cancelled: Vec<Cancelled> = self.running.into_iter().map(Running::cancel).collect();
        Happened::of_all(cancelled.into_iter().map(Cancelled::end))
    }
}

impl Running {
    fn begin(
        event: EventSpec,
        action: Action,
        means: Means,
        origin: Instant,
        (uptime, observed): (Arc<Uptime>, Arc<Observed>),
    ) -> Running {
        let (stop, stopped) = channel::<()>();
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let cutter = means.session.as_ref().and_then(Session::cutter);
        let stops = Stops::new(means.stopper, cutter);
        let happening = Happening {
            event,
            action,
            session: means.session,
            reopen: means.reopen,
            stops: stops.clone(),
            server: means.server,
            power: means.power,
            changes: means.changes,
            uptime: uptime.clone(),
            observed,
            opened_after: 0,
            is_cancelled: is_cancelled.clone(),
            stopped,
            happened: Happened::default(),
            log: None,
            numbers: BTreeMap::new(),
            node: None,
        };
        let thread = std::thread::spawn(move || happening.repeat(origin));
        Running {
            stop,
            is_cancelled,
            stops,
            uptime,
            thread,
        }
    }

    fn stop(self) -> Happened {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }

    fn cancel(self) -> Cancelled {
        self.is_cancelled.store(true, SeqCst);
        drop(self.stop);
        // On a thread of its own that is not joined: sending KILL to a hung server blocks.
        let (stops, is_over) = (self.stops.clone(), Arc::new(AtomicBool::new(false)));
        let seen = is_over.clone();
        std::thread::spawn(move || {
            while !seen.load(SeqCst) {
                stops.stop();
                std::thread::sleep(CANCEL_EVERY);
            }
        });
        Cancelled {
            at: Instant::now(),
            is_over,
            stops: self.stops,
            uptime: self.uptime,
            thread: self.thread,
        }
    }
}

/// An event whose statement is being cancelled.
struct Cancelled {
    at: Instant,
    is_over: Arc<AtomicBool>,
    stops: Stops,
    uptime: Arc<Uptime>,
    thread: JoinHandle<Happened>,
}

impl Cancelled {
    fn end(self) -> Happened {
        let mut until = self.at + CANCELLED_WITHIN;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
            if self.uptime.is_changing() {
                until = Instant::now() + CANCELLED_WITHIN;
            }
        }
        self.is_over.store(true, SeqCst);
        let cut = !self.thread.is_finished() && self.stops.cut();
        let mut happened = self.thread.join().unwrap_or_default();
        if cut && let Some(last) = happened.notes.last() {
            happened.left.push(format!(
                "the server was still executing this {} s after it was cancelled, and may be executing it now: {}",
                CANCELLED_WITHIN.as_secs(),
                last.text
            ));
        }
        happened
    }
}

impl Happened {
    /// Enters the events into their trial. One that failed did not do what the trial is named after, so the trial is invalid; one
    /// that never came may only be late.
    pub fn enter(self, trial: &mut Trial) {
        trial.events.extend(self.notes);
        for text in self.failed {
            trial.invalidate(FlagKind::EventFailed, text);
        }
        trial.flag_each(FlagKind::EventMissed, self.missed);
        trial.flag_each(FlagKind::SettingAdjusted, self.adjusted);
        trial.flag_each(FlagKind::EventLeft, self.left);
    }

    fn of_all(each: impl Iterator<Item = Happened>) -> Happened {
        let mut all = Happened::default();
        for one in each {
            all.notes.extend(one.notes);
            all.failed.extend(one.failed);
            all.missed.extend(one.missed);
            all.adjusted.extend(one.adjusted);
            all.left.extend(one.left);
        }
        all.notes.sort_by_key(|note| note.at_ns);
        all
    }
}

#[cfg(test)]
mod tests;

//! One event: when it is due, that it happens, and what is noted of it.

use super::uptime::{Phase, Uptime};
use super::{Happened, Observed, Reopen, Stops};
use crate::run::machine::changes::Changes;
use crate::run::machine::volume::Power;
use host::now_ns;
use record::EventNote;
use server::{LogWatch, Server, ServerError, Session};
use spec::{Condition, EventSpec, EventTime};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Pause between two looks at an outage under way.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What an event waits for that is due during an outage.
const KEPT_OFF: &str = "the server was up again";

const NO_SERVER: &str = "the workload runs on a folder, without a server";

/// What an event does each time it is due.
pub type Action = Arc<dyn Fn(&mut Happening) + Send + Sync>;

/// An event while its load runs.
pub struct Happening {
    pub(super) event: EventSpec,
    pub(super) action: Action,
    /// In the workload's schema; None if the target is a folder.
    pub(super) session: Option<Session>,
    /// Opens the session anew after an outage.
    pub(super) reopen: Reopen,
    pub(super) stops: Stops,
    pub(super) server: Option<Server>,
    pub(super) power: Option<Power>,
    pub(super) changes: Arc<Changes>,
    pub(super) uptime: Arc<Uptime>,
    pub(super) observed: Arc<Observed>,
    /// How many outages had begun when the session was opened.
    pub(super) opened_after: u64,
    /// The load is over, and what is running is being ended.
    pub(super) is_cancelled: Arc<AtomicBool>,
    /// Closed when the load is over.
    pub(super) stopped: Receiver<()>,
    pub(super) happened: Happened,
    /// The server's log during the recovery under way.
    pub(super) log: Option<LogWatch>,
    /// What was measured of the event under way, by names that end in their unit.
    pub(super) numbers: BTreeMap<String, f64>,
    /// The node that it happens to, from 1; None where it is of no single node.
    pub(super) node: Option<u32>,
}

impl Happening {
    /// Acts whenever the event is due, until the load is over.
    pub(super) fn repeat(mut self, origin: Instant) -> Happened {
        let missed = match self.event.when {
            EventTime::At(at) => self.at_times(origin, at, None),
            EventTime::Every(every) => self.at_times(origin, every, Some(every)),
            EventTime::When(condition) => self.once_met(&condition),
        };
        if self.happened.notes.is_empty() {
            self.happened.missed.push(format!(
                "the load ended before {missed}, so this \"{}\" event never ran",
                self.event.kind
            ));
        }
        self.happened
    }

    /// Acts in the first second in which the states meet the condition. Returns what the event waits for.
    fn once_met(&mut self, condition: &Condition) -> String {
        while self.wait(LOOK_EVERY) {
            if condition.is_met(|state| self.observed.get(state)) {
                if self.act() {
                    return KEPT_OFF.to_string();
                }
                break;
            }
        }
        match self.observed.get(condition.state) {
            Some(last) => format!("{condition} was true (last value: {last})"),
            None => format!("{condition} was true (the server did not report it at the end)"),
        }
    }

    /// Acts. Returns whether an outage kept the event off until the load was over.
    fn act(&mut self) -> bool {
        let action = self.action.clone();
        action(self);
        self.happened.notes.is_empty() && self.uptime.is_out()
    }

    /// Acts after `first`, and then at each interval. Returns what the event waits for.
    fn at_times(&mut self, origin: Instant, first: Duration, every: Option<Duration>) -> String {
        let mut due = origin + first;
        while self.wait(due.saturating_duration_since(Instant::now())) {
            if self.act() {
                return KEPT_OFF.to_string();
            }
            let Some(every) = every else { break };
            // One slower than its interval is not repeated to catch up: the next whole interval counts.
            while due <= Instant::now() {
                due += every;
            }
        }
        format!("{} s had passed", first.as_secs_f64())
    }

    /// Whether the load is over.
    pub(super) fn is_over(&self) -> bool {
        self.is_cancelled.load(SeqCst)
    }

    /// Waits so long, or until the load is over; then it returns false.
    pub(super) fn wait(&self, pause: Duration) -> bool {
        self.stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout)
    }

    /// Waits for the end of an outage that another event began, and reconnects if the session is gone. Returns false if the load is
    /// over or the server did not come back.
    pub(super) fn is_connected(&mut self) -> bool {
        loop {
            let outages = self.uptime.outages();
            match self.uptime.phase() {
                Phase::Lost => return false,
                Phase::Up if outages == self.opened_after => return true,
                Phase::Up if self.reconnect(outages).is_ok() => return true,
                _ if !self.wait(LOOK_EVERY) => return false,
                _ => {}
            }
        }
    }

    /// Waits for the end of an outage of this node. Returns false if the load is over or the node did not come back.
    pub(super) fn is_up(&self, node: u32) -> bool {
        loop {
            match self.uptime.phase_of(node) {
                Phase::Up => return true,
                Phase::Lost => return false,
                _ if !self.wait(LOOK_EVERY) => return false,
                _ => {}
            }
        }
    }

    /// For an event that needs no connection: an outage that was over before it does not excuse its failure.
    pub(super) fn disregard_earlier_outages(&mut self) {
        self.opened_after = self.uptime.outages();
    }

    /// The connection of the event.
    pub(super) fn session(&mut self) -> Result<&mut Session, &'static str> {
        self.session.as_mut().ok_or(NO_SERVER)
    }

    /// The server of the trial.
    pub(super) fn server(&self) -> Result<&Server, &'static str> {
        self.server.as_ref().ok_or(NO_SERVER)
    }

    fn reconnect(&mut self, outages: u64) -> Result<(), ServerError> {
        let (session, stopper) = (self.reopen)()?;
        self.stops.replace(stopper, session.cutter());
        self.session = Some(session);
        self.opened_after = outages;
        Ok(())
    }

    /// Begins an outage of a node once none is under way, and returns its phase before. None if the load was over first.
    pub(super) fn begin_outage(&self, node: u32) -> Option<Phase> {
        loop {
            match self.uptime.begin(node) {
                Phase::Changing if !self.wait(LOOK_EVERY) => return None,
                Phase::Changing => {}
                before => return Some(before),
            }
        }
    }

    /// Acts, and notes when and with which result: the beginning of a sentence that ends with the seconds it took.
    pub(super) fn note(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut Happening) -> Result<String, String>,
    ) {
        let (at_ns, began) = (now_ns(), Instant::now());
        let result = act(self);
        let elapsed_s = began.elapsed().as_secs_f64();
        let text = match (result, self.is_over()) {
            (Ok(text), false) => format!("{name}: {text} {elapsed_s:.3} s"),
            // Some statements that are cancelled answer as if they had completed.
            (Ok(text), true) => format!("{name}: {text} {elapsed_s:.3} s, then the load was over"),
            (Err(_), true) => format!("{name}: cancelled, since the load was over"),
            (Err(_), false) if self.uptime.outages() != self.opened_after => {
                format!("{name}: ended by an outage after {elapsed_s:.3} s")
            }
            (Err(error), false) => {
                let text = format!("{name}: {error}");
                self.happened.failed.push(text.clone());
                text
            }
        };
        self.push_note(at_ns, now_ns(), text);
    }

    pub(super) fn push_note(&mut self, at_ns: i64, ended_ns: i64, text: String) {
        self.happened.notes.push(EventNote {
            at_ns,
            ended_ns: Some(ended_ns),
            kind: self.event.kind.clone(),
            node: self.node,
            numbers: std::mem::take(&mut self.numbers),
            text,
        });
    }
}

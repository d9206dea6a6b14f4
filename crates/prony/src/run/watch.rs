//! The watch: stops a statement that exceeds its timeout, or when the user interrupts, and notices when prony did not run meanwhile.
//!
//! Purpose: the measured connection blocks in a read, so a separate thread sends KILL QUERY (or calls SQLite's interrupt). A server
//! that does not obey hangs: its connection is cut, so that no statement waits for it. A wait of this thread that ends far too late shows
//! that prony was stopped, or the machine was paused. Outside this module: timing, which the session does.

use crate::lock;
use host::interrupt;
use server::{Cutter, Node, ServerError, Session};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the watch checks for an interruption.
const TICK: Duration = Duration::from_millis(50);

/// A wait that ends so much later than it should is no wake-up latency of a busy machine.
const STOOD_MIN: Duration = Duration::from_millis(250);

/// How long a server may take to stop a statement. After that it hangs, and the statement's connection is cut.
pub(crate) const STOPS_WITHIN: Duration = Duration::from_secs(5);

/// Stops the statement that a session is executing.
pub type Stopper = Box<dyn FnMut() + Send>;

/// The connection that sends KILL QUERY. It is opened beforehand, since a busy server may refuse it later. None if a statement is
/// stopped without a connection.
#[derive(Clone)]
pub(crate) struct Admin(Option<Arc<Mutex<Session>>>);

impl Admin {
    /// For watches, which cut the connection of a server that takes longer.
    pub(crate) fn of(node: &dyn Node) -> Result<Admin, ServerError> {
        Admin::waiting(node, |session| session.limited(STOPS_WITHIN))
    }

    fn waiting(
        node: &dyn Node,
        limited: impl FnOnce(Session) -> Session,
    ) -> Result<Admin, ServerError> {
        let session = if node.abilities().mysql {
            Some(Arc::new(Mutex::new(limited(node.connect()?))))
        } else {
            None
        };
        Ok(Admin(session))
    }

    /// A stopper for the statements of this session.
    pub(crate) fn stopper(&self, session: &Session) -> Stopper {
        match (session, self.0.clone()) {
            (Session::MySql(connection), Some(admin)) => {
                let statement = format!("KILL QUERY {}", connection.id());
                Box::new(move || {
                    let _ = lock(&admin).execute(&statement);
                })
            }
            (Session::Sqlite(connection), _) => {
                let handle = connection.get_interrupt_handle();
                Box::new(move || handle.interrupt())
            }
            _ => Box::new(|| ()),
        }
    }
}

/// A stopper with its own connection, for one session of an event. It waits for a busy server as any control statement does.
pub fn stopper(session: &Session, node: &dyn Node) -> Result<Stopper, ServerError> {
    Ok(Admin::waiting(node, Session::for_control)?.stopper(session))
}

#[derive(Default)]
struct WatchState {
    watching: bool,
    deadline: Option<Instant>,
    timed_out: bool,
    began: Option<Instant>,
    /// How long prony itself did not run during the statement.
    stood: Duration,
    /// When the first attempt to stop the current statement began.
    stopping: Option<Instant>,
    /// The connection was cut.
    is_cut: bool,
    /// Every statement is stopped, now and later.
    halted: bool,
    closing: bool,
}

impl WatchState {
    /// How long the thread may sleep without a notification: until the deadline or the next check for an interruption.
    fn pause(&self) -> Duration {
        if !self.watching {
            return Duration::from_secs(3600);
        }
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline
            .map_or(TICK, |deadline| left(deadline).min(TICK))
    }
}

pub(crate) struct Watch {
    shared: Arc<(Mutex<WatchState>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// `stopper` stops the statement that the measured session is executing, `cutter` ends its connection if that does not help.
    pub(crate) fn new(mut stopper: Stopper, cutter: Option<Cutter>) -> Watch {
        let shared = Arc::new((Mutex::new(WatchState::default()), Condvar::new()));
        let for_thread = shared.clone();
        let thread = std::thread::spawn(move || watch(&for_thread, &mut stopper, cutter.as_ref()));
        Watch {
            shared,
            thread: Some(thread),
        }
    }

    /// Runs one statement under the watch. The second value is whether the timeout stopped it.
    pub(crate) fn over<T>(
        &self,
        timeout: Option<Duration>,
        statement: impl FnOnce() -> T,
    ) -> (T, bool) {
        self.set(|state| {
            state.watching = true;
            state.timed_out = false;
            state.began = Some(Instant::now());
            state.stood = Duration::ZERO;
            state.stopping = None;
            state.deadline = timeout.map(|timeout| Instant::now() + timeout);
        });
        let result = statement();
        let timed_out = self.set(|state| {
            state.watching = false;
            state.timed_out
        });
        (result, timed_out)
    }

    /// Like `over`, and leaves the session ready for the next statement.
    pub(crate) fn ask<T>(
        &self,
        session: &mut Session,
        timeout: Option<Duration>,
        statement: impl FnOnce(&mut Session) -> T,
    ) -> (T, bool) {
        let (result, timed_out) = self.over(timeout, || statement(session));
        if timed_out && !self.is_cut() {
            // A late KILL QUERY stops the next statement, so this sends one whose answer does not matter.
            let _ = session.control(|session| session.query("SELECT 1"));
        }
        (result, timed_out)
    }

    /// How long prony itself did not run during the last statement (stopped, out of CPU time, or the machine was paused). Up to
    /// [`TICK`] less than it was, and zero for less than [`STOOD_MIN`] at once.
    pub(crate) fn stood(&self) -> Duration {
        lock(&self.shared.0).stood
    }

    /// Whether a statement could not be stopped, so that its connection was cut: the server hangs.
    pub(crate) fn is_cut(&self) -> bool {
        lock(&self.shared.0).is_cut
    }

    /// Stops the current statement and all later ones.
    pub(crate) fn halt(&self) {
        self.set(|state| state.halted = true);
    }

    fn set<T>(&self, change: impl FnOnce(&mut WatchState) -> T) -> T {
        let result = change(&mut lock(&self.shared.0));
        self.shared.1.notify_one();
        result
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.set(|state| state.closing = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(shared: &(Mutex<WatchState>, Condvar), stopper: &mut Stopper, cutter: Option<&Cutter>) {
    let mut state = lock(&shared.0);
    while !state.closing {
        let due = state
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        if state.watching && (due || state.halted || interrupt::asked()) {
            if due {
                state.timed_out |= !interrupt::asked();
                // Repeat until it stops: a server drops a KILL QUERY that arrives before the statement begins.
                state.deadline = Some(Instant::now() + TICK);
            }
            let since = *state.stopping.get_or_insert_with(Instant::now);
            // Under the lock, so that the statement cannot end and the next begin in between.
            stopper();
            if let Some(cutter) = cutter.filter(|_| since.elapsed() >= STOPS_WITHIN) {
                state.is_cut = true;
                cutter.cut();
            }
        }
        let (pause, begun) = (state.pause(), Instant::now());
        state = shared
            .1
            .wait_timeout(state, pause)
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .0;
        let during = state.began.map_or(Duration::ZERO, |began| began.elapsed());
        state.stood += stood(pause, begun.elapsed(), during);
    }
}

/// How much longer than its pause a wait took, where prony cannot have run meanwhile. `during`: since the statement began, which may be
/// after the wait did.
fn stood(pause: Duration, waited: Duration, during: Duration) -> Duration {
    let late = waited.saturating_sub(pause).min(during);
    match late >= STOOD_MIN {
        true => late,
        false => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_statement_that_ends_in_time_is_not_stopped() {
        let watch = Watch::new(Box::new(|| panic!("stopped")), None);
        assert_eq!(
            watch.over(Some(Duration::from_secs(3600)), || 7),
            (7, false)
        );
    }

    #[test]
    fn a_statement_past_its_timeout_is_stopped_and_reported() {
        let (stop, stopped) = mpsc::channel();
        let stopper = Box::new(move || {
            let _ = stop.send(());
        });
        let watch = Watch::new(stopper, None);
        let (result, timed_out) = watch.over(Some(Duration::from_millis(1)), || stopped.recv());
        assert!(result.is_ok() && timed_out);
    }

    #[test]
    fn a_timeout_is_exact_even_if_shorter_than_the_check_interval() {
        let ten = Duration::from_millis(10);
        let state = |timeout: Duration| WatchState {
            watching: true,
            deadline: Some(Instant::now() + timeout),
            ..WatchState::default()
        };
        assert!(state(ten).pause() <= ten);
        assert_eq!(state(Duration::from_secs(600)).pause(), TICK);
        assert_eq!(WatchState::default().pause(), Duration::from_secs(3600));
    }

    #[test]
    fn a_statement_that_continues_is_stopped_again() {
        let (stop, stopped) = mpsc::channel();
        let stopper = Box::new(move || {
            let _ = stop.send(());
        });
        let watch = Watch::new(stopper, None);
        let twice = || (stopped.recv(), stopped.recv());
        let (result, timed_out) = watch.over(Some(Duration::from_millis(1)), twice);
        assert!(result.0.is_ok() && result.1.is_ok() && timed_out);
    }

    #[test]
    fn a_wait_that_ends_far_too_late_shows_that_prony_did_not_run() {
        let ms = Duration::from_millis;
        let of = |pause_ms, waited_ms, during_ms| stood(ms(pause_ms), ms(waited_ms), ms(during_ms));
        assert_eq!(of(50, 1_550, 1_900), ms(1_500));
        assert_eq!(of(50, 120, 1_900), Duration::ZERO, "a busy machine");
        assert_eq!(of(3_600_000, 1_550, 1_900), Duration::ZERO, "woken");
        assert_eq!(of(50, 1_550, 20), Duration::ZERO, "another statement");
    }

    #[test]
    fn a_halted_watch_stops_statements_without_a_timeout() {
        let (stop, stopped) = mpsc::channel();
        let stopper = Box::new(move || {
            let _ = stop.send(());
        });
        let watch = Watch::new(stopper, None);
        watch.halt();
        let (result, timed_out) = watch.over(None, || stopped.recv());
        assert!(result.is_ok() && !timed_out);
    }
}

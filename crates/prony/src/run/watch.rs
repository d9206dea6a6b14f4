//! The watch: ends a statement that runs too long or that the user no longer waits for.
//!
//! Goal: the measured connection blocks in its read; this thread frees it, by KILL QUERY after a timeout and by the
//! server's own stop when prony is interrupted. Non-goal: timing (the session does that).

use host::interrupt;
use server::{Node, ServerError, Session};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long an interrupted statement may go on before it is noticed.
const TICK: Duration = Duration::from_millis(50);

/// Ends the statement that a session is executing.
pub type Stopper = Box<dyn FnMut() + Send>;

/// What sends KILL QUERY: a connection made beforehand, since a busy server may have none left when it is needed. None where a
/// statement is stopped without one.
#[derive(Clone)]
pub struct Admin(Option<Arc<Mutex<Session>>>);

impl Admin {
    pub fn of(node: &dyn Node) -> Result<Admin, ServerError> {
        let session = match node.abilities().mysql {
            true => Some(Arc::new(Mutex::new(node.connect()?))),
            false => None,
        };
        Ok(Admin(session))
    }

    /// What ends the statement that this session is executing.
    pub fn stopper(&self, session: &Session) -> Stopper {
        match (session, self.0.clone()) {
            (Session::MySql(connection), Some(admin)) => {
                let statement = format!("KILL QUERY {}", connection.connection_id());
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

/// For one session alone.
pub fn stopper(session: &Session, node: &dyn Node) -> Result<Stopper, ServerError> {
    Ok(Admin::of(node)?.stopper(session))
}

#[derive(Default)]
struct State {
    watching: bool,
    deadline: Option<Instant>,
    timed_out: bool,
    /// Whatever it executes is stopped, now and later.
    halted: bool,
    closing: bool,
}

impl State {
    /// Until there may be something to do that nobody tells: the deadline, or an interrupt.
    fn pause(&self) -> Duration {
        if !self.watching {
            return Duration::from_secs(3600);
        }
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline
            .map_or(TICK, |deadline| left(deadline).min(TICK))
    }
}

pub struct Watch {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// `stopper` ends the statement that the measured session is executing.
    pub fn new(mut stopper: Stopper) -> Watch {
        let shared = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let theirs = shared.clone();
        let thread = std::thread::spawn(move || watch(&theirs, &mut stopper));
        Watch {
            shared,
            thread: Some(thread),
        }
    }

    /// Runs one statement under the watch; the second value tells whether it was stopped by the timeout.
    pub fn over<T>(&self, timeout: Option<Duration>, statement: impl FnOnce() -> T) -> (T, bool) {
        self.set(|state| {
            state.watching = true;
            state.timed_out = false;
            state.deadline = timeout.map(|timeout| Instant::now() + timeout);
        });
        let result = statement();
        let timed_out = self.set(|state| {
            state.watching = false;
            state.timed_out
        });
        (result, timed_out)
    }

    /// The same for a statement of this session, which is fit for the next one afterwards.
    pub fn ask<T>(
        &self,
        session: &mut Session,
        timeout: Option<Duration>,
        statement: impl FnOnce(&mut Session) -> T,
    ) -> (T, bool) {
        let (result, timed_out) = self.over(timeout, || statement(session));
        if timed_out {
            // A stop that came too late ends the next statement, so that has to be one that nobody needs.
            let _ = session.query("SELECT 1");
        }
        (result, timed_out)
    }

    /// Ends the statement that is being executed and any later one: nobody wants its answer any more.
    pub fn halt(&self) {
        self.set(|state| state.halted = true);
    }

    fn set<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
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

fn watch(shared: &(Mutex<State>, Condvar), stopper: &mut Stopper) {
    let mut state = lock(&shared.0);
    while !state.closing {
        let due = state
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        if state.watching && (due || state.halted || interrupt::asked()) {
            if due {
                state.timed_out |= !interrupt::asked();
                // Again, if it goes on: a server forgets what reaches it before it has begun with the statement.
                state.deadline = Some(Instant::now() + TICK);
            }
            // Under the lock: the statement cannot end and the next begin while this one is being stopped.
            stopper();
        }
        let pause = state.pause();
        state = shared
            .1
            .wait_timeout(state, pause)
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .0;
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_statement_that_ends_in_time_is_left_alone() {
        let watch = Watch::new(Box::new(|| panic!("stopped")));
        assert_eq!(
            watch.over(Some(Duration::from_secs(3600)), || 7),
            (7, false)
        );
    }

    #[test]
    fn a_statement_past_its_timeout_is_stopped_and_said_so() {
        let (stop, stopped) = mpsc::channel();
        let watch = Watch::new(Box::new(move || {
            let _ = stop.send(());
        }));
        let (result, timed_out) = watch.over(Some(Duration::from_millis(1)), || stopped.recv());
        assert!(result.is_ok() && timed_out);
    }

    #[test]
    fn a_timeout_is_kept_to_the_millisecond_and_not_to_the_next_look_for_an_interrupt() {
        let ten = Duration::from_millis(10);
        let state = |timeout: Duration| State {
            watching: true,
            deadline: Some(Instant::now() + timeout),
            ..State::default()
        };
        assert!(state(ten).pause() <= ten);
        assert_eq!(state(Duration::from_secs(600)).pause(), TICK);
        assert_eq!(State::default().pause(), Duration::from_secs(3600));
    }

    #[test]
    fn a_statement_that_goes_on_is_stopped_again() {
        let (stop, stopped) = mpsc::channel();
        let watch = Watch::new(Box::new(move || {
            let _ = stop.send(());
        }));
        let twice = || (stopped.recv(), stopped.recv());
        let (result, timed_out) = watch.over(Some(Duration::from_millis(1)), twice);
        assert!(result.0.is_ok() && result.1.is_ok() && timed_out);
    }

    #[test]
    fn a_halted_watch_stops_what_runs_and_calls_it_no_timeout() {
        let (stop, stopped) = mpsc::channel();
        let watch = Watch::new(Box::new(move || {
            let _ = stop.send(());
        }));
        watch.halt();
        let (result, timed_out) = watch.over(None, || stopped.recv());
        assert!(result.is_ok() && !timed_out);
    }
}

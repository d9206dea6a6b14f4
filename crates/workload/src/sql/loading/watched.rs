//! Watches a load over one connection: reports its progress, and kills its statement when the load is cancelled.
//!
//! Purpose: Ctrl-C acts soon even during a long statement. Boundaries: the load reports it.

use crate::loader::Connect;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// The polling interval.
const EVERY: Duration = Duration::from_millis(100);

/// A load to watch.
pub(super) struct Watched<'a> {
    /// The connection that it uses. SQLite has no id.
    pub connection: Option<u32>,
    pub connect: Connect<'a>,
    pub cancel: &'a (dyn Fn() -> bool + Sync),
    /// Called at each poll.
    pub tick: &'a (dyn Fn() + Sync),
}

/// Runs the work; kills the connection when `cancel` is set.
pub(super) fn watched<T>(watch: &Watched<'_>, work: impl FnOnce() -> T) -> T {
    let Some(connection) = watch.connection else {
        return work();
    };
    std::thread::scope(|scope| {
        let (working, ends) = mpsc::channel();
        scope.spawn(move || watch.poll(connection, &ends));
        let done = work();
        drop(working);
        done
    })
}

impl Watched<'_> {
    /// Polls until the other end of `ends` is dropped.
    fn poll(&self, connection: u32, ends: &Receiver<()>) {
        while ends.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            (self.tick)();
            if (self.cancel)() {
                // If the server is unreachable, there is nothing to kill.
                if let Ok(session) = (self.connect)() {
                    let _ = session.for_control().execute(&format!("KILL {connection}"));
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::{Reply, ServerError, Session};
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_running_statement_is_killed_when_the_load_is_cancelled() {
        let (asked, statements) = mpsc::channel();
        let connect = || -> Result<Session, ServerError> {
            let asked = asked.clone();
            Ok(Session::Scripted(Box::new(move |sql: &str| {
                asked.send(sql.to_owned()).unwrap();
                Ok(Reply::default())
            })))
        };
        let cancelled = AtomicBool::new(false);
        let ticks = AtomicBool::new(false);
        let watch = Watched {
            connection: Some(7),
            connect: &connect,
            cancel: &|| cancelled.load(SeqCst),
            tick: &|| ticks.store(true, SeqCst),
        };
        let killed = watched(&watch, || {
            cancelled.store(true, SeqCst);
            statements.recv_timeout(LONG)
        });
        assert_eq!(killed.as_deref(), Ok("KILL 7"));
        assert!(ticks.load(SeqCst), "the progress was reported");
    }

    #[test]
    fn a_statement_that_ends_by_itself_is_not_killed() {
        let connect =
            || -> Result<Session, ServerError> { unreachable!("nothing is to be killed") };
        for connection in [Some(7), None] {
            let watch = Watched {
                connection,
                connect: &connect,
                cancel: &|| false,
                tick: &|| (),
            };
            assert_eq!(watched(&watch, || 5), 5);
        }
    }
}

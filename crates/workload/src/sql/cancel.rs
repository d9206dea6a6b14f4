//! Kills a statement on the server when the load is cancelled.
//!
//! Purpose: Ctrl-C acts soon even during a long setup statement. Boundaries: `setup` reports it.

use crate::loader::Connect;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// The polling interval.
const EVERY: Duration = Duration::from_millis(100);

/// Runs the work on the connection with this id; kills the connection when `cancel` is set. SQLite has no id.
pub(super) fn killed_on_cancel<T>(
    connection: Option<u32>,
    connect: Connect<'_>,
    cancel: &(dyn Fn() -> bool + Sync),
    work: impl FnOnce() -> T,
) -> T {
    let Some(connection) = connection else {
        return work();
    };
    std::thread::scope(|scope| {
        let (working, ends) = mpsc::channel();
        scope.spawn(move || watch(connection, connect, cancel, &ends));
        let done = work();
        drop(working);
        done
    })
}

/// Polls until the other end of `ends` is dropped.
fn watch(
    connection: u32,
    connect: Connect<'_>,
    cancel: &(dyn Fn() -> bool + Sync),
    ends: &Receiver<()>,
) {
    while ends.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        if cancel() {
            // If the server is unreachable, there is nothing to kill.
            if let Ok(mut session) = connect() {
                let _ = session.execute(&format!("KILL {connection}"));
            }
            return;
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
        let killed = killed_on_cancel(Some(7), &connect, &|| cancelled.load(SeqCst), || {
            cancelled.store(true, SeqCst);
            statements.recv_timeout(LONG)
        });
        assert_eq!(killed.as_deref(), Ok("KILL 7"));
    }

    #[test]
    fn a_statement_that_ends_by_itself_is_not_killed() {
        let connect =
            || -> Result<Session, ServerError> { unreachable!("nothing is to be killed") };
        for connection in [Some(7), None] {
            assert_eq!(killed_on_cancel(connection, &connect, &|| false, || 5), 5);
        }
    }
}

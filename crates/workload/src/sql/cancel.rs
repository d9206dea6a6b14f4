//! A statement that is ended in the server when the load is cancelled.
//!
//! Goal: Ctrl-C is answered soon, whatever a setup's statement takes. Non-goal: what is told of it (`setup`).

use crate::loader::Connect;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(100);

/// Does the work, which is asked on the connection of this number; once `cancel` says so, that connection is killed. SQLite's has none.
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

/// Until the other end of `ends` is gone.
fn watch(
    connection: u32,
    connect: Connect<'_>,
    cancel: &(dyn Fn() -> bool + Sync),
    ends: &Receiver<()>,
) {
    while ends.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        if cancel() {
            // Where the server cannot be reached any more there is nothing to kill.
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
    fn what_is_under_way_is_killed_when_the_load_is_cancelled() {
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
    fn what_ends_by_itself_is_left_alone() {
        let connect =
            || -> Result<Session, ServerError> { unreachable!("nothing is to be killed") };
        for connection in [Some(7), None] {
            assert_eq!(killed_on_cancel(connection, &connect, &|| false, || 5), 5);
        }
    }
}

//! Finds out that an answer will not come.
//!
//! Purpose: statements of a workload, loads and DDL may take hours, so they have no deadline. If the server has answered and the answer was
//! lost or damaged on the way, prony would wait for ever. After half a minute of silence a second connection asks the server what it does.
//! Boundaries: a peer that is gone is noticed by TCP's keepalive; a statement that the server works on is never ended here.
//!
//! The second connection may reach another server, if there is a proxy between them, so only positive evidence counts: our connection is there, and has
//! been idle since after the last byte, in two looks. A server that waits for the rest of a statement ends the connection itself
//! (`net_read_timeout`).

use super::{ServerError, Session};
use spec::Dsn;
use std::io::ErrorKind;
use std::time::Duration;
use wire::OnSilence;

/// What the error says.
pub(super) const LOST: &str =
    "its answer was lost on the way: the server has long been idle on this connection";

const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The server counts whole seconds, and each look takes a moment.
const ROUNDED: Duration = Duration::from_secs(3);

/// Looks at the connection with this id of the server.
pub(super) fn on_silence(dsn: Dsn, id: u32) -> OnSilence {
    let mut looks = Looks::default();
    Box::new(move |silent| {
        if !looks.is_due(silent) {
            return Ok(());
        }
        // A look that fails says nothing.
        let idle = idle(&dsn, id).ok().flatten();
        if looks.are_enough(silent, idle) {
            Err(ErrorKind::ConnectionAborted.into())
        } else {
            Ok(())
        }
    })
}

/// What the looks at one wait have found.
#[derive(Default)]
struct Looks {
    /// The silence at the last look.
    last: Duration,
    /// How long the server was idle then; None if it worked, or did not say.
    idle: Option<Duration>,
}

impl Looks {
    fn is_due(&mut self, silent: Duration) -> bool {
        if silent < self.last {
            // Another wait has begun.
            *self = Looks::default();
        }
        silent >= self.last + LOOK_EVERY
    }

    /// Whether the server has been idle, since this look and the one before.
    fn are_enough(&mut self, silent: Duration, idle: Option<Duration>) -> bool {
        let idle = idle.filter(|idle| *idle <= silent + ROUNDED);
        let passed = silent - self.last;
        let is_same = |(before, now): (Duration, Duration)| now + ROUNDED >= before + passed;
        let enough = self.idle.zip(idle).is_some_and(is_same);
        *self = Looks { last: silent, idle };
        enough
    }
}

/// How long the server has waited for the next statement on this connection; None if it does not, or there is no such connection.
fn idle(dsn: &Dsn, id: u32) -> Result<Option<Duration>, ServerError> {
    let mut session = Session::open(dsn)?.for_control();
    let reply = session.query("SHOW PROCESSLIST")?;
    let cell = |row: usize, name: &str| reply.text(row, reply.column(&[name])?);
    let id = Some(id.to_string());
    let ours = (0..reply.rows.len()).find(|row| cell(*row, "Id") == id);
    let idle = ours.filter(|row| cell(*row, "Command").as_deref() == Some("Sleep"));
    let idle_s = idle.and_then(|row| cell(row, "Time")?.parse().ok());
    Ok(idle_s.map(Duration::from_secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    /// Whether the wait is given up at the last of these looks: the silence and how long the server was idle, in seconds.
    fn given_up(looks: &[(u64, Option<u64>)]) -> bool {
        let mut all = Looks::default();
        let found = looks.iter().map(|(silent_s, idle_s)| {
            assert!(all.is_due(S(*silent_s)), "{silent_s}");
            all.are_enough(S(*silent_s), idle_s.map(S))
        });
        found.last().unwrap()
    }

    #[test]
    fn a_server_that_is_idle_at_two_looks_has_answered() {
        assert!(!given_up(&[(30, Some(30))]));
        assert!(given_up(&[(30, Some(30)), (60, Some(60))]));
        assert!(
            given_up(&[(30, None), (60, Some(12)), (90, Some(42))]),
            "it worked for 48 s"
        );
    }

    #[test]
    fn a_server_that_works_is_waited_for() {
        assert!(!given_up(&[(30, None), (60, None), (90, None)]));
        assert!(!given_up(&[(30, Some(30)), (60, None), (90, Some(1))]));
    }

    #[test]
    fn a_connection_of_another_server_with_the_same_number_is_not_taken_for_ours() {
        assert!(
            !given_up(&[(30, Some(500)), (60, Some(530))]),
            "idle before we asked"
        );
        assert!(
            !given_up(&[(30, Some(20)), (60, Some(2))]),
            "it had something to do"
        );
    }

    #[test]
    fn looks_are_half_a_minute_apart_and_begin_again_with_each_wait() {
        let mut looks = Looks::default();
        assert!(!looks.is_due(S(29)));
        assert!(looks.is_due(S(31)));
        looks.are_enough(S(31), Some(S(31)));
        assert!(!looks.is_due(S(60)));
        assert!(looks.is_due(S(61)));
        assert!(!looks.is_due(S(1)));
        assert!(looks.is_due(S(30)) && !looks.are_enough(S(30), Some(S(30))));
    }
}

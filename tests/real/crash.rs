//! Tests of outages with a real server: kill, stop and start, and what other events do meanwhile.
//!
//! Tier: default.

use crate::real::begun;
use crate::support::fresh::Fresh;
use crate::support::process::until;
use prony::run::event::{Events, Happened};
use record::EventNote;
use server::{Managed, Node, ServerError};
use std::sync::Arc;
use std::time::Duration;

fn started(fresh: &Fresh) -> Arc<Managed> {
    let server = Arc::new(fresh.started(&[]));
    let mut session = server.connect().unwrap();
    for statement in [
        "CREATE DATABASE prony_recovery",
        "CREATE TABLE prony_recovery.commits (n BIGINT NOT NULL) ENGINE=InnoDB",
    ] {
        session.execute(statement).unwrap();
    }
    server
}

fn begin(server: &Arc<Managed>, events: &str) -> Events {
    begun::begin(events, || begun::means(server, None))
}

/// Rows that the events committed.
fn commits(server: &Managed) -> String {
    counted(server).unwrap()
}

/// The same of a server that may be killed meanwhile.
fn counted(server: &Managed) -> Result<String, ServerError> {
    let mut session = server.connect()?;
    let counted = session.query("SELECT COUNT(*) FROM prony_recovery.commits")?;
    Ok(counted.first_text().unwrap())
}

/// Waits until another process than `before` has committed, and ends the events.
fn happened_after_restart(events: Events, server: &Managed, before: u32) -> Happened {
    until("a restarted server", || {
        server.pid().is_some_and(|pid| pid != before) && server.connect().is_ok()
    });
    events.cancel()
}

fn number(note: &EventNote, name: &str) -> f64 {
    *note
        .numbers
        .get(name)
        .unwrap_or_else(|| panic!("no {name} in {note:?}"))
}

#[test]
fn a_killed_server_is_restarted_and_its_recovery_measured() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let pid = server.pid().unwrap();
    let endpoint = server.endpoint().unwrap();
    let events = begin(&server, "[[event]]\nat = '0s'\nkill = { node = 1 }");
    let happened = happened_after_restart(events, &server, pid);
    assert!(happened.failed.is_empty(), "{:?}", happened.failed);
    let note = &happened.notes[0];
    assert_eq!((note.kind.as_str(), note.node), ("kill", Some(1)));
    let [start_s, accept_s, commit_s] =
        ["start_s", "accept_s", "commit_s"].map(|name| number(note, name));
    assert!(
        0.0 < start_s && start_s < accept_s && accept_s < commit_s,
        "{note:?}"
    );
    let lasted_s = (note.ended_ns.unwrap() - note.at_ns) as f64 / 1e9;
    assert!(commit_s <= lasted_s, "{commit_s} s of {lasted_s} s");
    // The server's own log has the redo phase.
    let [redo_s, redo_bytes] = ["redo_s", "redo_bytes"].map(|name| number(note, name));
    assert!(
        redo_s > 0.0 && redo_s < accept_s && redo_bytes > 0.0,
        "{note:?}"
    );
    assert_eq!(commits(&server), "1");
    // Clients find it where it was.
    assert!(server.endpoint().unwrap() == endpoint);
}

#[test]
fn a_stopped_server_stays_down_until_the_start_event() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let pid = server.pid().unwrap();
    let events = begin(
        &server,
        "[[event]]\nat = '0s'\nstop = { restart = false }\n[[event]]\nat = '5s'\nstart = {}",
    );
    // A slow stop is followed by the start at once.
    until("the end of the server", || server.pid() != Some(pid));
    let happened = happened_after_restart(events, &server, pid);
    assert!(happened.failed.is_empty(), "{:?}", happened.failed);
    let [stop, start] = &happened.notes[..] else {
        panic!("{:?}", happened.notes)
    };
    assert!(number(stop, "stop_s") > 0.0);
    assert!(!stop.numbers.contains_key("accept_s"), "{stop:?}");
    assert!(number(start, "down_s") > number(stop, "stop_s"));
    assert!(number(start, "accept_s") < number(start, "commit_s"));
}

#[test]
fn a_statement_that_an_outage_ends_is_no_failure_and_the_next_one_runs() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let pid = server.pid().unwrap();
    let events = begin(
        &server,
        "[[event]]\nat = '0s'\nsql = 'SELECT SLEEP(1000); INSERT INTO prony_recovery.commits VALUES (2)'\n\
         [[event]]\nat = '4s'\nkill = {}",
    );
    until("a restarted server", || {
        server.pid().is_some_and(|now| now != pid)
            && server.connect().is_ok()
            && commits(&server) == "2"
    });
    let happened = events.cancel();
    assert!(happened.failed.is_empty(), "{:?}", happened.failed);
    let texts: Vec<&str> = happened
        .notes
        .iter()
        .map(|note| note.text.as_str())
        .collect();
    assert!(
        texts[0].contains("SLEEP(1000): ended by an outage after"),
        "{texts:?}"
    );
    assert!(
        texts[2].contains("1 rows in") || texts[2].contains("0 rows in"),
        "{texts:?}"
    );
}

#[test]
fn an_outage_under_way_at_the_end_of_the_load_is_completed() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let pid = server.pid().unwrap();
    let events = begin(&server, "[[event]]\nat = '0s'\nkill = {}");
    until("the kill", || server.pid() != Some(pid));
    let happened = events.cancel();
    assert!(happened.failed.is_empty(), "{:?}", happened.failed);
    assert!(happened.left.is_empty(), "{:?}", happened.left);
    assert!(number(&happened.notes[0], "commit_s") > 0.0);
    assert_eq!(commits(&server), "1");
}

#[test]
fn a_second_kill_waits_for_the_end_of_the_first_outage() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let kills = "[[event]]\nat = '0s'\nkill = {}\n".repeat(2);
    let events = begin(&server, &kills);
    until("two recoveries", || {
        counted(&server).is_ok_and(|count| count == "2")
    });
    let happened = events.cancel();
    assert!(happened.failed.is_empty(), "{:?}", happened.failed);
    let [first, second] = &happened.notes[..] else {
        panic!("{:?}", happened.notes)
    };
    assert!(second.at_ns >= first.ended_ns.unwrap());
}

#[test]
fn a_recovery_that_takes_longer_than_allowed_fails_and_the_server_is_stopped() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let events = begin(&server, "[[event]]\nat = '0s'\nkill = { within = '1ms' }");
    until("the end of the server", || server.pid().is_none());
    std::thread::sleep(Duration::from_millis(100));
    let happened = events.cancel();
    assert!(server.pid().is_none());
    assert!(
        happened.failed[0].contains("did not recover within 0.001 s, so it was stopped"),
        "{:?}",
        happened.failed
    );
}

#[test]
fn a_server_that_died_by_itself_is_not_killed_again() {
    let Some(fresh) = Fresh::of("mariadb") else {
        return;
    };
    let server = started(&fresh);
    let pid = i32::try_from(server.pid().unwrap()).unwrap();
    // Before the event, however late this thread is.
    let died = || {
        let means = begun::means(&server, None);
        // SAFETY: a signal to a process of this test.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
        until("the end of the server", || server.exit_reason().is_some());
        means
    };
    let events = begun::begin("[[event]]\nat = '0s'\nkill = {}", died);
    // The event comes at once, or later on a busy machine.
    std::thread::sleep(Duration::from_secs(5));
    let happened = events.cancel();
    assert!(
        happened.failed[0].contains("the server had already ended: it was killed by signal 9"),
        "{:?}",
        happened.failed
    );
}

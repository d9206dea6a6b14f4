//! Events: what happens beside the load.
//!
//! Goal: statements on a connection of their own, once or again and again during a round, each noted with its time.
//! Non-goals: events that stop or cut servers, which come with the workloads that need them.

use crate::server::Session;
use crate::spec::{EventKind, EventSpec, EventTime};
use record::EventNote;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The events of one round, running until it is dropped or stopped.
pub struct Events {
    running: Vec<(Sender<()>, JoinHandle<Happened>)>,
}

/// What came of the events of a round.
#[derive(Debug, Default)]
pub struct Happened {
    pub notes: Vec<EventNote>,
    /// A sentence for each statement that the server refused.
    pub failed: Vec<String>,
    /// A sentence for each event whose time did not come before the round was over.
    pub missed: Vec<String>,
}

impl Events {
    /// Begins the events; `connected` holds a session for each.
    pub fn begin(events: &[EventSpec], connected: Vec<Session>) -> Events {
        let running = events
            .iter()
            .cloned()
            .zip(connected)
            .map(|(event, session)| {
                let (stop, stopped) = channel::<()>();
                let thread = std::thread::spawn(move || {
                    repeat(&event, session, |pause| {
                        stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout)
                    })
                });
                (stop, thread)
            });
        Events {
            running: running.collect(),
        }
    }

    /// Ends them after the statement that is running, and returns what happened, in the order of time.
    pub fn stop(self) -> Happened {
        let mut all = Happened::default();
        for (stop, thread) in self.running {
            drop(stop);
            let one = thread.join().unwrap_or_default();
            all.notes.extend(one.notes);
            all.failed.extend(one.failed);
            all.missed.extend(one.missed);
        }
        all.notes.sort_by_key(|note| note.at_ns);
        all
    }
}

/// Executes an event whenever it is due, until `wait` says that the round is over.
fn repeat(event: &EventSpec, mut session: Session, wait: impl Fn(Duration) -> bool) -> Happened {
    let mut happened = Happened::default();
    let EventKind::Sql(sql) = &event.kind else {
        let text = "only events with sql happen in rounds of queries".to_string();
        happened.failed.push(text);
        return happened;
    };
    let (first, every) = match event.when {
        EventTime::At(at) => (at, None),
        EventTime::Every(every) => (every, Some(every)),
    };
    let began = Instant::now();
    let mut due = first;
    while wait(due.saturating_sub(began.elapsed())) {
        for statement in sql
            .split(';')
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
        {
            let at_ns = super::trial::now_ns();
            let text = match session.query(statement) {
                Ok(reply) => format!(
                    "{statement}: {} rows in {:.3} s",
                    reply.rows.len(),
                    reply.elapsed.as_secs_f64()
                ),
                Err(error) => {
                    let text = format!("{statement}: {error}");
                    happened.failed.push(text.clone());
                    text
                }
            };
            happened.notes.push(EventNote {
                at_ns,
                ended_ns: None,
                kind: "sql".into(),
                text,
            });
        }
        let Some(every) = every else { break };
        // A statement slower than its interval is not repeated to catch up: the next whole interval counts.
        while due <= began.elapsed() {
            due += every;
        }
    }
    if happened.notes.is_empty() {
        happened.missed.push(format!(
            "a round was over before {} s had passed, so this never ran: {}",
            first.as_secs_f64(),
            sql.split_whitespace().collect::<Vec<_>>().join(" ")
        ));
    }
    happened
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session::Sqlite(rusqlite::Connection::open_in_memory().unwrap())
    }

    fn event(sql: &str) -> EventSpec {
        EventSpec {
            when: EventTime::At(Duration::ZERO),
            kind: EventKind::Sql(sql.into()),
            only: Vec::new(),
        }
    }

    #[test]
    fn an_event_whose_time_does_not_come_is_told() {
        let happened = repeat(&event("select 1"), session(), |_| false);
        assert!(happened.notes.is_empty());
        assert!(
            happened.missed[0].ends_with("never ran: select 1"),
            "{:?}",
            happened.missed
        );
    }

    #[test]
    fn a_statement_that_is_refused_is_told_and_the_next_runs() {
        let happened = repeat(&event("select nothing; select 1;"), session(), |_| true);
        assert_eq!((happened.notes.len(), happened.failed.len()), (2, 1));
        assert!(happened.missed.is_empty());
    }
}

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
    running: Vec<(Sender<()>, JoinHandle<Vec<EventNote>>)>,
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
    pub fn stop(self) -> Vec<EventNote> {
        let mut notes: Vec<EventNote> = self
            .running
            .into_iter()
            .flat_map(|(stop, thread)| {
                drop(stop);
                thread.join().unwrap_or_default()
            })
            .collect();
        notes.sort_by_key(|note| note.at_ns);
        notes
    }
}

/// Executes an event whenever it is due, until `wait` says that the round is over.
fn repeat(
    event: &EventSpec,
    mut session: Session,
    wait: impl Fn(Duration) -> bool,
) -> Vec<EventNote> {
    let EventKind::Sql(sql) = &event.kind;
    let mut notes = Vec::new();
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
                Err(error) => format!("{statement}: {error}"),
            };
            notes.push(EventNote {
                at_ns,
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
    notes
}

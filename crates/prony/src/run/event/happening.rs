//! One event: when it is due, what it does, and what is noted of it.

use super::{Happened, dump};
use host::{Paused, now_ns};
use record::EventNote;
use server::{Server, Session};
use spec::{EventKind, EventSpec, EventTime};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use workload::script::statements;

pub(super) struct Happening {
    pub(super) event: EventSpec,
    pub(super) session: Session,
    pub(super) server: Server,
    /// The load is over, and what is running is being ended.
    pub(super) is_cancelled: Arc<AtomicBool>,
}

impl Happening {
    /// Does it whenever it is due, until `wait` says that the load is over.
    pub(super) fn repeat(mut self, origin: Instant, wait: impl Fn(Duration) -> bool) -> Happened {
        let mut happened = Happened::default();
        let (first, every) = match self.event.when {
            EventTime::At(at) => (at, None),
            EventTime::Every(every) => (every, Some(every)),
        };
        let mut due = origin + first;
        while wait(due.saturating_duration_since(Instant::now())) {
            self.happen(&mut happened, &wait);
            let Some(every) = every else { break };
            // One slower than its interval is not repeated to catch up: the next whole interval counts.
            while due <= Instant::now() {
                due += every;
            }
        }
        if happened.notes.is_empty() {
            happened.missed.push(format!(
                "the load was over before {} s had passed, so this never ran: {}",
                first.as_secs_f64(),
                what(&self.event.kind)
            ));
        }
        happened
    }

    fn happen(&mut self, happened: &mut Happened, wait: &impl Fn(Duration) -> bool) {
        match self.event.kind.clone() {
            EventKind::Sql(sql) => {
                // Checked with the file, see `spec::events`.
                for statement in statements(&sql).unwrap_or_default() {
                    if self.is_cancelled.load(SeqCst) {
                        return;
                    }
                    self.note(happened, statement, |own| {
                        let rows = own.session.drain(statement);
                        rows.map(|rows| format!("{rows} rows in"))
                            .map_err(|error| error.to_string())
                    });
                }
            }
            EventKind::Dump => self.note(happened, "dump", |own| {
                let goes_on = || !own.is_cancelled.load(SeqCst);
                let read = dump::all_tables(&mut own.session, goes_on);
                read.map(|read| format!("{read} in"))
                    .map_err(|error| error.to_string())
            }),
            EventKind::Pause(pause) => self.note(happened, "pause", |own| {
                let pid = own
                    .server
                    .first()
                    .pid()
                    .ok_or("prony pauses only servers that it started itself")?;
                let paused = Paused::stop(pid)
                    .map_err(|error| format!("the server cannot be paused: {error}"))?;
                wait(pause);
                drop(paused);
                Ok("the server stood still for".to_string())
            }),
        }
    }

    /// Does it, and notes its time and what came of it: the beginning of a sentence that ends with the seconds it took.
    fn note(
        &mut self,
        happened: &mut Happened,
        name: &str,
        act: impl FnOnce(&mut Happening) -> Result<String, String>,
    ) {
        let (at_ns, began) = (now_ns(), Instant::now());
        let result = act(self);
        let elapsed_s = began.elapsed().as_secs_f64();
        let text = match (result, self.is_cancelled.load(SeqCst)) {
            (Ok(text), false) => format!("{name}: {text} {elapsed_s:.3} s"),
            // Some statements that are cancelled answer as if they had come to their end.
            (Ok(text), true) => format!("{name}: {text} {elapsed_s:.3} s, then the load was over"),
            (Err(_), true) => format!("{name}: cancelled, since the load was over"),
            (Err(error), false) => {
                let text = format!("{name}: {error}");
                happened.failed.push(text.clone());
                text
            }
        };
        happened.notes.push(EventNote {
            at_ns,
            ended_ns: Some(now_ns()),
            kind: kind(&self.event.kind).into(),
            node: None,
            numbers: BTreeMap::new(),
            text,
        });
    }
}

/// The word of the experiment file.
fn kind(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Sql(_) => "sql",
        EventKind::Dump => "dump",
        EventKind::Pause(_) => "pause",
    }
}

fn what(kind: &EventKind) -> String {
    match kind {
        EventKind::Sql(sql) => sql.split_whitespace().collect::<Vec<_>>().join(" "),
        EventKind::Dump => "the dump".into(),
        EventKind::Pause(pause) => format!("the pause of {} s", pause.as_secs_f64()),
    }
}

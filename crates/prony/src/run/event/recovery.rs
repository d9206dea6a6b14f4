//! An outage: ends the server by any means, starts it again, and measures its recovery.
//!
//! Purpose: one outage for every kind of event that ends or starts the server (`kill`, `stop`, `start`). All numbers count from the
//! moment of the event: `start_s` (the new process is launched), `accept_s` (it accepts a connection) and `commit_s` (prony's own
//! write is committed). `stats` adds `recovered_s` from the load's seconds. Boundaries: how the server ends is the caller's.

use super::happening::Happening;
use super::uptime::Phase;
use host::{interrupt, now_ns};
use record::event::OTHERS;
use server::{LogWatch, Node, RecoveryLog, ServerError, Session, StartRequest};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The default and the maximum of `within`: what a server may take from the start of its process to the first commit.
pub(super) const WITHIN_MAX: Duration = Duration::from_secs(900);
/// How long a client of a trial with an outage tries to reconnect: the recovery, and then as long as in any other trial.
pub(crate) const RECONNECT_FOR: Duration = WITHIN_MAX.saturating_add(load::RECONNECT_FOR);
/// Pause between two attempts to commit, and between two looks at an outage under way.
const POLL_EVERY: Duration = Duration::from_millis(5);

/// How long the end of a rollback is awaited after the first commit.
const ROLLED_BACK_WITHIN: Duration = Duration::from_secs(60);
const VERBOSITY: &str = "log_error_verbosity";

/// prony's own table, apart from the workload's data.
const TABLE: [&str; 2] = [
    "CREATE DATABASE IF NOT EXISTS prony_recovery",
    // Group Replication refuses tables without a key.
    "CREATE TABLE IF NOT EXISTS prony_recovery.commits (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB",
];
pub(super) const COMMIT: &str = "INSERT INTO prony_recovery.commits (n) VALUES (1)";

/// Creates the table for `commit_s`. Call it before the load, so that creating it does not disturb the load.
pub(crate) fn prepare(session: &mut Session) -> Result<(), ServerError> {
    let mut statements = TABLE.iter().chain([&COMMIT]);
    statements.try_for_each(|statement| session.execute(statement).map(drop))
}

/// What the file says about an outage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// The kind of event.
    pub kind: &'static str,
    /// Counted from 1.
    pub node: u32,
    /// Whether the node is started again. None: where the server has no other nodes.
    pub restart: Option<bool>,
    /// Limit from the start of the process to the first commit.
    pub within: Duration,
}

impl Plan {
    /// Reads `node`, `restart` and `within`; `others` are the further keys of this kind.
    pub(super) fn read(
        kind: &'static str,
        node: &spec::Node,
        example: &str,
        others: &[&str],
    ) -> Option<Plan> {
        let section = node.section(example)?;
        section.allow(kind, &[&["node", "restart", "within"], others].concat());
        let number = number(&section)?;
        let restart = section.get_or("restart", None, |node| {
            node.truth("restart = true").map(Some)
        })?;
        if let (Some(false), Some(node)) = (restart, section.get("within")) {
            node.note(
                "\"within\" limits a start, and with restart = false this event starts nothing",
                "no effect",
                "write it in the \"start\" event",
            );
            return None;
        }
        let within = section.get_or("within", WITHIN_MAX, within)?;
        Some(Plan {
            kind,
            node: number,
            restart,
            within,
        })
    }
}

/// The number of the node that an event happens to, by default the first; `spec` checks that the server has it.
pub(super) fn number(section: &spec::Section) -> Option<u32> {
    let numbers = 1..=i64::from(u32::MAX);
    let number = section.get_or(spec::NODE, 1, |node| node.whole(numbers, "node = 1"))?;
    Some(number as u32)
}

fn within(node: &spec::Node) -> Option<Duration> {
    let within = node.duration("within = \"15m\"")?;
    if within.is_zero() || within > WITHIN_MAX {
        node.note(
            "the limit of a recovery is above 0 and at most 15 minutes",
            "out of range",
            "write within = \"15m\" or less",
        );
        return None;
    }
    Some(within)
}

/// Ends the node with `end`, starts it again if the plan says so, and measures. `end` returns what it did, as the beginning of the
/// event's text; the node's process must be gone then. It may do more while the server is down, and add numbers.
///
/// The event waits for an outage under way. It fails if the server is down, or does not recover in time; then the server is stopped.
pub(super) fn outage(
    own: &mut Happening,
    plan: &Plan,
    end: impl FnOnce(&mut Happening, &Arc<dyn Node>) -> Result<String, String>,
) {
    change(own, plan, |own, before, began| match before {
        Phase::Down(kind, since) => {
            let says = format!("the server is already down, ended by an earlier \"{kind}\" event");
            (Phase::Down(kind, since), Err(says))
        }
        Phase::Lost => (Phase::Lost, Err("the server is down".to_string())),
        Phase::Up | Phase::Changing => ended(own, plan, began, end),
    });
}

/// Starts a node that an earlier event left down, and measures.
pub(super) fn start(own: &mut Happening, plan: &Plan) {
    change(own, plan, |own, before, began| match before {
        Phase::Up | Phase::Changing => {
            let says = "the server is running, so there is nothing to start";
            (Phase::Up, Err(says.to_string()))
        }
        Phase::Lost => (Phase::Lost, Err("the server did not recover".to_string())),
        Phase::Down(_, since) => {
            let down_s = began.duration_since(since).as_secs_f64();
            own.numbers.insert("down_s".into(), down_s);
            started(own, plan, began)
        }
    });
}

/// The server's phase after an attempt to end or to start it, and the event's text or why it failed.
type Changed = (Phase, Result<String, String>);

/// Waits for an outage under way, changes the server's phase with `act` and notes the event. `act` gets the phase before and the time
/// of the event. Does nothing if the load is over first.
fn change(
    own: &mut Happening,
    plan: &Plan,
    act: impl FnOnce(&mut Happening, Phase, Instant) -> Changed,
) {
    let Some(before) = own.begin_outage(plan.node) else {
        return;
    };
    let (at_ns, began) = (now_ns(), Instant::now());
    own.node = Some(plan.node);
    if let Some(server) = own.server.as_ref().filter(|_| has_others(own)) {
        let others = server.nodes().count() as f64 - 1.0;
        own.numbers.insert(OTHERS.into(), others);
    }
    let (phase, result) = act(own, before, began);
    let is_gone = matches!(phase, Phase::Down(..)) && result.is_ok();
    own.uptime.end(plan.node, phase);
    let first = is_gone.then(|| own.first_commit_without(plan.node, began));
    own.note_outage(plan.kind, at_ns, result);
    if let Some(first) = first.flatten() {
        own.add_first_commit(first);
    }
}

fn ended(
    own: &mut Happening,
    plan: &Plan,
    began: Instant,
    end: impl FnOnce(&mut Happening, &Arc<dyn Node>) -> Result<String, String>,
) -> Changed {
    let node = match running(own, plan) {
        Ok(node) => node,
        Err(error) => return (Phase::Up, Err(error)),
    };
    match end(own, &node) {
        Err(error) if node.pid().is_some() => (Phase::Up, Err(error)),
        Err(error) => (without(own, plan, began), Err(error)),
        Ok(text) if !plan.restart.unwrap_or(!has_others(own)) => (
            Phase::Down(plan.kind, began),
            Ok(format!("{text}, not restarted")),
        ),
        Ok(text) => match recover(own, &node, plan, began) {
            Ok(recovered) => (Phase::Up, Ok(format!("{text}; {recovered}"))),
            Err(error) => (
                without(own, plan, began),
                Err(format!("{text}, but {error}")),
            ),
        },
    }
}

/// Whether the server has a topology, and so may go on without a node.
fn has_others(own: &Happening) -> bool {
    let server = own.server.as_ref();
    server.is_some_and(|server| server.formation().is_some())
}

/// The phase of a node that is gone: the load goes on where there are others.
fn without(own: &Happening, plan: &Plan, since: Instant) -> Phase {
    if has_others(own) {
        Phase::Down(plan.kind, since)
    } else {
        Phase::Lost
    }
}

fn node(own: &Happening, plan: &Plan) -> Result<Arc<dyn Node>, String> {
    let node = own.server()?.node(plan.node as usize).cloned();
    node.ok_or_else(|| format!("the server has no node {}", plan.node))
}

/// The node, which must be a running process of prony's.
fn running(own: &Happening, plan: &Plan) -> Result<Arc<dyn Node>, String> {
    let node = node(own, plan)?;
    match (node.pid(), node.exit_reason()) {
        (_, Some(reason)) => Err(format!("the server had already ended: {reason}")),
        (None, None) => Err("prony ends only servers that it started itself".into()),
        (Some(_), None) => Ok(node),
    }
}

fn started(own: &mut Happening, plan: &Plan, began: Instant) -> Changed {
    let node = match node(own, plan) {
        Ok(node) => node,
        Err(error) => return (Phase::Lost, Err(error)),
    };
    match recover(own, &node, plan, began) {
        Ok(text) => (Phase::Up, Ok(text)),
        Err(error) => (without(own, plan, began), Err(error)),
    }
}

/// Starts the node and waits for its first commit, or until it takes part in its server again. A node that takes longer, or fails, is
/// killed.
fn recover(
    own: &mut Happening,
    node: &Arc<dyn Node>,
    plan: &Plan,
    began: Instant,
) -> Result<String, String> {
    let server = own.server.clone();
    let formation = server
        .as_ref()
        .and_then(|server| Some((server, server.formation()?)));
    let request = node.started_with();
    let request = request.ok_or("prony restarts only servers that it started itself")?;
    let request = with_notes(request);
    let log = node.log_path().map(|path| LogWatch::begin(&path));
    let start_s = began.elapsed().as_secs_f64();
    let measured = limited(node, plan.within, || {
        let started = node.start(&request).map_err(|error| explain(&error))?;
        let accept_s = start_s + started.elapsed_s;
        match formation {
            Some((server, formation)) => formation
                .rejoined(server, plan.node)
                .map_err(|error| explain(&error))?,
            None => first_commit(node.as_ref())?,
        }
        Ok((accept_s, began.elapsed().as_secs_f64()))
    });
    let (accept_s, commit_s) = measured.inspect_err(|_| {
        let _ = node.kill();
    })?;
    for (name, value) in [
        ("start_s", start_s),
        ("accept_s", accept_s),
        ("commit_s", commit_s),
    ] {
        own.numbers.insert(name.into(), value);
    }
    own.log = log;
    Ok(match formation {
        Some(_) => {
            format!("it answered after {accept_s:.3} s and took part again after {commit_s:.3} s")
        }
        None => {
            format!("first connection after {accept_s:.3} s, first commit after {commit_s:.3} s")
        }
    })
}

/// Also requests notes in the log: MySQL 8.0 and later log the phases of a recovery only then.
fn with_notes(mut request: StartRequest) -> StartRequest {
    let is_set = |(name, _): &(String, String)| spec::listed(name) == VERBOSITY;
    if !request.settings.iter().any(is_set) {
        let name = format!("loose_{VERBOSITY}");
        request.settings.push((name, "3".to_string()));
    }
    request
}

impl Happening {
    /// Notes an outage. It is completed even if the load ends meanwhile, so it is never cancelled.
    pub(super) fn note_outage(&mut self, kind: &str, at_ns: i64, result: Result<String, String>) {
        let text = match result {
            Ok(text) => format!("{kind}: {text}"),
            Err(error) => {
                let text = format!("{kind}: {error}");
                self.happened.failed.push(text.clone());
                text
            }
        };
        // The outage is over; a rollback may still run.
        let ended_ns = now_ns();
        let phases = phases(self);
        self.numbers.extend(phases.numbers());
        self.push_note(at_ns, ended_ns, text);
    }
}

/// The phases of the last recovery from the server's log. A rollback may continue after the first commit, so this waits for its end,
/// but not after the end of the load.
fn phases(own: &mut Happening) -> RecoveryLog {
    let Some(log) = own.log.take() else {
        return RecoveryLog::default();
    };
    let began = Instant::now();
    loop {
        let phases = RecoveryLog::from_lines(&log.lines());
        let waits = phases.is_rolling_back && began.elapsed() < ROLLED_BACK_WITHIN;
        if !waits || !own.wait(POLL_EVERY) {
            return phases;
        }
    }
}

/// Runs `start` under a limit. The node is killed when the limit is over, which ends the start.
fn limited<T>(
    node: &Arc<dyn Node>,
    within: Duration,
    start: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    let (done, is_done) = channel::<()>();
    let limited = node.clone();
    let limit = std::thread::spawn(move || {
        let is_over = is_done.recv_timeout(within) == Err(RecvTimeoutError::Timeout);
        if is_over {
            let _ = limited.kill();
        }
        is_over
    });
    let result = start();
    drop(done);
    match (limit.join().unwrap_or(false), result) {
        (true, _) => Err(format!(
            "it did not recover within {} s, so it was stopped; see its log for the cause, or set a larger within (at most 15m)",
            within.as_secs_f64()
        )),
        (false, result) => result,
    }
}

/// Commits a write of prony's own. A server that accepts connections may still refuse writes.
fn first_commit(node: &dyn Node) -> Result<(), String> {
    loop {
        let committed = node
            .connect()
            .and_then(|mut session| session.execute(COMMIT));
        match (committed, node.exit_reason()) {
            (Ok(_), _) => return Ok(()),
            (Err(_), Some(reason)) => return Err(format!("it ended after its restart: {reason}")),
            (Err(_), None) if interrupt::asked() => return Err("prony was interrupted".into()),
            // Killed at the limit.
            (Err(error), None) if node.pid().is_none() => return Err(explain(&error)),
            (Err(_), None) => std::thread::sleep(POLL_EVERY),
        }
    }
}

/// Without the lines of the log, which is stored with the run.
fn explain(error: &ServerError) -> String {
    match error {
        ServerError::NotStarted { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_keeps_the_verbosity_of_the_experiment_however_it_is_written() {
        let settings = |name: &str| {
            let request = StartRequest {
                settings: vec![(name.to_string(), "1".to_string())],
                ..StartRequest::default()
            };
            with_notes(request).settings.len()
        };
        let ways = ["log-error-verbosity", "loose_log_error_verbosity"];
        assert_eq!(ways.map(settings), [1, 1]);
        assert_eq!(settings("sync_binlog"), 2);
    }
}

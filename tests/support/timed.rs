//! Experiments with timed loads, and accessors for their results.

use super::process::{ended, send, servers, until};
use super::{Bench, Ended};
use hdrhistogram::Histogram;
use record::LatencyKind;
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::Child;
use store::Store;

/// Writes an experiment with `workload` on MariaDB; `rest` is its load, protocol and everything else.
pub(crate) fn experiment(bench: &Bench, name: &str, workload: &str, rest: &str) -> String {
    let text = format!(
        "title = \"{name}\"\nquestion = \"What is the result of a timed load?\"\n\n[server.one]\nbuild = \"mariadb\"\n\n{workload}\n{rest}"
    );
    bench.experiment(name, &text)
}

/// Parses the output of a command with `--format json`.
pub(crate) fn shown(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: status {}\n{}\n{}",
            ended.status, ended.stdout, ended.stderr
        )
    })
}

/// Runs an experiment and returns its JSON result, even if the machine was busy.
pub(crate) fn measured(bench: &Bench, file: &str) -> Value {
    let ended = bench.run(&["run", file]);
    assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    let run = bench
        .runs()
        .pop()
        .unwrap_or_else(|| panic!("{}", ended.stderr));
    let shown = bench.json(&run);
    for trial in trials(&shown) {
        assert!(is_whole(&trial), "{}", ended.stderr);
    }
    shown
}

/// The section `[workload.oltp]` with 1,000 rows.
pub(crate) fn oltp(operations: &str) -> String {
    format!("[workload.oltp]\noperations = \"{operations}\"\nrows = 1000\n")
}

pub(crate) fn trials(shown: &Value) -> Vec<Value> {
    shown["trials"].as_array().unwrap().clone()
}

/// The only trial at this level of a factor.
pub(crate) fn at_level(shown: &Value, factor: &str, level: &str) -> Value {
    let at = |trial: &Value| trial["levels"][factor] == level;
    let mut found = trials(shown).into_iter().filter(at);
    let trial = found.next();
    assert!(found.next().is_none(), "one trial at {factor} {level}");
    trial.unwrap_or_else(|| panic!("no trial at {factor} {level}: {shown}"))
}

pub(crate) fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is not a number"))
}

/// The successful operations of a trial, including those that ended after its last whole second.
pub(crate) fn ended_operations(trial: &Value) -> f64 {
    let samples = trial["samples"].as_array().unwrap().iter();
    samples.map(|sample| number(&sample["throughput"])).sum()
}

/// The texts of a trial's flags of one kind.
pub(crate) fn flags(trial: &Value, kind: &str) -> String {
    let flags = trial["flags"].as_array().unwrap().iter();
    let texts = flags.filter(|flag| flag["kind"] == kind);
    texts.map(|flag| flag["text"].to_string()).collect()
}

/// The same, one by one.
pub(crate) fn texts(trial: &Value, kind: &str) -> Vec<String> {
    let flags = trial["flags"].as_array().unwrap().iter();
    let its = flags.filter(|flag| flag["kind"] == kind);
    its.map(|flag| flag["text"].as_str().unwrap().to_string())
        .collect()
}

/// Flags that a busy machine or disk alone can raise: the engine was late itself or did not run, an operation took longer than a load
/// of seconds, and one that stood still at the end of a slice of 0.3 s made most of it an edge.
const OF_A_BUSY_MACHINE: [&str; 4] = [
    "engine_limit",
    "generator_stalled",
    "operation_too_long",
    "slices_short",
];

/// Flags that make a trial invalid for another reason.
const OF_A_FAULT: [&str; 9] = [
    "audit_failed",
    "clients_lost",
    "direct_io_cached",
    "event_failed",
    "limit_lost",
    "nice_changed",
    "plan_unmet",
    "trial_failed",
    "wrong_answer",
];

/// Whether a trial was measured completely, even if the machine was too busy for its figures.
pub(crate) fn is_whole(trial: &Value) -> bool {
    let has = |kinds: &[&str]| kinds.iter().any(|kind| !flags(trial, kind).is_empty());
    let is_only_disturbed = || has(&OF_A_BUSY_MACHINE) && !has(&OF_A_FAULT);
    trial["state"] == "done" || (trial["state"] == "invalid" && is_only_disturbed())
}

impl Ended {
    /// Asserts that prony measured all that it should: it ended with 0, or with 3 because a busy machine alone made figures invalid, which
    /// it says of each trial on standard error, and of trials of before in the warnings.
    pub(crate) fn measured(&self) {
        let says = |kind: &&str| {
            self.stderr.contains(&format!("{kind}: ")) || self.stdout.contains(&format!("{kind} ("))
        };
        let is_disturbed = || OF_A_BUSY_MACHINE.iter().any(says) && !OF_A_FAULT.iter().any(says);
        assert!(
            self.status == 0 || self.status == 3 && is_disturbed(),
            "{}: {}\n{}",
            self.status,
            self.stdout,
            self.stderr
        );
    }
}

/// How often a run is repeated where a busy machine has made a trial invalid, as its message says.
const ATTEMPTS: usize = 3;

impl Bench {
    /// Runs prony until all its trials are valid. The last run is the one that counts.
    pub(crate) fn valid(&self, arguments: &[&str]) -> Ended {
        let mut ended = self.run(arguments);
        for _ in 1..ATTEMPTS {
            if ended.status == 0 {
                break;
            }
            ended.measured();
            ended = self.run(arguments);
        }
        assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
        ended
    }
}

/// The states of the trials in ascending order. One that only a busy machine has made invalid is done.
pub(crate) fn states(shown: &Value) -> Vec<String> {
    let state = |trial: Value| match is_whole(&trial) {
        true => "done".to_string(),
        false => trial["state"].as_str().unwrap().to_string(),
    };
    let mut states: Vec<String> = trials(shown).into_iter().map(state).collect();
    states.sort_unstable();
    states
}

/// The trials of a command with `--format json`, all of them whole.
pub(crate) fn whole(ended: &Ended) -> Vec<Value> {
    assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    let trials = trials(&shown(ended));
    for trial in &trials {
        assert!(is_whole(trial), "{trial}\n{}", ended.stderr);
    }
    trials
}

/// How many server starts each trial had, in execution order.
pub(crate) fn starts(run: &Path) -> Vec<usize> {
    let trials = Store::open(&run.join("run.sqlite"))
        .unwrap()
        .trials()
        .unwrap();
    trials.iter().map(|trial| trial.start_s.len()).collect()
}

/// The responses (ns) of each second of a run's only trial.
fn responses(run: &Path) -> Vec<(u32, Histogram<u64>)> {
    let trials = Store::open(&run.join("run.sqlite"))
        .unwrap()
        .trials_whole()
        .unwrap();
    let load = trials[0].load.as_ref().unwrap();
    let of_seconds = load.histograms.iter().filter(|note| {
        note.operation.is_none() && note.kind == LatencyKind::Response && note.every_s == 1
    });
    of_seconds
        .map(|note| (note.start_s, note.nanoseconds.unpack()))
        .collect()
}

/// The median response (ms) of each second with an answer.
pub(crate) fn medians_ms(run: &Path) -> Vec<(u32, f64)> {
    let answered = responses(run)
        .into_iter()
        .filter(|(_, all)| !all.is_empty());
    answered
        .map(|(second, all)| (second, all.value_at_quantile(0.5) as f64 / 1e6))
        .collect()
}

/// A percentile of all responses of a run's only trial in ms, even with too few responses for a report.
pub(crate) fn response_ms(run: &Path, quantile: f64) -> f64 {
    let each = responses(run).into_iter().map(|(_, all)| all);
    let all = each.reduce(|mut all, second| {
        all.auto(true);
        all.add(second).unwrap();
        all
    });
    all.unwrap().value_at_quantile(quantile) as f64 / 1e6
}

/// How many seconds of the running trial with these levels (`clients=1`) are recorded so far.
fn seconds_under_way(run: &Path, levels: &str) -> usize {
    let Ok(store) = Store::open(&run.join("run.sqlite")) else {
        return 0;
    };
    let Ok(Some(live)) = store.live_of() else {
        return 0;
    };
    let pairs = live.key.levels.iter();
    let of: Vec<String> = pairs
        .map(|(factor, level)| format!("{factor}={level}"))
        .collect();
    match of.join(", ") == levels {
        true => live.seconds.len(),
        false => 0,
    }
}

/// Waits until so many seconds of the running trial with these levels are recorded.
pub(crate) fn until_seconds(bench: &Bench, levels: &str, count: usize) {
    until("seconds of the load", || {
        let run = bench.runs().pop();
        run.is_some_and(|run| seconds_under_way(&run, levels) >= count)
    });
}

/// Sends the signal to a running prony while its server is down, in the trial with these levels. Returns prony's exit status.
pub(crate) fn signalled_in_an_outage(
    bench: &Bench,
    running: Child,
    levels: &str,
    signal: Signal,
) -> i32 {
    until_seconds(bench, levels, 1);
    // Looking at every process of the machine could miss a short outage.
    let before = servers(bench);
    let is_gone = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline"));
        line.unwrap_or_default().is_empty()
    };
    until("the outage", || before.iter().all(|(pid, _)| is_gone(pid)));
    send(running.id(), signal);
    ended(running).status
}

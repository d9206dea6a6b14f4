//! Experiments with timed loads, and what is read of their runs.

use super::Bench;
use record::Store;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// A run of `workload` on MariaDB; `rest` holds its load, its protocol and what else it needs.
pub fn experiment(bench: &Bench, name: &str, workload: &str, rest: &str) -> String {
    let text = format!(
        "title = \"{name}\"\nquestion = \"What does a timed load come to?\"\n\n[server.one]\nbuild = \"mariadb\"\n\n{workload}\n{rest}"
    );
    bench.experiment(name, &text)
}

/// `[workload.oltp]` on a thousand rows.
pub fn oltp(operations: &str) -> String {
    format!("[workload.oltp]\noperations = \"{operations}\"\nrows = 1000\n")
}

pub fn trials(shown: &Value) -> Vec<Value> {
    shown["trials"].as_array().unwrap().clone()
}

/// The one trial at this level of a factor.
pub fn at_level(shown: &Value, factor: &str, level: &str) -> Value {
    let at = |trial: &Value| trial["levels"][factor] == level;
    let mut found = trials(shown).into_iter().filter(at);
    let trial = found.next();
    assert!(found.next().is_none(), "one trial at {factor} {level}");
    trial.unwrap_or_else(|| panic!("no trial at {factor} {level}: {shown}"))
}

pub fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// All of a trial without failed ones, those too that ended after its last whole second.
pub fn ended_operations(trial: &Value) -> f64 {
    let samples = trial["samples"].as_array().unwrap().iter();
    samples.map(|sample| number(&sample["throughput"])).sum()
}

/// The texts of a trial's flags of one kind.
pub fn flags(trial: &Value, kind: &str) -> String {
    let flags = trial["flags"].as_array().unwrap().iter();
    let texts = flags.filter(|flag| flag["kind"] == kind);
    texts.map(|flag| flag["text"].to_string()).collect()
}

/// Measured whole. On a machine that is busy with other things the engine may say that it was late itself.
pub fn is_whole(trial: &Value) -> bool {
    trial["state"] == "done" || !flags(trial, "engine_limit").is_empty()
}

/// How often each trial started a server, in the order of execution.
pub fn starts(run: &Path) -> Vec<usize> {
    let trials = Store::open(&run.join("run.sqlite"))
        .unwrap()
        .trials()
        .unwrap();
    trials.iter().map(|trial| trial.start_s.len()).collect()
}

/// The seconds of the trial that is under way, by its levels: `clients=1`.
pub fn seconds_under_way(run: &Path, levels: &str) -> usize {
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

/// Waits for something that a running prony brings about.
pub fn until(what: &str, mut there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "{what} did not come about"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// (pid, socket) of the servers of this bench.
pub fn servers(bench: &Bench) -> Vec<(u32, String)> {
    let lines = bench.processes();
    let servers = lines.iter().filter_map(|line| {
        let (pid, line) = line.split_once(": ")?;
        let socket = line.split_once("--socket=")?.1.split(' ').next()?;
        Some((pid.parse().ok()?, socket.to_string()))
    });
    servers.collect()
}

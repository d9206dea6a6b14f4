//! How often prony decides a difference: between a server and itself, and between two that differ by a planted 10 %.
//!
//! cargo bench -p prony --bench decides -- same|planted|slices RUNS FOLDER
//!
//! `same`: MariaDB against itself, oltp and ssb in turn, three blocks. At most a tenth of the runs may decide a difference.
//! `planted`: oltp, where the server may use one processor or 0.91 of it, with three to nine blocks. At least 80 % of the runs must decide
//! that the first is faster where the noise of a trial is at most 5 %, else as many as the power formula predicts. `slices`: MariaDB against
//! itself, point-select and update-index, each with trials one after another and in slices of the same measured time, in alternation. FOLDER
//! gets the experiment files and the runs. A row is printed as soon as its run ends. The last results are in bench/results/decides.md.

use serde_json::Value;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const SAME_OLTP: &str = r#"
title    = "A server against itself: oltp"
question = "Does prony see a difference between a server and itself?"

[server.a]
build = "mariadb"
[server.b]
build = "mariadb"

[workload.oltp]
operations = "read-write"
tables     = 1
rows       = 10000

[load.closed]
clients = [4]

[protocol]
time    = "3s"
warmup  = "1s"
short   = true
blocks  = 3
control = false

[[claim]]
says     = "a has a higher throughput than b"
value    = "throughput"
of       = { server = "a" }
to       = { server = "b" }
at_least = 1.05
"#;

const SAME_SSB: &str = r#"
title    = "A server against itself: Star Schema queries"
question = "Does prony see a difference between a server and itself?"

[server.a]
build = "mariadb"
[server.b]
build = "mariadb"

[workload.ssb]
scale = 0.02

[protocol]
rounds  = ["hot", "hot", "hot"]
blocks  = 3
control = false

[[claim]]
says     = "a takes longer than b"
value    = "elapsed"
of       = { server = "a", round = "hot" }
to       = { server = "b", round = "hot" }
at_least = 1.05
"#;

const PLANTED: &str = r#"
title    = "A tenth of a processor less"
question = "Does prony see a difference of 10 % that was planted?"

[server.mariadb]
build = "mariadb"

[factor.processor."1"]
limits = { cpus = 1.0 }
[factor.processor."0.91"]
limits = { cpus = 0.91 }

[workload.oltp]
operations = "read-write"
tables     = 1
rows       = 10000

[load.closed]
clients = [4]

[protocol]
time    = "3s"
warmup  = "1s"
short   = true
blocks  = { first = 3, most = 9 }
control = false

[[claim]]
says     = "A whole processor gives a higher throughput than 0.91 of one"
value    = "throughput"
of       = { processor = "1" }
to       = { processor = "0.91" }
at_least = 1.05
"#;

/// The experiments of `slices`, by name.
fn turns() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for operations in ["point-select", "update-index"] {
        for (name, slices) in [("in turn", "off"), ("slices of 1 s", "1s")] {
            let time = format!("slices  = \"{slices}\"\ntime    = \"10s\"");
            let text = SAME_OLTP
                .replace("read-write", operations)
                .replace("rows       = 10000", "rows       = 100000")
                .replace("clients = [4]", "clients = [8]")
                .replace("time    = \"3s\"", &time)
                .replace("warmup  = \"1s\"", "warmup  = \"3s\"")
                .replace("blocks  = 3", "blocks  = 5");
            all.push((format!("{operations} {name}"), text));
        }
    }
    all
}

/// The logarithm of the planted ratio of throughputs, 1 to 0.91 processors, if the processor limits the server.
const PLANTED_LN: f64 = 0.0943;
/// The most blocks of `PLANTED`, and the error rate of its last look: 0.3 of 5 % (docs/METHODOLOGY.md, 2).
const MOST: f64 = 9.0;
const LAST_LOOK: f64 = 0.015;

/// What one run says of its two cells.
struct Outcome {
    ratio: Option<f64>,
    ci: Option<(f64, f64)>,
    direction: String,
    blocks: usize,
    /// The standard deviation of a trial's logarithm, from the differences of the cells within blocks.
    noise: Option<f64>,
}

fn main() {
    let arguments: Vec<String> = (std::env::args().skip(1))
        .filter(|argument| argument != "--bench")
        .collect();
    let [kind, runs, folder] = &arguments[..] else {
        eprintln!("skipped: give same, planted or slices, a number of runs and a folder");
        return;
    };
    let named = |(name, text): (&str, &str)| (name.to_string(), text.to_string());
    let experiments: Vec<(String, String)> = match kind.as_str() {
        "same" => [("oltp", SAME_OLTP), ("ssb", SAME_SSB)].map(named).into(),
        "planted" => [("planted", PLANTED)].map(named).into(),
        "slices" => turns(),
        other => panic!("{other}: same, planted or slices"),
    };
    let runs: usize = runs.parse().expect("RUNS is a number");
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    println!("| run | experiment | blocks | ratio | 95 % CI | direction | noise of a trial |");
    println!("| ---: | --- | ---: | ---: | --- | --- | ---: |");
    let mut outcomes = Vec::new();
    for (number, (name, text)) in (1..=runs).zip(experiments.iter().cycle()) {
        match outcome(&folder, name, text) {
            Ok(outcome) => {
                println!("| {number} | {name} | {outcome} |");
                outcomes.push((name, outcome));
            }
            Err(says) => println!("| {number} | {name} | - | - | - | invalid: {says} | - |"),
        }
    }
    match kind.as_str() {
        "slices" => experiments.iter().for_each(|(name, _)| {
            let own = outcomes.iter().filter(|(of, _)| *of == name);
            of_ratio(name, own.map(|(_, outcome)| outcome));
        }),
        _ => summary(
            &outcomes
                .iter()
                .map(|(_, outcome)| outcome)
                .collect::<Vec<_>>(),
        ),
    }
}

/// The standard deviation of the logarithm of a block's ratio, over all runs of an experiment.
fn of_ratio<'o>(name: &str, outcomes: impl Iterator<Item = &'o Outcome>) {
    let (mut squares, mut freedom, mut decided, mut runs) = (0.0, 0.0, 0, 0);
    for outcome in outcomes {
        let own = outcome.blocks.saturating_sub(1) as f64;
        // Of the difference of two trials.
        squares += own * 2.0 * outcome.noise.unwrap_or_default().powi(2);
        freedom += own;
        decided += usize::from(["above", "below"].contains(&outcome.direction.as_str()));
        runs += 1;
    }
    let sd = (squares / freedom).sqrt();
    println!(
        "{name}: sd of the logarithm of a block's ratio {sd:.4} ({freedom} degrees of freedom); {decided} of {runs} runs decided"
    );
}

/// # Errors
/// The last line that prony printed, if the run is invalid. Such a run counts for nothing.
fn outcome(folder: &Path, name: &str, text: &str) -> Result<Outcome, String> {
    let file = folder.join(format!("{}.toml", name.replace(' ', "-")));
    std::fs::write(&file, text).expect("the experiment can be written");
    let results = folder.join("results");
    let run = Command::new(env!("CARGO_BIN_EXE_prony"))
        .arg("run")
        .arg(&file)
        .arg("--results")
        .arg(&results)
        .output()
        .expect("prony starts");
    if !run.status.success() {
        let stderr = String::from_utf8_lossy(&run.stderr);
        return Err(stderr.lines().last().unwrap_or_default().to_string());
    }
    Ok(read(&json(&results)))
}

fn json(results: &Path) -> Value {
    let shown = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["show", "@latest", "--format", "json", "--results"])
        .arg(results)
        .output()
        .expect("prony starts");
    serde_json::from_slice(&shown.stdout).expect("show prints JSON")
}

fn read(shown: &Value) -> Outcome {
    let claim = &shown["claims"][0];
    let blocks = blocks(shown);
    Outcome {
        ratio: claim["measured"].as_f64(),
        ci: claim["ci"][0].as_f64().zip(claim["ci"][1].as_f64()),
        direction: claim["direction"].as_str().unwrap_or("none").to_string(),
        blocks: blocks.len(),
        noise: noise(&blocks),
    }
}

/// The logarithm of each cell's value in each block: of the throughput, or of the time of the rounds.
fn blocks(shown: &Value) -> Vec<Vec<f64>> {
    let mut blocks: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
    for trial in shown["trials"].as_array().into_iter().flatten() {
        let rounds = trial["rounds"].as_array().into_iter().flatten();
        let elapsed_s: f64 = rounds.filter_map(|round| round["elapsed_s"].as_f64()).sum();
        let value = trial["throughput"].as_f64().unwrap_or(elapsed_s);
        let cell = format!("{} {}", trial["server"], trial["levels"]);
        let block = trial["block"].as_u64().unwrap_or_default();
        blocks.entry(block).or_default().insert(cell, value.ln());
    }
    let cells = blocks.into_values().map(|cells| cells.into_values());
    cells.map(Iterator::collect).collect()
}

fn noise(blocks: &[Vec<f64>]) -> Option<f64> {
    let differences: Vec<f64> = (blocks.iter())
        .filter_map(|cells| match cells[..] {
            [a, b] => Some(a - b),
            _ => None,
        })
        .collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
    (count > 1.0).then(|| (squares / (count - 1.0) / 2.0).sqrt())
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let ratio = or_dash(self.ratio.map(|ratio| format!("{ratio:.3}")));
        let ci = or_dash(self.ci.map(|(low, high)| format!("{low:.3} to {high:.3}")));
        let noise = or_dash(self.noise.map(|sd| format!("{:.1} %", sd * 100.0)));
        let Outcome {
            blocks, direction, ..
        } = self;
        write!(f, "{blocks} | {ratio} | {ci} | {direction} | {noise}")
    }
}

fn summary(outcomes: &[&Outcome]) {
    let is = |word: &str| {
        let decided = outcomes.iter().filter(|outcome| outcome.direction == word);
        decided.count()
    };
    println!(
        "\n{} valid runs: {} decided above 1, {} decided below 1.",
        outcomes.len(),
        is("above"),
        is("below")
    );
    let squares: Vec<f64> = (outcomes.iter())
        .filter_map(|outcome| Some(outcome.noise?.powi(2)))
        .collect();
    if squares.is_empty() {
        return;
    }
    let pooled = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    println!(
        "Noise of a trial over all runs: {:.1} %. With it, the last of the looks alone finds the planted difference in {:.0} % of the runs.",
        pooled * 100.0,
        power(pooled) * 100.0
    );
}

/// The probability that the paired t test of the last look sees the planted difference. Zar, "Biostatistical analysis", 5th edition, 2010.
fn power(noise: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, MOST - 1.0).expect("degrees of freedom above 0");
    let error = noise * (2.0 / MOST).sqrt();
    t.cdf(PLANTED_LN / error - t.inverse_cdf(1.0 - LAST_LOOK / 2.0))
}

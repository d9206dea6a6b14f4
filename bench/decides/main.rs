//! How often prony decides a difference: between a server and itself, and between two that differ by a planted 10 %.
//!
//! cargo bench -p prony --bench decides -- same|planted RUNS FOLDER
//!
//! `same`: MariaDB against itself, oltp and ssb in turn, three blocks. At most a tenth of the runs may decide a difference.
//! `planted`: oltp, where the server may use one processor or 0.91 of it, with three to nine blocks. At least 80 % of the runs must decide
//! that the first is faster. FOLDER gets the experiment files and the runs. The last results are in bench/results/decides.

use serde_json::Value;
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

struct Outcome {
    experiment: &'static str,
    measured: Option<f64>,
    ci: Option<(f64, f64)>,
    direction: String,
    blocks: usize,
}

fn main() {
    let arguments: Vec<String> = (std::env::args().skip(1))
        .filter(|argument| argument != "--bench")
        .collect();
    let [kind, runs, folder] = &arguments[..] else {
        eprintln!("skipped: give same or planted, a number of runs and a folder");
        return;
    };
    let experiments = match kind.as_str() {
        "same" => vec![("oltp", SAME_OLTP), ("ssb", SAME_SSB)],
        "planted" => vec![("planted", PLANTED)],
        other => panic!("{other}: same or planted"),
    };
    let runs: usize = runs.parse().expect("RUNS is a number");
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let outcomes: Vec<Outcome> = (experiments.into_iter().cycle().take(runs))
        .map(|(name, text)| outcome(&folder, name, text))
        .collect();
    print(&outcomes);
}

fn outcome(folder: &Path, name: &'static str, text: &str) -> Outcome {
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).expect("the experiment can be written");
    let results = folder.join("results");
    let run = Command::new(env!("CARGO_BIN_EXE_prony"))
        .arg("run")
        .arg(&file)
        .arg("--results")
        .arg(&results)
        .output()
        .expect("prony starts");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    read(name, &json(&results))
}

fn json(results: &Path) -> Value {
    let shown = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["show", "@latest", "--format", "json", "--results"])
        .arg(results)
        .output()
        .expect("prony starts");
    serde_json::from_slice(&shown.stdout).expect("show prints JSON")
}

fn read(experiment: &'static str, shown: &Value) -> Outcome {
    let claim = &shown["claims"][0];
    let blocks = shown["trials"].as_array().into_iter().flatten();
    Outcome {
        experiment,
        measured: claim["measured"].as_f64(),
        ci: claim["ci"][0].as_f64().zip(claim["ci"][1].as_f64()),
        direction: claim["direction"].as_str().unwrap_or("none").to_string(),
        blocks: blocks
            .map(|trial| trial["block"].as_u64().unwrap_or(0))
            .max()
            .unwrap_or(0) as usize,
    }
}

fn print(outcomes: &[Outcome]) {
    println!("| run | experiment | blocks | ratio | 95 % CI | direction |");
    println!("| ---: | --- | ---: | ---: | --- | --- |");
    for (number, outcome) in outcomes.iter().enumerate() {
        let ratio = outcome
            .measured
            .map_or("-".into(), |ratio| format!("{ratio:.3}"));
        let ci = outcome
            .ci
            .map_or("-".into(), |(low, high)| format!("{low:.3} to {high:.3}"));
        let Outcome {
            experiment,
            blocks,
            direction,
            ..
        } = outcome;
        println!(
            "| {} | {experiment} | {blocks} | {ratio} | {ci} | {direction} |",
            number + 1
        );
    }
    let is = |word: &str| {
        outcomes
            .iter()
            .filter(|outcome| outcome.direction == word)
            .count()
    };
    println!(
        "\n{} runs: {} decided above 1, {} decided below 1.",
        outcomes.len(),
        is("above"),
        is("below")
    );
}

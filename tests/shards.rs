//! Shards: several prony processes that share the load on one external server, and the merged run of their records.
//!
//! Tiers: default, all.

use crate::support::elsewhere::Elsewhere;
use crate::support::process::{ended, until};
use crate::support::{Bench, Ended, in_a_line, repeated};
use record::{FlagKind, Loaded, Sharing, Trial, TrialState};
use std::path::{Path, PathBuf};
use std::process::Child;
use store::Store;

/// A load with equal gaps, so the number of arrivals is known exactly. The queue holds all of them, even if the machine stalls. The file does
/// not allow other load on the machine; shards of the same run do not count as such.
const OPEN: &str = r#"
title = "Shards"
question = "Do the shards of a load add up?"

[server.db]
build = "sqlite"

[workload.oltp]
operations = "point-select"
tables = 4
rows = 2000

[load.open]
rate = 401
arrivals = "uniform"
workers = 10
queue = 4000

[protocol]
time = "4s"
short = true
blocks = 1
"#;

fn file(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.folder.path().join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// `prony run` of one shard.
fn shard(bench: &Bench, theirs: &Elsewhere, file: &str, shard: &str, more: &[&str]) -> Child {
    let dsn = theirs.dsn_with_password();
    let run = ["run", file, "--server", &dsn, "--shard", shard];
    bench.start(&[&run, more].concat())
}

fn all(bench: &Bench, theirs: &Elsewhere, file: &str, of: u32, more: &[&str]) -> Vec<Child> {
    let one = |number| shard(bench, theirs, file, &format!("{number}/{of}"), more);
    (1..=of).map(one).collect()
}

/// Merges the runs. Returns what it printed, and the merged run.
fn merged(bench: &Bench, runs: &[PathBuf]) -> (Ended, PathBuf) {
    let paths: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
    let mut arguments = vec!["merge"];
    arguments.extend(paths.iter().map(String::as_str));
    let out = bench.folder.path().join("merged");
    let out_text = out.display().to_string();
    arguments.extend(["--results", &out_text]);
    let merged = bench.run(&arguments);
    let runs = std::fs::read_dir(&out).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = runs.map(|entry| entry.path()).collect();
    runs.sort();
    (merged, runs.pop().unwrap_or_default())
}

fn store(run: &Path) -> Store {
    Store::open(&run.join("run.sqlite")).unwrap()
}

/// What is said of a shard whose threads got no CPU time when the load began.
const LATE: &str = "away from the common start";

/// It ended, even if the machine was too busy for its figures.
fn measured(ended: &Ended) {
    let said = in_a_line(&format!("{}{}", ended.stdout, ended.stderr));
    let is_named = ["engine_limit", "generator_stalled", LATE].map(|words| said.contains(words));
    let is_disturbed = ended.status == 3 && is_named.contains(&true);
    assert!(
        ended.status == 0 || is_disturbed,
        "{}: {said}",
        ended.status
    );
}

/// Whether the machine was too busy to begin with the other shards.
fn missed_the_start(ended: &Ended) -> bool {
    let said = in_a_line(&format!("{}{}", ended.stdout, ended.stderr));
    said.contains("the common start was missed")
}

/// The shards that `start` starts for the load, which all began it: a busy machine misses the common start now and then, but not three
/// times. None where the server is not available.
fn begun(
    name: &str,
    text: &str,
    start: impl Fn(&Bench, &Elsewhere, &str) -> Vec<Child>,
) -> Option<(Bench, Elsewhere, Vec<Ended>)> {
    let once = || {
        let theirs = Elsewhere::start("mariadb", "ALL ON *.*")?;
        let bench = Bench::new();
        let file = file(&bench, name, text);
        let shards = start(&bench, &theirs, &file).into_iter();
        let ended: Vec<Ended> = shards.map(ended).collect();
        Some((bench, theirs, ended))
    };
    repeated(3, once, |found| {
        let mut shards = found.iter().flat_map(|(.., shards)| shards);
        !shards.any(missed_the_start)
    })
}

/// Whether all arrivals were measured, even if the machine was too busy for the figures.
fn is_whole(trial: &Trial) -> bool {
    let is_disturbed = |flag: &record::Flag| match flag.kind {
        FlagKind::EngineLimit | FlagKind::GeneratorStalled => true,
        FlagKind::ShardIncomplete => flag
            .text
            .ends_with(&format!("{LATE} by the server's clock")),
        _ => false,
    };
    trial.state == TrialState::Done
        || trial.state == TrialState::Invalid && trial.flags.iter().any(is_disturbed)
}

#[test]
fn four_shards_are_together_the_whole_load() {
    let four = |bench: &Bench, theirs: &Elsewhere, file: &str| all(bench, theirs, file, 4, &[]);
    let Some((bench, mut theirs, shards)) = begun("four", OPEN, four) else {
        return;
    };
    for (number, ended) in (1..).zip(&shards) {
        measured(ended);
        let loaded = format!("shard {number}/4 loaded");
        assert!(ended.stderr.contains(&loaded), "{}", ended.stderr);
    }
    assert_eq!(
        theirs.query("SELECT COUNT(*) FROM prony_oltp.sbtest1"),
        ["2000"]
    );
    let runs = bench.runs();
    assert_eq!(runs.len(), 4);
    let mut arrived = 0;
    let mut workers = Vec::new();
    let mut started_ns = Vec::new();
    for run in &runs {
        let trial = store(run).trials_whole().unwrap().remove(0);
        assert!(is_whole(&trial), "{:?}", trial.flags);
        let load = trial.load.unwrap();
        let record::Mode::Open { workers: own, .. } = load.mode else {
            panic!("{:?}", load.mode)
        };
        workers.push(own);
        arrived += load.open.unwrap().arrived;
        let start = &load.engine.shards[0];
        assert!(start.clock_offset_s.abs() < 0.05, "one machine: {start:?}");
        started_ns.push(load.started_ns);
    }
    workers.sort_unstable();
    assert_eq!((arrived, workers), (401 * 4, vec![2, 2, 3, 3]));
    let skew_ns = started_ns.iter().max().unwrap() - started_ns.iter().min().unwrap();
    assert!(skew_ns < 50_000_000, "{skew_ns} ns");

    let (printed, run) = merged(&bench, &runs);
    measured(&printed);
    assert!(
        in_a_line(&printed.stdout).contains("merged from 4 shards"),
        "{}",
        printed.stdout
    );
    let store = store(&run);
    assert!(
        matches!(store.run().unwrap().sharing, Some(Sharing::Merged(notes)) if notes.len() == 4)
    );
    let trial = store.trials_whole().unwrap().remove(0);
    assert!(is_whole(&trial), "{:?}", trial.flags);
    let is_valid = trial.state == TrialState::Done;
    let load = trial.load.unwrap();
    assert_eq!(load.open.as_ref().unwrap().arrived, 401 * 4);
    let record::Mode::Open {
        rate,
        workers,
        queue,
        ..
    } = load.mode
    else {
        panic!("{:?}", load.mode)
    };
    assert!((rate - 401.0).abs() < 1e-9);
    assert_eq!((workers, queue), (10, 4000));
    let each_second = load.histograms.iter().filter(|one| one.every_s == 1);
    let counted: u64 = each_second.map(|one| one.nanoseconds.unpack().len()).sum();
    assert_eq!(counted, load.open.unwrap().started);
    let shown = bench.json(&run);
    assert_eq!(shown["valid"], is_valid, "{shown}");
    let again = bench.run(&[
        "compare",
        &run.display().to_string(),
        &run.display().to_string(),
    ]);
    assert!(again.status < 2, "{}", again.stderr);
}

#[test]
#[cfg(tier_all)]
fn a_killed_shard_makes_the_merged_trial_invalid_and_is_named() {
    let seconds = |run: &PathBuf| {
        let store = Store::open(&run.join("run.sqlite")).ok()?;
        let is_second = store.run().ok()?.sharing?.text() == "shard 2/3";
        let live = store.live_of().ok()??;
        is_second.then_some(live.seconds.len())
    };
    let one_killed = |bench: &Bench, theirs: &Elsewhere, file: &str| {
        let mut shards = all(bench, theirs, file, 3, &[]);
        until("two seconds of shard 2, or its end", || {
            let runs = bench.runs();
            let mut seconds = runs.iter().filter_map(seconds);
            seconds.any(|seconds| seconds >= 2) || shards[1].try_wait().unwrap().is_some()
        });
        shards[1].kill().unwrap();
        shards
    };
    // Long enough that the kill comes before the end.
    let long = OPEN.replace("\"4s\"", "\"20s\"").replace("401", "101");
    let Some((bench, _theirs, mut shards)) = begun("killed", &long, one_killed) else {
        return;
    };
    assert_eq!(shards.remove(1).status, -1, "it was killed");
    shards.iter().for_each(measured);
    let (printed, run) = merged(&bench, &bench.runs());
    assert_eq!(printed.status, 3, "{}", printed.stderr);
    assert!(
        in_a_line(&printed.stdout).contains("shard 2/3 was cut short after"),
        "{}",
        printed.stdout
    );
    let trial = store(&run).trials().unwrap().remove(0);
    assert_eq!(trial.state, TrialState::Invalid);
    assert!(
        trial
            .flags
            .iter()
            .any(|flag| flag.kind == FlagKind::ShardIncomplete)
    );
    // A shard whose run is not given is missing too.
    let others: Vec<PathBuf> = bench
        .runs()
        .into_iter()
        .filter(|run| store(run).trials().unwrap().len() == 1)
        .collect();
    let (printed, _) = merged(&bench, &others);
    assert!(
        in_a_line(&printed.stdout).contains("shard 2/3 is missing"),
        "{}",
        printed.stdout
    );
    let (printed, _) = merged(&bench, &[others[0].clone(), others[0].clone()]);
    assert_eq!(printed.status, 2);
    assert!(
        printed.stderr.contains("is given twice"),
        "{}",
        printed.stderr
    );
}

/// A library that sets the wall clock of a process an hour ahead, or none without a C compiler.
fn an_hour_ahead(folder: &Path) -> Option<PathBuf> {
    let (source, library) = (folder.join("ahead.c"), folder.join("ahead.so"));
    let text = "#define _GNU_SOURCE\n#include <time.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
        int clock_gettime(clockid_t id, struct timespec *t) {\n\
        int r = syscall(SYS_clock_gettime, id, t); if (id == CLOCK_REALTIME) t->tv_sec += 3600; return r; }\n";
    std::fs::write(&source, text).unwrap();
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    cc.status().ok()?.success().then_some(library)
}

#[test]
#[cfg(tier_all)]
fn a_shard_whose_clock_is_an_hour_off_starts_with_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = an_hour_ahead(folder.path()) else {
        crate::support::skip::skipped("no C compiler");
        return;
    };
    let two = |bench: &Bench, theirs: &Elsewhere, file: &str| {
        let first = shard(bench, theirs, file, "1/2", &[]);
        let dsn = theirs.dsn_with_password();
        let mut second = bench.prony(&["run", file, "--server", &dsn, "--shard", "2/2"]);
        second.env("LD_PRELOAD", &library);
        vec![first, second.spawn().unwrap()]
    };
    let Some((bench, _theirs, shards)) = begun("hour", OPEN, two) else {
        return;
    };
    shards.iter().for_each(measured);
    let runs = bench.runs();
    let loads: Vec<Loaded> = runs.iter().map(|run| load_of(run)).collect();
    let offset_s = |load: &Loaded| load.engine.shards[0].clock_offset_s;
    let offsets = [offset_s(&loads[0]), offset_s(&loads[1])];
    let apart_s = (offsets[0] - offsets[1]).abs();
    assert!((apart_s - 3600.0).abs() < 0.05, "{offsets:?}");
    // By the server's clock they began at the same time.
    let began_s = |load: &Loaded| load.started_ns as f64 / 1e9 + offset_s(load);
    let apart_s = (began_s(&loads[0]) - began_s(&loads[1])).abs();
    assert!(apart_s < 0.05, "{apart_s}");
    let (printed, run) = merged(&bench, &runs);
    measured(&printed);
    // The series lie on each other, whatever a busy machine did in which second.
    let whole = done(&load_of(&run));
    let own = [done(&loads[0]), done(&loads[1])];
    assert!(own.iter().all(|own| own.len() >= 4), "{own:?}");
    for (second, both) in whole.iter().enumerate() {
        let of_each = own.iter().filter_map(|own| own.get(second));
        let sum: f64 = of_each.sum();
        assert!((both - sum).abs() < 1e-6, "{whole:?} of {own:?}");
    }
}

/// The load of a run's only trial.
#[cfg(tier_all)]
fn load_of(run: &Path) -> Loaded {
    *store(run).trials_whole().unwrap().remove(0).load.unwrap()
}

/// The operations of each second.
#[cfg(tier_all)]
fn done(load: &Loaded) -> Vec<f64> {
    let seconds = load.seconds("throughput").iter();
    seconds.flatten().copied().collect()
}

#[test]
fn processes_that_do_not_belong_together_are_told_so() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let patient = &["--meet-within", "600s"][..];
    let one = file(&bench, "one", OPEN);
    let other = file(&bench, "other", &OPEN.replace("401", "402"));

    let lonely = ended(shard(
        &bench,
        &theirs,
        &one,
        "1/3",
        &["--meet-within", "1s"],
    ));
    assert_eq!(lonely.status, 3);
    let says = "shard 2/3 and shard 3/3 did not come within 1 s";
    assert!(lonely.stderr.contains(says), "{}", lonely.stderr);

    let both = [&one, &one].map(|file| shard(&bench, &theirs, file, "1/2", patient));
    for process in both {
        let ended = ended(process);
        assert_eq!(ended.status, 2, "{}", ended.stderr);
        let is_told = [
            "two runs meet on this server: shard 1/2",
            "has given up: two runs meet",
        ];
        assert!(
            is_told.iter().any(|says| ended.stderr.contains(says)),
            "{}",
            ended.stderr
        );
    }

    let first = shard(&bench, &theirs, &one, "1/2", patient);
    let second = shard(&bench, &theirs, &other, "2/2", patient);
    for process in [first, second] {
        let ended = ended(process);
        assert_eq!(ended.status, 2, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("shard 2/2 (") && ended.stderr.contains("has another experiment"),
            "{}",
            ended.stderr
        );
    }
    assert_eq!(bench.runs(), Vec::<PathBuf>::new(), "nothing was measured");
}

#[test]
fn a_shard_that_comes_during_the_load_is_refused_and_no_shard_is_resumed() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let patient = &["--meet-within", "600s"][..];
    let long = file(&bench, "long", &OPEN.replace("\"4s\"", "\"12s\""));
    let shards = all(&bench, &theirs, &long, 2, patient);
    until("the load", || bench.runs().len() == 2);
    let late = ended(shard(&bench, &theirs, &long, "2/2", patient));
    assert_eq!(late.status, 2, "{}", late.stderr);
    let says = ["another run is measuring with this server", "two runs meet"];
    assert!(
        says.iter().any(|says| late.stderr.contains(says)),
        "{}",
        late.stderr
    );
    for shard in shards {
        let ended = ended(shard);
        // A busy machine may miss the start, and says so.
        if !missed_the_start(&ended) {
            measured(&ended);
        }
    }
    let resumed = bench.run(&["run", "--resume", "@latest"]);
    assert_eq!(resumed.status, 2);
    assert!(
        resumed.stderr.contains("start all shards again"),
        "{}",
        resumed.stderr
    );
}

#[test]
fn what_cannot_be_shared_is_refused_before_anything_is_connected() {
    let bench = Bench::new();
    let one = file(&bench, "one", OPEN);
    let refused = |arguments: &[&str], variables: &[(&str, &str)], says: &str| {
        let mut prony = bench.prony(arguments);
        prony.envs(variables.iter().copied());
        let ended: Ended = prony.output().unwrap().into();
        assert_eq!(ended.status, 2, "{}", ended.stderr);
        let text = in_a_line(&ended.stderr);
        assert!(text.contains(says), "{text}");
    };
    let dsn = "mysql://nobody@127.0.0.1:1/";
    let run = |more: &[&'static str]| [&["run", &one, "--shard", "1/2"], more].concat();
    refused(
        &run(&["--server", "mariadb"]),
        &[],
        "which prony starts on loopback",
    );
    refused(
        &run(&["--server", "sqlite"]),
        &[],
        "is a file of this machine",
    );
    refused(
        &run(&["--server", dsn, "--rate", "60% of max"]),
        &[],
        "give rates in operations per second",
    );
    refused(
        &run(&["--server", dsn, "--workers", "1"]),
        &[],
        "1 workers cannot be divided among 2 shards",
    );
    refused(
        &["bench", "ssb", "--server", dsn, "--shard", "1/2"],
        &[],
        "measures rounds of queries",
    );
    refused(
        &[
            "bench",
            "tpcc",
            "--server",
            dsn,
            "--scale",
            "2",
            "--clients",
            "20",
            "--shard",
            "1/3",
        ],
        &[],
        "2 warehouses cannot be divided among 3 shards",
    );
    refused(&["run", &one, "--shard", "5/4"], &[], "is not a shard");
    refused(
        &["run", &one, "--part", "1/2", "--shard", "1/2"],
        &[],
        "cannot be used with",
    );
    let auto = ["run", &one, "--server", dsn, "--shard", "auto"];
    refused(&auto, &[], "no launcher has started this process");
    refused(
        &auto,
        &[
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "4"),
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
        ],
        "SLURM_PROCID and SLURM_NTASKS say shard 1/4, but OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say shard 2/4",
    );
    refused(
        &auto,
        &[("JOB_COMPLETION_INDEX", "0")],
        "PRONY_SHARDS is not set",
    );
}

#[test]
#[cfg(tier_all)]
fn tpcc_is_shared_by_whole_warehouses_and_not_audited() {
    let Some(theirs) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let dsn = theirs.dsn_with_password();
    let shards = ["1/2", "2/2"].map(|shard| {
        let load = ["--scale", "2", "--clients", "21", "--time", "3s"];
        let run = ["bench", "tpcc", "--server", &dsn, "--shard", shard];
        bench.start(&[&run[..], &load].concat())
    });
    for shard in shards {
        let ended = ended(shard);
        assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    }
    let mut clients = Vec::new();
    for run in &bench.runs() {
        let trial = store(run).trials().unwrap().remove(0);
        let flagged = trial
            .flags
            .iter()
            .any(|flag| flag.kind == FlagKind::NotAudited);
        assert!(flagged, "{:?}", trial.flags);
        let Some(load) = trial.load else {
            panic!("{:?}", trial.flags)
        };
        clients.push(load.mode);
    }
    let closed = |clients| record::Mode::Closed {
        clients,
        think_s: 0.0,
    };
    // Terminals are dealt to warehouses in turn: the first one has eleven.
    assert!(
        clients.contains(&closed(11)) && clients.contains(&closed(10)),
        "{clients:?}"
    );
    let (printed, run) = merged(&bench, &bench.runs());
    assert!(
        printed.status == 0 || printed.status == 3,
        "{}",
        printed.stderr
    );
    let load = store(&run).trials().unwrap().remove(0).load.unwrap();
    assert_eq!(load.mode, closed(21));
    assert!(load.summary.unwrap().conformance.is_some());
}

/// Needs no server: a matrix of two factors in three blocks.
const MATRIX: &str = r#"
title = "Parts"

[server.db]
build = "sqlite"

[variant.x]
[variant.y]
[factor.f.1]
[factor.f.2]

[workload.ssb]
scale = 0.002

[protocol]
rounds = ["hot"]
queries = ["Q1.1"]
blocks = 3
control = false
"#;

#[test]
fn the_parts_of_a_matrix_measure_each_of_its_trials_once() {
    let bench = Bench::new();
    let path = file(&bench, "parts", MATRIX);
    for part in ["1/3", "2/3", "3/3"] {
        let ended = bench.run(&["run", &path, "--part", part]);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
    }
    let runs = bench.runs();
    let trials = runs.iter().flat_map(|run| {
        let trials = bench.json(run)["trials"].as_array().unwrap().clone();
        let place = |trial: &serde_json::Value| format!("{} {}", trial["levels"], trial["block"]);
        trials.iter().map(place).collect::<Vec<_>>()
    });
    let mut trials: Vec<String> = trials.collect();
    trials.sort_unstable();
    assert_eq!(trials.len(), 12);
    trials.dedup();
    assert_eq!(trials.len(), 12, "each of them once: {trials:?}");
}

//! Servers that take turns in slices.
//!
//! Tiers: default, all.

use crate::support::process::{ended, is_stopped, nothing_is_left, send, servers, until};
use crate::support::timed::*;
use crate::support::{Bench, has};
use rustix::process::Signal;
#[cfg(tier_all)]
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Child;

/// Two variants of one server, and `rest`, which may add to the protocol at its beginning.
fn file(bench: &Bench, name: &str, rest: &str) -> String {
    let settings = "[settings]\ninnodb_flush_log_at_trx_commit = 0\n[variant.a]\n[variant.b]\n";
    let load = "[load.closed]\nclients = 4\n[protocol]\nslices = \"300ms\"\n";
    experiment(
        bench,
        name,
        &oltp("point-select"),
        &format!("{settings}{load}{rest}"),
    )
}

/// What the server counted in the slices of a trial is what its clients did in them; those of the last slice may end after its last second.
/// The second of warm-up is left out: it passed before the slices, when the machine may have been busier or less busy. Clients that began
/// it late were busy for less than a second, and then the first slice begins in it; so a part of it may be counted, but not all.
#[cfg(tier_all)]
pub(crate) fn counts_its_own_slices(trial: &Value) {
    let counted = number(&trial["counters"]["Com_select"]);
    let samples = trial["samples"].as_array().unwrap();
    let warmup = number(&samples[0]["throughput"]);
    let done = ended_operations(trial) - warmup;
    assert!(
        counted > 0.9 * done && counted < 1.02 * done + 0.5 * warmup + 50.0,
        "{counted} {done} {warmup}"
    );
}

/// Three servers, or cells, of at least three seconds each took turns within the same seconds.
#[cfg(tier_all)]
pub(crate) fn three_took_turns(trial: &Value) {
    let slices = &trial["engine"]["slices"];
    // Where the machine stood still in a slice, fewer follow it, and so fewer of the two others between them.
    let stood_s = number(&slices["finishing_s_max"]);
    let count = number(&slices["count"]);
    assert!(count >= 4.0 || stood_s > 1.0, "{slices}");
    let spanned_s = number(&slices["spanned_s"]);
    assert!(spanned_s > 6.0 - 2.0 * stood_s, "{slices}");
}

#[test]
#[cfg(tier_all)]
fn two_servers_and_the_control_take_turns_and_every_operation_counts() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = file(
        &bench,
        "turns",
        "time = \"3s\"\nwarmup = \"1s\"\nblocks = 2\n",
    );
    let ended = bench.run(&["run", &file]);
    assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    let run = &bench.runs()[0];
    let shown = bench.json(run);
    let trials = trials(&shown);
    assert_eq!(trials.len(), 6, "{shown}");
    for trial in &trials {
        assert!(is_whole(trial), "{trial}\n{}", ended.stderr);
        let slices = &trial["engine"]["slices"];
        assert_eq!(slices["servers"], 3, "{trial}");
        three_took_turns(trial);
        assert!(trial["engine"]["stopped"].is_null(), "{trial}");
        let edges = number(&slices["edges_share"]);
        assert!(0.0 < edges && edges < 1.0, "{slices}");
        // If the machine stalls for half a second, that much of a trial can lie at the edges of slices, and the trial has to be flagged.
        let is_short = flags(trial, "slices_short").contains("in the first operation");
        assert!(edges < 0.15 || is_short, "{trial}");
        assert!(number(&slices["first_s_mean"]) > 0.0 && number(&slices["operation_s_mean"]) > 0.0);
        assert!(number(&slices["first_s_max"]) >= number(&slices["first_s_mean"]));
        let (until_s, elapsed_s) = (&trial["engine"]["until_s"], &trial["elapsed_s"]);
        assert_eq!(number(until_s), 4.0, "its own clock: {elapsed_s}");
        counts_its_own_slices(trial);
    }
    let edges = |trial: &Value| number(&trial["engine"]["slices"]["edges_share"]);
    let least = trials.iter().map(edges).fold(1.0, f64::min);
    assert!(least < 0.15, "the least of all trials: {least}");
    let report = bench.run(&["show", &run.display().to_string()]);
    let sentence = "Measured in slices of about 0.3 s: up to 3 servers took turns";
    assert!(report.stdout.contains(sentence), "{}", report.stdout);
    nothing_is_left(&bench);
}

#[test]
fn check_plans_a_budget_and_says_what_it_finds_and_by_which_figures() {
    let bench = Bench::new();
    let plan = |name: &str, keys: &str| bench.run(&["check", &file(&bench, name, keys)]);
    let planned = plan("budget", "within = \"10m\"\n");
    for part in [
        // Three trials of 23 s.
        "2 variant x 8 blocks, and 8 of the control",
        "8 blocks of 22 s find a difference in throughput of",
        "if their ratio varies by 1.5 % from start to start and 1.2 % within 20 s. This noise is assumed: the folder",
    ] {
        assert!(planned.stdout.contains(part), "{part}: {}", planned.stdout);
    }
    let warmed = plan("warmed", "within = \"10m\"\nwarmup = \"3s\"\n");
    let part = "12 blocks of 10 s find a difference in throughput of 2.0 % or more";
    assert!(warmed.stdout.contains(part), "{}", warmed.stdout);
    let timed = plan("timed", "within = \"10m\"\ntime = \"60s\"\n");
    let part = "3 blocks of 60 s find";
    assert!(timed.stdout.contains(part), "{}", timed.stdout);
    let small = plan("small", "within = \"2m\"\n");
    assert_eq!(small.status, 2, "{}", small.stderr);
    let part = "within: 120 s are too few for 3 blocks of 3 trials, which take 23 s each";
    assert!(small.stderr.contains(part), "{}", small.stderr);
    let part = bench.run(&[
        "check",
        &file(&bench, "part", "within = \"10m\"\n"),
        "--part",
        "1/2",
    ]);
    assert_eq!(part.status, 2, "{}", part.stderr);
    assert!(
        part.stderr.contains("give --time and --blocks"),
        "{}",
        part.stderr
    );
}

#[test]
#[cfg(tier_all)]
fn a_run_within_a_budget_keeps_its_plan_and_lends_its_noise_to_the_next() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    // Each trial is expected to take 3 s beside the measured time.
    let keys = "within = \"75s\"\nshort = true\ncontrol = false\nblocks = 5\n";
    let budgeted = file(&bench, "budgeted", keys);
    let ended = bench.run(&["run", &budgeted]);
    assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("5 blocks of 4 s find"),
        "{}",
        ended.stderr
    );
    let run = &bench.runs()[0];
    let shown = bench.json(run);
    assert_eq!(trials(&shown).len(), 10, "{shown}");
    for trial in &trials(&shown) {
        assert_eq!(number(&trial["engine"]["until_s"]), 4.0, "{trial}");
    }
    let resumed = bench.run(&["run", "--resume", &run.display().to_string()]);
    assert!([0, 3].contains(&resumed.status), "{}", resumed.stderr);
    assert_eq!(trials(&bench.json(run)).len(), 10);
    let next = bench.run(&["check", &budgeted]);
    // Trials that a busy machine has made invalid lend nothing.
    let is_valid = resumed.status == 0;
    for known in ["by the noise of budgeted-", "(4 degrees of freedom)"] {
        assert!(!is_valid || next.stdout.contains(known), "{}", next.stdout);
    }
}

#[test]
fn what_a_pause_would_change_is_refused_at_its_place() {
    let bench = Bench::new();
    let base = "time = \"3s\"\n";
    let cases = [
        (
            "find",
            "time = \"3s\"\nwarmup = \"find\"\n",
            "the warm-up must be known beforehand",
        ),
        (
            "series",
            "time = \"3s\"\nseries = true\n",
            "slices need a server for each cell",
        ),
        ("short", "time = \"1s\"\n", "has fewer than 4 slices"),
        (
            "event",
            &format!("{base}[[event]]\nat = \"1s\"\nsql = \"flush logs\"\n"),
            "events are due by the clock",
        ),
        (
            "steady",
            &format!(
                "{base}[[claim]]\nsays = \"it is steady\"\nfinds = \"steady\"\nof = {{ variant = \"a\" }}\n"
            ),
            "is about a steady state",
        ),
        (
            "io",
            &format!(
                "{base}[factor.io.low]\nsettings = {{ innodb_io_capacity = 100 }}\n[factor.io.high]\nsettings = {{ innodb_io_capacity = 1000 }}\n"
            ),
            "innodb_io_capacity differs between",
        ),
        (
            "idle",
            &format!("{base}[factor.idle.short]\nsettings = {{ wait_timeout = 5 }}\n"),
            "wait_timeout = 5 does not go with slices",
        ),
        (
            "limits",
            &format!("{base}[limits]\nmemory = \"1G\"\n"),
            "limits are set per second of the clock",
        ),
    ];
    for (name, rest, says) in cases {
        let refused = bench.run(&["run", &file(&bench, name, rest)]);
        assert_eq!(refused.status, 2, "{name}: {}", refused.stderr);
        for part in [says, &format!("{name}.toml:"), "slices = \"off\""] {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
    }
}

#[test]
fn a_bench_of_one_server_in_slices_is_refused() {
    let bench = Bench::new();
    let refused = bench.run(&["bench", "oltp-point-select", "--slices", "1s"]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    for part in ["slices would have no effect", "compare two servers"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
}

#[test]
fn servers_that_do_not_fit_into_the_memory_together_are_refused() {
    let bench = Bench::new();
    let pool = "[factor.pool.vast]\nsettings = { innodb_buffer_pool_size = \"9000G\" }\n";
    let refused = bench.run(&[
        "check",
        &file(&bench, "vast", &format!("time = \"3s\"\n{pool}")),
    ]);
    assert!(
        refused
            .stderr
            .contains("servers that take turns need about"),
        "{}",
        refused.stderr
    );
}

#[test]
fn open_loads_and_other_workloads_are_refused() {
    let bench = Bench::new();
    let open = "[load.open]\nrate = 10\n[protocol]\nslices = \"300ms\"\ntime = \"3s\"\n";
    let open = experiment(&bench, "open", &oltp("point-select"), open);
    let refused = bench.run(&["check", &open]);
    assert!(
        refused
            .stderr
            .contains("do not wait while a server is paused"),
        "{}",
        refused.stderr
    );
    let tpcc = "[load.closed]\nclients = 1\n[protocol]\nslices = \"300ms\"\ntime = \"3s\"\n";
    let tpcc = experiment(&bench, "tpcc", "[workload.tpcc]\n", tpcc);
    let refused = bench.run(&["check", &tpcc]);
    assert!(
        refused
            .stderr
            .contains("the workload tpcc cannot run in slices"),
        "{}",
        refused.stderr
    );
}

#[cfg(tier_all)]
fn pids(bench: &Bench) -> Vec<u32> {
    servers(bench).into_iter().map(|(pid, _)| pid).collect()
}

/// The servers that are stopped now.
#[cfg(tier_all)]
fn stopped(bench: &Bench) -> Vec<u32> {
    let pids = pids(bench).into_iter();
    pids.filter(|pid| is_stopped(*pid)).collect()
}

/// Waits until so many servers take turns: each was stopped, and is not always.
#[cfg(tier_all)]
fn until_turns(bench: &Bench, of: usize) {
    let (mut seen, mut changes, mut last) = (BTreeSet::new(), 0, Vec::new());
    let mut known = Vec::new();
    until("turns", || {
        // A look at every process of a busy machine may take as long as several slices.
        let has_ended = |pid: &u32| !std::path::Path::new(&format!("/proc/{pid}")).exists();
        if known.len() < of || known.iter().any(has_ended) {
            known = pids(bench);
        }
        let pids = known.iter().copied();
        let now: Vec<u32> = pids.filter(|pid| is_stopped(*pid)).collect();
        seen.extend(now.iter().copied());
        changes += usize::from(now != last);
        last = now;
        seen.len() >= of && changes > 2 * of + 4
    });
}

#[cfg(tier_all)]
pub(crate) fn started(bench: &Bench, file: &str) -> Child {
    let running = bench.start(&["run", file]);
    until_turns(bench, 2);
    running
}

#[test]
#[cfg(tier_all)]
fn a_server_that_dies_while_it_is_paused_fails_its_trial_and_the_other_is_measured() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = file(&bench, "dies", "time = \"8s\"\n");
    let running = started(&bench, &file);
    until("a paused server", || {
        let paused = stopped(&bench);
        paused
            .first()
            .iter()
            .for_each(|pid| send(**pid, Signal::KILL));
        !paused.is_empty()
    });
    let after = ended(running);
    assert_eq!(after.status, 3, "{}", after.stderr);
    let run = &bench.runs()[0];
    assert_eq!(
        states(&bench.json(run)),
        ["done", "failed"],
        "{}",
        after.stderr
    );
    assert!(
        after.stderr.contains("killed by signal 9"),
        "{}",
        after.stderr
    );
    nothing_is_left(&bench);
    let resumed = bench.run(&["run", "--resume", &run.display().to_string()]);
    assert!([0, 3].contains(&resumed.status), "{}", resumed.stderr);
    let trials = trials(&bench.json(run));
    for trial in &trials {
        assert!(is_whole(trial), "{trial}");
        assert_eq!(
            trial["engine"]["slices"]["servers"], 2,
            "the group as a whole"
        );
    }
}

/// A workload whose only operation takes so many seconds.
#[cfg(tier_all)]
fn sleeping(seconds: f64) -> String {
    format!(
        "[workload.sql]\nsetup = \"create table t (id int primary key); insert into t values (1)\"\noperations = \"-- operation: slow\\nselect sleep({seconds}) from t where id = 1\"\n"
    )
}

/// Every operation takes half a second, and a slice 0.3 s.
#[test]
#[cfg(tier_all)]
fn slices_shorter_than_an_operation_make_trials_invalid_and_name_the_length_that_would_do() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let workload = sleeping(0.5);
    let variants = "[variant.a]\n[variant.b]\n[load.closed]\nclients = 2\n";
    let file = experiment(
        &bench,
        "slow",
        &workload,
        &format!("{variants}[protocol]\nslices = \"300ms\"\ntime = \"3s\"\n"),
    );
    let after = bench.run(&["run", &file]);
    assert_eq!(after.status, 3, "{}", after.stderr);
    let shown = bench.json(&bench.runs()[0]);
    for trial in trials(&shown) {
        assert_eq!(trial["state"], "invalid", "{}", after.stderr);
        // Every operation counts with its whole latency, and none twice.
        assert!(number(&trial["engine"]["slices"]["operation_s_mean"]) >= 0.5);
        assert!(ended_operations(&trial) <= 2.0 * 3.0 / 0.5 + 2.0, "{trial}");
    }
    assert!(after.stderr.contains("use slices = \""), "{}", after.stderr);
    nothing_is_left(&bench);
}

/// An operation of 12 ms needs slices of more than 0.5 s, and a quarter of the time is 1 s.
#[test]
#[cfg(tier_all)]
fn slices_of_no_stated_length_become_long_enough_for_the_operations() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let workload = sleeping(0.012);
    let variants = "[variant.a]\n[variant.b]\n[load.closed]\nclients = 2\n";
    for warmup in ["", "warmup = \"1s\"\n"] {
        let protocol = format!("[protocol]\nslices = \"auto\"\ntime = \"4s\"\n{warmup}");
        let file = experiment(&bench, "auto", &workload, &format!("{variants}{protocol}"));
        let after = bench.run(&["run", &file]);
        assert!([0, 3].contains(&after.status), "{}", after.stderr);
    }
    let runs = bench.runs();
    assert_eq!(runs.len(), 2);
    for trial in runs.iter().flat_map(|run| trials(&bench.json(run))) {
        let slices = &trial["engine"]["slices"];
        assert_eq!(number(&slices["length_s"]), 1.0, "{trial}");
    }
    nothing_is_left(&bench);
}

#[test]
#[cfg(tier_all)]
fn ctrl_c_saves_whole_groups_and_a_resume_measures_the_others() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = file(
        &bench,
        "interrupted",
        "time = \"2s\"\nblocks = 3\ncontrol = false\n",
    );
    let running = bench.start(&["run", &file]);
    until("the first group", || bench.finished() >= 2);
    until_turns(&bench, 2);
    send(running.id(), Signal::INT);
    let interrupted = ended(running);
    assert_eq!(interrupted.status, 130, "{}", interrupted.stderr);
    nothing_is_left(&bench);
    assert_eq!(bench.finished() % 2, 0, "groups are saved as a whole");
    assert!(bench.finished() < 6, "it was in the middle");
    let run = bench.runs()[0].display().to_string();
    let resumed = bench.run(&["run", "--resume", &run]);
    assert!([0, 3].contains(&resumed.status), "{}", resumed.stderr);
    assert_eq!(bench.finished(), 6);
    nothing_is_left(&bench);
}

#[test]
#[cfg(tier_all)]
fn ctrl_c_at_any_time_ends_at_once_and_leaves_nothing() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = file(&bench, "anytime", "time = \"60s\"\n");
    // In a slice, at its end, and between two.
    for wait_ms in [0, 90, 170, 260] {
        let running = started(&bench, &file);
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        send(running.id(), Signal::INT);
        let signalled = std::time::Instant::now();
        let interrupted = ended(running);
        assert_eq!(interrupted.status, 130, "{}", interrupted.stderr);
        // Without the signal both servers would still run for a minute each.
        assert!(signalled.elapsed() < std::time::Duration::from_secs(60));
        nothing_is_left(&bench);
    }
}

#[test]
#[cfg(tier_all)]
fn a_server_that_does_not_start_leaves_the_others_of_its_group_to_take_turns() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let broken = "[variant.broken]\nsettings = { innodb_flush_method = \"nowhere\" }\n";
    let file = file(&bench, "broken", &format!("time = \"2s\"\n{broken}"));
    let after = bench.run(&["run", &file]);
    assert_eq!(after.status, 3, "{}", after.stderr);
    let shown = bench.json(&bench.runs()[0]);
    assert_eq!(
        states(&shown),
        ["done", "done", "failed"],
        "{}",
        after.stderr
    );
    for variant in ["a", "b"] {
        let trial = at_level(&shown, "variant", variant);
        assert_eq!(trial["engine"]["slices"]["servers"], 2, "{trial}");
    }
    nothing_is_left(&bench);
}

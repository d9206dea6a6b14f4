//! Real power cuts and a real SIGKILL in the middle of TPC-C, and the audit of the answers that its clients got; the replay of a
//! recorded disk; and a prony that ends while the power is off.
//!
//! Tiers: default, all.

use crate::support::process::nothing_is_left;
#[cfg(tier_all)]
use crate::support::repeated;
use crate::support::timed::{at_level, flags, is_whole, signalled_in_an_outage};
use crate::support::{Bench, can_cut, has};
use rustix::process::Signal;
use serde_json::Value;

const EXPERIMENT: &str = r#"
title = "Crashes"
[server.a]
build = "mariadb"
[settings]
innodb_buffer_pool_size = "256M"
[factor.crash."1, power cut"]
settings = { innodb_flush_log_at_trx_commit = 1 }
host     = { volume = { kind = "volatile" } }
[factor.crash."1, lying disk"]
settings = { innodb_flush_log_at_trx_commit = 1 }
host     = { volume = { kind = "volatile", lie = "flush" } }
# The log is synced every 60 s, so the cut does not fall on the moment after a sync.
[factor.crash."2, power cut"]
settings = { innodb_flush_log_at_trx_commit = 2, innodb_flush_log_at_timeout = 60 }
host     = { volume = { kind = "volatile" } }
[factor.crash."2, SIGKILL"]
settings = { innodb_flush_log_at_trx_commit = 2 }
[workload.tpcc]
[load.closed]
clients = 4
[protocol]
time      = "8s"
warmup    = "0s"
reconnect = "60s"
[[event]]
at   = "3s"
kill = {}
only = { crash = ["2, SIGKILL"] }
[[event]]
at        = "3s"
power_cut = { survive = "none", seed = 1 }
only      = { crash = ["1, power cut", "1, lying disk", "2, power cut"] }
"#;

/// The audit of a trial whose server crashed once and recovered.
fn audit(shown: &Value, crash: &str) -> Value {
    let trial = at_level(shown, "crash", crash);
    assert_eq!(trial["events"].as_array().unwrap().len(), 1, "{trial}");
    assert!(
        trial["events"][0]["commit_s"].as_f64() > Some(0.0),
        "{crash}"
    );
    // The outage explains why the server's status is missing for some seconds. On a busy machine its counters may begin late.
    let absent = flags(&trial, "sampler_absent");
    assert!(!absent.contains("status is missing"), "{crash}: {absent}");
    let audit = trial["audit"].clone();
    assert!(audit["acknowledged"].as_u64() > Some(0), "{crash}: {audit}");
    audit
}

/// Acknowledged transactions that are missing.
fn lost(shown: &Value, crash: &str) -> u64 {
    audit(shown, crash)["lost"].as_u64().unwrap()
}

#[test]
#[cfg(tier_all)]
fn a_power_cut_separates_what_a_kill_does_not_and_a_lying_disk_is_caught() {
    if !can_cut() || !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = bench.experiment("crashes", EXPERIMENT);
    let measured = || {
        let ended = bench.run(&["run", &file]);
        let run = bench.runs().pop();
        let run = run.unwrap_or_else(|| panic!("{}", ended.stderr));
        let shown = bench.json(&run);
        nothing_is_left(&bench);
        (run, shown)
    };
    // The disk may be flushed just before the cut, by the journal of its file system every 5 s, or as another prony syncs the whole
    // machine. Not each time.
    let (run, shown) = repeated(4, measured, |(_, shown)| lost(shown, "2, power cut") > 0);

    assert_eq!(lost(&shown, "1, power cut"), 0);
    assert_eq!(lost(&shown, "2, SIGKILL"), 0);
    assert!(
        lost(&shown, "2, power cut") > 0,
        "flush = 2 syncs from time to time"
    );
    assert!(lost(&shown, "1, lying disk") > 0);
    let kept = audit(&shown, "1, power cut");
    for fault in ["ghosts", "partly_applied", "seen_but_lost", "violations"] {
        assert_eq!(kept[fault], 0, "{kept}");
    }
    for crash in ["1, power cut", "2, SIGKILL"] {
        let trial = at_level(&shown, "crash", crash);
        assert!(is_whole(&trial), "{}", trial["flags"]);
    }
    let csv = bench.run(&["show", &run.display().to_string(), "--format", "csv"]);
    let head = csv.stdout.lines().next().unwrap().to_owned();
    assert!(head.contains(",lost,ghosts,"), "{head}");
}

const RECORDED: &str = r#"
title = "A recording"
[server.a]
build = "mariadb"
[settings]
innodb_buffer_pool_size = "256M"
innodb_flush_log_at_trx_commit = 1
[host]
volume = { kind = "volatile", log = true }
[workload.tpcc]
[load.closed]
clients = 4
[protocol]
time   = "2s"
warmup = "0s"
"#;

#[test]
#[cfg(tier_all)]
fn a_server_starts_and_keeps_the_conditions_at_every_replayed_flush() {
    if !can_cut() || !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = bench.experiment("recorded", RECORDED);
    let ended = bench.run(&["run", &file]);
    let run = bench.runs().pop();
    let run = run.unwrap_or_else(|| panic!("{}", ended.stderr));
    let run = run.display().to_string();
    let replayed = bench.run(&["crash", "replay", &run, "--points", "3"]);
    assert_eq!(replayed.status, 0, "{}{}", replayed.stdout, replayed.stderr);
    assert!(
        replayed.stdout.contains("0 of 3 points failed"),
        "{}",
        replayed.stdout
    );
    nothing_is_left(&bench);
}

/// Sends the signal to prony while the power is off. Returns prony's exit status.
fn signalled_in_a_power_cut(signal: Signal) -> Option<i32> {
    if !can_cut() || !has("mariadb") {
        return None;
    }
    let bench = Bench::with_shared_snapshots();
    // The server has to be seen before the cut, and the outage before the end.
    let later = EXPERIMENT.replace("\"8s\"", "\"60s\"");
    let later = later.replace("\"3s\"", "\"12s\"");
    let file = bench.experiment("crashes", &later);
    let running = bench.start(&["run", &file, "--only", "crash=1, power cut"]);
    let status = signalled_in_an_outage(&bench, running, "crash=1, power cut", signal);
    nothing_is_left(&bench);
    Some(status)
}

#[test]
fn an_interruption_during_a_power_cut_ends_the_run_and_leaves_nothing_mounted() {
    if let Some(status) = signalled_in_a_power_cut(Signal::INT) {
        assert_eq!(status, 130);
    }
}

#[test]
#[cfg(tier_all)]
fn a_prony_that_is_killed_during_a_power_cut_leaves_nothing_mounted() {
    signalled_in_a_power_cut(Signal::KILL);
}

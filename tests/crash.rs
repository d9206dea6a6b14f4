//! Runs with an outage on a real server: the trial stays valid, the wait is in the response times, and nothing is left behind when
//! prony ends during the outage.
//!
//! Tiers: default, all.

use crate::support::process::{nothing_is_left, servers};
use crate::support::timed::*;
use crate::support::{Bench, has};
use rustix::process::Signal;
use serde_json::Value;

/// The first trial of a run with a kill after 5 s. The server is back within the load, however busy the disk is.
fn killed(load: &str) -> Option<Value> {
    if !has("mariadb") {
        return None;
    }
    let bench = Bench::with_shared_snapshots();
    let rest = format!(
        "{load}\n[protocol]\ntime = '40s'\nreconnect = '600s'\n[[event]]\nat = '5s'\nkill = {{ node = 1, restart = true }}\n"
    );
    let shown = measured(
        &bench,
        &experiment(&bench, "killed", &oltp("update-index"), &rest),
    );
    nothing_is_left(&bench);
    Some(trials(&shown)[0].clone())
}

fn recovers(trial: &Value) {
    let event = &trial["events"][0];
    assert_eq!(event["kind"], "kill");
    let [start_s, accept_s, commit_s] =
        ["start_s", "accept_s", "commit_s"].map(|name| number(&event[name]));
    assert!(start_s < accept_s && accept_s < commit_s, "{event}");
    // Other tests use the machine too: the throughput may stay below 95 % of that before, and then the trial says so.
    match event["recovered_s"].as_f64() {
        Some(recovered_s) => assert!(commit_s <= recovered_s, "{event}"),
        None => assert_ne!(flags(trial, "not_recovered"), "", "{trial}"),
    }
    let waited_ms = number(&trial["latency_ms"]["max"]);
    // The clients and the event connect independently of each other, and either may be late.
    assert!(waited_ms > 500.0 * accept_s, "{waited_ms} ms of {event}");
}

#[test]
fn a_closed_load_waits_for_a_killed_server_and_recovers() {
    if let Some(trial) = killed("[load.closed]\nclients = [8]") {
        recovers(&trial);
    }
}

#[test]
#[cfg(tier_all)]
fn an_open_load_waits_for_a_killed_server_and_recovers() {
    let load = "[load.open]\nrate = 300\nworkers = 16\nqueue = 100000";
    if let Some(trial) = killed(load) {
        recovers(&trial);
    }
}

/// Sends the signal to prony while its server is down. Returns prony's exit status.
fn signalled(signal: Signal) -> Option<i32> {
    if !has("mariadb") {
        return None;
    }
    let bench = Bench::with_shared_snapshots();
    let rest = "[load.closed]\nclients = [2]\n[protocol]\ntime = '120s'\nreconnect = '600s'\n\
                [[event]]\nat = '3s'\nkill = { restart = false }\n[[event]]\nat = '100s'\nstart = {}\n";
    let file = experiment(&bench, "down", &oltp("update-index"), rest);
    let running = bench.start(&["run", &file]);
    let status = signalled_in_an_outage(&bench, running, "", signal);
    bench.wait_until_quiet();
    assert!(servers(&bench).is_empty());
    Some(status)
}

#[test]
fn an_interruption_during_an_outage_ends_the_run() {
    if let Some(status) = signalled(Signal::INT) {
        assert_eq!(status, 130);
    }
}

#[test]
#[cfg(tier_all)]
fn a_prony_that_is_killed_during_an_outage_leaves_no_process() {
    signalled(Signal::KILL);
}

//! Cells that differ only in what each session sets take turns on one server.
//!
//! Tiers: all.
#![cfg(tier_all)]

use crate::slices::{counts_its_own_slices, three_took_turns};
use crate::support::process::{ended, nothing_is_left, send, servers, until, works};
use crate::support::timed::*;
use crate::support::{Bench, has, in_a_line};
use record::Trial;
use rustix::process::Signal;
use std::path::Path;

const SESSIONS: &str = "[variant.on]\nsession = { optimizer_switch = \"mrr=on\" }\n[variant.off]\nsession = { optimizer_switch = \"mrr=off\" }\n";

/// A load of both variants in slices; `rest` is the rest of the protocol.
fn in_slices(bench: &Bench, name: &str, rest: &str) -> String {
    let load = "[load.closed]\nclients = 4\n[protocol]\nslices = \"300ms\"\nwarmup = \"1s\"\n";
    let rest = format!("{SESSIONS}{load}{rest}");
    experiment(bench, name, &oltp("point-select"), &rest)
}

/// The trials of a run with the control.
fn all(run: &Path) -> Vec<Trial> {
    let store = store::Store::open(&run.join("run.sqlite")).unwrap();
    let mut all = store.trials().unwrap();
    all.extend(store.controls().unwrap());
    all
}

fn starts_of_all(run: &Path) -> usize {
    all(run).iter().map(|trial| trial.start_s.len()).sum()
}

fn each_saw_its_own_switch(run: &Path) {
    let store = store::Store::open(&run.join("run.sqlite")).unwrap();
    for trial in store.trials_with_settings().unwrap() {
        let wanted = match trial.key.level("variant") {
            Some("on") => "mrr=on",
            _ => "mrr=off",
        };
        let mut flags = trial.settings["optimizer_switch"].split(',');
        assert!(flags.any(|flag| flag == wanted), "{}", trial.key);
    }
}

/// The report without its line breaks.
fn shown_in_a_line(bench: &Bench, run: &Path) -> String {
    let report = bench.run(&["show", &run.display().to_string()]);
    in_a_line(&report.stdout)
}

#[test]
fn session_variants_and_the_control_take_turns_on_one_start_of_a_server() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = in_slices(&bench, "shared", "time = \"3s\"\nblocks = 2\n");
    let after = bench.run(&["run", &file]);
    after.measured();
    let run = &bench.runs()[0];
    let trials = trials(&bench.json(run));
    assert_eq!(trials.len(), 6);
    assert_eq!(starts_of_all(run), 2, "one for each block");
    each_saw_its_own_switch(run);
    for trial in &trials {
        assert!(is_whole(trial), "{trial}\n{}", after.stderr);
        let says = flags(trial, "shared_server");
        assert!(says.contains("3 cells took turns on one server"), "{says}");
        let slices = &trial["engine"]["slices"];
        assert_eq!(slices["servers"], 1, "{trial}");
        three_took_turns(trial);
        assert_eq!(number(&trial["engine"]["until_s"]), 4.0, "its own clock");
        counts_its_own_slices(trial);
    }
    let report = shown_in_a_line(&bench, run);
    let says = "Measured in slices of about 0.3 s: the cells of a group took turns within the same seconds. Cells that differ only in what each session sets took turns on one server";
    assert!(report.contains(says), "{report}");
    nothing_is_left(&bench);
}

#[test]
fn a_global_setting_has_a_server_of_its_own_beside_the_shared_one() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let global = "[variant.global]\nsettings = { table_open_cache = 500 }\nsession = { optimizer_switch = \"mrr=off\" }\n";
    let protocol = "[protocol]\nslices = \"query\"\nrounds = [\"hot\", \"hot\"]\nblocks = 2\n";
    let rest = format!("{SESSIONS}{global}{protocol}");
    let workload = "[workload.ssb]\nscale = 0.01\n";
    let file = experiment(&bench, "mixed", workload, &rest);
    let after = bench.run(&["run", &file]);
    after.measured();
    let run = &bench.runs()[0];
    let trials = trials(&bench.json(run));
    each_saw_its_own_switch(run);
    for trial in &trials {
        assert!(is_whole(trial), "{trial}\n{}", after.stderr);
        let turns = flags(trial, "took_turns");
        assert!(turns.contains("4 cells on 3 servers took turns"), "{turns}");
        let is_shared = !flags(trial, "shared_server").is_empty();
        let is_control = trial["role"] == "control";
        let wanted = trial["levels"]["variant"] != "global" && !is_control;
        assert_eq!(is_shared, wanted, "{trial}");
        for round in trial["rounds"].as_array().unwrap() {
            for query in round["queries"].as_array().unwrap() {
                assert_eq!(query["answer"], "ok", "{query}");
                assert!(number(&query["counters"]["Innodb_pages_read"]) < 10.0);
            }
        }
    }
    assert_eq!(starts_of_all(run), 2 * 3);
    let report = shown_in_a_line(&bench, run);
    for says in [
        "the servers of a group ran one query after another, and the others were stopped meanwhile",
        "took turns on one server: one start and one buffer pool for all",
    ] {
        assert!(report.contains(says), "{report}");
    }
    nothing_is_left(&bench);
}

#[test]
fn a_shared_server_that_dies_in_a_slice_fails_every_cell_and_a_signal_leaves_nothing() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = in_slices(&bench, "ends", "time = \"60s\"\n");
    let running = bench.start(&["run", &file]);
    until("the slices", || works(&bench));
    let pids = servers(&bench);
    assert_eq!(pids.len(), 1, "{pids:?}");
    send(pids[0].0, Signal::KILL);
    let after = ended(running);
    assert_eq!(after.status, 3, "{}", after.stderr);
    for trial in all(&bench.runs()[0]) {
        let why = trial.reason().unwrap_or_default();
        assert!(why.contains("killed by signal 9"), "{}: {why}", trial.key);
    }
    nothing_is_left(&bench);
    for (signal, status) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let running = bench.start(&["run", &file]);
        until("the slices", || works(&bench));
        send(running.id(), signal);
        let after = ended(running);
        let is_right = status.is_none_or(|status| status == after.status);
        assert!(is_right, "{}", after.stderr);
        nothing_is_left(&bench);
    }
}

//! Nothing vanishes: operations that never complete or are lost, the exact versions of servers, what SQLite does not apply, what a cold
//! round is.
//!
//! Tiers: default, all.

use crate::support::timed::*;
use crate::support::{Bench, has};
use serde_json::Value;

/// A quick statement and, one time in ten, another one.
fn beside_a_quick_statement(name: &str, statements: &str) -> String {
    format!(
        "[workload.sql.operation.quick]\nstatements = \"select 1\"\nweight = 9\n\
         [workload.sql.operation.{name}]\nstatements = \"{statements}\"\nweight = 1\n"
    )
}

const THREE_SECONDS: &str = "[load.closed]\nclients = [2]\n[protocol]\ntime = \"3s\"\n";

fn operation<'t>(trial: &'t Value, name: &str) -> &'t Value {
    let mut operations = trial["by_operation"].as_array().unwrap().iter();
    let found = operations.find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is missing: {trial}"))
}

#[test]
fn an_operation_that_is_longer_than_the_load_is_listed_and_makes_it_invalid() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let workload = beside_a_quick_statement("report", "select sleep(5)");
    let file = experiment(&bench, "endless", &workload, THREE_SECONDS);
    let ended = bench.run(&["run", &file]);
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    let shown = ended.stdout.replace('\n', " ");
    assert!(shown.contains("none of 2 was done"), "{shown}");
    let trial = &trials(&bench.json(&bench.runs()[0]))[0];
    assert_eq!(trial["state"], "invalid");
    assert!(flags(trial, "operation_too_long").contains("longer than the whole load"));
    let report = operation(trial, "report");
    assert_eq!((&report["starts"], &report["ends"]), (&2.into(), &0.into()));
    assert_eq!(report["unfinished"], 2, "{report}");
    let quick = operation(trial, "quick");
    assert_eq!(quick["starts"], quick["ends"], "{quick}");
}

#[test]
fn lost_connections_are_errors_with_a_flag_and_in_the_headline() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let workload = beside_a_quick_statement("dies", "kill connection_id()");
    let file = experiment(&bench, "lost", &workload, THREE_SECONDS);
    let ended = bench.run(&["run", &file]);
    let headline = "failed, were lost or did not finish";
    let told = ended.stdout.replace('\n', " ").contains(headline);
    assert!(told, "{}", ended.stdout);
    let trial = &trials(&bench.json(&bench.runs()[0]))[0];
    let dies = operation(trial, "dies");
    assert!(number(&dies["starts"]) > 1.0, "{dies}");
    assert_eq!(dies["count"], 0, "{dies}");
    let codes = dies["errors_by_code"].as_object().unwrap().values();
    assert_eq!(codes.map(number).sum::<f64>(), number(&dies["errors"]));
    assert!(
        number(&trial["errors"]) >= number(&dies["errors"]),
        "{trial}"
    );
    assert!(
        flags(trial, "operations_failed").contains("dies: none of"),
        "{trial}"
    );
}

#[test]
fn the_installed_version_is_in_the_tables_and_json_and_another_one_is_refused() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "version", &oltp("point-select"), THREE_SECONDS);
    let ended = bench.run(&["run", &file]);
    let run = bench.runs().pop().unwrap();
    let shown = bench.json(&run);
    let version = shown["environment"]["servers"]["one"]["version"]
        .as_str()
        .unwrap();
    assert_eq!(trials(&shown)[0]["server_version"], version);
    let named = format!("one (MariaDB {version})");
    assert!(ended.stdout.contains(&named), "{named}: {}", ended.stdout);
    assert_eq!(shown["run_id"], run.file_name().unwrap().to_str().unwrap());
    assert!(shown["seed"].is_u64() && shown["schema_version"].is_u64());

    // As if the package had been upgraded since.
    let store = rusqlite::Connection::open(run.join("run.sqlite")).unwrap();
    let changed = store.execute(
        "update run set environment_json = replace(environment_json, ?1, '10.0.1')",
        [version],
    );
    assert_eq!(changed.unwrap(), 1);
    drop(store);
    let refused = bench.run(&["run", "--resume", &run.display().to_string()]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    for part in [
        "server one: was mariadb 10.0.1",
        "is mariadb",
        "start a new run, or install the earlier build again",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
}

#[test]
fn sqlite_is_named_and_what_it_did_not_apply_is_not_compared() {
    let bench = Bench::new();
    let ended = bench.run(&["run", "quickstart", "--server", "sqlite", "--scale", "0.01"]);
    ended.measured();
    let shown = bench.json(&bench.runs()[0]);
    let servers = shown["environment"]["servers"].as_object().unwrap();
    let version = servers.values().next().unwrap()["version"]
        .as_str()
        .unwrap();
    let named = format!("SQLite {version}");
    assert!(ended.stdout.contains(&named), "{named}: {}", ended.stdout);
    assert!(
        ended.stdout.contains("settings not applied"),
        "{}",
        ended.stdout
    );
    assert!(shown["largest_difference"].is_null(), "{shown}");
    assert_ne!(flags(&trials(&shown)[0], "not_available"), "", "{shown}");
    for claim in shown["claims"].as_array().unwrap() {
        assert_eq!(claim["verdict"], "not_available", "{claim}");
    }
}

#[test]
fn a_cold_round_says_that_its_first_query_is_cold_and_what_each_query_read() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let text = "title = 't'\nquestion = 'q'\n[server.one]\nbuild = 'mariadb'\n[workload.ssb]\nscale = 0.01\n\
                [protocol]\nrounds = ['cold', 'hot']\nqueries = ['Q1.1', 'Q2.1']\n";
    let ended = bench.run(&["run", &bench.experiment("cold", text)]);
    ended.measured();
    let said = ended.stdout.replace('\n', " ");
    assert!(
        said.contains("cold for its first query only (Q1.1)"),
        "{}",
        ended.stdout
    );
    let cold = &trials(&bench.json(&bench.runs()[0]))[0]["rounds"][0];
    assert_eq!(cold["coldness"]["passes"], 1, "{cold}");
    let queries = cold["queries"].as_array().unwrap();
    let read: Vec<f64> = queries
        .iter()
        .map(|query| number(&query["disk_read_bytes"]))
        .collect();
    assert!(read[0] > 0.0, "{read:?}");
}

#[test]
#[cfg(tier_all)]
fn misses_that_the_page_cache_serves_are_called_that() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    // With innodb_flush_method = fsync, evicted pages stay in the page cache.
    let only = "variant=small pool";
    let words = [
        "run",
        "quickstart",
        "--scale",
        "0.05",
        "--blocks",
        "1",
        "--only",
        only,
    ];
    bench.valid(&words);
    let run = bench.runs().pop().unwrap().display().to_string();
    let shown = bench.run(&["show", &run, "--format", "markdown"]).stdout;
    assert!(shown.contains("served by the OS page cache"), "{shown}");
}

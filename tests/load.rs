//! Results of timed loads on a real server. Refusals and failures are in load_faults.rs.
//!
//! Tiers: default, all.

use crate::support::process::nothing_is_left;
use crate::support::timed::*;
use crate::support::{Bench, Ended, has};

const LATENCIES: [&str; 5] = ["p50", "p95", "p99", "p999", "max"];

#[test]
fn bench_measures_each_client_count_on_one_server() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let ended =
        bench.line("bench oltp-point-select --clients 1,4 --time 1s --rows 1000 --format json");
    whole(&ended);
    let shown = shown(&ended);
    for clients in ["1", "4"] {
        let trial = at_level(&shown, "clients", clients);
        assert!(trial.get("throughput").is_some(), "{trial}");
        // A busy machine may stand still for the whole second. What was begun in it ends after it.
        assert!(ended_operations(&trial) > 0.0, "{trial}");
        assert_eq!(trial["errors"], 0, "{trial}");
        for name in LATENCIES {
            assert!(trial["latency_ms"].get(name).is_some(), "{name}: {trial}");
        }
        assert!(number(&trial["latency_ms"]["max"]) > 0.0, "{trial}");
    }
    let run = &bench.runs()[0];
    assert_eq!(bench.json(run), shown, "the record shows the same");
    assert_eq!(starts(run), [1, 0]);
    nothing_is_left(&bench);
}

#[test]
#[cfg(tier_all)]
fn updates_and_transactions_are_measured_on_the_same_data() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    for (workload, is_loaded) in [("oltp-update-index", true), ("oltp-read-write", false)] {
        // Commits do not wait for the disk, which may be busy.
        let ended = bench.line(&format!(
            "bench {workload} --clients 2 --time 5s --rows 1000 --set innodb_flush_log_at_trx_commit=0 --format json"
        ));
        let trial = &whole(&ended)[0];
        assert_eq!(
            ended.stderr.contains("loaded "),
            is_loaded,
            "{}",
            ended.stderr
        );
        assert!(number(&trial["throughput"]) > 0.0, "{trial}");
        assert_eq!(trial["errors"], 0, "{trial}");
    }
}

const ACCOUNTS: &str = r#"
[workload.sql]
setup = "create table accounts (id int primary key, balance int not null); insert into accounts select seq, 100 from seq_1_to_100"
operations_file = "accounts.sql"

[workload.sql.parameter]
from.uniform  = [1, 100]
amount.one_of = [1, 5, 10]
"#;

#[test]
fn sql_operations_run_with_their_parameters_and_weights() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    std::fs::write(
        bench.folder.path().join("accounts.sql"),
        "-- operation: look weight 3\nselect balance from accounts where id = :from;\n\
         -- operation: pay\nbegin; update accounts set balance = balance - :amount where id = :from; commit;\n",
    )
    .unwrap();
    let file = experiment(
        &bench,
        "accounts",
        ACCOUNTS,
        "[settings]\ninnodb_flush_log_at_trx_commit = 0\n[load.closed]\nclients = 2\n[protocol]\ntime = \"3s\"\n",
    );
    let trial = &trials(&measured(&bench, &file))[0];
    assert_eq!(trial["errors"], 0, "{trial}");
    let names: Vec<&str> = trial["by_operation"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|operation| operation["name"].as_str())
        .collect();
    assert_eq!(names, ["look", "pay"]);
    let updates = number(&trial["counters"]["Com_update"]);
    let share = updates / number(&trial["operations_counted"]);
    assert!((0.1..0.5).contains(&share), "a quarter pays: {share}");
}

#[test]
fn an_open_load_reports_response_wait_and_service_times_and_arrivals() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let ended = bench
        .line("bench oltp-point-select --rate 200 --workers 4 --time 2s --rows 1000 --format json");
    let trial = &trials(&shown(&ended))[0];
    assert!(is_whole(trial), "{}", ended.stderr);
    for kind in ["latency_ms", "wait_ms", "service_ms"] {
        for name in LATENCIES {
            assert!(trial[kind].get(name).is_some(), "{kind} {name}: {trial}");
        }
    }
    assert!(number(&trial["service_ms"]["max"]) > 0.0, "{trial}");
    // 400 by chance, in whichever second they ended.
    let arrived = ended_operations(trial) + number(&trial["queued_at_end"]);
    assert!((300.0..500.0).contains(&arrived), "{trial}");
    // Where prony itself stood still at the end, the arrivals of that time are after the last whole second.
    let offered = number(&trial["offered"]);
    let stood = !flags(trial, "generator_stalled").is_empty();
    assert!((120.0..280.0).contains(&offered) || stood, "{trial}");
    assert_eq!(trial["dropped"], 0, "{trial}");
}

/// 100 requests per second for a worker that serves at most 20.
const TOO_MANY: &str = r#"
[factor.queue.stops]
load = { queue = 2, when_full = "stop" }
[factor.queue.drops]
load = { queue = 2, when_full = "drop" }
[factor.queue.waits]
load = { queue = 2, when_full = "wait" }
[factor.queue."is large"]
load = { queue = 10000, when_full = "stop" }

[load.open]
rate = 100
arrivals = "uniform"
workers = 1

[protocol]
time = "4s"
"#;

#[test]
fn a_full_queue_and_queued_requests_are_reported() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let workload = "[workload.sql.operation.slow]\nstatements = \"select sleep(0.05)\"\n";
    let file = experiment(&bench, "full", workload, TOO_MANY);
    let shown = measured(&bench, &file);
    let trial_at = |level: &str| at_level(&shown, "queue", level);

    let stops = trial_at("stops");
    assert!(
        flags(&stops, "stopped").contains("the queue of 2 was full"),
        "{stops}"
    );
    let drops = trial_at("drops");
    assert!(number(&drops["dropped"]) > 50.0, "{drops}");
    assert!(
        drops["unstable"]
            .to_string()
            .contains("the queue is full and drops"),
        "{drops}"
    );
    let waits = trial_at("waits");
    assert!(
        waits["unstable"]
            .to_string()
            .contains("the schedule paused"),
        "{waits}"
    );
    assert_eq!(waits["dropped"], 0, "{waits}");

    let large = trial_at("is large");
    assert!(number(&large["queued_at_end"]) > 100.0, "{large}");
    assert!(
        large["unstable"].to_string().contains("the queue grows by"),
        "{large}"
    );
    let counted = ended_operations(&large) + number(&large["queued_at_end"]);
    assert!(
        (399.0..=400.0).contains(&counted),
        "all arrivals are accounted for: {large}"
    );
}

#[test]
fn a_dry_bench_measures_the_engine_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    // Too long for the path of a socket.
    let home = folder.path().join("h".repeat(120));
    let bench = Bench::new();
    let ended: Ended = bench
        .prony(&[
            "bench",
            "oltp-point-select",
            "--dry",
            "--clients",
            "1,4",
            "--time",
            "1s",
        ])
        .env("PRONY_HOME", &home)
        .output()
        .unwrap()
        .into();
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let lines = ended.stdout.lines();
    let rows: Vec<Vec<&str>> = (lines.map(|line| line.split_whitespace().collect()))
        .filter(|row: &Vec<&str>| row[1].starts_with("client"))
        .collect();
    assert_eq!(rows.len(), 2, "{}", ended.stdout);
    let prony = format!("prony: {}", host::machine::VERSION);
    assert_eq!(ended.stdout.lines().last(), Some(prony.as_str()));
    for (row, clients) in rows.iter().zip(["1", "4"]) {
        assert_eq!(row[0], clients, "{}", ended.stdout);
        assert_eq!(row.len(), 6, "{}", ended.stdout);
        let is_above_0 = |figure: &&str| figure.parse::<f64>().unwrap() > 0.0;
        assert!(row[2..].iter().all(is_above_0), "{}", ended.stdout);
    }
    let fetched = std::fs::read_dir(home.join("builds"));
    assert!(
        fetched.into_iter().flatten().next().is_none(),
        "no server was downloaded"
    );
    assert_eq!(bench.runs(), Vec::<std::path::PathBuf>::new());
}

//! Refusals and failures of timed loads on a real server.
//!
//! Tiers: default, all.

use crate::support::elsewhere::{Elsewhere, dsn_with_password};
use crate::support::process::{ended, is_stopped, nothing_is_left, send, servers, until};
use crate::support::switch::Switch;
use crate::support::timed::*;
use crate::support::{Bench, Ended, has};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Checks that prony refuses the arguments with one message.
fn refused(bench: &Bench, arguments: &[&str], says: &str) {
    let ended = bench.run(arguments);
    assert_eq!(ended.status, 2, "{arguments:?}: {}", ended.stderr);
    assert!(ended.stderr.contains(says), "{says}: {}", ended.stderr);
    let marks = ended.stderr.matches('×').count() + ended.stderr.matches("error: ").count();
    assert_eq!(marks, 1, "one message: {}", ended.stderr);
    assert_eq!(bench.runs(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn impossible_flags_are_refused_with_the_reason() {
    let bench = Bench::new();
    let bad = [
        (["--rate=0", "--time=1s"], "rate"),
        (["--rate=-3", "--time=1s"], "rate"),
        (["--rate=1e10", "--time=1s"], "is above the maximum"),
        (["--clients=0", "--time=1s"], "clients"),
        (["--clients=1", "--time=0s"], "time"),
        (["--clients=1", "--rows=0"], "rows"),
        (
            ["--clients=200000", "--time=1s"],
            "exceed the maximum of 100000",
        ),
    ];
    for (flags, says) in bad {
        let arguments = [["bench", "oltp-point-select"].as_slice(), &flags].concat();
        refused(&bench, &arguments, says);
    }
    refused(
        &bench,
        &["bench", "oltp-point-selekt"],
        "\"operations\" cannot be \"point-selekt\"",
    );
    refused(&bench, &["bench", "oltp-"], "\"operations\" cannot be \"\"");
}

#[test]
fn more_clients_than_max_connections_are_refused_before_any_load() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    for (flags, says) in [
        (
            "--clients 1,50 --set max_connections=20",
            "max_connections = 20",
        ),
        ("--clients 1,500", "max_connections = 151"),
    ] {
        let ended = bench.line(&format!(
            "bench oltp-point-select --time 1s --rows 1000 {flags}"
        ));
        assert_eq!(ended.status, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("set max_connections = "),
            "{}",
            ended.stderr
        );
        assert!(!ended.stderr.contains("loaded"), "{}", ended.stderr);
    }
    assert_eq!(bench.runs(), Vec::<std::path::PathBuf>::new());
    nothing_is_left(&bench);
}

/// Long enough that the first trial is noticed on a busy machine.
const SERIES: &str =
    "[load.closed]\nclients = [1, 2, 4]\n[protocol]\ntime = \"4s\"\nseries = true\n";

#[test]
fn a_server_killed_in_a_series_fails_its_trial_and_the_next_trial_starts_another() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "killed", &oltp("point-select"), SERIES);
    let running = bench.start(&["run", &file]);
    until_seconds(&bench, "clients=1", 1);
    for (pid, _) in servers(&bench) {
        send(pid, Signal::KILL);
    }
    let after = ended(running);
    assert_eq!(after.status, 3, "{}", after.stderr);
    let run = bench.runs().pop().unwrap();
    let shown = bench.json(&run);
    let first = at_level(&shown, "clients", "1");
    assert_eq!(first["state"], "failed", "{}", after.stderr);
    assert!(
        flags(&first, "trial_failed").contains("the server ended: it was killed by signal 9"),
        "{}",
        after.stderr
    );
    for clients in ["2", "4"] {
        let trial = at_level(&shown, "clients", clients);
        assert!(is_whole(&trial), "{}", after.stderr);
    }
    assert_eq!(starts(&run), [1, 1, 0]);
    nothing_is_left(&bench);

    let resumed = bench.run(&["run", "--resume", &run.display().to_string()]);
    resumed.measured();
    assert_eq!(
        measured_now(&resumed),
        1,
        "only the failed trial: {}",
        resumed.stderr
    );
}

#[test]
#[cfg(tier_all)]
fn a_server_replaced_by_another_version_fails_the_remaining_trials() {
    let all = "ALL ON *.*";
    let (Some(first), Some(second)) = (
        Elsewhere::start("mariadb", all),
        Elsewhere::start("mysql@5.6.14", all),
    ) else {
        return;
    };
    let address = Switch::to(first.port);
    let bench = Bench::new();
    let dsn = dsn_with_password(address.port);
    let load =
        "[load.closed]\nclients = 2\n[protocol]\ntime = \"6s\"\nblocks = 2\ncontrol = false\n";
    let file = experiment(&bench, "upgraded", &oltp("point-select"), load);
    let running = bench.start(&["run", &file, "--server", &dsn]);
    until_seconds(&bench, "", 1);
    address.turn_to(second.port);
    let after = ended(running);
    assert_eq!(after.status, 3, "{}", after.stderr);
    let shown = bench.json(&bench.runs().pop().unwrap());
    let trials = trials(&shown);
    assert_eq!(trials.len(), 2, "{}", after.stderr);
    for trial in trials {
        assert_eq!(trial["state"], "failed", "{}", after.stderr);
        let why = flags(&trial, "trial_failed");
        assert!(why.contains("5.6.14") && why.contains("MariaDB"), "{why}");
    }
}

#[test]
fn a_generator_that_did_not_run_is_no_stall_of_the_server() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    // So few arrivals that those of the stop are done at the end, however busy the machine is.
    let rate = "[load.open]\nrate = 100\nworkers = 4\n[protocol]\ntime = \"10s\"\nwarmup = \"1s\"\nblocks = 1\n";
    let file = experiment(&bench, "stopped", &oltp("point-select"), rate);
    let running = bench.start(&["run", &file]);
    until_seconds(&bench, "", 3);
    send(running.id(), Signal::STOP);
    // It touches most of the seconds, so that it decides the percentiles whatever the others were like.
    std::thread::sleep(Duration::from_secs(4));
    send(running.id(), Signal::CONT);
    let after = ended(running);
    assert_eq!(after.status, 3, "{}", after.stderr);
    let shown = bench.json(&bench.runs().pop().unwrap());
    let trial = &trials(&shown)[0];
    assert_eq!(trial["state"], "invalid");
    let said = flags(trial, "generator_stalled");
    assert!(
        said.contains("the load generator did not run for"),
        "{said}"
    );
    assert!(said.contains("are its own"), "{said}");
    // A busy disk can stall the server, too, but not in the seconds in which the generator did not run for long.
    let is_long = |one: &&Value| number(&one["stood_s"]).max(number(&one["longest_s"])) >= 0.2;
    let own = trial["engine"]["stalls"].as_array().unwrap().iter();
    let own: Vec<u64> = own
        .filter(is_long)
        .filter_map(|one| one["second"].as_u64())
        .collect();
    assert!(own.len() >= 4, "{own:?}");
    for stall in trial["stalls"].as_array().unwrap() {
        assert!(
            !own.contains(&stall["start_s"].as_u64().unwrap()),
            "{trial}"
        );
    }
}

/// The number of trials that a run measured, from its lines on stderr.
fn measured_now(ended: &Ended) -> usize {
    let lines = ended.stderr.lines();
    lines.filter(|line| line.starts_with('[')).count()
}

/// Slow transactions, and an event that kills the connection of one of them. No commit waits for the disk: on a slow one all
/// clients can be waiting at once, and then no transaction is open for the event to find.
const CUT: &str = r#"
[settings]
innodb_flush_log_at_trx_commit = 0

[workload.sql]
setup = "create table t (id int primary key, n int not null); insert into t select seq, 0 from seq_1_to_100"

[workload.sql.operation.long]
statements = "begin; update t set n = n + 1 where id = :id; do sleep(0.05); commit"

[workload.sql.parameter]
id.uniform = [1, 100]

[load.closed]
clients = 4

[protocol]
time = "6s"

[[event]]
at  = "1500ms"
sql = "set @id = (select max(trx_mysql_thread_id) from information_schema.innodb_trx); execute immediate concat('kill connection ', @id)"
"#;

#[test]
fn a_killed_connection_is_counted_by_its_error_code_and_reopened() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let ended = bench.run(&["run", &experiment(&bench, "cut", CUT, "")]);
    ended.measured();
    let shown = bench.json(&bench.runs()[0]);
    let trial = &trials(&shown)[0];
    assert_eq!(trial["errors"], 1, "{trial}");
    let codes = trial["errors_by_code"].as_object().unwrap();
    let lost = ["1053", "1317", "1927", "2006", "2013"];
    assert!(
        codes.keys().all(|code| lost.contains(&code.as_str())),
        "{codes:?}"
    );
    // In one of these seconds a busy machine may stand still.
    let after = &trial["samples"].as_array().unwrap()[3..6];
    let is_back = |second: &Value| {
        let clients = number(&second["running"]) + number(&second["idle"]);
        clients == 4.0 && number(&second["throughput"]) > 0.0
    };
    assert!(
        after.iter().any(is_back),
        "all clients are reconnected: {after:?}"
    );
}

const PAUSE: &str =
    "[protocol]\ntime = \"4s\"\n[[event]]\nat = \"1500ms\"\npause = { for = \"1s\" }\n";

#[test]
#[cfg(tier_all)]
fn a_stalled_server_raises_p95_in_open_loop_and_not_in_closed_loop() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let workload = oltp("point-select");
    let of = |name: &str, load: &str| {
        let file = experiment(&bench, name, &workload, &format!("{load}{PAUSE}"));
        let trial = trials(&measured(&bench, &file))[0].clone();
        (trial, response_ms(&bench.runs().pop().unwrap(), 0.95))
    };
    let uniform = "[load.open]\nrate = 100\narrivals = \"uniform\"\nworkers = 8\n";
    let closed = "[load.closed]\nclients = 1\n";
    // A quarter of the requests arrive during the pause, and a fifth of these wait 0.8 s or more.
    let (open, p95_ms) = of("1-open", uniform);
    assert!(p95_ms > 600.0, "{p95_ms} ms: {open}");
    let counted = ended_operations(&open) + number(&open["queued_at_end"]);
    assert!(
        (399.0..=400.0).contains(&counted),
        "all arrivals are accounted for: {open}"
    );
    assert_eq!(open["errors"], 0, "{open}");
    let first_commit_s = number(&open["events"][0]["commit_s"]);
    // The commit may wait for a busy disk.
    assert!((0.9..10.0).contains(&first_commit_s), "{open}");

    let (closed, p95_ms) = of("2-closed", closed);
    assert!(p95_ms < 300.0, "{p95_ms} ms: {closed}");
    assert!(number(&closed["latency_ms"]["max"]) > 800.0, "{closed}");
}

/// Stops of one second, 8.2 s apart: each begins a fifth of a second later within its second than the one before. They are in so few of
/// the seconds that those of a busy machine, too, leave the others as the usual ones.
fn pauses() -> Vec<f64> {
    (0..5).map(|place| 4.0 + 8.2 * f64::from(place)).collect()
}

/// The stops that none of these stalls covers.
fn missed_stops(stalls: &[Value]) -> Vec<f64> {
    let is_stall_at = |at_s: &f64| {
        stalls.iter().any(|stall| {
            let start_s = number(&stall["start_s"]);
            start_s < at_s + 1.5 && start_s + number(&stall["seconds"]) > *at_s
        })
    };
    let stops = pauses().into_iter();
    stops.filter(|at_s| !is_stall_at(at_s)).collect()
}

#[test]
#[cfg(tier_all)]
fn a_stop_of_one_second_is_a_stall_at_any_phase_of_the_second() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let load = "[load.open]\nrate = 500\nworkers = 16\n[protocol]\ntime = \"45s\"\n";
    let event = |at_s: f64| {
        format!(
            "[[event]]\nat = \"{:.0}ms\"\npause = {{ for = \"1s\" }}\n",
            1000.0 * at_s
        )
    };
    let events: String = pauses().into_iter().map(event).collect();
    let workload = oltp("point-select");
    let file = experiment(&bench, "phases", &workload, &format!("{load}{events}"));
    let look = || {
        let trial = trials(&measured(&bench, &file))[0].clone();
        let missed = missed_stops(trial["stalls"].as_array().unwrap());
        (trial, missed)
    };
    let (mut trial, mut missed) = look();
    if !missed.is_empty() {
        // A busy machine may hide a stop, but not the same one twice.
        let (again, missed_again) = look();
        trial = again;
        missed.retain(|at_s| missed_again.contains(at_s));
    }
    let stalls = trial["stalls"].as_array().unwrap();
    // On a busy machine the median jumps in calm seconds too, and then no second is unusual.
    let is_calm = |second: u32| {
        let affects = |at_s: &f64| (at_s - 1.0..at_s + 2.0).contains(&f64::from(second));
        !pauses().iter().any(affects)
    };
    let medians_ms = medians_ms(&bench.runs().pop().unwrap()).into_iter();
    let calm: Vec<_> = medians_ms.filter(|(second, _)| is_calm(*second)).collect();
    let is_busy = calm.iter().filter(|(_, ms)| *ms > 10.0).count() > 2;
    assert!(
        missed.is_empty() || is_busy,
        "{missed:?} of {stalls:?} among {calm:?}"
    );
    // A pause is in at most two seconds. A busy machine has stalls of its own, and a queue that grows where it is too slow.
    let stalled: f64 = stalls.iter().map(|stall| number(&stall["seconds"])).sum();
    let is_calm = stalled < 30.0 || !trial["unstable"].is_null();
    assert!(is_calm, "the other seconds are calm: {stalls:?}");
}

const STALL: &str = r#"
[load.closed]
clients = [1, 2]

[protocol]
time   = "4s"
series = true

[[event]]
at    = "500ms"
pause = { for = "20s" }
only  = { clients = "2" }
"#;

#[test]
#[cfg(tier_all)]
fn ctrl_c_during_a_stall_ends_the_run_quickly_and_it_can_be_resumed() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let running = bench.start(&[
        "run",
        &experiment(&bench, "stall", &oltp("point-select"), STALL),
    ]);
    until("a second trial with a stalled server", || {
        let is_second = bench.finished() == 1;
        is_second && servers(&bench).iter().any(|(pid, _)| is_stopped(*pid))
    });
    send(running.id(), Signal::INT);
    let signalled = Instant::now();
    let interrupted = ended(running);
    assert!(
        signalled.elapsed() < Duration::from_secs(18),
        "{:?}",
        signalled.elapsed()
    );
    assert_eq!(interrupted.status, 130, "{}", interrupted.stderr);
    assert_eq!(measured_now(&interrupted), 1, "{}", interrupted.stderr);
    nothing_is_left(&bench);

    let run = bench.runs()[0].display().to_string();
    let resumed = bench.run(&["run", "--resume", &run]);
    // The operation that the pause held is longer than the load, so the trial is invalid.
    assert_eq!(resumed.status, 3, "{}", resumed.stderr);
    assert!(
        resumed.stderr.contains("operation_too_long"),
        "{}",
        resumed.stderr
    );
    assert_eq!(
        measured_now(&resumed),
        1,
        "finished trials are not repeated: {}",
        resumed.stderr
    );
    let shown = bench.json(&bench.runs()[0]);
    let keys: HashSet<String> = trials(&shown)
        .iter()
        .map(|trial| trial["levels"].to_string())
        .collect();
    assert_eq!((keys.len(), trials(&shown).len()), (2, 2));
}

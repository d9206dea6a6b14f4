//! Figures of timed loads whose truth is planted: counters beside operations, parts of a load, traces.
//!
//! Tiers: default, all.

use crate::support::elsewhere::{Elsewhere, PASSWORD_IN_A_DSN};
use crate::support::process::ended;
use crate::support::timed::*;
use crate::support::{Bench, has};
use serde_json::Value;

/// Updates of single rows. Commits do not wait for the disk.
const UPDATES: &str = r#"
[workload.sql]
setup = "create table t (id int primary key, v int not null); insert into t values (1,0),(2,0),(3,0),(4,0)"
operations = "-- operation: up\nupdate t set v = v + 1 where id = :id"
[workload.sql.parameter]
id.uniform = [1, 4]
"#;

const NO_FLUSH: &str = "[settings]\ninnodb_flush_log_at_trx_commit = 0\n";

/// What the server counted over what was done in the seconds that its counters cover.
fn per_operation(trial: &Value, counter: &str) -> f64 {
    let all = trial["counters"][counter].as_f64().unwrap();
    all / number(&trial["operations_counted"])
}

/// Runs prony, even if the machine is busy.
fn run(bench: &Bench, arguments: &[&str]) {
    let ended = bench.run(arguments);
    assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
}

#[test]
fn counters_and_operations_cover_the_same_seconds_around_a_restart() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let rest = "[load.closed]\nclients = 1\n[protocol]\ntime = \"7s\"\nblocks = 1\n[[event]]\nat = \"3s\"\nstop = { restart = true }\n";
    let file = experiment(&bench, "restarted", UPDATES, &format!("{NO_FLUSH}{rest}"));
    // At the edges of the seconds. Without the second of the restart on one side alone it would be 0.85.
    let agree = |trial: &Value| (0.9..=1.1).contains(&per_operation(trial, "Com_update"));
    let look = || trials(&measured(&bench, &file))[0].clone();
    let mut trial = look();
    // A busy machine may read the counters late at an edge, when it is fast for a moment, but not in two runs.
    if !agree(&trial) {
        trial = look();
    }
    assert!(agree(&trial), "{trial}");
    let counted = number(&trial["operations_counted"]);
    assert!(counted < number(&trial["operations"]), "{trial}");
}

#[test]
fn what_waited_when_measuring_began_is_kept_apart() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let rest = "[load.open]\nrate = 300\narrivals = \"uniform\"\nworkers = 8\n[protocol]\ntime = \"6s\"\nwarmup = \"3s\"\nblocks = 1\n[[event]]\nat = \"500ms\"\npause = { for = \"2600ms\" }\n";
    let file = experiment(&bench, "backlog", UPDATES, &format!("{NO_FLUSH}{rest}"));
    let trial = &trials(&measured(&bench, &file))[0];
    // The server is stopped until just after the measured part begins: 750 have arrived, fewer where the stop is late, and never more
    // than all.
    let waiting = number(&trial["queued_at_start"]);
    assert!((400.0..=900.0).contains(&waiting), "{waiting}");
    let said = flags(trial, "warm_up_backlog");
    // A machine too busy for 300 per second makes the load unstable, which says more.
    let is_said = said.contains("were waiting when measuring began");
    assert!(is_said || !trial["unstable"].is_null(), "{trial}");
    let throughput = number(&trial["throughput"]);
    assert!(
        throughput < 330.0,
        "300 arrive in a second, and with those that waited it would be 425: {throughput}"
    );
}

#[test]
fn every_arrival_of_a_trace_counts_and_the_load_lasts_its_time() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let times: Vec<String> = (1..=10)
        .map(|half| format!("{}.{}", 1_764_106_205 + half / 2, 5 * (half % 2)))
        .collect();
    std::fs::write(bench.folder.path().join("trace.txt"), times.join("\n")).unwrap();
    let rest = "[load.open]\narrivals = { trace = \"trace.txt\" }\nworkers = 2\n[protocol]\ntime = \"6s\"\nblocks = 1\n";
    let file = experiment(&bench, "traced", UPDATES, &format!("{NO_FLUSH}{rest}"));
    run(&bench, &["run", &file]);
    let trial = &last(&bench);
    assert_eq!(trial["operations"], 10, "{trial}");
    assert_eq!(trial["steady"]["until_s"], 6, "{trial}");
    let rate = number(&trial["load"]["open"]["rate"]);
    assert!((rate - 10.0 / 6.0).abs() < 1e-9, "{rate}");
}

/// The data of `file` on a server, from a short run of its own.
fn load_there(bench: &Bench, file: &str, there: &Elsewhere) {
    let dsn = there.dsn_with_password();
    run(bench, &["run", file, "--server", &dsn]);
}

fn last(bench: &Bench) -> Value {
    trials(&bench.json(&bench.runs().pop().unwrap()))[0].clone()
}

#[test]
fn counters_are_those_of_all_hosts_of_a_dsn() {
    let all = "ALL ON *.*";
    let (Some(one), Some(two)) = (
        Elsewhere::start("mariadb", all),
        Elsewhere::start("mariadb", all),
    ) else {
        return;
    };
    let bench = Bench::new();
    let rest = "[load.closed]\nclients = 4\n[protocol]\ntime = \"5s\"\nblocks = 1\n";
    let file = experiment(&bench, "hosts", UPDATES, rest);
    load_there(&bench, &file, &two);
    load_there(&bench, &file, &one);
    let both = |hosts: &str| format!("mysql://guest:{PASSWORD_IN_A_DSN}@{hosts}/");
    let (first, second) = (
        format!("127.0.0.1:{}", one.port),
        format!("127.0.0.1:{}", two.port),
    );
    for hosts in [format!("{first},{second}"), format!("{first},{first}")] {
        run(&bench, &["run", &file, "--server", &both(&hosts)]);
        let trial = last(&bench);
        let updates = per_operation(&trial, "Com_update");
        // At the edges of five seconds. The counters of one host would be 0.5, those of one host twice 2.
        assert!((0.7..=1.4).contains(&updates), "{hosts}: {updates}");
        assert_eq!(flags(&trial, "foreign_clients"), "");
    }
}

#[test]
fn clients_of_others_on_an_external_server_are_flagged() {
    let Some(mut there) = Elsewhere::start("mariadb", "ALL ON *.*") else {
        return;
    };
    let bench = Bench::new();
    let rest = "[load.open]\nrate = 100\nworkers = 2\n[protocol]\ntime = \"5s\"\nblocks = 1\n";
    let file = experiment(&bench, "shared", UPDATES, rest);
    let dsn = there.dsn_with_password();
    let mut running = bench.start(&["run", &file, "--server", &dsn]);
    until_seconds(&bench, "", 1);
    while running.try_wait().unwrap().is_none() {
        there.execute("DO 1");
    }
    let after = ended(running);
    assert!([0, 3].contains(&after.status), "{}", after.stderr);
    let said = flags(&last(&bench), "foreign_clients");
    assert!(said.contains("other clients used the server"), "{said}");
}

//! Servers of several nodes on this machine: Galera, replication and Group Replication, with nodes killed, paused and cut off during a load.
//!
//! Tiers: default, all.

use crate::support::elsewhere::Elsewhere;
use crate::support::process::{ended, nothing_is_left, send, until};
use crate::support::skip::skipped;
use crate::support::timed::*;
use crate::support::{Bench, has};
use record::Trial;
use rustix::process::Signal;
use serde_json::Value;
use store::Store;

/// An experiment with a server of several nodes, measured once.
fn measured_cluster(bench: &Bench, name: &str, server: &str, rest: &str) -> Value {
    let text = format!(
        "title = \"{name}\"\n[server.one]\n{server}\n[settings]\ninnodb_flush_log_at_trx_commit = 2\n{rest}"
    );
    let shown = measured(bench, &bench.experiment(name, &text));
    nothing_is_left(bench);
    trials(&shown)[0].clone()
}

const TPCC: &str = "[workload.tpcc]\nhistory_key = true\n[load.closed]\nclients = 4\n";
const UPDATES: &str =
    "[workload.oltp]\noperations = \"update-index\"\nrows = 1000\n[load.closed]\nclients = 4\n";

/// The load, with node 2 killed and started again.
fn with_a_kill(load: &str, seconds: u32, started: &str) -> String {
    format!(
        "{load}[protocol]\ntime = '{seconds}s'\nreconnect = '60s'\n\
         [[event]]\nat = '4s'\nkill = {{ node = 2 }}\n[[event]]\n{started}\nstart = {{ node = 2 }}\n"
    )
}

/// Longer than the 5 s after which a group misses a node that does not answer.
const LATER: &str = "at = '11s'";
/// A node that came back before the others of a Galera cluster missed it would not show that they did. They drop it after 5 s, and on a busy
/// machine later.
const MISSED: &str = "when = 'cluster_size < 3'";
/// Long enough that a busy machine misses the node, too.
const MISSED_WITHIN_S: u32 = 29;

/// The seconds with a value in the series of a node, of the only trial of the last run.
fn values(bench: &Bench, node: u32, name: &str) -> Vec<f64> {
    values_of(&last_trials(bench)[0], node, name)
}

/// The trials of the last run.
fn last_trials(bench: &Bench) -> Vec<Trial> {
    let run = bench.runs().pop().unwrap();
    let store = Store::open(&run.join("run.sqlite")).unwrap();
    store.trials_whole().unwrap()
}

fn values_of(trial: &Trial, node: u32, name: &str) -> Vec<f64> {
    seconds_of(trial, node, name)
        .into_iter()
        .flatten()
        .collect()
}

fn seconds_of(trial: &Trial, node: u32, name: &str) -> Vec<Option<f64>> {
    let load = trial.load.as_ref().unwrap();
    let series = match node {
        1 => load.series.get(name),
        _ => load.node_series[&node].get(name),
    };
    series.cloned().unwrap_or_default()
}

/// What must hold of an audit that looked at all nodes.
fn holds_everywhere(trial: &Value) {
    let audit = &trial["audit"];
    assert!(audit["acknowledged"].as_u64().unwrap() > 0, "{audit}");
    for fault in ["lost", "ghosts", "partly_applied", "seen_but_lost"] {
        assert_eq!(audit[fault], 0, "{audit}");
    }
}

/// The killed node took part again.
fn came_back(trial: &Value) {
    let events = trial["events"].as_array().unwrap();
    let started = events
        .iter()
        .find(|event| event["kind"] == "start")
        .unwrap();
    assert_eq!(started["node"], 2, "{started}");
    let text = started["text"].as_str().unwrap();
    assert!(text.contains("took part again"), "{text}");
}

#[test]
#[cfg(tier_all)]
fn a_galera_cluster_keeps_every_acknowledged_transaction_on_all_nodes_when_one_is_killed() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let server = "build = 'mariadb'\ntopology = 'galera'\nnodes = 3";
    let rest = with_a_kill(TPCC, MISSED_WITHIN_S, MISSED);
    let trial = measured_cluster(&bench, "galera", server, &rest);
    holds_everywhere(&trial);
    came_back(&trial);
    // The node whose states the event waited for.
    let sizes = values(&bench, 1, "cluster size");
    assert!(sizes.contains(&3.0) && sizes.contains(&2.0), "{sizes:?}");
    assert!(!values(&bench, 3, "read age ms").is_empty());
}

#[test]
#[cfg(tier_all)]
fn a_group_of_mysql_keeps_every_acknowledged_transaction_on_all_nodes_when_one_is_killed() {
    if !has("mysql@8.0.33") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let server = "build = 'mysql@8.0.33'\ntopology = 'group'\nnodes = 3";
    let trial = measured_cluster(&bench, "group", server, &with_a_kill(TPCC, 17, LATER));
    holds_everywhere(&trial);
    came_back(&trial);
    let queued = values(&bench, 3, "receive queue");
    assert!(queued.len() > 5, "{queued:?}");
}

/// The seconds of a load in which a replica is killed. Without a replica a semi-synchronous source waits for 10 s before it commits alone,
/// and on a busy machine the replica is back later.
const KILLED_WITHIN_S: u32 = 29;
/// A node that took part again is read in one of so many seconds.
const READ_AGAIN_WITHIN_S: usize = 4;

/// Kills a replica of this server and starts it again.
fn a_killed_replica_catches_up(build: &str, semi_sync: bool) {
    if !has(build) {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let server =
        format!("build = '{build}'\ntopology = 'replica'\nnodes = 2\nsemi_sync = {semi_sync}");
    let rest = with_a_kill(UPDATES, KILLED_WITHIN_S, LATER);
    let shown = measured_cluster(&bench, "replica", &server, &rest);
    came_back(&shown);
    let first_commit_s = number(&shown["events"][0]["commit_s"]);
    assert!(first_commit_s > 0.0, "{shown}");
    let trial = &last_trials(&bench)[0];
    let started_ns = trial.load.as_ref().unwrap().started_ns;
    let second = |at_ns: i64| ((at_ns - started_ns) / 1_000_000_000) as usize;
    let [killed, started] = &trial.events[..] else {
        panic!("{:?}", trial.events);
    };
    let (down, back) = (second(killed.at_ns), second(started.ended_ns.unwrap()));
    for name in ["read age ms", "replication lag s"] {
        let seconds = seconds_of(trial, 2, name);
        let known = |second: &Option<f64>| second.is_some();
        assert!(seconds.iter().take(down).any(known), "{name}: {seconds:?}");
        // A replica that was back only near the end of the load has shown all that it can.
        if back + READ_AGAIN_WITHIN_S <= KILLED_WITHIN_S as usize {
            let mut after = seconds.iter().skip(back);
            assert!(after.any(known), "{name} after {back}: {seconds:?}");
        }
    }
}

#[test]
fn a_semi_synchronous_replica_that_was_killed_catches_up() {
    a_killed_replica_catches_up("mariadb", true);
}

#[test]
#[cfg(tier_all)]
fn an_asynchronous_replica_of_mysql_that_was_killed_catches_up() {
    a_killed_replica_catches_up("mysql@8.0.33", false);
}

#[test]
#[cfg(tier_all)]
fn reads_go_where_the_experiment_sends_them() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let server = "build = 'mariadb'\ntopology = 'galera'\nnodes = 3\nwrites = 'one'";
    let text = format!(
        "title = \"reads\"\n[server.one]\n{server}\n\
         [factor.reads.first]\nserver = {{ reads = 'first' }}\n\
         [factor.reads.any]\nserver = {{ reads = 'any' }}\n\
         [factor.reads.round-robin]\nserver = {{ reads = 'round-robin' }}\n\
         {}[load.closed]\nclients = 2\n[protocol]\ntime = '6s'\n",
        oltp("point-select")
    );
    measured(&bench, &bench.experiment("reads", &text));
    nothing_is_left(&bench);
    let trials = last_trials(&bench);
    for (reads, nodes) in [
        ("first", &[1][..]),
        ("any", &[1, 2]),
        ("round-robin", &[1, 2, 3]),
    ] {
        let level = ("reads".to_string(), reads.to_string());
        let trial = trials.iter().find(|one| one.key.levels.contains(&level));
        let trial = trial.unwrap();
        let reads_of = |node| values_of(trial, node, "Com_select").iter().sum::<f64>();
        // prony's own reads are some ten in each second.
        let used: Vec<u32> = (1..=3).filter(|node| reads_of(*node) > 300.0).collect();
        assert_eq!(used, nodes, "{reads}: {:?}", [1, 2, 3].map(reads_of));
    }
}

#[test]
#[cfg(tier_all)]
fn a_load_on_a_dsn_of_several_hosts_uses_all_of_them() {
    let start = || Elsewhere::start("mariadb", "ALL ON *.*");
    let (Some(mut first), Some(mut second)) = (start(), start()) else {
        return;
    };
    let bench = Bench::new();
    let text = format!(
        "title = \"hosts\"\n[server.one]\nbuild = 'sqlite'\n{}[load.closed]\nclients = 2\n[protocol]\ntime = '5s'\n",
        oltp("point-select")
    );
    let file = bench.experiment("hosts", &text);
    let run = |dsn: &str| {
        let ended = bench.run(&["run", &file, "--server", dsn]);
        assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    };
    // Both get the same rows, as the nodes of a cluster would have them.
    run(&second.dsn_with_password());
    run(&first.dsn_with_password());
    let reads = |one: &mut Elsewhere| {
        let row = one.query("SHOW GLOBAL STATUS LIKE 'Com_select'").remove(0);
        row.split('\t').nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = [reads(&mut first), reads(&mut second)];
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", first.port, second.port);
    let one = format!("127.0.0.1:{}", first.port);
    run(&first.dsn_with_password().replace(&one, &hosts));
    let after = [reads(&mut first), reads(&mut second)];
    for (before, after) in before.into_iter().zip(after) {
        assert!(after - before > 300, "{before} {after}");
    }
}

#[test]
#[cfg(tier_all)]
fn what_a_paused_node_costs_the_users_of_the_others_is_measured() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let server = "build = 'mariadb'\ntopology = 'galera'\nnodes = 3\nwrites = 'one'";
    let pause =
        "[protocol]\ntime = '26s'\n[[event]]\nat = '6s'\npause = { node = 2, for = '3s' }\n";
    let trial = measured_cluster(&bench, "pause", server, &format!("{UPDATES}{pause}"));
    let event = &trial["events"][0];
    assert_eq!(
        (&event["kind"], &event["node"]),
        (&"pause".into(), &2.into())
    );
    // A commit needs every node until the others go on without it, which Galera does after 5 s, and a busy machine later.
    let (commit_s, paused_s) = (number(&event["commit_s"]), number(&event["paused_s"]));
    assert!((2.0..15.0).contains(&commit_s), "{event}");
    assert!(paused_s >= 3.0, "{event}");
    match event["recovered_s"].as_f64() {
        Some(recovered_s) => assert!(commit_s <= recovered_s, "{event}"),
        None => assert!(!flags(&trial, "not_recovered").is_empty(), "{trial}"),
    }
}

#[test]
fn writes_go_to_as_many_nodes_as_asked_for() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let server = "build = 'mariadb'\ntopology = 'galera'\nnodes = 3\nwrites = 2";
    let rest = format!("{UPDATES}[protocol]\ntime = '5s'\n");
    measured_cluster(&bench, "two", server, &rest);
    // Write sets of its own clients. Com_update also counts those of other nodes.
    let written = |node| values(&bench, node, "wsrep_replicated").iter().sum::<f64>();
    let (second, third) = (written(2), written(3));
    assert!(second > 0.0 && third == 0.0, "{second} {third}");
}

#[test]
#[cfg(tier_all)]
fn a_node_that_never_joins_is_named_with_the_reason() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let text = format!(
        "title = \"alone\"\n[server.one]\nbuild = 'mariadb'\ntopology = 'galera'\nnodes = 2\n{UPDATES}[protocol]\ntime = '5s'\n"
    );
    let running = bench.start(&["run", &bench.experiment("alone", &text)]);
    let nodes = || -> Vec<u32> {
        let lines = bench.processes();
        let nodes = lines
            .iter()
            .filter(|line| line.contains("--wsrep-cluster-address"));
        nodes
            .filter_map(|line| line.split(':').next()?.parse().ok())
            .collect()
    };
    until("the first node", || !nodes().is_empty());
    let first = nodes()[0];
    until("the second node", || nodes().len() == 2);
    send(first, Signal::STOP);
    let failed = ended(running);
    let said = format!("{}{}", failed.stdout, failed.stderr);
    let says = [
        "node 2: mariadb does not start",
        "did not reach the other nodes",
    ];
    for says in says {
        assert!(said.contains(says), "{says}: {said}");
    }
    nothing_is_left(&bench);
}

/// The addresses at which the nodes of Galera reach each other, from the command line of one of them.
fn peers(command: &str) -> Vec<String> {
    let (_, rest) = command.split_once("gcomm://").unwrap();
    let peers = rest.split(' ').next().unwrap();
    peers.split(',').map(String::from).collect()
}

#[test]
fn a_port_that_is_taken_before_its_node_starts_is_named() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let text = format!(
        "title = \"taken\"\n[server.one]\nbuild = 'mariadb'\ntopology = 'galera'\nnodes = 2\n{UPDATES}[protocol]\ntime = '5s'\n"
    );
    let file = bench.experiment("taken", &text);
    let attempt = || {
        let running = bench.start(&["run", &file]);
        let mut first = None;
        until("the first node", || {
            let lines = bench.processes();
            first = lines.into_iter().find(|line| line.contains("gcomm://"));
            first.is_some()
        });
        let second = peers(&first.unwrap()).pop().unwrap();
        let taken = std::net::TcpListener::bind(&second);
        let failed = ended(running);
        nothing_is_left(&bench);
        if taken.is_ok() {
            let said = format!("{}{}", failed.stdout, failed.stderr);
            let says = format!("node 2: another program has taken its port {second}");
            assert!(said.contains(&says), "{said}");
        }
        taken.is_ok()
    };
    // On a busy machine the node may have its port before this test comes to take it. Not each time.
    assert!((0..3).any(|_| attempt()));
}

#[test]
#[cfg(tier_all)]
fn a_cluster_that_has_lost_its_majority_says_so() {
    let kills = "[protocol]\ntime = '24s'\nreconnect = '60s'\n\
        [[event]]\nat = '4s'\nkill = { node = 2 }\n[[event]]\nat = '5s'\nkill = { node = 3 }\n";
    for (build, topology, says) in [
        ("mariadb", "galera", "sees 1 of 3"),
        ("mysql@8.0.33", "group", "cannot reach 2 of 3"),
    ] {
        if !has(build) {
            continue;
        }
        let bench = Bench::with_shared_snapshots();
        let server = format!("build = '{build}'\ntopology = '{topology}'\nnodes = 3");
        let trial = measured_cluster(&bench, topology, &server, &format!("{UPDATES}{kills}"));
        let flags = trial["flags"].as_array().unwrap();
        let flag = flags.iter().find(|flag| flag["kind"] == "quorum_lost");
        let text = flag.expect("a flag")["text"].as_str().unwrap();
        assert!(text.contains(says), "{text}");
    }
}

#[test]
#[cfg(tier_all)]
fn a_node_that_is_cut_off_is_missed_and_heals() {
    if !has("mariadb") {
        return;
    }
    let has_links = ["ip", "tc"].map(|program| {
        let found = std::process::Command::new(program).arg("-V").output();
        found.is_ok_and(|found| found.status.success())
    });
    if !rustix::process::geteuid().is_root() || has_links != [true; 2] {
        return skipped("links need root, ip and tc of the package iproute2");
    }
    let bench = Bench::with_shared_snapshots();
    let server = "build = 'mariadb'\ntopology = 'galera'\nnodes = 3\nlink = '200mbit'\nclient_link = '100mbit'";
    let rest = format!(
        "{UPDATES}[protocol]\ntime = '24s'\nreconnect = '60s'\n\
         [[event]]\nat = '4s'\ncut = {{ node = 3 }}\n[[event]]\nat = '14s'\nheal = {{ node = 3 }}\n"
    );
    let trial = measured_cluster(&bench, "cut", server, &rest);
    let first_commit_s = number(&trial["events"][0]["commit_s"]);
    assert!(first_commit_s > 0.0, "{trial}");
    let sizes = values(&bench, 2, "cluster size");
    assert!(sizes.contains(&2.0), "{sizes:?}");
    let run = bench.runs().pop().unwrap();
    let noted = Store::open(&run.join("run.sqlite")).unwrap();
    let noted = noted.trials().unwrap()[0].limits.clone();
    assert_eq!(noted.len(), 4, "{noted:?}");
}

#[test]
fn what_a_cluster_cannot_do_is_said_at_its_place() {
    let bench = Bench::new();
    let galera = "build = 'mariadb'\ntopology = 'galera'\nnodes = 3";
    let time = "[protocol]\ntime = '20s'\n";
    for (name, server, rest, says) in [
        (
            "cut",
            galera,
            format!("{time}[[event]]\nat = '5s'\ncut = {{ node = 2 }}\n"),
            "have no links",
        ),
        (
            "node",
            galera,
            format!("{time}[[event]]\nat = '5s'\nkill = {{ node = 4 }}\n"),
            "from 1 to 3",
        ),
        (
            "limits",
            galera,
            format!("{time}[limits]\nmemory = '1G'\n"),
            "limits hold for one process",
        ),
        (
            "build",
            "build = 'mysql@8.0.33'\ntopology = 'galera'\nnodes = 3",
            time.to_string(),
            "MySQL has no Galera",
        ),
        (
            "lone",
            "build = 'mariadb'\nnodes = 3",
            time.to_string(),
            "belongs to a server with a topology",
        ),
    ] {
        let text = format!(
            "title = \"{name}\"\n[server.one]\n{server}\n[workload.oltp]\noperations = \"point-select\"\n{rest}"
        );
        let ended = bench.run(&["check", &bench.experiment(name, &text)]);
        assert_ne!(ended.status, 0, "{name}");
        assert!(ended.stderr.contains(says), "{name}: {}", ended.stderr);
    }
}

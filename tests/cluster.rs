//! Servers of several nodes on this machine: Galera, replication and Group Replication, with nodes killed, paused and cut off during a load.

use crate::support::process::{ended, nothing_is_left, send, until};
use crate::support::skip::skipped;
use crate::support::timed::*;
use crate::support::{Bench, has};
use record::Store;
use rustix::process::Signal;
use serde_json::Value;

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
fn with_a_kill(load: &str) -> String {
    format!(
        "{load}[protocol]\ntime = '24s'\nreconnect = '60s'\n\
         [[event]]\nat = '5s'\nkill = {{ node = 2 }}\n[[event]]\nat = '12s'\nstart = {{ node = 2 }}\n"
    )
}

/// The seconds with a value in the series of a node, from 2, of the only trial of the last run.
fn values(bench: &Bench, node: u32, name: &str) -> Vec<f64> {
    let run = bench.runs().pop().unwrap();
    let trials = Store::open(&run.join("run.sqlite")).unwrap();
    let trials = trials.trials_whole().unwrap();
    let load = trials[0].load.as_ref().unwrap();
    let series = load.node_series[&node].get(name);
    series.into_iter().flatten().flatten().copied().collect()
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
fn a_galera_cluster_keeps_every_acknowledged_transaction_on_all_nodes_when_one_is_killed() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let server = "build = 'mariadb'\ntopology = 'galera'\nnodes = 3";
    let trial = measured_cluster(&bench, "galera", server, &with_a_kill(TPCC));
    holds_everywhere(&trial);
    came_back(&trial);
    let sizes = values(&bench, 3, "cluster size");
    assert!(sizes.contains(&3.0) && sizes.contains(&2.0), "{sizes:?}");
    assert!(!values(&bench, 3, "read age ms").is_empty());
}

#[test]
fn a_group_of_mysql_keeps_every_acknowledged_transaction_on_all_nodes_when_one_is_killed() {
    if !has("mysql@8.0.33") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let server = "build = 'mysql@8.0.33'\ntopology = 'group'\nnodes = 3";
    let trial = measured_cluster(&bench, "group", server, &with_a_kill(TPCC));
    holds_everywhere(&trial);
    came_back(&trial);
    let queued = values(&bench, 3, "receive queue");
    assert!(queued.len() > 5, "{queued:?}");
}

#[test]
fn a_replica_that_was_killed_catches_up() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let server = "build = 'mariadb'\ntopology = 'replica'\nnodes = 2\nsemi_sync = true";
    let trial = measured_cluster(&bench, "replica", server, &with_a_kill(UPDATES));
    came_back(&trial);
    for name in ["read age ms", "replication lag s"] {
        let values = values(&bench, 2, name);
        assert!(values.len() > 5, "{name}: {values:?}");
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
    let running = bench.start(&["run", &bench.experiment("taken", &text)]);
    let mut first = None;
    until("the first node", || {
        let lines = bench.processes();
        first = lines.into_iter().find(|line| line.contains("gcomm://"));
        first.is_some()
    });
    let second = peers(&first.unwrap()).pop().unwrap();
    let _taken = std::net::TcpListener::bind(&second).unwrap();
    let failed = ended(running);
    let said = format!("{}{}", failed.stdout, failed.stderr);
    let says = format!("node 2: another program has taken its port {second}");
    assert!(said.contains(&says), "{said}");
    nothing_is_left(&bench);
}

#[test]
fn a_cluster_that_has_lost_its_majority_says_so() {
    let kills = "[protocol]\ntime = '12s'\nreconnect = '60s'\n\
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
    measured_cluster(&bench, "cut", server, &rest);
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

//! Query timeouts on real servers: the query is stopped and flagged, and the trial continues.
//!
//! Tier: default.

use crate::support::process::{ended, nothing_is_left, send, servers, until, works};
use crate::support::{Bench, has};
use rustix::process::Signal;

/// Two queries that take minutes.
const EXPERIMENT: &str = r#"
title = "Too slow"

[server.one]
build = "BUILD"

[workload.sql]
dump         = "empty.sql"
queries_file = "slow.sql"

[protocol]
rounds        = ["cold", "hot"]
query_timeout = "1ms"
blocks        = 1
"#;

const QUERIES: &str =
    "select benchmark(100000000000, sha1(1));\nselect benchmark(100000000000, md5(1));\n";

#[test]
fn a_query_that_times_out_is_stopped_and_the_trial_continues() {
    for build in ["mariadb", "mysql@5.6.14"] {
        if !has(build) {
            continue;
        }
        let bench = Bench::new();
        let write = |name: &str, text: &str| std::fs::write(bench.folder.path().join(name), text);
        write("empty.sql", "create table t (a int primary key);\n").unwrap();
        write("slow.sql", QUERIES).unwrap();
        let file = bench.experiment("slow", &EXPERIMENT.replace("BUILD", build));
        let run = bench.valid(&["run", &file]);
        assert!(
            run.stdout.contains("> 0.00200 s"),
            "{build}: {}",
            run.stdout
        );
        let trial = &bench.json(&bench.runs().pop().unwrap())["trials"][0];
        for round in trial["rounds"].as_array().unwrap() {
            assert_eq!(round["timed_out"], true, "{build}: {round}");
            let queries = round["queries"].as_array().unwrap();
            assert_eq!(queries.len(), 2, "{build}: {round}");
            for query in queries {
                assert_eq!(query["timed_out_s"], 0.001, "{build}: {query}");
                assert!(query["elapsed_s"].is_null(), "{build}: {query}");
            }
        }
    }
}

/// A server that is stopped as by a debugger, or that waits for a disk, does not obey KILL QUERY.
#[test]
fn a_server_that_hangs_during_a_query_fails_the_trial_with_the_stacks_of_its_threads() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let write = |name: &str, text: &str| std::fs::write(bench.folder.path().join(name), text);
    write("empty.sql", "create table t (a int primary key);\n").unwrap();
    write("slow.sql", QUERIES).unwrap();
    let experiment = EXPERIMENT
        .replace("BUILD", "mariadb")
        .replace("\"cold\", \"hot\"", "\"hot\"")
        // The CPU time by which the query is known takes several times as long beside other tests.
        .replace("1ms", "40s");
    let file = bench.experiment("hangs", &experiment);
    let running = bench.start(&["run", &file]);
    until("the query", || works(&bench));
    for (pid, _) in servers(&bench) {
        send(pid, Signal::STOP);
    }
    let ended = ended(running);
    assert_eq!(ended.status, 3, "{} {}", ended.stdout, ended.stderr);
    let run = &bench.runs()[0];
    let trial = bench.json(run)["trials"][0].to_string();
    for part in ["the server hangs", "did not stop within 5 s of KILL QUERY"] {
        assert!(trial.contains(part), "{trial}");
    }
    let logs = std::fs::read_dir(run.join("logs")).unwrap();
    let logs = logs.map(|log| std::fs::read_to_string(log.unwrap().path()).unwrap());
    let logs: String = logs.collect();
    assert!(logs.contains("prony: the server hangs. thread "), "{logs}");
    nothing_is_left(&bench);
}

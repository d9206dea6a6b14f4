//! Query timeouts on real servers: the query is stopped and flagged, and the trial continues.

use crate::support::{Bench, has};

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
        let run = bench.run(&["run", &file]);
        assert_eq!(run.status, 0, "{build}: {}", run.stderr);
        assert!(
            run.stdout.contains("> 0.00200 s"),
            "{build}: {}",
            run.stdout
        );
        let trial = &bench.json(&bench.runs()[0])["trials"][0];
        assert_eq!(trial["state"], "done", "{build}: {trial}");
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

//! Query timeouts on real servers: the query is stopped and flagged, and the trial continues.

use crate::support::{Bench, has};

/// A timeout of 1 ms: no machine joins 60,000 rows in that time.
const EXPERIMENT: &str = r#"
title = "Too slow"

[server.one]
build = "BUILD"

[workload.ssb]
scale = 0.01

[protocol]
rounds        = ["cold", "hot"]
queries       = ["Q2.1", "Q3.1"]
query_timeout = "1ms"
blocks        = 1
"#;

#[test]
fn a_query_that_times_out_is_stopped_and_the_trial_continues() {
    for build in ["mariadb", "mysql@5.6.14"] {
        if !has(build) {
            continue;
        }
        let bench = Bench::with_shared_snapshots();
        let file = bench.experiment("slow", &EXPERIMENT.replace("BUILD", build));
        let run = bench.run(&["run", &file]);
        assert_eq!(run.status, 0, "{build}: {}", run.stderr);
        assert!(run.stdout.contains("> 0.001 s"), "{build}: {}", run.stdout);
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

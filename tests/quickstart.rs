//! The main use on real servers: from an experiment to a verdict.
//!
//! Tiers: default, all.

use crate::support::process::nothing_is_left;
use crate::support::{Bench, has};

/// Two buffer pools on one server, small enough to run in seconds.
fn small(build: &str) -> String {
    format!(
        r#"
title = "A small and a large pool"
question = "Does a whole run work?"

[server.one]
build = "{build}"

[variant.small]
settings = {{ innodb_buffer_pool_size = "data / 2" }}
[variant.large]
settings = {{ innodb_buffer_pool_size = "data * 4" }}

[workload.ssb]
scale = 0.01

[load.closed]
clients = [1]

[protocol]
rounds = ["cold", "hot"]
blocks = 2

[observe]
plans = true
profile = ["Q1.1"]

[[claim]]
says = "cold is slower than hot"
value = "elapsed"
of = {{ server = "one", variant = "large", round = "cold" }}
to = {{ server = "one", variant = "large", round = "hot" }}
at_least = 1.0
"#
    )
}

fn runs_whole(build: &str) {
    if !has(build) {
        return;
    }
    let bench = Bench::new();
    let file = bench.experiment("small", &small(build));
    let ended = bench.valid(&["run", &file]);
    assert!(
        ended.stdout.contains("cold is slower than hot"),
        "{}",
        ended.stdout
    );
    let run = bench.runs().pop().unwrap();
    assert!(run.join("report.html").is_file());

    let shown = bench.json(&run);
    assert_eq!(shown["valid"], true);
    let trials = shown["trials"].as_array().unwrap();
    let of_role = |role: &str| trials.iter().filter(|trial| trial["role"] == role).count();
    assert_eq!((of_role("measured"), of_role("control")), (4, 2));
    assert!(shown["control"]["measured"].as_f64().unwrap() > 0.0);
    assert!(shown["control"]["ci"].is_array(), "{}", shown["control"]);
    let first = ended.stdout.find("the same setup twice: ");
    let verdicts = ended.stdout.find("cold is slower than hot");
    assert!(first.is_some() && first < verdicts, "{}", ended.stdout);
    for trial in trials {
        for round in trial["rounds"].as_array().unwrap() {
            let queries = round["queries"].as_array().unwrap();
            assert_eq!(queries.len(), 13);
            for query in queries {
                assert_eq!(query["answer"], "ok", "{query}");
                assert!(query["elapsed_s"].as_f64().unwrap() > 0.0);
                assert!(query["plan_hash"].is_string(), "{query}");
            }
        }
        assert_eq!(trial["rounds"][0]["name"], "cold", "{}", trial["flags"]);
    }
    nothing_is_left(&bench);
}

#[test]
fn an_experiment_ends_with_its_verdicts_on_mariadb() {
    runs_whole("mariadb");
}

#[test]
#[cfg(tier_all)]
fn an_experiment_ends_with_its_verdicts_on_mysql_5_6() {
    runs_whole("mysql@5.6.14");
}

#[test]
fn a_pool_smaller_than_the_data_reads_pages_from_disk() {
    if !has("mysql@5.6.14") {
        return;
    }
    let bench = Bench::new();
    let file = bench.experiment(
        "small",
        &small("mysql@5.6.14").replace("data / 2", "data / 3"),
    );
    bench
        .run(&["run", &file, "--scale", "0.03", "--blocks", "1"])
        .measured();
    let shown = bench.json(&bench.runs()[0]);
    let reads = |variant: &str| {
        let trial = shown["trials"]
            .as_array()
            .unwrap()
            .iter()
            .find(|trial| trial["variant"] == variant)
            .unwrap();
        let queries = trial["rounds"][1]["queries"].as_array().unwrap();
        queries
            .iter()
            .map(|query| {
                query["counters"]["Innodb_buffer_pool_reads"]
                    .as_i64()
                    .unwrap()
            })
            .sum::<i64>()
    };
    assert!(reads("small") > 100, "{}", reads("small"));
    assert_eq!(
        reads("large"),
        0,
        "a hot round in a pool above the data size reads no page"
    );
}

#[test]
#[cfg(tier_all)]
fn mysql_5_6_starts_on_a_data_folder_from_5_5() {
    if !has("mysql@5.5.34") || !has("mysql@5.6.14") {
        return;
    }
    let bench = Bench::new();
    let text = small("mysql@5.5.34").replace(
        "[variant.small]",
        "[server.two]\nbuild = \"mysql@5.6.14\"\ndataset_from = \"one\"\n\n[variant.small]",
    );
    let file = bench.experiment("upgrade", &text);
    let ended = bench.run(&["run", &file, "--blocks", "1", "--only", "variant=large"]);
    ended.measured();
    assert_eq!(
        ended.stderr.matches("loaded Star Schema").count(),
        1,
        "one load serves both: {}",
        ended.stderr
    );
    let servers: Vec<_> = bench.json(&bench.runs()[0])["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| trial["server"].clone())
        .collect();
    assert!(servers.contains(&"one".into()) && servers.contains(&"two".into()));
}

#[test]
#[cfg(tier_all)]
fn runs_share_one_snapshot() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let file = bench.experiment("small", &small("mariadb"));
    let once = ["run", &file, "--blocks", "1", "--only", "variant=large"];
    let first = bench.run(&once);
    let second = bench.run(&once);
    assert!(
        first.stderr.contains("loaded Star Schema"),
        "{}",
        first.stderr
    );
    second.measured();
    assert!(
        !second.stderr.contains("loaded Star Schema"),
        "{}",
        second.stderr
    );
}

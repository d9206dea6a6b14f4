//! Storage engines and rounds of several clients on real servers, end to end.
//!
//! Tiers: default, all.

use crate::support::process::{ended, nothing_is_left, send, until};
use crate::support::{Bench, has};
use rustix::process::Signal;
use serde_json::Value;

/// An experiment with one server and the smallest benchmark.
fn file(bench: &Bench, build: &str, more: &str) -> String {
    let text = format!(
        "title = \"t\"\n[server.one]\nbuild = \"{build}\"\n[workload.ssb]\nscale = 0.01\n{more}"
    );
    bench.experiment("engines", &text)
}

fn trials(bench: &Bench) -> Vec<Value> {
    let shown = bench.json(&bench.runs()[0]);
    shown["trials"].as_array().unwrap().clone()
}

fn at<'t>(trials: &'t [Value], factor: &str, level: &str) -> &'t Value {
    let found = trials.iter().find(|trial| trial["levels"][factor] == level);
    found.unwrap_or_else(|| panic!("no trial of {factor} {level}"))
}

#[test]
fn every_client_of_a_round_runs_every_query_with_the_session_settings() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = file(
        &bench,
        "mariadb",
        "[session]\nsql_select_limit = 1\n[load.closed]\nclients = [1, 3]\n[protocol]\nrounds = [\"hot\"]\nqueries = [\"Q2.1\", \"Q3.1\"]\n",
    );
    let done = bench.run(&["run", &file]);
    // The row limit makes every client's answers differ from the reference.
    assert_eq!(done.status, 3, "{}", done.stderr);
    let trials = trials(&bench);
    let queries = |clients: &str| {
        let round = &at(&trials, "clients", clients)["rounds"][0];
        round["queries"].as_array().unwrap().clone()
    };
    assert_eq!((queries("1").len(), queries("3").len()), (2, 6));
    for (n, query) in queries("3").iter().enumerate() {
        assert_eq!(query["client"], n / 2 + 1, "{query}");
        assert_eq!(query["rows"], 1, "the session's limit holds: {query}");
        assert_eq!(query["answer"], "wrong", "{query}");
        assert_eq!(query["counters"], serde_json::json!({}), "{query}");
    }
    let round = &at(&trials, "clients", "3")["rounds"][0];
    assert_eq!(round["clients"], 3);
    assert!(
        round["counters"]["Com_select"].as_i64().unwrap() >= 6,
        "{round}"
    );
    let flags = at(&trials, "clients", "3")["flags"].to_string();
    assert!(flags.contains("Q2.1 of client 3"), "{flags}");
    nothing_is_left(&bench);
}

#[test]
fn several_clients_with_unit_query_get_right_answers() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = file(
        &bench,
        "mariadb",
        "[load.closed]\nclients = 2\n[protocol]\nrounds = [\"cold\", \"hot\"]\nunit = \"query\"\nqueries = [\"Q1.1\", \"Q3.4\"]\n",
    );
    let done = bench.run(&["run", &file]);
    done.measured();
    let trials = trials(&bench);
    for round in trials[0]["rounds"].as_array().unwrap() {
        let issued: Vec<(String, u64)> = round["queries"]
            .as_array()
            .unwrap()
            .iter()
            .inspect(|query| assert_eq!(query["answer"], "ok", "{query}"))
            .map(|query| {
                let name = query["name"].as_str().unwrap().to_string();
                (name, query["client"].as_u64().unwrap())
            })
            .collect();
        let each = |name: &str, client| (name.to_string(), client);
        let expected = [
            each("Q1.1", 1),
            each("Q1.1", 2),
            each("Q3.4", 1),
            each("Q3.4", 2),
        ];
        assert_eq!(issued, expected);
    }
}

#[test]
fn ctrl_c_ends_all_clients_and_leaves_nothing_behind() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = file(
        &bench,
        "mariadb",
        "[load.closed]\nclients = 4\n[protocol]\nrounds = [\"hot\"]\nblocks = 500\n",
    );
    let running = bench.start(&["run", &file]);
    until("the first trial", || bench.finished() >= 1);
    send(running.id(), Signal::INT);
    let interrupted = ended(running);
    assert_eq!(interrupted.status, 130, "{}", interrupted.stderr);
    nothing_is_left(&bench);
}

#[test]
#[cfg(tier_all)]
fn a_missing_engine_is_not_available_and_the_others_are_measured() {
    if !has("mysql@5.6.14") {
        return;
    }
    let bench = Bench::new();
    let engine =
        |name: &str| format!("[factor.engine.{name}]\nworkload = {{ engine = \"{name}\" }}\n");
    let file = file(
        &bench,
        "mysql@5.6.14",
        &format!(
            "index_build = \"after\"\n[protocol]\nrounds = [\"hot\"]\nqueries = [\"Q1.1\"]\n{}{}{}",
            engine("MyISAM"),
            engine("Aria"),
            engine("MEMORY")
        ),
    );
    let done = bench.run(&["run", &file]);
    done.measured();
    let measured = trials(&bench);
    for (engine, why) in [
        ("Aria", "no storage engine Aria"),
        ("MEMORY", "lost when the server restarted"),
    ] {
        let empty = at(&measured, "engine", engine);
        assert_eq!(empty["rounds"], serde_json::json!([]), "{empty}");
        assert_eq!(empty["flags"][0]["kind"], "not_available", "{empty}");
        let text = empty["flags"][0]["text"].as_str().unwrap();
        assert!(text.contains(why), "{text}");
    }
    let myisam = at(&measured, "engine", "MyISAM");
    let query = &myisam["rounds"][0]["queries"][0];
    assert!(
        query["counters"]["server cpu us"].as_i64().unwrap() > 0,
        "{query}"
    );
    let load = |trial: &Value| trial["dataset"]["load_s"].as_f64();
    assert!(load(myisam).is_some() && myisam["dataset"]["index_s"]["lineorder"].is_number());

    let again = bench.run(&["run", &file, "--only", "engine=MyISAM"]);
    again.measured();
    assert!(!again.stderr.contains("loaded "), "{}", again.stderr);
    let reused = bench.json(&bench.runs()[1]);
    assert_eq!(
        load(&reused["trials"][0]),
        load(myisam),
        "a reused snapshot reports its load"
    );
}

//! Servers whose rounds of queries take turns.
//!
//! Tiers: all.
#![cfg(tier_all)]

use crate::slices::started;
use crate::support::process::{ended, nothing_is_left, send};
use crate::support::timed::*;
use crate::support::{Bench, has};
use rustix::process::Signal;
use serde_json::Value;

/// Two variants of one server whose rounds of queries take turns; `rest` is the rest of the protocol.
fn by_query(bench: &Bench, name: &str, rest: &str) -> String {
    let workload = "[workload.ssb]\nscale = 0.01\n";
    let rest = format!("[variant.a]\n[variant.b]\n[protocol]\nslices = \"query\"\n{rest}");
    experiment(bench, name, workload, &rest)
}

fn rounds_of(trial: &Value) -> Vec<Value> {
    trial["rounds"].as_array().unwrap().clone()
}

#[test]
fn hot_rounds_of_servers_take_turns_query_by_query() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = by_query(
        &bench,
        "queries",
        "rounds = [\"hot\", \"hot\"]\nblocks = 2\n",
    );
    let ended = bench.run(&["run", &file]);
    assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    let run = &bench.runs()[0];
    let trials = trials(&bench.json(run));
    assert_eq!(trials.len(), 6);
    for trial in &trials {
        assert!(is_whole(trial), "{trial}\n{}", ended.stderr);
        let said = flags(trial, "took_turns");
        assert!(
            said.contains("3 servers took turns query by query"),
            "{trial}"
        );
        let rounds = rounds_of(trial);
        assert_eq!(rounds.len(), 2);
        for round in &rounds {
            let queries = round["queries"].as_array().unwrap();
            let sum_s: f64 = queries
                .iter()
                .map(|query| number(&query["elapsed_s"]))
                .sum();
            assert!(
                (sum_s - number(&round["elapsed_s"])).abs() < 1e-6,
                "{round}"
            );
            assert_eq!(queries.len(), 13);
            for query in queries {
                assert_eq!(query["answer"], "ok", "{query}");
                // What a hot round reads was in the pool after the pass that does not count.
                assert!(
                    number(&query["counters"]["Innodb_pages_read"]) < 10.0,
                    "{query}"
                );
            }
        }
    }
    // Each round of a block has the same time for all its servers, so no round is over before another one begins.
    let store = store::Store::open(&run.join("run.sqlite")).unwrap();
    let mut all = store.trials().unwrap();
    all.extend(store.controls().unwrap());
    for round in 0..2 {
        let of_block = all.iter().filter(|trial| trial.key.block == 0);
        let rounds: Vec<_> = of_block.map(|trial| &trial.rounds[round]).collect();
        let began_last = rounds.iter().map(|round| round.started_ns).max();
        let ended_first = rounds.iter().map(|round| round.ended_ns).min();
        assert!(began_last < ended_first, "{rounds:?}");
    }
    let report = bench.run(&["show", &run.display().to_string()]);
    let says = "Measured query by query in turn: the servers of a group";
    assert!(report.stdout.contains(says), "{}", report.stdout);
    nothing_is_left(&bench);
}

#[test]
fn each_cold_query_in_turn_has_a_restart_of_its_own() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let rest = "rounds = [\"cold\", \"hot\"]\nunit = \"query\"\nqueries = [\"Q1.1\", \"Q2.1\", \"Q3.1\"]\n";
    let file = by_query(&bench, "cold", rest);
    let off = by_query(&bench, "off", rest);
    let text = std::fs::read_to_string(&off).unwrap();
    std::fs::write(&off, text.replace("\"query\"\nrounds", "\"off\"\nrounds")).unwrap();
    for file in [&file, &off] {
        let ended = bench.run(&["run", file]);
        assert!([0, 3].contains(&ended.status), "{}", ended.stderr);
    }
    let runs = bench.runs();
    let run_of = |name: &str| {
        let is_its = |run: &&std::path::PathBuf| run.display().to_string().contains(name);
        runs.iter().find(is_its).unwrap().clone()
    };
    let (in_turn, off) = (run_of("cold"), run_of("off"));
    for (run, turns) in [(&in_turn, "2 servers took turns"), (&off, "")] {
        for trial in trials(&bench.json(run)) {
            assert!(flags(&trial, "took_turns").contains(turns), "{trial}");
            let rounds = rounds_of(&trial);
            let coldness = &rounds[0]["coldness"];
            assert_eq!(
                (&coldness["passes"], &coldness["server_restarted"]),
                (&3.into(), &true.into()),
                "{trial}"
            );
            // The data is small, so only its pages in the pool tell the rounds apart on any disk.
            let read = |round: &Value| number(&round["counters"]["Innodb_pages_read"]);
            assert!(read(&rounds[0]) > 10.0 * read(&rounds[1]) + 10.0, "{trial}");
            for round in &rounds {
                let queries = round["queries"].as_array().unwrap().iter();
                let answers: Vec<&Value> = queries.map(|query| &query["answer"]).collect();
                assert_eq!(answers, ["ok", "ok", "ok"], "{trial}");
            }
        }
    }
    let names = [&in_turn, &off].map(|run| run.display().to_string());
    let compared = bench.run(&["compare", &names[0], &names[1]]);
    for part in [
        "how trials were measured",
        "queries in turn",
        "trials one after another",
    ] {
        assert!(
            compared.stdout.contains(part),
            "{part}: {}",
            compared.stdout
        );
    }
    nothing_is_left(&bench);
}

#[test]
fn a_signal_during_queries_in_turn_leaves_no_server_stopped() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let rounds = vec!["\"hot\""; 200].join(", ");
    let file = by_query(&bench, "signals", &format!("rounds = [{rounds}]\n"));
    for (signal, status) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let running = started(&bench, &file);
        send(running.id(), signal);
        let after = ended(running);
        assert!(
            status.is_none_or(|status| status == after.status),
            "{}",
            after.stderr
        );
        nothing_is_left(&bench);
    }
}

//! What every form of a report has to hold, for a made-up run with published figures.

use crate::fixture;
use crate::fixture::forms;
use report::{Detail, Document, Gate, Screen, Strictness};

#[test]
fn one_block_has_no_intervals_and_no_verdicts() {
    let (run, trials) = fixture::long(1);
    let text = forms::terminal(&run, &trials, false, 100);
    assert!(text.contains("one block, no CI"), "{text}");
    assert!(
        text.contains("0 of 4 claims reproduced, 4 inconclusive"),
        "{text}"
    );
    assert!(!text.contains('±'), "{text}");
}

#[test]
fn a_run_without_servers_has_no_column_of_servers() {
    let (mut run, mut trials) = fixture::published();
    trials.retain(|trial| trial.key.server_name() == "5.6");
    trials.iter_mut().for_each(|trial| trial.key.server = None);
    run.question.servers.clear();
    run.environment.servers.clear();
    let text = forms::terminal(&run, &trials, false, 100);
    let is_head = |line: &&str| line.contains("variant") && line.contains("cold");
    let head = text.lines().find(is_head).expect("a table of rounds");
    assert!(!head.contains("server"), "{text}");
    assert!(text.contains("small pool"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    assert!(json["trials"][0]["server"].is_null());
}

#[test]
fn the_control_is_shown_first_and_changes_no_other_figure() {
    let (run, trials) = fixture::published();
    let mut controls: Vec<record::Trial> = (trials.iter())
        .filter(|trial| stats::row_key(&trial.key) == stats::row_key(&trials[0].key))
        .cloned()
        .collect();
    for control in &mut controls {
        control.key.role = record::Role::Control;
        for round in &mut control.rounds {
            round.elapsed_s *= 1.03;
        }
    }
    let document = Document::with_control(&run, &trials, &controls, Detail::Full);
    let text = report::terminal(&document, &forms::screen(140));
    let shown = "the same setup twice: 1.03 (1.03 to 1.03)";
    assert!(text.find(shown) < text.find("Verdicts"), "{text}");
    assert!(report::html(&document).contains(shown));
    let document = Document::with_control(&run, &trials, &controls, Detail::Brief);
    assert_eq!(report::csv(&document), forms::csv(&run, &trials));
    let of = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
    let (with, without) = (
        of(&report::json(&document)),
        of(&forms::json(&run, &trials)),
    );
    let measured = with["control"]["measured"].as_f64().unwrap();
    assert!((measured - 1.03).abs() < 1e-9, "{measured}");
    assert!(without["control"].is_null());
    assert_eq!(with["claims"], without["claims"]);
    let with = with["trials"].as_array().unwrap();
    let (measured, controls) = with.split_at(trials.len());
    assert_eq!(measured, without["trials"].as_array().unwrap());
    assert_eq!(controls.len(), 3);
    assert!(controls.iter().all(|trial| trial["role"] == "control"));
}

#[test]
fn a_query_that_slows_down_from_hot_round_to_hot_round_is_named_in_every_form() {
    let (run, trials) = fixture::published();
    assert!(!forms::markdown(&run, &trials).contains(": add hot rounds"));
    let (run, trials) = fixture::drifting();
    let sentence =
        "5.6 · large pool: Q3.4 is 1.61× slower in hot 3 than in hot 1, in each of 3 trials.";
    let document = Document::of(&run, &trials, Detail::Brief);
    let first_screen = Screen {
        verbose: false,
        ..forms::screen(200)
    };
    for text in [
        report::terminal(&document, &first_screen),
        report::markdown(&document),
        forms::html(&run, &trials),
    ] {
        assert!(text.contains(sentence), "{text}");
        assert!(text.contains("compare the last one alone"), "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&report::json(&document)).unwrap();
    let [drift] = json["drifts"].as_array().unwrap().as_slice() else {
        panic!("{}", json["drifts"]);
    };
    for (key, value) in [("first", 1), ("last", 3), ("trials", 3)] {
        assert_eq!(drift[key], value, "{key}");
    }
    assert_eq!(drift["query"], "Q3.4");
    assert_eq!(drift["server"], "5.6");
    assert_eq!(drift["levels"]["variant"], "large pool");
    assert!((drift["ratio"].as_f64().unwrap() - 1.61).abs() < 0.005);
}

#[test]
fn the_caveat_of_explanations_stands_only_below_an_explanation() {
    let (mut run, mut trials) = fixture::published();
    run.question.claims.truncate(1);
    for block in trials.chunks_mut(5) {
        let [old, new, ..] = block else {
            panic!("a block of five rows")
        };
        // The claim compares these two with the small pool, which differ in time alone.
        for (new, old) in new.rounds.iter_mut().zip(&old.rounds) {
            for name in ["Innodb_buffer_pool_reads", "Innodb_pages_read"] {
                new.counters.insert(name.to_string(), old.counters[name]);
            }
        }
    }
    let text = forms::markdown(&run, &trials);
    assert!(text.contains("No known counter explains it."), "{text}");
    assert_eq!(text.matches("They do not prove it.").count(), 1, "{text}");
}

#[test]
fn sections_without_data_are_left_out() {
    let (run, mut trials) = fixture::published();
    for trial in &mut trials {
        trial.settings.clear();
        trial.plans.clear();
        for round in &mut trial.rounds {
            round.counters.clear();
            round.coldness = None;
            round
                .queries
                .iter_mut()
                .for_each(|query| query.plan_hash = None);
        }
    }
    let page = forms::html(&run, &trials);
    for section in [
        "id=\"plans\"",
        "id=\"settings\"",
        "id=\"coldness\"",
        "id=\"warnings\"",
    ] {
        assert!(!page.contains(section), "{section}");
    }
    let text = forms::terminal(&run, &trials, false, 100);
    assert!(
        text.contains("No counter of the record differs between them."),
        "{text}"
    );
}

#[test]
fn colour_adds_escape_codes_only() {
    let (run, trials) = fixture::troubled();
    let coloured = forms::terminal(&run, &trials, true, 100);
    let mut plain = String::new();
    for (place, part) in coloured.split("\x1b[").enumerate() {
        plain.push_str(if place == 0 {
            part
        } else {
            part.split_once('m').expect("an ANSI colour ends with m").1
        });
    }
    assert_eq!(plain, forms::terminal(&run, &trials, false, 100));
    assert!(coloured.contains("\x1b[32mreproduced\x1b[0m"));
}

#[test]
fn control_characters_of_a_server_do_not_reach_the_terminal() {
    let (run, mut trials) = fixture::published();
    trials[0].flags.push(record::Flag {
        kind: "note".into(),
        text: "\x1b[2Jgone\x07".to_string(),
    });
    let text = forms::terminal(&run, &trials, false, 100);
    assert!(text.contains("gone"), "{text}");
    assert!(!text.contains('\x1b') && !text.contains('\x07'));
}

#[test]
fn every_form_shows_a_run_without_trials() {
    let (run, _) = fixture::published();
    assert!(forms::terminal(&run, &[], false, 100).contains("0 of 15 trials"));
    assert!(forms::html(&run, &[]).contains("0 of 15 trials"));
    assert!(forms::markdown(&run, &[]).contains("0 of 15 trials"));
    assert!(forms::json(&run, &[]).contains("\"valid\": false"));
    assert_eq!(forms::csv(&run, &[]).lines().count(), 1);
}

#[test]
fn markdown_cannot_be_broken_by_a_name() {
    let (mut run, trials) = fixture::published();
    run.question.title = "a|b <img src=x> [link](x)".to_string();
    assert!(forms::markdown(&run, &trials).contains("a\\|b &lt;img src=x> \\[link\\](x)"));
    run.question.title = "5.6\u{202e}\x1b[2J".to_string();
    assert!(forms::markdown(&run, &trials).contains("## 5.6\\\\u{202e}\\\\x1b\\[2J"));
}

#[test]
fn csv_has_a_row_for_every_query_of_every_round() {
    let (run, trials) = fixture::troubled();
    let text = forms::csv(&run, &trials);
    let queries: usize = trials
        .iter()
        .flat_map(|trial| &trial.rounds)
        .map(|round| round.queries.len())
        .sum();
    assert_eq!(text.matches("\r\n").count(), queries + 1);
    let some: Vec<&str> = text.lines().step_by(37).collect();
    insta::assert_snapshot!(some.join("\n"));
}

#[test]
fn json_keeps_the_contract() {
    let (run, mut trials) = fixture::troubled();
    trials.truncate(5);
    for trial in &mut trials {
        trial.rounds.truncate(2);
        trial
            .rounds
            .iter_mut()
            .for_each(|round| round.queries.truncate(6));
    }
    let text = forms::json(&run, &trials);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let keys = |value: &serde_json::Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&document),
        [
            "schema_version",
            "run_id",
            "seed",
            "experiment",
            "valid",
            "incomplete",
            "environment",
            "trials",
            "claims",
            "blocks",
            "caveat",
            "largest_difference",
            "plans",
            "comparisons",
            "control",
            "drifts",
            "headline"
        ]
    );
    let trial = &document["trials"][0];
    let of_a_trial = [
        "server",
        "variant",
        "levels",
        "block",
        "state",
        "rounds",
        "throughput",
        "latency_ms",
        "samples",
        "operations",
        "errors",
        "flags",
        "limits",
        "events",
        "audit",
    ];
    assert_eq!(keys(trial)[..of_a_trial.len()], of_a_trial);
    let of_timed_loads = [
        "load",
        "wait_ms",
        "service_ms",
        "failed_ms",
        "offered",
        "completed",
        "queued_at_end",
        "queued_at_start",
        "dropped",
        "stable",
        "unstable",
        "steady",
        "variation",
        "retried",
        "errors_by_code",
        "by_operation",
        "counted",
        "stalls",
        "level_shifts",
        "period",
        "engine",
        "counters",
        "operations_counted",
        "unknown",
        "stale_reads",
        "dataset",
        "server_version",
        "load_started_s",
        "role",
    ];
    assert_eq!(keys(trial)[of_a_trial.len()..], of_timed_loads);
    assert_eq!(
        keys(&trial["rounds"][0]),
        [
            "name",
            "index",
            "elapsed_s",
            "timed_out",
            "coldness",
            "queries",
            "clients",
            "queries_per_hour",
            "counters"
        ]
    );
    let of_a_query = [
        "name",
        "elapsed_s",
        "timed_out_s",
        "rows",
        "answer",
        "plan_hash",
        "counters",
        "client",
        "disk_read_bytes",
    ];
    assert_eq!(keys(&trial["rounds"][0]["queries"][0]), of_a_query);
    assert_eq!(
        keys(&document["claims"][0]),
        [
            "says",
            "published",
            "measured",
            "ci",
            "limit",
            "verdict",
            "direction",
            "published_inside",
            "blocks_to_decide",
            "decided_after",
            "blocks",
            "failed_share",
            "other_work",
            "reason",
            "why"
        ]
    );
    let (run, mut trials) = fixture::small();
    trials.truncate(2);
    for trial in &mut trials {
        trial.rounds.truncate(2);
        let rounds = trial.rounds.iter_mut();
        rounds.for_each(|round| round.queries.truncate(1));
        trial.settings.clear();
    }
    insta::assert_snapshot!(forms::json(&run, &trials));
}

#[test]
fn the_page_shows_clients_resource_use_and_datasets() {
    let (run, trials) = fixture::clients::by_clients();
    let page = forms::html(&run, &trials);
    for section in ["id=\"clients\"", "id=\"used\"", "id=\"datasets\""] {
        assert!(page.contains(section), "{section}");
    }
    assert!(page.contains("By query"));
}

#[test]
fn json_names_the_client_of_each_query_and_the_dataset_of_each_trial() {
    let (run, trials) = fixture::clients::by_clients();
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let trial = &document["trials"][2];
    assert_eq!(trial["dataset"]["index_s"]["lineorder"], 21.5);
    let round = &trial["rounds"][1];
    assert_eq!(round["clients"], 4);
    assert_eq!(round["queries"][51]["client"], 4);
    let elapsed_s: f64 = (0..2)
        .map(|n| trial["rounds"][n]["elapsed_s"].as_f64().unwrap())
        .sum();
    let throughput = trial["throughput"].as_f64().unwrap();
    assert!((throughput - 104.0 / elapsed_s).abs() < 1e-9);
}

fn is_small_5_6(trial: &&mut record::Trial) -> bool {
    trial.key.server_name() == "5.6" && trial.key.level("variant") == Some("small pool")
}

/// A query reached the limit, and the other queries are so fast that the sum may be shorter or longer than that of 5.5.
#[test]
fn a_bound_that_excludes_neither_direction_is_no_headline() {
    let (run, mut trials) = fixture::published();
    let slow = trials.iter_mut().filter(is_small_5_6);
    for round in slow.flat_map(|trial| &mut trial.rounds) {
        round.queries[0].error = Some("> 1 s".into());
        round.queries[0].elapsed_ns = 1_000_000_000;
        round.elapsed_s = 2.0;
    }
    let headline = Document::of(&run, &trials, Detail::Brief).headline;
    let headline = headline.to_string();
    assert!(!headline.contains("at least"), "{headline}");
}

/// A query of 5.6 with the small pool reached its limit.
fn timed_out() -> (record::Run, Vec<record::Trial>) {
    let (run, mut trials) = fixture::published();
    for trial in trials.iter_mut().filter(is_small_5_6) {
        for round in &mut trial.rounds {
            let query = &mut round.queries[0];
            query.error = Some("> 600 s".into());
            round.elapsed_s += 600.0 - query.elapsed_ns as f64 / 1e9;
            query.elapsed_ns = 600_000_000_000;
        }
    }
    (run, trials)
}

#[test]
fn a_gate_shows_a_lower_bound_as_the_verdicts_do() {
    let (run, trials) = timed_out();
    let document = Document::of(&run, &trials, Detail::Brief);
    let gate = Gate::of_run(&document, &forms::allowed(Strictness::Decided));
    let text = &gate.checks[0].text;
    assert!(text.contains("measured >= "), "{text}");
    assert!(text.contains(" or more; threshold "), "{text}");
    assert!(!text.contains("inf"), "{text}");
}

#[test]
fn a_comparison_shows_a_timed_out_query_as_a_lower_bound() {
    let (mut run, trials) = timed_out();
    run.question.claims.clear();
    let text = forms::markdown(&run, &trials);
    let mut lines = text.lines();
    let row = lines.find(|line| line.contains("| small pool: hot (s) "));
    let row = row.unwrap_or_else(|| panic!("{text}"));
    assert!(row.contains(" | > "), "{row}");
    assert!(row.contains("at least "), "{row}");
}

#[test]
fn every_form_shows_a_timed_out_query_as_a_lower_bound() {
    let (run, trials) = timed_out();
    for text in [
        forms::terminal(&run, &trials, false, 120),
        forms::markdown(&run, &trials),
        forms::html(&run, &trials),
    ] {
        assert!(text.replace("&gt;", ">").contains("> 9"), "{text}");
        assert!(text.replace("&gt;", ">").contains(" or more"), "{text}");
    }
    assert!(forms::html(&run, &trials).contains("&gt; 600 s"));
    assert!(forms::csv(&run, &trials).contains("> 600 s"));
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let claim = &document["claims"][0];
    assert_eq!(claim["limit"], "at_least");
    assert!(
        claim["ci"][0].is_f64() && claim["ci"][1].is_null(),
        "{claim}"
    );
    assert_eq!(claim["verdict"], "reproduced");
}

#[test]
fn a_trial_that_is_not_available_does_not_count_as_measured() {
    let (run, mut trials) = fixture::published();
    trials[0].rounds.clear();
    for trial in &mut trials[..2] {
        trial.flags.push(record::Flag {
            kind: record::FlagKind::NotAvailable,
            text: "5.5 has no multi-range read".to_string(),
        });
    }
    let text = forms::terminal(&run, &trials, false, 140);
    assert!(text.contains("15 of 15 trials, 1 not available"), "{text}");
    let csv = forms::csv(&run, &trials);
    let row = csv
        .lines()
        .find(|line| line.contains("no multi-range read"));
    assert!(row.unwrap().contains(",not_available,"), "{row:?}");
}

#[test]
fn lower_bounds_of_several_blocks_are_not_called_one_block() {
    let (run, mut trials) = fixture::published();
    let rounds = trials.iter_mut().flat_map(|trial| &mut trial.rounds);
    rounds.for_each(|round| round.queries[0].error = Some("> 600 s".into()));
    let text = forms::markdown(&run, &trials);
    assert!(!text.contains("one block"), "{text}");
    assert!(text.contains("lower bounds without CI"), "{text}");
}

#[test]
fn a_cold_round_of_several_queries_names_its_first_and_what_each_read() {
    let (run, mut trials) = fixture::small();
    for round in trials.iter_mut().flat_map(|trial| &mut trial.rounds) {
        for (place, query) in round.queries.iter_mut().enumerate() {
            let bytes = if place == 0 {
                512 << 20
            } else {
                place as i64 * (1 << 20)
            };
            let name = record::names::SERVER_READ.to_string();
            query.counters.insert(name, bytes);
        }
    }
    let count = trials[0].rounds[0].queries.len();
    let terminal = forms::terminal(&run, &trials, false, 250);
    assert!(
        terminal.contains("A cold round is cold for its first query only (Q1.1)"),
        "{terminal}"
    );
    let others = count - 1;
    let read = format!(
        "Q1.1 read 512.0 MiB from disk, the other {others} queries 1.0 MiB to {others}.0 MiB each"
    );
    assert!(terminal.contains(&read), "{terminal}");
    let page = forms::html(&run, &trials);
    assert!(page.contains("Bytes that each query of the cold rounds read from disk"));
    for trial in &mut trials {
        let queries = trial.rounds[0].queries.len() as u32;
        trial.rounds[0].coldness.as_mut().unwrap().passes = Some(queries);
    }
    let each = forms::terminal(&run, &trials, false, 250);
    assert!(
        !each.contains("first query only"),
        "each was made cold: {each}"
    );
}

#[test]
fn bytes_that_read_alike_are_no_range() {
    let (run, mut trials) = fixture::small();
    for round in trials.iter_mut().flat_map(|trial| &mut trial.rounds) {
        for (place, query) in round.queries.iter_mut().enumerate() {
            let name = record::names::SERVER_READ.to_string();
            query.counters.insert(name, (1 << 30) + place as i64);
        }
    }
    let terminal = forms::terminal(&run, &trials, false, 250);
    let read = "Q1.1 read 1.0 GiB from disk, the other 3 queries 1.0 GiB each";
    assert!(terminal.contains(read), "{terminal}");
}

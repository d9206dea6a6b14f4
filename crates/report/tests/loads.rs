//! What every form of a report of timed loads has to hold, for made-up runs with published figures.

use crate::fixture::{forms, timed, tpcc};

#[test]
fn the_result_of_a_search_is_not_a_warning() {
    let (run, mut trials) = timed::searched();
    let found = "the maximum rate at which 99 % of operations complete within 50 ms is 2263 ops/s; at 2376 ops/s they do not";
    trials[3].flags.push(record::Flag {
        kind: record::FlagKind::Search,
        text: found.to_string(),
    });
    let text = forms::markdown(&run, &trials);
    assert!(text.contains(&format!("- 5.6, block 1: {found}")), "{text}");
    assert!(!text.contains("Warnings"), "{text}");
    assert!(forms::terminal(&run, &trials, false, 200).contains(found));
}

#[test]
fn error_counts_with_the_same_last_digit_are_separate_notes() {
    let (run, mut trials) = timed::closed();
    for (place, errors) in [(2, 11.0), (14, 1.0)] {
        let load = trials[place].load.as_mut().unwrap();
        let throughput = load.series.get_mut("throughput").unwrap();
        throughput.fill(Some(1000.0));
        throughput[9] = Some(1000.0 - errors);
        load.series.get_mut("errors").unwrap()[9] = Some(errors);
        load.summary = Some(stats::summarise(load));
    }
    let text = forms::markdown(&run, &trials);
    assert!(text.contains(" block 1: 11 of 25,000 operations"), "{text}");
    assert!(text.contains(" block 2: 1 of 25,000 operations"), "{text}");
}

#[test]
fn a_footnote_says_whether_the_percentiles_include_failed_operations() {
    let (run, mut trials) = timed::closed();
    let mut note = |is_apart: bool| {
        let load = trials[2].load.as_mut().unwrap();
        let summary = load.summary.as_mut().unwrap();
        summary.errors = 9;
        let response = summary.latency.response.clone();
        summary.latency.failed = response.filter(|_| is_apart);
        forms::markdown(&run, &trials)
    };
    let (apart, among) = (note(true), note(false));
    let text = "operations; the percentiles leave out those that the server refused";
    assert!(apart.contains(text), "{apart}");
    let text = "operations; the percentiles include their times";
    assert!(among.contains(text), "{among}");
}

#[test]
fn a_share_of_the_maximum_is_shown_with_the_rates_of_all_blocks() {
    let (mut run, mut trials) = timed::open();
    let share = "60% of max";
    trials.retain(|trial| trial.key.level("rate") == Some(share));
    for factor in &mut run.question.factors {
        factor.levels.retain(|level| !level.contains("90%"));
    }
    for trial in trials.iter_mut().filter(|trial| trial.key.block == 1) {
        let mode = &mut trial.load.as_mut().unwrap().mode;
        let record::Mode::Open { rate, .. } = mode else {
            panic!("{mode:?}")
        };
        *rate = 1700.0;
    }
    let text = forms::terminal(&run, &trials, false, 200);
    assert!(text.contains("1,700 to 1,800 requests/s"), "{text}");
}

#[test]
fn large_numbers_of_clients_have_commas_in_every_table() {
    let (mut run, mut trials) = timed::closed();
    let in_file = run.question.factors.iter_mut();
    let in_file = in_file.flat_map(|factor| &mut factor.levels);
    let in_keys = trials.iter_mut().flat_map(|trial| &mut trial.key.levels);
    for level in in_file.chain(in_keys.map(|(_, level)| level)) {
        *level = level.replace("256", "1024");
    }
    let markdown = forms::markdown(&run, &trials);
    assert!(markdown.contains("| 64 | 1,024 |"), "{markdown}");
    let terminal = forms::terminal(&run, &trials, false, 140);
    assert!(!terminal.contains("1024"), "{terminal}");
}

#[test]
fn operations_with_unknown_outcome_are_a_footnote() {
    let (run, mut trials) = timed::closed();
    let load = trials[2].load.as_mut().unwrap();
    load.summary.as_mut().unwrap().unknown = 3;
    let text = forms::markdown(&run, &trials);
    let note = "operations with unknown outcome: block 1: 3 whose COMMIT was sent";
    assert!(text.contains(note), "{text}");
}

#[test]
fn one_block_has_no_interval() {
    let (run, trials) = timed::by_clients(1, 30);
    let text = forms::terminal(&run, &trials, false, 100);
    assert!(text.contains("one block, no CI"), "{text}");
    assert!(!text.contains('±'), "{text}");
}

#[test]
fn the_headline_rounds_a_figure_of_a_wide_interval_as_the_table_does() {
    let of_block = |(block, rate): (u32, f64)| {
        let clients = record::Mode::Closed {
            clients: 8,
            think_s: 0.0,
        };
        timed::trial("5.6", &[], block, timed::load(clients, rate, 30))
    };
    let trials = [(0, 40_000.0), (1, 20_000.0)].map(of_block);
    let mut run = timed::run("update-cached", "P8", Vec::new(), 2, trials.len());
    run.question.claims.clear();
    let text = forms::terminal(&run, &trials, false, 140);
    let figure = text.strip_prefix("Throughput: ").unwrap_or(&text);
    let figure = figure.split(" ops/s").next().unwrap_or_default();
    assert!(figure.ends_with(",000"), "{text}");
    assert!(text.contains(&format!(" {figure} ×/÷")), "{text}");
}

#[test]
fn a_load_where_nothing_varies_has_its_row_in_the_table() {
    let (mut run, mut trials) = timed::by_clients(1, 30);
    let question = &mut run.question;
    question.servers.clear();
    question.factors.clear();
    question.claims.clear();
    trials.truncate(1);
    trials[0].key.server = None;
    trials[0].key.levels.clear();
    let text = forms::terminal(&run, &trials, false, 100);
    let mut lines = text.lines();
    assert!(lines.any(|line| line.contains("ops/s") && line.ends_with("errors")));
    let row = lines.nth(1).unwrap_or_default();
    assert!(row.contains(|sign: char| sign.is_ascii_digit()), "{text}");
}

#[test]
fn csv_has_a_row_for_every_trial() {
    let (run, trials) = timed::troubled();
    let text = forms::csv(&run, &trials);
    assert_eq!(text.matches("\r\n").count(), trials.len() + 1);
    let some: Vec<&str> = text.lines().step_by(5).collect();
    insta::assert_snapshot!(some.join("\n"));
    let (run, trials) = timed::open();
    let heads = forms::csv(&run, &trials)
        .lines()
        .next()
        .unwrap()
        .split(',')
        .count();
    assert!(
        forms::csv(&run, &trials)
            .lines()
            .all(|line| line.split(',').count() == heads)
    );
}

#[test]
fn samples_have_a_row_for_every_second_of_every_trial() {
    let (run, trials) = timed::by_clients(1, 30);
    let text = forms::samples(&run, &trials);
    assert_eq!(text.lines().count(), 12 * 30 + 1);
    let some: Vec<&str> = text.lines().take(7).collect();
    insta::assert_snapshot!(some.join("\n"));
}

#[test]
fn json_of_an_open_load_keeps_the_contract() {
    let (run, mut trials) = timed::open();
    trials.truncate(3);
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let unstable = &document["trials"][1];
    assert!(unstable["latency_ms"].is_null());
    assert_eq!(unstable["stable"], false);
    assert!(
        unstable["unstable"]
            .as_str()
            .unwrap()
            .starts_with("unstable: the queue grows by 4")
    );
    let stable = &document["trials"][2];
    for kind in ["latency_ms", "service_ms"] {
        let keys: Vec<_> = stable[kind].as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            ["p50", "p95", "p99", "p999", "max", "uncertain", "mean"],
            "{kind}"
        );
    }
    assert_eq!(stable["queued_at_end"], 0);
    assert_eq!(stable["samples"].as_array().unwrap().len(), 30);
    assert_eq!(stable["samples"][4]["measured"], false);
    assert!(stable["offered"].as_f64().unwrap() > 1700.0);
    let mut stable = stable.clone();
    stable["samples"].as_array_mut().unwrap().truncate(2);
    insta::assert_snapshot!(serde_json::to_string_pretty(&stable).unwrap());
}

#[test]
fn json_of_a_standard_holds_the_counted_rate_and_each_operations_limit() {
    let (run, trials) = tpcc::matrix();
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let trial = &document["trials"][0];
    let counted = &trial["counted"];
    assert_eq!(counted["per_minute_name"], "NOTPM");
    let [a_second, a_minute] =
        ["per_second", "per_minute"].map(|key| counted[key].as_f64().unwrap());
    assert_eq!(a_minute, 60.0 * a_second);
    let operations = trial["by_operation"].as_array().unwrap();
    let payment = &operations[1];
    assert_eq!(payment["name"], "payment");
    assert_eq!(payment["limit_met"], true);
    assert!(payment["share"].as_f64().unwrap() > payment["minimum_share"].as_f64().unwrap());
    let all: u64 = operations[..5]
        .iter()
        .map(|one| one["count"].as_u64().unwrap())
        .sum();
    let done = trial["operations"].as_u64().unwrap();
    assert!(done.abs_diff(all) <= 5, "{done} {all}");
    assert!(operations[5]["share"].is_null(), "it is not of the mix");
}

#[test]
fn neither_the_benchmarks_own_figure_nor_an_efficiency_is_shown() {
    let (run, trials) = tpcc::matrix();
    let all = [
        forms::terminal(&run, &trials, false, 160),
        forms::markdown(&run, &trials),
        forms::json(&run, &trials),
        forms::html(&run, &trials),
    ];
    for text in all {
        assert!(text.contains("NOTPM"));
        let text = text.to_lowercase();
        assert!(!text.contains("tpmc") && !text.contains("efficiency"));
    }
}

#[test]
fn json_of_a_closed_load_counts_the_errors_of_the_measured_part() {
    let (run, trials) = timed::troubled();
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let failing = &document["trials"][2];
    assert_eq!(failing["errors"], 9);
    assert_eq!(
        failing["errors_by_code"],
        serde_json::json!({ "1205": 2, "1213": 7 })
    );
    assert!(failing["stable"].is_null() && failing["offered"].is_null());
    let failed = document["trials"]
        .as_array()
        .unwrap()
        .iter()
        .find(|trial| trial["state"] == "failed");
    assert!(failed.unwrap()["throughput"].is_null());
}

#[test]
fn a_claim_on_throughput_is_explained_by_counters_per_operation() {
    let (run, mut trials) = timed::closed();
    for trial in &mut trials {
        let each = if trial.key.level("clients") == Some("256") {
            40
        } else {
            1
        };
        let load = trial.load.as_deref_mut().unwrap();
        let operations = stats::summary(load).operations_counted as i64;
        load.counters
            .insert("Innodb_row_lock_waits".into(), each * operations);
    }
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let why = &document["claims"][0]["why"];
    assert_eq!(why["per"], "operation", "{why}");
    let waits = &why["counters"][0];
    assert_eq!(waits["name"], "Innodb_row_lock_waits", "{why}");
    assert_eq!((&waits["of"], &waits["to"]), (&40.0.into(), &1.0.into()));
}

/// The closed load with a report that was started three times in the first trial and never completed.
fn with_an_endless_report() -> (record::Run, Vec<record::Trial>) {
    let (run, mut trials) = timed::closed();
    let load = trials[0].load.as_mut().unwrap();
    load.operations.push("report".into());
    load.engine.unfinished = vec![record::Unfinished {
        operation: "report".into(),
        done: 0,
        not_done: 3,
    }];
    load.errors = vec![record::ErrorCount {
        second: 60,
        kind: Some(record::ErrorKind::Lost),
        operation: Some("report".into()),
        code: 2013,
        count: 3,
    }];
    let done = load.series["throughput"].clone();
    load.series.insert(record::done_series("update"), done);
    load.series
        .insert(record::done_series("report"), Vec::new());
    load.summary = Some(stats::summarise(load));
    (run, trials)
}

#[test]
fn an_operation_that_never_completed_is_in_every_form_and_in_the_headline() {
    let (run, trials) = with_an_endless_report();
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let operations = document["trials"][0]["by_operation"].as_array().unwrap();
    let names: Vec<_> = operations.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["update", "report"]);
    let report = &operations[1];
    for (key, expected) in [("starts", 3), ("ends", 0), ("count", 0), ("unfinished", 3)] {
        assert_eq!(report[key], expected, "{key}: {report}");
    }
    assert_eq!(report["errors_by_code"], serde_json::json!({ "2013": 3 }));
    let headline = "1 client, block 1: report: none of 3 was done.";
    for text in [
        forms::terminal(&run, &trials, false, 250),
        forms::markdown(&run, &trials),
        forms::html(&run, &trials),
    ] {
        assert!(text.contains("Operations by outcome"), "{text}");
        assert!(text.contains("3 × 2013 lost connection"), "{text}");
        assert!(text.contains(headline), "{text}");
    }
}

#[test]
fn by_operation_lists_the_operations_of_an_unstable_load() {
    let (run, trials) = timed::open();
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let unstable = &document["trials"][1];
    assert!(unstable["latency_ms"].is_null());
    assert_eq!(unstable["by_operation"][0]["name"], "update");
    assert!(unstable["by_operation"][0]["starts"].as_u64().unwrap() > 0);
}

/// Two servers that take turns; the second is 1 % faster, and in turn 2 % more and less.
fn undecided(blocks: u32) -> (record::Run, Vec<record::Trial>) {
    let (mut run, mut trials) = timed::by_clients(blocks, 30);
    run.question.claims.clear();
    trials.retain(|trial| {
        let level = |factor, level| trial.key.level(factor) == Some(level);
        level("clients", "8") && level("variant", "thread_concurrency=0")
    });
    for trial in &mut trials {
        let is_new = trial.key.server_name() == "5.6";
        let (block, side) = (trial.key.block, if is_new { 1.0 } else { -1.0 });
        let start = if block % 2 == 0 { side } else { -side };
        let load = trial.load.as_mut().unwrap();
        let second = |at: usize| {
            let swing = (at / 2 * 7 % 5) as f64 - 2.0;
            1000.0 * (1.0 + 0.005 * side + 0.01 * start + 0.02 * side * swing)
        };
        load.series.insert(
            "throughput".into(),
            (0..30).map(|at| Some(second(at))).collect(),
        );
        load.engine.slices = Some(record::Slices {
            length_s: 1.0,
            count: 25,
            servers: 2,
            spanned_s: 50.0,
            finishing_s_max: 0.0,
            edges_share: None,
            first_s_mean: None,
            first_s_max: None,
            operation_s_mean: None,
            written_between_bytes: None,
        });
        load.summary = Some(stats::summarise(load));
        let began_ns = 1_000_000_000_000 * i64::from(block);
        trial.started_ns = began_ns + if is_new { 10_000_000_000 } else { 0 };
        trial.ended_ns = began_ns + 80_000_000_000;
    }
    (run, trials)
}

#[test]
fn an_undecided_throughput_in_slices_says_what_to_buy_next() {
    let (run, trials) = undecided(6);
    let text = forms::markdown(&run, &trials);
    let says = "The ratio of two servers that take turns varies by 2.";
    let at = text.find(says).unwrap_or_else(|| panic!("{text}"));
    let next = text[at..].lines().next().unwrap();
    insta::assert_snapshot!(next, @"The ratio of two servers that take turns varies by 2.2 % from block to block (standard deviation): 2.0 % from start to start, 0.8 % within 25 s. What is undecided about throughput needs about 24 blocks of 25 s, 32 min in all. 29 blocks of 10 s find the same in 25 min.");
    // `show` reads these alone.
    let (run, mut trials) = undecided(6);
    for load in trials.iter_mut().flat_map(|trial| &mut trial.load) {
        let is_shown = |name: &String| report::SERIES_SHOWN.contains(&name.as_str());
        load.series.retain(|name, _| is_shown(name));
    }
    assert!(forms::markdown(&run, &trials).contains(next));
    // Four blocks have too few degrees of freedom to say so.
    let (run, trials) = undecided(4);
    assert!(!forms::markdown(&run, &trials).contains(says));
}

#[test]
fn a_claim_that_is_decided_asks_for_no_blocks() {
    let (mut run, trials) = undecided(6);
    let cell = |server: &str| record::Cell {
        levels: vec![("server".to_string(), vec![server.to_string()])],
        ..record::Cell::default()
    };
    let mut asks_with = |at_least: f64| {
        run.question.claims = vec![record::Claim {
            says: "5.6 is at most this much slower".to_string(),
            subject: record::Subject::Ratio {
                value: record::Value::Throughput,
                of: cell("5.6"),
                to: cell("5.5"),
                bound: record::Bound::AtLeast(at_least),
            },
            published: None,
        }];
        let text = forms::markdown(&run, &trials);
        // The direction is open with either threshold.
        assert!(text.contains("the direction needs about"), "{text}");
        text.contains("What is undecided about throughput needs about")
    };
    assert!(asks_with(1.0));
    assert!(!asks_with(0.5));
}

#[test]
fn a_gate_is_undecided_about_servers_whose_pauses_matter() {
    let (run, trials) = undecided(6);
    let gate = |trials: &[record::Trial]| {
        let document = report::Document::of(&run, trials, report::Detail::Brief);
        report::Gate::of_run(&document, &forms::allowed(report::Strictness::Strict))
    };
    let of_pauses = |trials: &[record::Trial]| {
        let checks = gate(trials).checks.into_iter();
        let mut found = checks.filter(|check| check.text.contains("their pauses"));
        found.next().map(|check| check.result)
    };
    assert_eq!(of_pauses(&trials), None);
    let flagged = |of_new: &str| {
        let mut trials = trials.clone();
        for trial in &mut trials {
            let is_new = trial.key.server_name() == "5.6";
            let value = if is_new { of_new } else { "200" };
            let says = format!("their pauses change what innodb_io_capacity, here {value}, does");
            trial.flag(record::FlagKind::PausesMatter, says);
        }
        of_pauses(&trials)
    };
    // A third server has another value.
    assert_eq!(flagged("200"), None);
    assert_eq!(flagged("2000"), Some(report::CheckResult::Undecided));
}

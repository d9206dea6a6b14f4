//! The comparison of runs in its forms, and the gate.

use crate::fixture;
use crate::fixture::forms::allowed;
use crate::fixture::long_names::{WIDTHS, is_within, with_long_names};
use record::{Bound, Cell, Claim, FlagKind, Role, Run, Subject, Trial, Value};
use report::{
    Allowed, CheckResult, Comparison, Detail, Document, Gate, Measured, Outcome, Strictness,
};

/// The published run twice, the second time slower by this factor.
fn compared(factor: f64) -> Comparison {
    compared_runs(fixture::published(), factor)
}

/// A run twice, the second time slower by this factor.
fn compared_runs((old, mut old_trials): (Run, Vec<Trial>), factor: f64) -> Comparison {
    let (mut new, mut new_trials) = (old.clone(), old_trials.clone());
    new.id = "old-blocks-time-later".into();
    new.environment.kernel = "6.99".into();
    let neighbours = |trial: &mut Trial, value: &str| {
        let name = "innodb_flush_neighbors".to_string();
        trial.settings.insert(name, value.to_string());
    };
    for trial in &mut old_trials {
        neighbours(trial, "1");
    }
    for trial in &mut new_trials {
        slow_down(trial, factor);
        neighbours(trial, "0");
        trial.settings.insert("port".into(), "4711".into());
    }
    Comparison::of(
        vec![measured(old, old_trials), measured(new, new_trials)],
        Vec::new(),
        0.05,
    )
}

fn measured(run: Run, trials: Vec<Trial>) -> Measured {
    Measured {
        run,
        trials,
        controls: Vec::new(),
    }
}

fn slow_down(trial: &mut Trial, factor: f64) {
    for round in &mut trial.rounds {
        round.elapsed_s *= factor;
        for query in &mut round.queries {
            query.elapsed_ns = (query.elapsed_ns as f64 * factor) as u64;
        }
    }
}

#[test]
fn differences_come_before_the_figures_without_folders_and_ports() {
    let comparison = compared(1.5);
    let text = report::comparison_terminal(&comparison, &fixture::forms::screen(100));
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no {what} in {text}"))
    };
    assert!(at("6.99") < at("The same cells"), "{text}");
    assert!(
        at("innodb_flush_neighbors") < at("The same cells"),
        "{text}"
    );
    assert!(!text.contains("4711"), "{text}");
    assert!(text.contains("1.50× slower"), "{text}");
    assert!(text.contains("unpaired"), "{text}");
}

#[test]
fn every_line_fits_the_width_with_short_and_with_long_names() {
    for run in [fixture::published(), with_long_names(fixture::published())] {
        let comparison = compared_runs(run, 1.5);
        for width in WIDTHS {
            let screen = fixture::forms::screen(width);
            is_within(&report::comparison_terminal(&comparison, &screen), width);
        }
    }
}

#[test]
fn the_json_of_a_comparison_has_ratio_interval_and_verdict_of_each_value() {
    let json = report::comparison_json(&compared(1.5));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let first = &json["comparisons"][0];
    assert_eq!(first["old"], "run 1");
    assert_eq!(first["new"], "run 2");
    assert_eq!(first["value"], "elapsed_s");
    assert_eq!(first["verdict"], "slower");
    assert!((first["ratio"].as_f64().unwrap() - 1.5).abs() < 1e-3);
    assert!(first["ci"][0].as_f64().unwrap() > 1.05);
    let kinds = json["differences"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds
        .map(|found| (&found["kind"], &found["what"]))
        .collect();
    assert!(
        kinds.contains(&(&"environment".into(), &"kernel".into())),
        "{kinds:?}"
    );
    assert_eq!(json["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_comparison_names_the_run_whose_hot_rounds_drift() {
    let runs = [fixture::published(), fixture::drifting()];
    let runs = runs.map(|(run, trials)| measured(run, trials)).into();
    let comparison = Comparison::of(runs, Vec::new(), 0.05);
    let text = report::comparison_markdown(&comparison);
    let sentence = "run 2, 5.6 · large pool: Q3.4 is 1.61× slower in hot 3 than in hot 1";
    assert!(text.contains(sentence), "{text}");
    let json = report::comparison_json(&comparison);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["drifts"][0], serde_json::json!([]));
    assert_eq!(json["drifts"][1][0]["query"], "Q3.4");
}

#[test]
fn markdown_of_a_comparison_is_a_table() {
    let text = report::comparison_markdown(&compared(1.5));
    assert!(
        text.contains("| verdict | value | old | new | new is | 95 % CI |"),
        "{text}"
    );
}

#[test]
fn a_gate_fails_for_a_decided_slowdown_and_passes_for_none() {
    let slower = Gate::of_comparison(&compared(1.5), &allowed(Strictness::Decided));
    assert_eq!(slower.outcome(), Outcome::Failed);
    assert!(
        slower.headline().starts_with("gate failed"),
        "{}",
        slower.headline()
    );
    let same = Gate::of_comparison(&compared(1.0), &allowed(Strictness::Strict));
    assert_eq!(same.outcome(), Outcome::Passed, "{}", same.headline());
}

#[test]
fn a_percentile_that_is_uncertain_says_so_in_headline_table_and_gate() {
    let (run, mut trials) = fixture::timed::open();
    trials.retain(|trial| {
        trial.key.level("rate") == Some("60% of max") && trial.key.level("workers") == Some("16")
    });
    let of = |p99_ms: f64| {
        let mut trials = trials.clone();
        for trial in &mut trials {
            let summary = trial.load.as_mut().unwrap().summary.as_mut().unwrap();
            let response = summary.latency.response.as_mut().unwrap();
            response.p99_ms = Some(p99_ms);
            response.uncertain = vec![record::Percentile::P99];
        }
        measured(run.clone(), trials)
    };
    let comparison = Comparison::of(vec![of(10.0), of(20.0)], Vec::new(), 0.05);
    let gate = Gate::of_comparison(&comparison, &allowed(Strictness::Decided));
    let why = "come from fewer than 10 seconds";
    let check = &gate.checks[0];
    assert_eq!(check.result, CheckResult::Failed, "{}", check.text);
    assert!(check.text.contains(why), "{}", check.text);
    let headline = &comparison.headline;
    assert!(headline.contains(why), "{headline}");
    let text = report::comparison_terminal(&comparison, &fixture::forms::screen(140));
    assert!(text.contains("~10.00") && text.contains("~20.00"), "{text}");
}

/// A gate on a run whose claims cannot be decided.
fn undecided(strictness: Strictness) -> Gate {
    let (run, trials): (Run, Vec<Trial>) = fixture::long(1);
    let document = Document::of(&run, &trials, Detail::Brief);
    Gate::of_run(&document, &allowed(strictness))
}

#[test]
fn what_is_undecided_passes_with_a_warning_and_fails_a_strict_gate() {
    let gate = undecided(Strictness::Decided);
    assert_eq!(gate.count(CheckResult::Undecided), gate.checks.len());
    assert_eq!(gate.outcome(), Outcome::Passed);
    assert!(!gate.checks.is_empty());
    assert_eq!(undecided(Strictness::Strict).outcome(), Outcome::Failed);
}

#[test]
fn junit_counts_failures_skipped_checks_and_invalid_trials() {
    let xml = report::junit(&undecided(Strictness::Decided));
    assert!(
        xml.contains("tests=\"4\" failures=\"0\" errors=\"0\" skipped=\"4\""),
        "{xml}"
    );
    let xml = report::junit(&undecided(Strictness::Strict));
    assert!(
        xml.contains("failures=\"4\" errors=\"0\" skipped=\"0\""),
        "{xml}"
    );
    let mut gate = undecided(Strictness::Decided);
    gate.missing.push("9 of 12 trials".into());
    let xml = report::junit(&gate);
    let case = "name=\"the run is complete\"><error message=\"9 of 12 trials\"/>";
    assert!(xml.contains(case), "{xml}");
    let mut gate = undecided(Strictness::Decided);
    gate.invalid.push("<b> & \"c\"".into());
    let xml = report::junit(&gate);
    assert!(
        xml.contains("tests=\"5\"") && xml.contains("errors=\"1\""),
        "{xml}"
    );
    assert!(
        xml.contains("<error message=\"&lt;b&gt; &amp; &quot;c&quot;\"/>"),
        "{xml}"
    );
}

#[test]
fn the_summary_of_a_gate_lists_every_check() {
    let gate = Gate::of_comparison(&compared(1.5), &allowed(Strictness::Decided));
    let text = report::gate_markdown(&gate);
    assert!(text.starts_with("## prony: gate failed"), "{text}");
    assert_eq!(
        text.matches("\n| failed |").count(),
        gate.count(CheckResult::Failed)
    );
    assert!(text.contains("at most 5 % slower is allowed"), "{text}");
}

/// 5.6 against 5.5 at so many clients.
fn claim_at(clients: &str) -> Claim {
    let cell = |server: &str| {
        let levels = [
            ("server", server),
            ("variant", "thread_concurrency=0"),
            ("clients", clients),
        ];
        Cell {
            levels: levels
                .map(|(factor, level)| (factor.to_string(), vec![level.to_string()]))
                .to_vec(),
            ..Cell::default()
        }
    };
    Claim {
        says: format!("5.6 is not far behind at {clients} clients"),
        subject: Subject::Ratio {
            value: Value::Throughput,
            of: cell("5.6"),
            to: cell("5.5"),
            bound: Bound::AtLeast(0.5),
        },
        published: None,
    }
}

#[test]
fn failures_in_one_row_do_not_hide_those_in_another() {
    let (mut run, mut trials) = fixture::timed::closed();
    run.question.claims = vec![claim_at("8"), claim_at("64")];
    for trial in &mut trials {
        let share = match (trial.key.server_name(), trial.key.level("clients")) {
            ("5.6", Some("8")) => 0.005,
            ("5.6", Some("64")) => 0.3,
            _ => 0.0,
        };
        let load = trial.load.as_mut().unwrap();
        let account = &mut load.summary.as_mut().unwrap().accounts[0];
        account.errors = (share * account.starts as f64) as u64;
        account.done -= account.errors;
    }
    let document = Document::of(&run, &trials, Detail::Brief);
    let gate = Gate::of_run(&document, &allowed(Strictness::Decided));
    let failed = gate.checks.iter();
    let failed = failed.filter(|check| check.result == CheckResult::Failed);
    let names: Vec<&str> = failed.map(|check| check.name.as_str()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let row = "thread_concurrency=0 · 64 clients: ";
    assert!(names[0].starts_with(row), "{names:?}");
}

#[test]
fn a_gate_checks_and_names_the_limits_that_were_given() {
    let (mut run, mut trials) = fixture::timed::closed();
    run.question.claims = vec![claim_at("8")];
    for trial in trials
        .iter_mut()
        .filter(|trial| trial.key.server_name() == "5.6")
    {
        let load = trial.load.as_mut().unwrap();
        let account = &mut load.summary.as_mut().unwrap().accounts[0];
        account.errors = account.starts / 2_000;
        account.done -= account.errors;
    }
    let document = Document::of(&run, &trials, Detail::Brief);
    let gate = |failures: f64| {
        let allowed = Allowed {
            failures,
            ..allowed(Strictness::Decided)
        };
        Gate::of_run(&document, &allowed)
    };
    assert_eq!(gate(0.01).checks.len(), 1);
    let strict = gate(0.0001);
    assert_eq!(strict.outcome(), Outcome::Failed);
    let text = &strict.checks[1].text;
    assert!(text.contains("at most 0.01 % is allowed"), "{text}");
    let slow = Allowed {
        tolerance: 0.005,
        ..allowed(Strictness::Decided)
    };
    let text = report::gate_markdown(&Gate::of_comparison(&compared(1.5), &slow));
    assert!(text.contains("at most 0.5 % slower is allowed"), "{text}");
}

/// The gate of a comparison of the published run with itself, after a change of the second one.
fn changed(change: impl Fn(&mut Measured)) -> (Comparison, Gate) {
    let (run, trials) = fixture::published();
    let old = measured(run.clone(), trials.clone());
    let mut new = measured(run, trials);
    change(&mut new);
    let comparison = Comparison::of(vec![old, new], Vec::new(), 0.05);
    let gate = Gate::of_comparison(&comparison, &allowed(Strictness::Decided));
    (comparison, gate)
}

#[test]
fn a_comparison_with_an_invalid_trial_does_not_pass_and_counts_the_blocks() {
    let (comparison, gate) = changed(|new| {
        new.trials[0].invalidate(FlagKind::WrongAnswer, "Q1.1 differs");
        for trial in &mut new.trials {
            slow_down(trial, 3.0);
        }
    });
    assert_eq!(gate.outcome(), Outcome::Unmeasured);
    let fault = "run 2: server 5.5, variant small pool, clients 1, block 1: Q1.1 differs";
    assert_eq!(gate.invalid, [fault]);
    let text = gate
        .checks
        .iter()
        .find(|check| check.text.contains("from 2 of 3 blocks"));
    assert!(text.is_some(), "{:?}", comparison.headline);
    let xml = report::junit(&gate);
    assert!(xml.contains("errors=\"1\""), "{xml}");
}

#[test]
fn a_run_on_another_machine_is_named_in_headline_and_gate() {
    let (comparison, gate) = changed(|new| {
        let environment = &mut new.run.environment;
        environment.cpu = "Another CPU at 2 GHz".into();
        environment.cores = 4;
        environment.kernel = "6.99".into();
    });
    let says = "Run 2 differs from run 1 in cpu and cores, so the ratios are not those of the servers alone";
    let headline = &comparison.headline;
    assert!(headline.contains(says), "{headline}");
    let mut checks = gate.checks.iter();
    let machine = checks.find(|check| check.name == "run 2 against run 1, same machine and rules");
    assert_eq!(machine.unwrap().result, CheckResult::Undecided);
    let (same, gate) = changed(|new| new.run.environment.kernel = "6.99".into());
    assert!(!same.headline.contains("differs"), "{}", same.headline);
    assert_eq!(gate.count(CheckResult::Undecided), 0);
}

#[test]
fn another_memory_or_niceness_is_another_machine_and_a_little_less_memory_is_not() {
    let says = |memory: f64, nice: i32| {
        let (comparison, gate) = changed(|new| {
            let environment = &mut new.run.environment;
            environment.memory_bytes = (environment.memory_bytes as f64 * memory) as u64;
            environment.conditions.nice = Some(nice);
        });
        let undecided = gate.count(CheckResult::Undecided);
        (comparison.headline.to_string(), undecided)
    };
    let (headline, undecided) = says(0.5, 0);
    let named = "Run 2 differs from run 1 in memory, so";
    assert!(headline.contains(named), "{headline}");
    assert_eq!(undecided, 1);
    assert_eq!(says(0.97, 0).1, 0);
    let (headline, undecided) = says(1.0, 10);
    assert!(headline.contains("in niceness, so"), "{headline}");
    assert_eq!(undecided, 1);
}

#[test]
fn a_machine_that_runs_at_another_pace_is_named_and_undecided() {
    let (comparison, gate) = changed(|new| {
        let conditions = &mut new.run.environment.conditions;
        conditions.governor = Some("powersave".into());
        conditions.io_scheduler = Some("none".into());
        conditions.turbo = None;
        conditions.load_at_start = Some(0.5);
    });
    assert!(differ_in(&comparison, "I/O scheduler"));
    assert!(!differ_in(&comparison, "turbo"), "an older record");
    let says = "Run 2 differs from run 1 in governor, so";
    let headline = &comparison.headline;
    assert!(headline.contains(says), "{headline}");
    assert_eq!(gate.count(CheckResult::Undecided), 1);
}

#[test]
fn the_json_of_a_comparison_has_its_doubts() {
    let (comparison, _) = changed(|new| {
        let flag = |trial: &mut Trial| trial.flag(FlagKind::QueryCache, "it was cached");
        new.trials.iter_mut().for_each(flag);
    });
    let json = report::comparison_json(&comparison);
    assert!(json.contains("it was cached"), "{json}");
}

#[test]
fn figures_by_other_rules_are_a_difference() {
    let (comparison, gate) = changed(|new| {
        new.run.slim = Some(record::Slim {
            prony_version: "0.1.0".into(),
            rules: 1,
            verdicts: Vec::new(),
        });
    });
    let mut found = comparison.differences.iter();
    let rules = found.find(|found| found.what == "rules of the figures");
    assert_eq!(rules.unwrap().values[1].as_deref(), Some("1"));
    let says = "Run 2 differs from run 1 in rules of the figures";
    assert!(comparison.headline.contains(says));
    assert_eq!(gate.count(CheckResult::Undecided), 1);
}

#[test]
fn one_setting_that_a_run_lacks_is_in_the_singular() {
    let (comparison, _) = changed(|new| {
        for trial in &mut new.trials {
            trial.settings.insert("innodb_new".into(), "1".into());
        }
    });
    let text = report::comparison_terminal(&comparison, &fixture::forms::screen(100));
    let one = "1 setting exists in some of the runs only.";
    assert!(text.contains(one), "{text}");
}

#[test]
fn an_incomplete_run_is_named_in_headline_gate_summary_and_json() {
    let (comparison, gate) = changed(|new| {
        new.trials.truncate(9);
    });
    assert_eq!(gate.outcome(), Outcome::Unmeasured);
    assert_eq!(
        gate.missing,
        ["run 2: the run is incomplete: 9 of 15 trials"]
    );
    assert!(
        comparison
            .headline
            .contains("The run is incomplete: 9 of 15 trials.")
    );
    assert!(report::gate_markdown(&gate).contains("9 of 15 trials"));
    let json: serde_json::Value =
        serde_json::from_str(&report::comparison_json(&comparison)).unwrap();
    assert_eq!(json["runs"][1]["incomplete"]["recorded"], 9);
    assert_eq!(json["runs"][0]["incomplete"], serde_json::Value::Null);
}

#[test]
fn a_control_that_differs_from_itself_is_named_in_headline_gate_summary_and_json() {
    let (comparison, gate) = changed(|new| {
        let own = new
            .trials
            .iter()
            .filter(|trial| trial.key.server_name() == "5.5");
        let pool = own.filter(|trial| trial.key.level("variant") == Some("small pool"));
        new.controls = pool.cloned().collect();
        for control in &mut new.controls {
            control.key.role = Role::Control;
            slow_down(control, 0.85);
        }
    });
    let control = gate
        .checks
        .iter()
        .find(|check| check.name == "A/A control")
        .unwrap();
    assert_eq!(control.result, CheckResult::Undecided);
    assert!(
        control.text.contains("differs from itself: 0.85"),
        "{}",
        control.text
    );
    assert_eq!(gate.outcome(), Outcome::Passed);
    assert!(
        comparison.headline.contains("differs from itself"),
        "{}",
        comparison.headline
    );
    assert!(report::gate_markdown(&gate).contains("differs from itself"));
    let json: serde_json::Value =
        serde_json::from_str(&report::comparison_json(&comparison)).unwrap();
    assert_eq!(json["controls"][0]["differs"], true);
}

#[test]
fn a_run_without_a_row_in_common_keeps_the_gate_of_several_runs_from_passing() {
    let (run, trials) = fixture::published();
    let mut other = run.clone();
    other.question.workload.name = "tpch".into();
    let runs = [run.clone(), run, other].map(|run| measured(run, trials.clone()));
    let comparison = Comparison::of(Vec::from(runs), Vec::new(), 0.05);
    let gate = Gate::of_comparison(&comparison, &allowed(Strictness::Decided));
    assert_eq!(gate.outcome(), Outcome::Unmeasured);
    let mut checks = gate.checks.iter();
    let unmeasured = checks.find(|check| check.result == CheckResult::Unmeasured);
    assert_eq!(unmeasured.unwrap().name, "run 3 against run 1");
}

fn with_datasets(measured: &mut Measured, fingerprint: &str) {
    for trial in &mut measured.trials {
        let note = serde_json::json!({
            "fingerprint": fingerprint, "server": "mysql@5.6.14", "rows": 16_384, "data_bytes": 1 << 20, "load_s": null, "method": "INSERT",
        });
        trial.dataset = serde_json::from_value(note).unwrap();
    }
}

#[test]
fn runs_on_other_data_are_named_and_their_answers_are_not_compared() {
    let (run, trials) = fixture::published();
    let mut old = measured(run.clone(), trials.clone());
    let mut new = measured(run, trials);
    with_datasets(&mut old, "sql-1");
    with_datasets(&mut new, "sql-2");
    new.trials[0].rounds[0].queries[0].rows += 1;
    let comparison = Comparison::of(vec![old, new], Vec::new(), 0.05);
    assert!(
        comparison
            .headline
            .contains("another dataset (sql-2 against sql-1)")
    );
    let text = report::comparison_terminal(&comparison, &fixture::forms::screen(100));
    assert!(text.contains("sql-1, 16,384 rows"), "{text}");
    let gate = |strictness| Gate::of_comparison(&comparison, &allowed(strictness)).outcome();
    assert_eq!(gate(Strictness::Decided), Outcome::Passed);
    assert_eq!(gate(Strictness::Strict), Outcome::Failed);
    let json = report::comparison_json(&comparison);
    assert!(json.contains("\"kind\": \"data\""), "{json}");
}

fn differ_in(comparison: &Comparison, what: &str) -> bool {
    let mut differences = comparison.differences.iter();
    differences.any(|found| found.what == what)
}

#[test]
fn another_answer_on_the_same_data_fails() {
    let answered = |rows: u64, hash: &str| {
        changed(|new| {
            for query in new
                .trials
                .iter_mut()
                .flat_map(|trial| &mut trial.rounds)
                .flat_map(|round| &mut round.queries)
            {
                if query.name == "Q1.1" {
                    query.rows = rows;
                    query.answer_hash = hash.into();
                }
            }
        })
    };
    let first = fixture::published().1[0].rounds[0].queries[0].clone();
    let (_, gate) = answered(first.rows, &first.answer_hash);
    assert_eq!(gate.outcome(), Outcome::Passed);
    let (comparison, gate) = answered(first.rows + 1, "other");
    assert_eq!(gate.outcome(), Outcome::Failed);
    let headline = &comparison.headline;
    assert!(headline.contains("Q1.1 returned"), "{headline}");
    assert!(differ_in(&comparison, "answers"));
    let (_, gate) = answered(first.rows, "0000");
    assert_eq!(gate.outcome(), Outcome::Failed);
}

#[test]
fn files_of_another_size_are_named_among_the_differences() {
    let of_size = |measured: &mut Measured, bytes: u64| {
        with_datasets(measured, "sql-1");
        for trial in &mut measured.trials {
            trial.dataset.as_mut().unwrap().data_bytes = bytes;
        }
    };
    let (run, trials) = fixture::published();
    let mut old = measured(run.clone(), trials.clone());
    let mut new = measured(run, trials);
    of_size(&mut old, 1 << 20);
    of_size(&mut new, 1 << 21);
    let comparison = Comparison::of(vec![old, new], Vec::new(), 0.05);
    assert!(differ_in(&comparison, "data"));
}

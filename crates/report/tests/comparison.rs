//! The comparison of runs in its forms, and the gate.

use crate::fixture;
use crate::fixture::long_names::{WIDTHS, is_within, with_long_names};
use record::{Run, Trial};
use report::{CheckResult, Comparison, Detail, Document, Gate, Strictness};

/// The published run twice, the second time slower by this factor.
fn compared(factor: f64) -> Comparison {
    compared_runs(fixture::published(), factor)
}

/// A run twice, the second time slower by this factor.
fn compared_runs((old, old_trials): (Run, Vec<Trial>), factor: f64) -> Comparison {
    let (mut new, mut new_trials) = (old.clone(), old_trials.clone());
    new.id = "old-blocks-time-later".into();
    new.environment.kernel = "6.99".into();
    for trial in &mut new_trials {
        slow_down(trial, factor);
        trial
            .settings
            .insert("innodb_flush_neighbors".into(), "0".into());
    }
    for trial in &mut new_trials {
        trial.settings.insert("port".into(), "4711".into());
    }
    let mut old_trials = old_trials;
    for trial in &mut old_trials {
        trial
            .settings
            .insert("innodb_flush_neighbors".into(), "1".into());
    }
    Comparison::of(vec![(old, old_trials), (new, new_trials)], Vec::new(), 0.05)
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
fn markdown_of_a_comparison_is_a_table() {
    let text = report::comparison_markdown(&compared(1.5));
    assert!(
        text.contains("| verdict | value | old | new | new is | 95 % CI |"),
        "{text}"
    );
}

#[test]
fn a_gate_fails_for_a_decided_slowdown_and_passes_for_none() {
    let slower = Gate::of_comparison(&compared(1.5), Strictness::Decided);
    assert!(slower.failed());
    assert!(
        slower.headline().starts_with("gate failed"),
        "{}",
        slower.headline()
    );
    let same = Gate::of_comparison(&compared(1.0), Strictness::Strict);
    assert!(!same.failed(), "{}", same.headline());
}

/// A gate on a run whose claims cannot be decided.
fn undecided(strictness: Strictness) -> Gate {
    let (run, trials): (Run, Vec<Trial>) = fixture::long(1);
    let document = Document::of(&run, &trials, Detail::Brief);
    Gate::of_run(&document, &trials, 0.05, strictness)
}

#[test]
fn what_is_undecided_passes_with_a_warning_and_fails_a_strict_gate() {
    let gate = undecided(Strictness::Decided);
    assert_eq!(gate.count(CheckResult::Undecided), gate.checks.len());
    assert!(!gate.failed() && !gate.checks.is_empty());
    assert!(undecided(Strictness::Strict).failed());
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
    let gate = Gate::of_comparison(&compared(1.5), Strictness::Decided);
    let text = report::gate_markdown(&gate);
    assert!(text.starts_with("## prony: gate failed"), "{text}");
    assert_eq!(
        text.matches("\n| failed |").count(),
        gate.count(CheckResult::Failed)
    );
    assert!(text.contains("at most 5 % slower is allowed"), "{text}");
}

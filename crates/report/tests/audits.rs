//! What the forms of a report show of an audit: losses, inputs and evidence.

use crate::fixture;
use crate::fixture::forms;
use report::{Detail, Document, Screen};

fn rollbacks() -> record::InputCheck {
    record::InputCheck {
        name: "rollbacks (%)".into(),
        observed: 2.0,
        low: 0.9,
        high: 1.1,
        samples: 10_000,
        is_advisory: false,
    }
}

#[test]
fn a_report_shows_what_was_lost_and_which_inputs_are_wrong() {
    let (run, mut trials) = fixture::small();
    trials.truncate(1);
    trials[0].audit = Some(record::AuditNote {
        acknowledged: 21_197,
        unknown: 8,
        unknown_kept: 3,
        lost: 68,
        loss_window_s: Some(0.058),
        findings: vec!["lost: order 3466 of warehouse 1, district 1".into()],
        inputs: vec![rollbacks()],
        ..record::AuditNote::default()
    });
    trials[0].events = vec![record::EventNote {
        at_ns: 2_000_000_000,
        ended_ns: None,
        kind: record::event::POWER_CUT.into(),
        node: Some(1),
        numbers: [("seed".to_string(), 4_211.0)].into(),
        text: "power_cut".into(),
    }];
    let markdown = forms::markdown(&run, &trials);
    for text in [
        "## Audit",
        "1 of 1",
        " 4211 |",
        "68 (0.321 %)",
        "8 (3)",
        "0.058",
        "lost: order 3466 of warehouse 1, district 1",
        "rollbacks (%)",
        "0.900 to 1.10",
    ] {
        assert!(markdown.contains(text), "{text} in {markdown}");
    }
    let first_screen = |trials: &[record::Trial]| {
        let screen = Screen {
            verbose: false,
            ..forms::screen(80)
        };
        report::terminal(&Document::of(&run, trials, Detail::Brief), &screen)
    };
    let crashed = first_screen(&trials);
    assert!(crashed.contains("68 (0.321 %)"), "{crashed}");
    trials[0].events.clear();
    let quiet = first_screen(&trials);
    assert!(!quiet.contains("68 (0.321 %)"), "{quiet}");
    trials[0].audit = None;
    assert!(!forms::markdown(&run, &trials).contains("Audit"));
}

#[test]
fn times_that_read_alike_are_no_range_in_the_headline() {
    let (mut run, mut trials) = fixture::published();
    run.question.claims.clear();
    run.question.servers.retain(|name| name == "5.5");
    trials.retain(|trial| trial.key.server_name() == "5.5");
    for trial in &mut trials {
        let is_large = trial.key.level("variant") == Some("large pool");
        let commit_s = if is_large { 12.344 } else { 12.341 };
        trial.audit = Some(record::AuditNote {
            acknowledged: 1_000,
            ..record::AuditNote::default()
        });
        trial.events = vec![record::EventNote {
            at_ns: trial.started_ns,
            ended_ns: None,
            kind: record::event::KILL.into(),
            node: Some(1),
            numbers: [("commit_s".to_string(), commit_s)].into(),
            text: "kill".into(),
        }];
    }
    let headline = Document::of(&run, &trials, Detail::Brief).headline;
    let first = "The first commit came 12.34 s after the outage.";
    assert!(headline.contains(first), "{headline}");
}

#[test]
fn json_has_the_counts_of_an_audit_and_its_evidence() {
    let (run, mut trials) = fixture::small();
    trials.truncate(1);
    trials[0].audit = Some(record::AuditNote {
        acknowledged: 300,
        violations: vec!["condition 1 does not hold".into()],
        inputs: vec![rollbacks()],
        ..record::AuditNote::default()
    });
    let document: serde_json::Value = serde_json::from_str(&forms::json(&run, &trials)).unwrap();
    let expected = serde_json::json!({
        "acknowledged": 300,
        "refused": 0,
        "unknown": 0,
        "unknown_kept": 0,
        "lost": 0,
        "lost_bound": 0.01,
        "ghosts": 0,
        "partly_applied": 0,
        "seen_but_lost": 0,
        "loss_window_s": null,
        "violations": 1,
        "inputs": 1,
        "findings": ["condition 1 does not hold"],
        "input_checks": [{
            "name": "rollbacks (%)",
            "observed": 2.0,
            "low": 0.9,
            "high": 1.1,
            "samples": 10_000,
            "is_advisory": false,
            "passed": false
        }],
        "inputs_unchecked": null
    });
    assert_eq!(document["trials"][0]["audit"], expected);
}

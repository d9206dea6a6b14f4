//! A trial's audit as JSON.

use record::{AuditNote, InputCheck};
use serde::Serialize;

/// The counts of an audit and the evidence for them.
#[derive(Serialize)]
pub(super) struct Audit<'a> {
    acknowledged: u64,
    refused: u64,
    unknown: u64,
    unknown_kept: u64,
    lost: u64,
    lost_bound: Option<f64>,
    ghosts: u64,
    partly_applied: u64,
    seen_but_lost: u64,
    loss_window_s: Option<f64>,
    /// How many rules do not hold, as far as they have a sentence.
    violations: usize,
    /// How many input checks failed.
    inputs: usize,
    findings: Vec<&'a str>,
    input_checks: Vec<Input<'a>>,
    inputs_unchecked: Option<&'a str>,
}

#[derive(Serialize)]
struct Input<'a> {
    #[serde(flatten)]
    check: &'a InputCheck,
    passed: bool,
}

impl Audit<'_> {
    pub(super) fn of(note: &AuditNote) -> Audit<'_> {
        let findings = note.findings.iter().chain(&note.violations);
        let checks = note.inputs.iter().map(|check| Input {
            check,
            passed: check.passed(),
        });
        Audit {
            acknowledged: note.acknowledged,
            refused: note.refused,
            unknown: note.unknown,
            unknown_kept: note.unknown_kept,
            lost: note.lost,
            lost_bound: note.lost_bound(),
            ghosts: note.ghosts,
            partly_applied: note.partly_applied,
            seen_but_lost: note.seen_but_lost,
            loss_window_s: note.loss_window_s,
            violations: note.violations.len(),
            inputs: note.failed_inputs().count(),
            findings: findings.map(String::as_str).collect(),
            input_checks: checks.collect(),
            inputs_unchecked: note.inputs_unchecked.as_deref(),
        }
    }
}

//! A trial's audit as JSON.

use record::{AuditNote, InputCheck};
use serde_json::{Value, json};

/// The counts of an audit and the evidence for them.
pub(super) fn audit(note: &AuditNote) -> Value {
    let findings: Vec<&String> = note.findings.iter().chain(&note.violations).collect();
    json!({
        "acknowledged": note.acknowledged,
        "refused": note.refused,
        "unknown": note.unknown,
        "unknown_kept": note.unknown_kept,
        "lost": note.lost,
        "lost_bound": note.lost_bound(),
        "ghosts": note.ghosts,
        "partly_applied": note.partly_applied,
        "seen_but_lost": note.seen_but_lost,
        "loss_window_s": note.loss_window_s,
        "violations": note.violations.len(),
        "inputs": note.failed_inputs().count(),
        "findings": findings,
        "input_checks": note.inputs.iter().map(input).collect::<Vec<_>>(),
        "inputs_unchecked": note.inputs_unchecked,
    })
}

fn input(check: &InputCheck) -> Value {
    let mut keys = json!(check);
    keys["passed"] = check.passed().into();
    keys
}

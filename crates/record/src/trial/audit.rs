//! What the audit after a timed load found: transactions that were lost, rules that do not hold, inputs that are off.
//!
//! Purpose: the vocabulary that workloads, the record and the report share. Boundary: who audits and how is the workload's
//! matter; which findings make a trial invalid is the protocol's.

use crate::text::word::name_of;
use serde::{Deserialize, Serialize};

/// The result of an audit. All numbers count writing transactions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditNote {
    /// The commit was acknowledged.
    pub acknowledged: u64,
    /// Rolled back, by the client or by the server.
    pub refused: u64,
    /// COMMIT was sent and never answered: the data may hold the transaction or not.
    pub unknown: u64,
    /// Unknown transactions that the data holds.
    pub unknown_kept: u64,
    /// Acknowledged, but missing from the data.
    pub lost: u64,
    /// Refused, but present in the data.
    pub ghosts: u64,
    /// Present in some of their tables only.
    pub partly_applied: u64,
    /// Commits that a reader saw and that are missing now.
    pub seen_but_lost: u64,
    /// Seconds from the acknowledgement of the oldest lost transaction to the crash; none if nothing was lost.
    pub loss_window_s: Option<f64>,
    /// Which transactions were lost, ghosts and so on: one sentence each, the first ones of each kind.
    pub findings: Vec<String>,
    /// Rules that do not hold, one sentence each, the first ones of each rule.
    pub violations: Vec<String>,
    /// The inputs of the load against what the workload prescribes.
    pub inputs: Vec<InputCheck>,
    /// Why the inputs were not checked, in one sentence.
    pub inputs_unchecked: Option<String>,
}

impl AuditNote {
    /// The upper 95 % bound of the share of lost transactions where none was lost, nor a part of one: 3/n (the rule of three). None
    /// otherwise.
    pub fn lost_bound(&self) -> Option<f64> {
        let none_lost = !self.has_losses() && self.acknowledged > 0;
        none_lost.then(|| 3.0 / self.acknowledged as f64)
    }

    /// Whether a transaction is missing, whole or in part.
    pub fn has_losses(&self) -> bool {
        self.lost + self.partly_applied > 0
    }

    /// The inputs that are not as prescribed.
    pub fn failed_inputs(&self) -> impl Iterator<Item = &InputCheck> {
        self.inputs.iter().filter(|check| check.is_fault())
    }
}

/// A figure of an audit that claims can compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditFigure {
    Acknowledged,
    Refused,
    Unknown,
    Lost,
    Ghosts,
    PartlyApplied,
    SeenButLost,
    LossWindowS,
}

impl AuditFigure {
    /// Each figure with its name in files and JSON.
    pub const NAMED: [(&str, AuditFigure); 8] = [
        ("acknowledged", AuditFigure::Acknowledged),
        ("refused", AuditFigure::Refused),
        ("unknown", AuditFigure::Unknown),
        ("lost", AuditFigure::Lost),
        ("ghosts", AuditFigure::Ghosts),
        ("partly_applied", AuditFigure::PartlyApplied),
        ("seen_but_lost", AuditFigure::SeenButLost),
        ("loss_window_s", AuditFigure::LossWindowS),
    ];

    pub fn named(name: &str) -> Option<AuditFigure> {
        let found = AuditFigure::NAMED.iter().find(|(known, _)| *known == name);
        found.map(|(_, figure)| *figure)
    }

    pub fn name(self) -> &'static str {
        name_of(&self, &AuditFigure::NAMED)
    }

    /// None for the loss window of an audit without a loss.
    pub fn of(self, note: &AuditNote) -> Option<f64> {
        let count = match self {
            AuditFigure::Acknowledged => note.acknowledged,
            AuditFigure::Refused => note.refused,
            AuditFigure::Unknown => note.unknown,
            AuditFigure::Lost => note.lost,
            AuditFigure::Ghosts => note.ghosts,
            AuditFigure::PartlyApplied => note.partly_applied,
            AuditFigure::SeenButLost => note.seen_but_lost,
            AuditFigure::LossWindowS => return note.loss_window_s,
        };
        Some(count as f64)
    }
}

/// One property of a load's inputs and the range that it must be in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputCheck {
    /// The name with its unit: `rollbacks (%)`.
    pub name: String,
    pub observed: f64,
    /// The lowest and the highest allowed value.
    pub low: f64,
    pub high: f64,
    /// How many inputs it was computed from.
    pub samples: u64,
    /// A value out of range is reported, but does not make the trial invalid.
    #[serde(default)]
    pub is_advisory: bool,
}

impl InputCheck {
    pub fn passed(&self) -> bool {
        (self.low..=self.high).contains(&self.observed)
    }

    /// Whether it makes the trial invalid.
    pub fn is_fault(&self) -> bool {
        !self.passed() && !self.is_advisory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_loss_of_three_hundred_bounds_the_share_at_one_percent() {
        let of = |lost| AuditNote {
            acknowledged: 300,
            lost,
            ..AuditNote::default()
        };
        let in_part = AuditNote {
            partly_applied: 1,
            ..of(0)
        };
        assert_eq!(in_part.lost_bound(), None, "it is lost in part");
        assert_eq!(of(0).lost_bound(), Some(0.01));
        assert_eq!(of(1).lost_bound(), None);
        assert_eq!(AuditNote::default().lost_bound(), None);
    }

    #[test]
    fn a_figure_of_an_audit_has_the_name_of_its_field() {
        let note = AuditNote {
            lost: 7,
            loss_window_s: Some(0.5),
            ..AuditNote::default()
        };
        let fields = serde_json::to_value(&note).unwrap();
        for (name, figure) in AuditFigure::NAMED {
            assert_eq!(fields[name].as_f64(), figure.of(&note), "{name}");
            assert_eq!(AuditFigure::named(figure.name()), Some(figure));
        }
        assert_eq!(AuditFigure::LossWindowS.of(&AuditNote::default()), None);
    }

    #[test]
    fn an_input_outside_its_range_or_not_a_number_has_failed() {
        let check = |observed| InputCheck {
            name: "rollbacks (%)".into(),
            observed,
            low: 0.9,
            high: 1.1,
            samples: 10_000,
            is_advisory: false,
        };
        assert!(check(0.9).passed() && check(1.1).passed());
        assert!(!check(2.0).passed() && !check(f64::NAN).passed());
        let advisory = InputCheck {
            is_advisory: true,
            ..check(2.0)
        };
        assert!(check(2.0).is_fault() && !advisory.passed() && !advisory.is_fault());
    }
}

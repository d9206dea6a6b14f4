//! What the audit after a timed load found: transactions that were lost, rules that do not hold, inputs that are off.
//!
//! Purpose: the vocabulary that workloads, the record and the report share. Boundary: who audits and how is the workload's
//! matter; which findings make a trial invalid is the protocol's.

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
    /// The upper 95 % bound of the share of lost transactions where none was lost: 3/n (the rule of three). None otherwise.
    pub fn lost_bound(&self) -> Option<f64> {
        let none_lost = self.lost == 0 && self.acknowledged > 0;
        none_lost.then(|| 3.0 / self.acknowledged as f64)
    }

    /// The inputs that are not as prescribed.
    pub fn failed_inputs(&self) -> impl Iterator<Item = &InputCheck> {
        self.inputs.iter().filter(|check| !check.passed())
    }
}

/// One property of a load's inputs and the range that it must be in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputCheck {
    /// With its unit: `rollbacks (%)`.
    pub name: String,
    pub observed: f64,
    /// Both included.
    pub low: f64,
    pub high: f64,
    /// How many inputs it was computed from.
    pub samples: u64,
}

impl InputCheck {
    pub fn passed(&self) -> bool {
        (self.low..=self.high).contains(&self.observed)
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
        assert_eq!(of(0).lost_bound(), Some(0.01));
        assert_eq!(of(1).lost_bound(), None);
        assert_eq!(AuditNote::default().lost_bound(), None);
    }

    #[test]
    fn an_input_outside_its_range_or_not_a_number_has_failed() {
        let check = |observed| InputCheck {
            name: "rollbacks (%)".into(),
            observed,
            low: 0.9,
            high: 1.1,
            samples: 10_000,
        };
        assert!(check(0.9).passed() && check(1.1).passed());
        assert!(!check(2.0).passed() && !check(f64::NAN).passed());
    }
}

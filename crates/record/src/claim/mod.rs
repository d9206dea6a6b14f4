//! A claim: a statement that the record is tested for, and what came of it.
//!
//! Purpose: the data of claims and verdicts. Boundary: judging (intervals, thresholds, Holm) is in `stats`.

mod value;

pub use crate::family::percentile::Percentile;
pub use value::{Measured, Unit, Use, Value};

use crate::key::TrialKey;
use crate::text::word::name_of;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub says: String,
    pub subject: Subject,
    /// The published figure: the ratio `of / to`, or the spread for `among`.
    pub published: Option<f64>,
}

impl Claim {
    /// The cells that it is about.
    pub fn cells(&self) -> Vec<&Cell> {
        match &self.subject {
            Subject::Finds { of, .. } => vec![of],
            Subject::Ratio { .. } | Subject::Spread { .. } => self.compared(),
        }
    }

    /// The cells whose values are compared; none for a shape, which more blocks do not decide.
    pub fn compared(&self) -> Vec<&Cell> {
        match &self.subject {
            Subject::Ratio { of, to, .. } => vec![of, to],
            Subject::Spread { among, .. } => vec![among],
            Subject::Finds { .. } => Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Subject {
    /// value(of) / value(to) against a bound.
    Ratio {
        value: Value,
        of: Cell,
        to: Cell,
        bound: Bound,
    },
    /// The largest over the smallest value among all cells that match lies within `1 + within`.
    Spread {
        value: Value,
        among: Cell,
        within: f64,
    },
    /// A shape in the matching cells.
    Finds { finding: Finding, of: Cell },
}

impl Subject {
    /// What it compares; None for a shape.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Subject::Ratio { value, .. } | Subject::Spread { value, .. } => Some(value),
            Subject::Finds { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// The ratio lies in 1/(1+w) ..= 1+w.
    Within(f64),
}

impl Bound {
    /// The threshold of a claim that names none: half of the published ratio's logarithm, so its square root, towards
    /// the side that was published.
    pub fn halfway(published: f64) -> Bound {
        if published >= 1.0 {
            Bound::AtLeast(published.sqrt())
        } else {
            Bound::AtMost(published.sqrt())
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Finding {
    /// A query of the cell had more than one plan.
    PlanChanged,
    /// The plan of the cell's query, or of every query, contains this text.
    PlanHolds(String),
    /// An open load exceeded the server's capacity.
    Unstable,
    /// Seconds under half of the running median, or at zero (rule 10).
    Stall,
    /// The throughput changes once and stays changed.
    LevelShift,
    /// The throughput drops at equal intervals.
    Period,
    /// In at least one trial, acknowledged transactions are missing from the data.
    Losses,
    /// In no trial is an acknowledged transaction missing from the data.
    NoLosses,
    /// In at least one trial a read on a further node returned less than was acknowledged.
    StaleReads,
    /// In no trial did a read on a further node return less than was acknowledged.
    NoStaleReads,
    /// The measured part is steady (rule 5), without stalls, level shifts and periods.
    Steady,
}

impl Finding {
    /// The findings without a text, by the words of the experiment file.
    pub const NAMED: [(&str, Finding); 10] = [
        ("plan changed", Finding::PlanChanged),
        ("unstable", Finding::Unstable),
        ("stall", Finding::Stall),
        ("level shift", Finding::LevelShift),
        ("period", Finding::Period),
        ("steady", Finding::Steady),
        ("losses", Finding::Losses),
        ("no losses", Finding::NoLosses),
        ("stale reads", Finding::StaleReads),
        ("no stale reads", Finding::NoStaleReads),
    ];
    /// The word of [`Finding::PlanHolds`].
    pub const PLAN_HOLDS: &str = "plan holds";

    /// Whether it is read from audits, so that a trial that is invalid for speed shows it too.
    pub fn is_on_losses(&self) -> bool {
        matches!(self, Finding::Losses | Finding::NoLosses)
    }

    /// `stall`, `plan holds "Using join buffer"`
    pub fn text(&self) -> String {
        if let Finding::PlanHolds(text) = self {
            return format!("{} {text:?}", Finding::PLAN_HOLDS);
        }
        name_of(self, &Finding::NAMED).to_string()
    }
}

/// A part of the matrix: all trials that match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// (factor, allowed levels); `server` and `variant` are factors here.
    pub levels: Vec<(String, Vec<String>)>,
    pub round: Option<RoundSelector>,
    /// A query by name; without it the whole round.
    pub query: Option<String>,
    /// Queries that the sum of a whole round leaves out, because one side of a comparison lacks them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

impl Cell {
    /// Whether the levels of a trial are in it.
    pub fn selects(&self, key: &TrialKey) -> bool {
        let allows = |(factor, allowed): &(String, Vec<String>)| {
            key.level(factor)
                .is_some_and(|level| allowed.iter().any(|allowed| allowed == level))
        };
        self.levels.iter().all(allows)
    }
}

/// `"hot"` is the mean of all hot rounds, `"hot 2"` the second alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundSelector {
    pub name: String,
    pub index: Option<u32>,
}

impl RoundSelector {
    /// All rounds of a name.
    pub fn all(name: &str) -> RoundSelector {
        RoundSelector {
            name: name.to_string(),
            index: None,
        }
    }
}

impl fmt::Display for RoundSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{} {index}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Reproduced,
    NotReproduced,
    Inconclusive,
    /// The record cannot answer: a cell is empty, a counter absent, a setting not available on the server.
    NotAvailable,
}

impl Verdict {
    /// The verdict on a claim with a published figure.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotAvailable => "not available",
        }
    }
}

/// The side of 1 on which the ratio lies, whatever the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Above,
    Below,
    Undecided,
}

/// The kind of bound that a ratio is if one side reached the time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    AtLeast,
    AtMost,
}

/// The numbers of blocks after which the answers were decided; none if they are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedAfter {
    pub threshold: Option<u32>,
    pub direction: Option<u32>,
}

/// The blocks that a result rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlocksUsed {
    pub used: u32,
    /// All that were begun, invalid and incomplete ones among them.
    pub of: u32,
}

impl BlocksUsed {
    /// The share of the blocks that count, from 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from(self.used) / f64::from(self.of.max(1))
    }

    /// `from 2 of 3 blocks`; None if all count. Those that do not count say nothing against the result.
    pub fn words(&self) -> Option<String> {
        (self.used < self.of).then(|| format!("from {} of {} blocks", self.used, self.of))
    }
}

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub claim: Claim,
    /// The measured ratio (geometric mean over blocks) or spread.
    pub measured: Option<f64>,
    /// The confidence interval over blocks; none with fewer than two blocks. Of a bound its far end is 0 or infinity. Where the claims are
    /// judged several times, the intervals of all looks hold together.
    pub ci: Option<(f64, f64)>,
    /// Set if the measured ratio is only a bound: a query reached the time limit.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// The threshold in words: `>= 1.34`.
    pub threshold: String,
    pub verdict: Verdict,
    /// Decided for all claims together, like the verdict; none for claims that have no ratio of two cells in two blocks.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// Whether the published figure lies in the interval; none if nothing was published, or without an interval.
    #[serde(default)]
    pub published_inside: Option<bool>,
    /// How many blocks would decide what is undecided, with 80 % probability if what was measured is true. None if all is decided,
    /// with one block, and beyond 1,000.
    #[serde(default)]
    pub blocks_to_decide: Option<u32>,
    /// The looks at which it was decided; none if the claims are judged once.
    #[serde(default)]
    pub decided_after: Option<DecidedAfter>,
    /// None if nothing could be compared. Of different runs, those of the side that lacks more of them.
    #[serde(default)]
    pub blocks: Option<BlocksUsed>,
    /// Why, if the figures alone do not show it: "single block: variance unknown, so no verdict".
    pub reason: Option<String>,
}

impl Judged {
    /// The verdict in words; only what was published can be reproduced.
    pub fn words(&self) -> &'static str {
        match (self.verdict, self.claim.published) {
            (Verdict::Reproduced, None) => "holds",
            (Verdict::NotReproduced, None) => "does not hold",
            (verdict, _) => verdict.text(),
        }
    }
}

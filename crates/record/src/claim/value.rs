//! What claims compare: each value with all that is known of it, whatever the trial.
//!
//! Purpose: a new value is a variant, a row of [`Value::facts`], a name and a noun, all in this file. Boundaries: `stats` reads it from a trial.

use super::Percentile;
use crate::family::kind::LatencyKind;
use crate::family::names::RECOVERY_NUMBERS;
use crate::trial::audit::AuditFigure;
use serde::{Deserialize, Serialize};

/// What is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// Seconds: of the round, or of the query that the cell names.
    Elapsed,
    /// A counter's difference per round or query.
    Counter(String),
    /// One counter divided by another.
    Quotient(String, String),
    /// Throughput of a timed load (operations/s).
    Throughput,
    /// How much the throughput of a timed load varies from second to second: its standard deviation as a share of its mean.
    Variation,
    /// How old reads on further nodes were, in milliseconds: the mean over seconds of the largest age in each.
    ReadAge,
    /// A percentile of a timed load, over all operations or over the one that the cell names as its query.
    Latency {
        kind: LatencyKind,
        percentile: Percentile,
    },
    /// A number of the trial's outages by its name, the mean over them: `recovered_s`.
    Recovery(String),
    /// A figure of the trial's audit.
    Audit(AuditFigure),
}

/// Which trials have a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// All, by their counters.
    Always,
    /// Rounds of queries.
    InRounds,
    /// Timed loads.
    InLoads,
    /// Timed loads with an outage.
    InOutages,
    /// Timed loads that are audited.
    InAudits,
}

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    PerSecond,
    Seconds,
    Milliseconds,
    /// A count, a share, or what its name says.
    Number,
}

impl Unit {
    /// ` (ops/s)`, behind a name; empty for a number.
    pub fn suffix(self) -> &'static str {
        match self {
            Unit::PerSecond => " (ops/s)",
            Unit::Seconds => " (s)",
            Unit::Milliseconds => " (ms)",
            Unit::Number => "",
        }
    }
}

/// Which of two values is better.
#[derive(PartialEq)]
enum Better {
    More,
    Less,
}

/// What a report uses a value for where no one asks for it by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// How fast a server is: the A/A control and the answer of a run compare it.
    Speed,
    /// How long an outage is: the answer of a run compares it.
    Outage,
    /// Nothing.
    Detail,
}

/// What is known of a value.
struct Facts {
    measured: Measured,
    unit: Unit,
    better: Better,
    used: Use,
    /// What it says of the order of a server's seconds, which a load in slices does not keep.
    order: Option<&'static str>,
}

impl Value {
    /// The values without an argument, by their words in the experiment file.
    pub const NAMED: [(&str, Value); 4] = [
        ("elapsed", Value::Elapsed),
        ("throughput", Value::Throughput),
        ("variation", Value::Variation),
        ("read_age_ms", Value::ReadAge),
    ];

    fn facts(&self) -> Facts {
        use {Better::*, Measured::*, Unit::*, Use::*};
        let varies = "how much the throughput varies from second to second";
        let ages = "the age of reads on further nodes";
        let (measured, unit, better, used, order) = match self {
            Value::Elapsed => (InRounds, Seconds, Less, Speed, None),
            Value::Counter(_) | Value::Quotient(..) => (Always, Number, Less, Detail, None),
            Value::Throughput => (InLoads, PerSecond, More, Speed, None),
            Value::Variation => (InLoads, Number, Less, Detail, Some(varies)),
            Value::ReadAge => (InLoads, Milliseconds, Less, Detail, Some(ages)),
            Value::Latency { .. } => (InLoads, Milliseconds, Less, Speed, None),
            Value::Recovery(number) if number.ends_with("_s") => {
                (InOutages, Seconds, Less, Outage, Some("a recovery"))
            }
            Value::Recovery(_) => (InOutages, Number, Less, Outage, Some("a recovery")),
            Value::Audit(_) => (InAudits, Number, Less, Detail, Some("an audit of TPC-C")),
        };
        Facts {
            measured,
            unit,
            better,
            used,
            order,
        }
    }

    /// The value of this word in the experiment file: `throughput`, `p99`, `wait p99`, `recovered_s`; None for a counter, and for no value.
    pub fn named(word: &str) -> Option<Value> {
        let plain = || Value::NAMED.into_iter().find(|(name, _)| *name == word);
        let recovery = || RECOVERY_NUMBERS.contains(&word);
        let latency = || {
            let (kind, percentile) = word.split_once(' ').unwrap_or(("response", word));
            let (_, kind) = LatencyKind::NAMED
                .into_iter()
                .find(|(name, _)| *name == kind)?;
            let mut all = Percentile::ALL.into_iter();
            let percentile = all.find(|known| known.text() == percentile.trim())?;
            Some(Value::Latency { kind, percentile })
        };
        plain()
            .map(|(_, value)| value)
            .or_else(|| recovery().then(|| Value::Recovery(word.into())))
            .or_else(|| AuditFigure::named(word).map(Value::Audit))
            .or_else(latency)
    }

    /// Which trials have it.
    pub fn measured(&self) -> Measured {
        self.facts().measured
    }

    /// Whether only trials with a timed load have it.
    pub fn is_of_load(&self) -> bool {
        match self.measured() {
            Measured::InLoads | Measured::InOutages | Measured::InAudits => true,
            Measured::Always | Measured::InRounds => false,
        }
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        self.facts().unit
    }

    /// Whether a larger value is better.
    pub fn more_is_better(&self) -> bool {
        self.facts().better == Better::More
    }

    /// What a report uses it for where no one asks for it by name.
    pub fn used(&self) -> Use {
        self.facts().used
    }

    /// What it says of the order of a server's seconds, which a load in slices does not keep.
    pub fn of_order(&self) -> Option<&'static str> {
        self.facts().order
    }

    /// In a sentence: `the throughput`, `the p999 wait time`, `recovered_s`.
    pub fn words(&self) -> String {
        match self {
            Value::Elapsed => "the time".to_string(),
            Value::Counter(name) | Value::Recovery(name) => name.clone(),
            Value::Quotient(over, under) => format!("{over} / {under}"),
            Value::Throughput => "the throughput".to_string(),
            Value::Variation => "the variation from second to second".to_string(),
            Value::ReadAge => "the age of reads".to_string(),
            Value::Audit(figure) => figure.name().to_string(),
            Value::Latency { kind, percentile } => {
                format!("the {} {}", percentile.text(), kind.noun())
            }
        }
    }

    /// In an answer: `throughput`, `p99.9 wait time`, `time to the first commit`.
    pub fn noun(&self) -> String {
        let named = || self.words().trim_start_matches("the ").to_string();
        match self {
            Value::Latency { kind, percentile } => {
                format!("{} {}", percentile.title(), kind.noun())
            }
            Value::Recovery(number) => match number.as_str() {
                "accept_s" => "time to the first connection".into(),
                "commit_s" => "time to the first commit".into(),
                "recovered_s" => "time until the throughput is back".into(),
                _ => named(),
            },
            _ => named(),
        }
    }

    /// The name of its field in JSON, with its unit: `p99_ms`.
    pub fn field(&self) -> String {
        match self {
            Value::Elapsed => "elapsed_s".to_string(),
            Value::Latency { percentile, .. } => format!("{}_ms", percentile.text()),
            Value::Variation => "variation".to_string(),
            Value::ReadAge => "read_age_ms".to_string(),
            Value::Counter(_)
            | Value::Quotient(..)
            | Value::Throughput
            | Value::Recovery(_)
            | Value::Audit(_) => self.words().trim_start_matches("the ").to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_a_recovery_is_a_time_only_if_its_name_says_so() {
        let unit = |name: &str| Value::named(name).map(|value| value.unit());
        assert_eq!(unit("commit_s"), Some(Unit::Seconds));
        assert_eq!(unit("redo_bytes"), Some(Unit::Number));
    }

    #[test]
    fn each_kind_of_time_has_its_own_noun() {
        let noun = |word: &str| Value::named(word).map(|value| value.noun());
        assert_eq!(noun("p999").as_deref(), Some("p99.9 latency"));
        assert_eq!(noun("wait p99").as_deref(), Some("p99 wait time"));
        assert_eq!(noun("Questions"), None);
    }
}

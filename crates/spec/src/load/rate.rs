//! Rates: `500`, `"60% of max"`, and the search for the maximum.
//!
//! Purpose: parse and print them, and check their range. Boundaries: `plan` finds the maximum.

use crate::file::read::Node;
use crate::text::unit;
use record::Percentile;
use std::fmt;
use std::str::FromStr;

/// The maximum rate (ops/s), because a schedule counts whole nanoseconds.
pub(super) const RATE_MAX: f64 = 1e9;
/// The largest share: ten times the maximum. Overload is useful; anything above is a typing error.
const SHARE_MAX: f64 = 10.0;
/// The name of the level that measures the maximum for rates given as shares of it.
pub const MAX: &str = "max";

#[derive(Clone, Debug, PartialEq)]
pub enum RateSpec {
    /// Operations per second.
    PerSecond(f64),
    /// A share of the maximum; the maximum is measured first.
    ShareOfMax(f64),
    /// The maximum itself: a closed loop with as many clients as workers.
    Max,
    /// The maximum rate that meets a threshold, found by search.
    Find(SearchSpec),
}

/// `find = { max_rate = [100, 20000], where = "p99 <= 10ms" }`
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSpec {
    /// Lower and upper bound (ops/s): the lower one is above 0 and below the upper one.
    pub between: (f64, f64),
    pub holds: Threshold,
}

/// An upper limit of a latency percentile.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Not the maximum.
    pub percentile: Percentile,
    pub at_most_ms: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    #[error(
        "\"{0}\" is not a rate: write operations per second as 500, or a share as \"60% of max\""
    )]
    Text(String),
    #[error("a rate of {0} is above the maximum")]
    Range(String),
    #[error("\"{0}\" is not a threshold: write it as \"p99 <= 10ms\", with p50, p95, p99 or p999")]
    Threshold(String),
}

impl RateSpec {
    /// # Errors
    /// Rejects rates that are not above 0 or that exceed `RATE_MAX`.
    pub fn per_second(rate: f64) -> Result<RateSpec, RateError> {
        if rate.is_finite() && rate > 0.0 && rate <= RATE_MAX {
            Ok(RateSpec::PerSecond(rate))
        } else {
            Err(RateError::Range(rate.to_string()))
        }
    }

    /// Whether it depends on a measured maximum.
    pub(crate) fn is_relative(&self) -> bool {
        matches!(self, RateSpec::ShareOfMax(_))
    }
}

impl FromStr for RateSpec {
    type Err = RateError;

    fn from_str(text: &str) -> Result<RateSpec, RateError> {
        let wrong = || RateError::Text(text.to_string());
        if let Ok(rate) = text.trim().parse() {
            return RateSpec::per_second(rate);
        }
        let (share, of) = text.split_once('%').ok_or_else(wrong)?;
        let words: Vec<&str> = of.split_whitespace().collect();
        let share = unit::share(&format!("{}%", share.trim())).map_err(|_| wrong())?;
        match words.as_slice() {
            ["of", "max"] if share > 0.0 && share <= SHARE_MAX => Ok(RateSpec::ShareOfMax(share)),
            ["of", "max"] => Err(RateError::Range(text.to_string())),
            _ => Err(wrong()),
        }
    }
}

/// The level's name.
impl fmt::Display for RateSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateSpec::PerSecond(rate) => write!(f, "{rate}"),
            RateSpec::ShareOfMax(share) => write!(f, "{}% of max", unit::percent(*share)),
            RateSpec::Max => f.write_str(MAX),
            RateSpec::Find(search) => write!(f, "the largest with {}", search.holds),
        }
    }
}

impl FromStr for Threshold {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Threshold, RateError> {
        let wrong = || RateError::Threshold(text.to_string());
        let (name, limit) = text.split_once("<=").ok_or_else(wrong)?;
        let percentile = Percentile::ALL
            .into_iter()
            .find(|known| known.text() == name.trim() && *known != Percentile::Max);
        let limit = unit::duration(limit.trim()).map_err(|_| wrong())?;
        match percentile {
            Some(percentile) if !limit.is_zero() => Ok(Threshold {
                percentile,
                at_most_ms: limit.as_secs_f64() * 1e3,
            }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}ms", self.percentile.text(), self.at_most_ms)
    }
}

/// Reads a rate (ops/s) in the range of a schedule.
pub(super) fn per_second(node: &Node) -> Option<f64> {
    let number = node.positive("rate = 500")?;
    let help = "write operations per second, at most 1e9";
    node.noted(RateSpec::per_second(number), "out of range", help)?;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rate_is_a_number_or_a_share_of_the_maximum() {
        assert_eq!("500".parse(), Ok(RateSpec::PerSecond(500.0)));
        assert_eq!("0.5".parse(), Ok(RateSpec::PerSecond(0.5)));
        assert_eq!("60% of max".parse(), Ok(RateSpec::ShareOfMax(0.6)));
        assert_eq!("90 %  of max".parse(), Ok(RateSpec::ShareOfMax(0.9)));
    }

    #[test]
    fn rates_that_no_schedule_can_express_are_refused() {
        for wrong in [
            "0",
            "-1",
            "1e10",
            "inf",
            "nan",
            "60%",
            "0% of max",
            "1001% of max",
            "of max",
            "max",
            "x% of max",
            "60% of it",
            "",
        ] {
            assert!(wrong.parse::<RateSpec>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_threshold_is_a_percentile_and_a_duration() {
        let threshold: Threshold = "p99 <= 10ms".parse().unwrap();
        assert_eq!(threshold.percentile, Percentile::P99);
        assert_eq!(threshold.at_most_ms, 10.0);
        for wrong in [
            "p99 < 10ms",
            "p98 <= 10ms",
            "p99 <= 10",
            "p99 <= 0ms",
            "10ms",
        ] {
            assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_rate_survives_a_round_trip(text in "[1-9][0-9]{0,6}(\\.[0-9]{1,3})?|[1-9][0-9]{0,2}(\\.[0-9]{1,3})?% of max") {
            let rate: RateSpec = text.parse().unwrap();
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*") {
            let _ = (text.parse::<RateSpec>(), text.parse::<Threshold>());
        }
    }
}

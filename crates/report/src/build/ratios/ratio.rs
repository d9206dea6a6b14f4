//! A measured ratio with its direction: `1.90× slower`.

use crate::format;
use record::{Judged, Limit, Value};

/// How much slower or faster the first side is than the second.
pub(crate) struct Way {
    /// At least 1, unless the ratio is a bound.
    factor: f64,
    ci: Option<(f64, f64)>,
    pub(crate) is_slower: bool,
    /// One side reached the time limit.
    is_bound: bool,
}

impl Way {
    /// None without a ratio.
    pub(crate) fn of(judged: &Judged, value: &Value) -> Option<Way> {
        let invert = |(low, high): (f64, f64)| (1.0 / high, 1.0 / low);
        let (ratio, ci) = (judged.measured?, judged.ci);
        let (slowness, ci) = if value.more_is_better() {
            (1.0 / ratio, ci.map(invert))
        } else {
            (ratio, ci)
        };
        let is_slower = match judged.limit {
            None => slowness >= 1.0,
            Some(limit) => limit == Limit::AtLeast,
        };
        let (factor, ci) = if is_slower {
            (slowness, ci)
        } else {
            (1.0 / slowness, ci.map(invert))
        };
        Some(Way {
            factor,
            ci,
            is_slower,
            is_bound: judged.limit.is_some(),
        })
    }

    /// Whether it is a bound that excludes neither direction.
    pub(crate) fn is_open(&self) -> bool {
        self.is_bound && self.factor <= 1.0
    }

    fn word(&self) -> &'static str {
        if self.is_slower { "slower" } else { "faster" }
    }

    fn bound(&self) -> &'static str {
        if self.is_bound { "at least " } else { "" }
    }

    /// `at least 1.90× slower`
    pub(crate) fn words(&self) -> String {
        format!(
            "{}{}× {}",
            self.bound(),
            format::ratio_within(self.ci)(self.factor),
            self.word()
        )
    }

    /// `1.70 to 2.20`; none with one block.
    pub(crate) fn interval(&self) -> Option<String> {
        self.interval_by(format::ratio_within(self.ci))
    }

    /// `1.9×`, with as many decimals as its interval needs.
    pub(crate) fn short(&self) -> String {
        format!("{}{}×", self.bound(), self.rounded(self.factor))
    }

    /// `1.9× slower`
    pub(crate) fn short_words(&self) -> String {
        format!("{} {}", self.short(), self.word())
    }

    /// ` (1.7 to 2.2)`, and of one block that it has no interval.
    pub(crate) fn short_interval(&self) -> String {
        match self.interval_by(|value| self.rounded(value)) {
            Some(interval) => format!(" ({interval})"),
            None if self.is_bound => String::new(),
            None => " (one block, no interval)".to_string(),
        }
    }

    fn interval_by(&self, figure: impl Fn(f64) -> String) -> Option<String> {
        let (low, high) = self.ci?;
        Some(if self.is_bound {
            format!("{} or more", figure(low))
        } else {
            format::interval((low, high), figure)
        })
    }

    fn rounded(&self, value: f64) -> String {
        let low = self.ci.map_or(self.factor, |(low, _)| low);
        match low.min(self.factor) {
            _ if value >= 1000.0 => format::count(value.round()),
            _ if self.ci.is_some_and(format::is_hidden) => format::beside_1(value),
            smallest if smallest < 1.5 => format!("{value:.2}"),
            smallest if smallest < 10.0 => format!("{value:.1}"),
            _ => format!("{value:.0}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(factor: f64, ci: (f64, f64)) -> Way {
        Way {
            factor,
            ci: Some(ci),
            is_slower: true,
            is_bound: false,
        }
    }

    #[test]
    fn a_short_ratio_has_the_decimals_that_its_interval_needs() {
        let written = |way: Way| format!("{}{}", way.short_words(), way.short_interval());
        assert_eq!(written(way(2.02, (1.88, 2.18))), "2.0× slower (1.9 to 2.2)");
        assert_eq!(
            written(way(1.06, (1.02, 1.11))),
            "1.06× slower (1.02 to 1.11)"
        );
        assert_eq!(written(way(22.3, (17.6, 28.2))), "22× slower (18 to 28)");
        let once = Way {
            ci: None,
            ..way(2.0, (1.0, 1.0))
        };
        assert_eq!(written(once), "2.0× slower (one block, no interval)");
    }

    #[test]
    fn a_difference_that_is_decided_is_not_rounded_to_1() {
        let near = || way(1.0032, (1.0011, 1.0054));
        assert_eq!(near().words(), "1.0032× slower");
        assert_eq!(near().interval().as_deref(), Some("1.0011 to 1.0054"));
        let short = format!("{}{}", near().short_words(), near().short_interval());
        assert_eq!(short, "1.0032× slower (1.0011 to 1.0054)");
        assert_eq!(way(1.0032, (0.998, 1.008)).words(), "1.00× slower");
    }
}

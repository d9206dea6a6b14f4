//! How the times of two sides compare.
//!
//! Goal: which side is faster, by how much, and whether that is beyond noise. Times are paired by block, as ratios of claims
//! are (METHODOLOGY.md, rule 2). Non-goal: why (`reason`).

use crate::reason::SideName;
use crate::side::Side;
use record::stats::LogMean;

/// Without an interval, times that differ by less do not show which side is faster.
const SAME_TIME: f64 = 1.05;

/// The result of comparing the times of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimesVerdict {
    /// The interval of their ratio excludes 1.
    Differ,
    WithinNoise,
    OneBlock,
    /// No times, or the smaller one is only a query's time limit.
    Nothing,
    /// The sides' servers had different resource limits, which may be the cause instead.
    OtherLimits,
}

pub(crate) struct Times {
    /// Of `of / to` by block.
    ratio: LogMean,
    /// The recorded times of a side are lower bounds.
    of_at_least: bool,
    to_at_least: bool,
    other_limits: bool,
}

impl Times {
    /// Over the blocks that both sides have; none without one.
    pub(crate) fn of(of: &Side, to: &Side) -> Option<Times> {
        let pairs = of.times.iter().filter_map(|(block, of)| {
            let to = to.times.get(block)?;
            Some((mean(of), mean(to)))
        });
        let (of_s, to_s): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let at_least = |side: &Side| side.times.values().flatten().any(|time| time.at_least);
        Some(Times {
            ratio: LogMean::of_ratios(&of_s, &to_s)?,
            of_at_least: at_least(of),
            to_at_least: at_least(to),
            other_limits: !of.is_limited_like(to),
        })
    }

    /// `of / to`, the geometric mean over blocks.
    pub(crate) fn ratio(&self) -> f64 {
        self.ratio.geometric()
    }

    /// Slower over faster: at least 1.
    pub(crate) fn factor(&self) -> f64 {
        self.ratio().max(1.0 / self.ratio())
    }

    /// Whether the ratio's larger time is a lower bound and the ratio too.
    pub(crate) fn at_least(&self) -> bool {
        self.of_at_least || self.to_at_least
    }

    /// Which side the smaller time is of; none where that time is a lower bound.
    pub(crate) fn smaller(&self) -> Option<SideName> {
        match self.ratio() >= 1.0 {
            true => (!self.to_at_least).then_some(SideName::To),
            false => (!self.of_at_least).then_some(SideName::Of),
        }
    }

    /// None if the times are equal or unknown.
    pub(crate) fn faster(&self) -> Option<SideName> {
        let differ = match self.ratio.ci() {
            Some((low, high)) => low > 1.0 || high < 1.0,
            None => self.factor() > SAME_TIME,
        };
        self.smaller().filter(|_| differ)
    }

    pub(crate) fn verdict(&self) -> TimesVerdict {
        if self.other_limits {
            return TimesVerdict::OtherLimits;
        }
        match (self.smaller(), self.ratio.ci(), self.faster()) {
            (None, ..) => TimesVerdict::Nothing,
            (_, None, _) => TimesVerdict::OneBlock,
            (_, _, Some(_)) => TimesVerdict::Differ,
            (_, _, None) => TimesVerdict::WithinNoise,
        }
    }
}

fn mean(times: &[crate::side::Time]) -> f64 {
    times.iter().map(|time| time.elapsed_s).sum::<f64>() / times.len() as f64
}

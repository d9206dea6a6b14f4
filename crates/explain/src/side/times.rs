//! How the times of two sides compare.
//!
//! Goal: which side is faster, by how much, and whether that is beyond noise. Times are paired by block, as ratios of claims
//! are (METHODOLOGY.md, rule 2). Non-goal: why (`reason`).

use super::{Side, SideName, Time};
use stats::LogMean;

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
    /// The sides had different numbers of clients or rates, so that their operations waited for different things.
    OtherLoads,
}

pub(crate) struct Times {
    /// The ratio `of / to` over the blocks.
    ratio: LogMean,
    /// What a client waits longer for one operation of `of` than of `to` (s), the mean over blocks.
    waited_s: f64,
    /// The recorded times of a side are lower bounds.
    of_at_least: bool,
    to_at_least: bool,
    other_loads: bool,
    clients: f64,
}

/// The difference that has to be explained.
pub(crate) struct Gap {
    pub(crate) faster: SideName,
    /// How much longer a client of the slower side waits for one operation (s); above 0.
    pub(crate) waited_s: f64,
    /// How many work at the same time, the largest number where several are compared together.
    pub(crate) clients: f64,
    pub(crate) verdict: TimesVerdict,
}

impl Times {
    /// Over the blocks that both sides have; none without one.
    pub(crate) fn between(of: &Side, to: &Side) -> Option<Times> {
        let pairs = || {
            let of = of.times.iter();
            of.filter_map(|(block, of)| Some((of, to.times.get(block)?)))
        };
        let elapsed = |time: &Time| time.elapsed_s;
        let (of_s, to_s): (Vec<f64>, Vec<f64>) = pairs()
            .map(|(of, to)| (mean(of, elapsed), mean(to, elapsed)))
            .unzip();
        let waited = |time: &Time| time.waited_s;
        let longer = pairs().map(|(of, to)| mean(of, waited) - mean(to, waited));
        let at_least = |side: &Side| side.times.values().flatten().any(|time| time.at_least);
        Some(Times {
            ratio: LogMean::of_ratios(&of_s, &to_s)?,
            waited_s: longer.sum::<f64>() / of_s.len() as f64,
            of_at_least: at_least(of),
            to_at_least: at_least(to),
            other_loads: of.at_once() != to.at_once() || of.rates() != to.rates(),
            clients: f64::from(of.at_once().into_iter().max().unwrap_or(1)),
        })
    }

    /// `of / to`, the geometric mean over blocks.
    fn ratio(&self) -> f64 {
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

    /// Which side the smaller time is of; none if that time is a lower bound.
    pub(crate) fn smaller(&self) -> Option<SideName> {
        if self.ratio() >= 1.0 {
            (!self.to_at_least).then_some(SideName::To)
        } else {
            (!self.of_at_least).then_some(SideName::Of)
        }
    }

    /// None if the times are equal, unknown, or of different loads.
    pub(crate) fn gap(&self) -> Option<Gap> {
        let differ = match self.ratio.ci() {
            Some((low, high)) => low > 1.0 || high < 1.0,
            None => self.factor() > SAME_TIME,
        };
        let faster = self.smaller().filter(|_| differ && !self.other_loads)?;
        let waited_s = match faster {
            SideName::To => self.waited_s,
            SideName::Of => -self.waited_s,
        };
        (waited_s > 0.0).then_some(Gap {
            faster,
            waited_s,
            clients: self.clients,
            verdict: self.verdict(),
        })
    }

    pub(crate) fn verdict(&self) -> TimesVerdict {
        if self.other_loads {
            return TimesVerdict::OtherLoads;
        }
        match (self.smaller(), self.ratio.ci()) {
            (None, _) => TimesVerdict::Nothing,
            (_, None) => TimesVerdict::OneBlock,
            (_, Some((low, high))) if low > 1.0 || high < 1.0 => TimesVerdict::Differ,
            _ => TimesVerdict::WithinNoise,
        }
    }
}

fn mean(times: &[Time], of: impl Fn(&Time) -> f64) -> f64 {
    times.iter().map(of).sum::<f64>() / times.len() as f64
}

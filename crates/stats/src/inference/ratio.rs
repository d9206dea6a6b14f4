//! Ratios over blocks: the mean of logarithms, its t interval, and the four verdicts of a comparison.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// Within this much two results count as equivalent.
pub const MARGIN: f64 = 0.02;

/// The verdict on the first of two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// It takes less time: the interval lies below 1.
    Faster,
    /// It takes more time: the interval lies above 1.
    Slower,
    /// The interval lies within the margin around 1, whether or not it holds 1.
    Equivalent,
    Inconclusive,
}

impl Comparison {
    pub fn text(self) -> &'static str {
        match self {
            Comparison::Faster => "faster",
            Comparison::Slower => "slower",
            Comparison::Equivalent => "equivalent",
            Comparison::Inconclusive => "inconclusive",
        }
    }
}

/// Whether the interval lies within the margin around 1.
pub(crate) fn is_equivalent((low, high): (f64, f64), margin: f64) -> bool {
    low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin
}

/// Logarithms that differ by less are equal: the error of computing them.
const EXACT: f64 = 1e-12;

/// The mean of the logarithms of positive values, with its standard error.
#[derive(Clone, Copy, Debug)]
pub struct LogMean {
    mean: f64,
    standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub(crate) freedom: f64,
    /// How exactly the values are known: no interval reaches less far from the mean, whatever the number of values.
    known_to: f64,
    pub(crate) count: usize,
}

impl LogMean {
    /// Values that are not positive and finite do not count; None without any.
    pub fn of(values: &[f64]) -> Option<LogMean> {
        let logs: Vec<f64> = values
            .iter()
            .map(|value| value.ln())
            .filter(|log| log.is_finite())
            .collect();
        let count = logs.len();
        if count == 0 {
            return None;
        }
        let mean = logs.iter().sum::<f64>() / count as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let standard_error = if count < 2 {
            0.0
        } else {
            (squares / (count - 1) as f64 / count as f64).sqrt()
        };
        Some(LogMean {
            mean,
            standard_error,
            freedom: (count - 1) as f64,
            known_to: 0.0,
            count,
        })
    }

    /// The ratio of two series that are paired by block, which removes what a block has in common. Its t interval is exact where the
    /// logarithms of the blocks' ratios are normal (Kalibera and Jones, "Rigorous benchmarking in reasonable time", 2013).
    pub fn of_ratios(of: &[f64], to: &[f64]) -> Option<LogMean> {
        let ratios: Vec<f64> = of.iter().zip(to).map(|(of, to)| of / to).collect();
        LogMean::of(&ratios)
    }

    /// The ratio of two geometric means whose values do not belong together in pairs: Welch's t on logarithms ("The generalization of
    /// `Student's' problem when several different population variances are involved", 1947). `count` is that of the shorter side. None
    /// where a side has no value; without an interval where a side has one.
    pub fn unpaired(of: &[f64], to: &[f64]) -> Option<LogMean> {
        let sides = [LogMean::of(of)?, LogMean::of(to)?];
        let count = sides[0].count.min(sides[1].count);
        let squares = sides.map(|side| side.standard_error.powi(2));
        let sum = squares[0] + squares[1];
        let shares: f64 = (sides.iter().zip(squares))
            .map(|(side, square)| (square / sum).powi(2) / side.freedom)
            .sum();
        let freedom = match (count, sum > 0.0) {
            (1, _) => 0.0,
            (_, true) => 1.0 / shares,
            (_, false) => sides[0].freedom + sides[1].freedom,
        };
        Some(LogMean {
            mean: sides[0].mean - sides[1].mean,
            standard_error: sum.sqrt(),
            freedom,
            known_to: sides.iter().map(|side| side.known_to).sum(),
            count,
        })
    }

    pub fn geometric(&self) -> f64 {
        self.mean.exp()
    }

    /// Of one value.
    pub(crate) fn variance(&self) -> f64 {
        self.standard_error.powi(2) * self.count as f64
    }

    /// The same mean with a variance of one value that is known from elsewhere too.
    pub(crate) fn with(self, variance: f64, freedom: f64) -> LogMean {
        LogMean {
            standard_error: (variance / self.count as f64).sqrt(),
            freedom,
            ..self
        }
    }

    /// The same mean of values that are rounded by up to this difference of logarithms, all in the same way.
    pub(crate) fn known_to(self, known_to: f64) -> LogMean {
        LogMean { known_to, ..self }
    }

    /// Whether the rounding of the values, and not their scatter, is all that can be said.
    pub(crate) fn is_coarse(&self) -> bool {
        let scatter = self.scatter(1.0 - CONFIDENCE);
        scatter.is_some_and(|scatter| scatter < self.known_to)
    }

    /// The rounding of the values as a share: 0.25 is 25 %.
    pub(crate) fn rounding(&self) -> f64 {
        self.known_to.exp_m1()
    }

    /// Whether a value is so near that no number of values can exclude it.
    pub(crate) fn cannot_exclude(&self, value: f64) -> bool {
        self.known_to > 0.0 && (self.mean - value.ln()).abs() <= self.known_to
    }

    /// Whether each value is exactly this one, as counts can be.
    fn is_exactly(&self, value: f64) -> bool {
        let is_known = self.count > 1 && self.known_to == 0.0 && self.standard_error < EXACT;
        is_known && (self.mean - value.ln()).abs() < EXACT
    }

    /// With at least this variance of one value.
    pub(crate) fn varying_by(self, least: f64) -> LogMean {
        self.with(self.variance().max(least), self.freedom)
    }

    /// None with fewer than two values.
    fn student(&self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.freedom).ok()
    }

    /// The 95 % t interval of the geometric mean; None with fewer than two values.
    pub fn ci(&self) -> Option<(f64, f64)> {
        self.interval(1.0 - CONFIDENCE)
    }

    /// The t interval of the geometric mean that misses it with the probability `alpha`.
    pub(crate) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let half = self.scatter(alpha)?.max(self.known_to);
        Some(((self.mean - half).exp(), (self.mean + half).exp()))
    }

    /// Half of the t interval of the mean's logarithm.
    fn scatter(&self, alpha: f64) -> Option<f64> {
        Some(self.student()?.inverse_cdf(1.0 - alpha / 2.0) * self.standard_error)
    }

    /// Whether so many blocks would exclude this value with the probability `power` in a two-sided test at the level `alpha`, if the
    /// mean and the variance are the true ones.
    pub(crate) fn would_exclude(&self, value: f64, blocks: u32, alpha: f64, power: f64) -> bool {
        let far = (self.mean - value.ln()).abs();
        self.seen(blocks, alpha, power)
            .is_some_and(|seen| far >= seen && !self.cannot_exclude(value))
    }

    /// The distance of two logarithms that so many blocks tell apart, in the same sense; None with fewer than two blocks.
    pub(crate) fn seen(&self, blocks: u32, alpha: f64, power: f64) -> Option<f64> {
        let freedom = self.freedom + f64::from(blocks) - self.count as f64;
        seen(self.variance(), freedom, blocks, alpha, power)
    }

    /// The two-sided p value against "the true geometric mean is this".
    pub fn p_other_than(&self, value: f64) -> f64 {
        (2.0 * self.p_above(value).min(self.p_below(value))).min(1.0)
    }

    /// The one-sided p value against "the true geometric mean is not above this".
    pub(crate) fn p_above(&self, bound: f64) -> f64 {
        match (self.mean - bound.ln(), self.student()) {
            (_, None) => 1.0,
            _ if self.cannot_exclude(bound) => 0.5,
            (distance, _) if distance.abs() < EXACT => 0.5,
            (distance, Some(student)) => student.sf(distance / self.standard_error),
        }
    }

    /// The one-sided p value against "the true geometric mean is not below this".
    pub(crate) fn p_below(&self, bound: f64) -> f64 {
        match self.student() {
            None => 1.0,
            Some(_) => 1.0 - self.p_above(bound),
        }
    }
}

/// The distance of two logarithms that so many values of this variance tell apart with the probability `power` in a two-sided test at the
/// level `alpha`, where the variance has so many degrees of freedom; None without any.
pub(crate) fn seen(
    variance: f64,
    freedom: f64,
    blocks: u32,
    alpha: f64,
    power: f64,
) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let quantiles = student.inverse_cdf(1.0 - alpha / 2.0) + student.inverse_cdf(power);
    Some(quantiles * (variance / f64::from(blocks)).sqrt())
}

/// The values that a claim allows, as ratios; 0 and infinity where it has no bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Band {
    pub(crate) fn within(width: f64) -> Band {
        Band {
            low: 1.0 / (1.0 + width),
            high: 1.0 + width,
        }
    }

    /// None where any value is high enough.
    fn lower(self) -> Option<f64> {
        Some(self.low).filter(|low| *low > 0.0)
    }

    /// None where any value is low enough.
    fn upper(self) -> Option<f64> {
        Some(self.high).filter(|high| high.is_finite())
    }

    /// Whether the ratio is exactly an edge, which is inside.
    fn has_at_edge(self, ratio: &LogMean) -> bool {
        ratio.is_exactly(self.low) || ratio.is_exactly(self.high)
    }

    /// Whether the interval lies inside.
    pub(crate) fn holds(self, ratio: &LogMean) -> bool {
        let inside = |(low, high): (f64, f64)| self.low <= low && high <= self.high;
        ratio.ci().is_some_and(inside)
    }

    /// The edge that lies nearest to the ratio.
    pub(crate) fn nearest_edge(self, ratio: &LogMean) -> f64 {
        let far = |edge: f64| (edge.ln() - ratio.mean).abs();
        match far(self.low) <= far(self.high) {
            true => self.low,
            false => self.high,
        }
    }

    /// Two-sided p against "the true ratio is not inside": at most 1 - c exactly where the interval of confidence c
    /// lies inside. With two bounds these are two one-sided tests (Schuirmann 1987).
    pub(crate) fn p_inside(&self, ratio: &LogMean) -> f64 {
        if self.has_at_edge(ratio) {
            return 0.0;
        }
        let above = self.lower().map_or(0.0, |low| ratio.p_above(low));
        let below = self.upper().map_or(0.0, |high| ratio.p_below(high));
        (2.0 * above.max(below)).min(1.0)
    }

    /// Two-sided p against "the true ratio is not outside", in the same sense.
    pub(crate) fn p_outside(&self, ratio: &LogMean) -> f64 {
        if self.has_at_edge(ratio) {
            return 1.0;
        }
        let below = self.lower().map_or(1.0, |low| ratio.p_below(low));
        let above = self.upper().map_or(1.0, |high| ratio.p_above(high));
        (2.0 * below.min(above)).min(1.0)
    }

    /// As `p_inside` and `p_outside` of a ratio of which lower bounds alone are known: it can be shown to lie above a
    /// value and never below one. A confidence limit of the bounds' mean is one of the ratios' mean, since each bound is at most its ratio.
    pub(crate) fn p_from_below(&self, bounds: &LogMean) -> (f64, f64) {
        let above = |value: f64| (2.0 * bounds.p_above(value)).min(1.0);
        match self.upper() {
            Some(high) => (1.0, above(high)),
            None => (above(self.low), 1.0),
        }
    }

    /// The same of upper bounds.
    pub(crate) fn p_from_above(&self, bounds: &LogMean) -> (f64, f64) {
        let below = |value: f64| (2.0 * bounds.p_below(value)).min(1.0);
        match self.lower() {
            Some(low) => (1.0, below(low)),
            None => (below(self.high), 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    #[test]
    fn the_interval_uses_the_known_quantiles_of_student() {
        // Logs 0 and 2: mean 1, standard error 1; t(0.975, 1) = 12.7062. Logs -1, 0, 1: error 1/sqrt 3; t(0.975, 2) = 4.30265.
        let two = LogMean::of(&[1.0, 2f64.exp()]).unwrap().ci().unwrap();
        assert!((two.1.ln() - 13.7062).abs() < 1e-3, "{two:?}");
        let three = LogMean::of(&[(-1f64).exp(), 1.0, 1f64.exp()])
            .unwrap()
            .ci()
            .unwrap();
        assert!(
            (three.1.ln() - 4.30265 / 3f64.sqrt()).abs() < 1e-4,
            "{three:?}"
        );
    }

    #[test]
    fn without_pairs_the_test_is_that_of_welch() {
        // The third example of <https://en.wikipedia.org/wiki/Welch%27s_t-test>: t = -2.22, 24.5 degrees of freedom, P = 0.036.
        let of = [19.8, 20.4, 19.6, 17.8, 18.5, 18.9, 18.3, 18.9, 19.5, 22.0];
        let to = [
            28.2, 26.6, 20.1, 23.3, 25.2, 22.1, 17.7, 27.6, 20.6, 13.7, 23.2, 17.5, 20.6, 18.0,
            23.9, 21.6, 24.3, 20.4, 24.0, 13.2,
        ];
        let ratio = LogMean::unpaired(&of.map(f64::exp), &to.map(f64::exp)).unwrap();
        assert!((ratio.mean / ratio.standard_error + 2.2192).abs() < 1e-4);
        assert!((ratio.freedom - 24.4962).abs() < 1e-4);
        assert!((ratio.p_other_than(1.0) - 0.036).abs() < 5e-4);
    }

    #[test]
    fn equal_runs_are_called_different_as_rarely_as_the_methodology_says() {
        let mut random = Pcg64::seed_from_u64(1);
        let mut run = |blocks: usize, noise: f64| -> Vec<f64> {
            let log = |random: &mut Pcg64| {
                let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum();
                (noise * (sum - 6.0)).exp()
            };
            (0..blocks).map(|_| log(&mut random)).collect()
        };
        let mut rate = |blocks: (usize, usize), noise: f64| {
            let called = |_: &u32| {
                let ratio = LogMean::unpaired(&run(blocks.0, noise), &run(blocks.1, 0.05)).unwrap();
                ratio.p_other_than(1.0) < 0.05
            };
            (0..4000).filter(called).count() as f64 / 4000.0
        };
        for (blocks, noise, most) in [
            ((3, 3), 0.05, 0.055),
            ((5, 5), 0.05, 0.06),
            ((5, 5), 0.15, 0.06),
            ((3, 10), 0.15, 0.08),
        ] {
            let rate = rate(blocks, noise);
            assert!(rate < most, "{blocks:?} blocks, noise {noise}: {rate}");
        }
    }

    #[test]
    fn one_block_on_a_side_gives_an_unpaired_ratio_and_no_interval() {
        let ratio = LogMean::unpaired(&[3.0], &[1.9, 2.0, 2.1]).unwrap();
        assert!((ratio.geometric() - 1.5).abs() < 0.01);
        assert_eq!((ratio.ci(), ratio.count), (None, 1));
        assert!(LogMean::unpaired(&[], &[1.0, 2.0]).is_none());
    }

    #[test]
    fn one_block_gives_a_ratio_and_no_interval() {
        let ratio = LogMean::of_ratios(&[3.0], &[2.0]).unwrap();
        assert_eq!((ratio.geometric(), ratio.ci()), (1.5, None));
    }

    #[test]
    fn a_significant_difference_within_the_margin_is_equivalent() {
        let ratio = LogMean::of_ratios(&[10.05, 10.05], &[10.0, 10.0]).unwrap();
        assert!(is_equivalent(ratio.ci().unwrap(), MARGIN));
    }

    /// Blocks that find a slowdown of 5 % beyond a tolerance with 80 % probability, by the noise of a trial.
    fn blocks(tolerance: f64, noise: f64) -> u32 {
        let two = LogMean::of(&[1.05, 1.05]).unwrap();
        let ratio = two.with(2.0 * noise * noise, 1.0);
        let enough = |blocks: &u32| ratio.would_exclude(1.0 + tolerance, *blocks, 0.05, 0.8);
        (2..1000).find(enough).unwrap()
    }

    #[test]
    fn the_blocks_that_the_page_on_ci_lists_follow_from_the_test() {
        let page = include_str!("../../../../docs/CI.md");
        for (tolerance, percent) in [(0.0, 0), (0.02, 2)] {
            let [a, b, c, d] = [0.01, 0.02, 0.03, 0.05].map(|noise| blocks(tolerance, noise));
            let row = format!("| {percent} % | {a} | {b} | {c} | {d} |");
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn without_pairs_there_is_no_ratio() {
        assert!(LogMean::of_ratios(&[0.0], &[]).is_none());
    }

    #[test]
    fn p_agrees_with_the_interval_it_belongs_to() {
        let ratio = LogMean::of(&[1.2, 1.3, 1.25, 1.4]).unwrap();
        let (low, high) = ratio.ci().unwrap();
        assert!((2.0 * ratio.p_above(low) - 0.05).abs() < 1e-6);
        assert!((2.0 * ratio.p_below(high) - 0.05).abs() < 1e-6);
    }

    #[test]
    fn an_interval_is_never_narrower_than_the_rounding_of_its_values_and_tests_agree_with_it() {
        let alike = LogMean::of(&[1.5, 1.5, 1.5])
            .unwrap()
            .known_to(1.2_f64.ln());
        let (low, high) = alike.ci().unwrap();
        assert!((low - 1.25).abs() < 1e-9 && (high - 1.8).abs() < 1e-9);
        assert!(alike.is_coarse());
        for (value, excluded) in [(1.24, true), (1.26, false), (1.79, false), (1.81, true)] {
            assert_eq!(alike.p_other_than(value) < 0.05, excluded, "{value}");
        }
        let noisy = LogMean::of(&[1.0, 1.5, 2.25]).unwrap();
        assert_eq!(noisy.known_to(0.1).ci(), noisy.ci());
    }

    #[test]
    fn values_without_any_spread_are_certain() {
        let ratio = LogMean::of(&[1.5, 1.5]).unwrap();
        assert_eq!(
            Band {
                low: 1.2,
                high: f64::INFINITY
            }
            .p_inside(&ratio),
            0.0
        );
        assert_eq!(
            Band {
                low: 0.0,
                high: 1.2
            }
            .p_outside(&ratio),
            0.0
        );
    }

    /// The mean of equal logarithms lies a rounding beside them, on either side.
    #[test]
    fn a_ratio_without_spread_that_is_exactly_an_edge_is_inside() {
        for edge in [1.0, 2.0, 3.0, 1.05, 7.0 / 3.0, 0.1] {
            let ratio = LogMean::of(&[edge; 3]).unwrap();
            for (low, high) in [(edge, f64::INFINITY), (0.0, edge)] {
                let band = Band { low, high };
                let p_values = (band.p_inside(&ratio), band.p_outside(&ratio));
                assert_eq!(p_values, (0.0, 1.0), "{edge}");
            }
            let rounded = ratio.known_to(0.01);
            let band = Band {
                low: edge,
                high: f64::INFINITY,
            };
            assert!(band.p_inside(&rounded) > 0.05 && band.p_outside(&rounded) > 0.05);
            assert_eq!(ratio.p_other_than(edge), 1.0);
        }
    }
}

//! How often a test decides: wrongly, rightly, and for several claims together.

use crate::shapes::{Pair, Shape};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use stats::moderated::{Noise, Row};
use stats::{CONFIDENCE, LogMean, rejected};
use std::ops::AddAssign;

pub(crate) const ALPHA: f64 = 1.0 - CONFIDENCE;
/// Claims that share an error rate.
pub(crate) const CLAIMS: usize = 7;

/// Counts over all experiments of a shape.
#[derive(Clone, Copy, Default)]
pub(crate) struct Score {
    pairs: u32,
    /// The pair is called different, though it is equal.
    false_calls: u32,
    /// The interval holds the true ratio.
    covered: u32,
    /// A difference of 10 % is found, of 20 %.
    found: [u32; 2],
    experiments: u32,
    /// At least one false call among the claims, after Holm.
    false_families: u32,
    /// Of all claims with a difference of 20 % those that are found, after Holm.
    claims: u32,
    found_claims: u32,
}

impl Score {
    /// Shares in percent, in the order of [`Score::COLUMNS`].
    pub(crate) fn percents(&self) -> [f64; 6] {
        let share = |count: u32, of: u32| 100.0 * f64::from(count) / f64::from(of);
        [
            share(self.false_calls, self.pairs),
            share(self.covered, self.pairs),
            share(self.found[0], self.pairs),
            share(self.found[1], self.pairs),
            share(self.false_families, self.experiments),
            share(self.found_claims, self.claims),
        ]
    }

    pub(crate) const COLUMNS: [&'static str; 6] = [
        "false calls",
        "coverage",
        "power, 10 %",
        "power, 20 %",
        "family error",
        "power of a claim, 20 %",
    ];

    fn of(ratios: &[LogMean]) -> Score {
        let is_other = |ratio: &LogMean, than: f64| ratio.p_other_than(than) <= ALPHA;
        let count = |test: &dyn Fn(&LogMean) -> bool| {
            ratios.iter().filter(|ratio| test(ratio)).count() as u32
        };
        let covers = |ratio: &LogMean| {
            ratio
                .ci()
                .is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high)
        };
        let claims = &ratios[..CLAIMS.min(ratios.len())];
        Score {
            pairs: ratios.len() as u32,
            false_calls: count(&|ratio| is_other(ratio, 1.0)),
            covered: count(&covers),
            // The truth is 1, so a ratio that was 1.1 is seen as distinct where 1 / 1.1 is not in the interval.
            found: [1.1, 1.2].map(|effect| count(&|ratio| is_other(ratio, 1.0 / effect))),
            experiments: 1,
            false_families: u32::from(decided(claims, 1.0) > 0),
            claims: claims.len() as u32,
            found_claims: decided(claims, 1.0 / 1.2),
        }
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Score) {
        self.pairs += other.pairs;
        self.false_calls += other.false_calls;
        self.covered += other.covered;
        self.found[0] += other.found[0];
        self.found[1] += other.found[1];
        self.experiments += other.experiments;
        self.false_families += other.false_families;
        self.claims += other.claims;
        self.found_claims += other.found_claims;
    }
}

fn decided(claims: &[LogMean], value: f64) -> u32 {
    let p: Vec<f64> = claims
        .iter()
        .map(|claim| claim.p_other_than(value))
        .collect();
    rejected(&p, ALPHA)
        .into_iter()
        .filter(|rejected| *rejected)
        .count() as u32
}

/// Plain t and moderated t on the same experiments.
pub(crate) fn score(shape: Shape, blocks: usize, experiments: u64) -> [Score; 2] {
    let mut random = Pcg64::seed_from_u64(1300 + shape as u64 * 100 + blocks as u64);
    let mut scores = [Score::default(); 2];
    for _ in 0..experiments {
        let rows = shape.matrix(blocks, &mut random);
        let noise = Noise::of(&rows).expect("the matrix is large enough");
        let plain: Vec<_> = shape
            .pairs()
            .iter()
            .map(|pair| ratio(&rows, *pair))
            .collect();
        let moderate = |(ratio, [of, to]): (&LogMean, Pair)| {
            noise.moderate(*ratio, &[(of.0, 1.0), (to.0, -1.0)])
        };
        let moderated: Vec<_> = plain.iter().zip(shape.pairs()).map(moderate).collect();
        scores[0] += Score::of(&plain);
        scores[1] += Score::of(&moderated);
    }
    scores
}

pub(crate) fn ratio(rows: &[Row], [of, to]: Pair) -> LogMean {
    let times = |(row, cell): (usize, usize)| -> Vec<f64> {
        rows[row][cell].iter().map(|log| log.exp()).collect()
    };
    LogMean::of_ratios(&times(of), &times(to)).expect("times are positive")
}

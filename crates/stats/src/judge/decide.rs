//! What a ratio decides: on which side of 1 it lies, whether the published figure is possible, and how many blocks are missing.

use crate::inference::holm;
use crate::inference::ratio::{CONFIDENCE, LogMean, MARGIN, is_equivalent};
use record::Look;
use record::claim::{Bound, DecidedAfter, Direction, Judged, Limit, Subject};

/// The probability with which the missing blocks decide, if the measured ratio is the true one.
pub(crate) const POWER: f64 = 0.8;
/// More blocks are not worth a number.
const MOST_BLOCKS: u32 = 1000;

/// The test of a ratio against 1.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    p: f64,
    above: bool,
}

impl Side {
    /// None with one block. Of a bound, only the side that it excludes can be shown.
    pub(crate) fn of(ratio: &LogMean, limit: Option<Limit>) -> Option<Side> {
        let (above, below) = match limit {
            None => (ratio.p_above(1.0), ratio.p_below(1.0)),
            Some(Limit::AtLeast) => (ratio.p_above(1.0), 1.0),
            Some(Limit::AtMost) => (1.0, ratio.p_below(1.0)),
        };
        (ratio.count > 1).then_some(Side {
            p: (2.0 * above.min(below)).min(1.0),
            above: above < below,
        })
    }

    /// As a share of the error rate of its look.
    pub(crate) fn weighed(self, weight: f64) -> Side {
        Side {
            p: (self.p / weight).min(1.0),
            ..self
        }
    }

    /// The surer one of two looks.
    pub(crate) fn or(self, later: Side) -> Side {
        if self.p <= later.p { self } else { later }
    }
}

/// Whether both sides of a ratio are equivalent: its interval lies within [`MARGIN`] around 1, or within the bound of its claim where that is
/// nearer to 1.
pub fn are_equivalent(judged: &Judged) -> bool {
    let allowed = match &judged.claim.subject {
        Subject::Ratio { bound, .. } => match bound {
            Bound::AtLeast(bound) | Bound::AtMost(bound) => bound.max(1.0 / bound) - 1.0,
            Bound::Within(width) => *width,
        },
        Subject::Spread { .. } | Subject::Finds { .. } => MARGIN,
    };
    let is_same = |ci| is_equivalent(ci, MARGIN.min(allowed));
    judged.limit.is_none() && judged.ci.is_some_and(is_same)
}

/// Keeps in `after` the first look at which each answer was decided.
pub(crate) fn note(
    after: &mut DecidedAfter,
    threshold: bool,
    direction: Option<Direction>,
    blocks: u32,
) {
    let is_side = matches!(direction, Some(Direction::Above | Direction::Below));
    after.threshold = after.threshold.or(threshold.then_some(blocks));
    after.direction = after.direction.or(is_side.then_some(blocks));
}

/// `direction decided after 3 blocks, threshold after 9 blocks (look added to the finished run)`. None where nothing is decided, or where
/// there is one look.
pub(crate) fn after_words(after: &DecidedAfter, looks: &[Look]) -> Option<String> {
    let added = |blocks: u32| {
        let mut taken = looks.iter().filter(|look| look.added);
        taken.any(|look| look.blocks == blocks)
    };
    let words = |blocks: u32| match added(blocks) {
        true => format!("after {blocks} blocks (look added to the finished run)"),
        false => format!("after {blocks} blocks"),
    };
    if looks.len() < 2 {
        return None;
    }
    Some(match (after.direction, after.threshold) {
        (None, None) => return None,
        (Some(direction), None) => format!("direction decided {}", words(direction)),
        (None, Some(threshold)) => format!("threshold decided {}", words(threshold)),
        (Some(direction), Some(threshold)) if direction == threshold => {
            format!("decided {}", words(direction))
        }
        (Some(direction), Some(threshold)) => format!(
            "direction decided {}, threshold {}",
            words(direction),
            words(threshold)
        ),
    })
}

/// The directions of all claims: they share an error rate of 5 % (Holm). None for a claim without a ratio.
pub(crate) fn directions(sides: &[Option<Side>]) -> Vec<Option<Direction>> {
    let p_values: Vec<f64> = sides.iter().flatten().map(|side| side.p).collect();
    let mut decided = holm::rejected(&p_values, 1.0 - CONFIDENCE).into_iter();
    let mut direction = |side: &Side| match (decided.next(), side.above) {
        (Some(true), true) => Direction::Above,
        (Some(true), false) => Direction::Below,
        _ => Direction::Undecided,
    };
    sides
        .iter()
        .map(|side| side.as_ref().map(&mut direction))
        .collect()
}

/// The number of blocks that would decide what is undecided; the inner `Option` is `None` where that is more than [`MOST_BLOCKS`].
pub(crate) struct Missing {
    direction: Option<Option<u32>>,
    threshold: Option<Option<u32>>,
}

impl Missing {
    /// For the values that were not excluded, in a test at the level `alpha`; None where all were.
    pub(crate) fn of(
        ratio: &LogMean,
        direction: Option<f64>,
        threshold: Option<f64>,
        alpha: f64,
    ) -> Option<Missing> {
        let needed = |value: f64| blocks(ratio, value, alpha);
        (direction.is_some() || threshold.is_some()).then(|| Missing {
            direction: direction.map(needed),
            threshold: threshold.map(needed),
        })
    }

    /// Whether the verdict is among it.
    pub(crate) fn has_threshold(&self) -> bool {
        self.threshold.is_some()
    }

    /// What decides all of it.
    pub(crate) fn all(&self) -> Option<u32> {
        let each = [self.direction, self.threshold].into_iter().flatten();
        each.collect::<Option<Vec<u32>>>()?.into_iter().max()
    }

    /// `undecided: the direction needs about 5 blocks, the threshold needs about 20 blocks`.
    pub(crate) fn text(&self) -> String {
        let words = |blocks: Option<u32>| match blocks {
            Some(blocks) => format!("about {blocks} blocks"),
            None => "more than 1,000 blocks".to_string(),
        };
        let parts = [
            ("the direction", self.direction),
            ("the threshold", self.threshold),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(what, blocks)| Some(format!("{what} needs {}", words(blocks?))));
        format!("undecided: {}", parts.collect::<Vec<_>>().join(", "))
    }
}

/// The number of blocks that shows, with 80 % probability, that the ratio is not this value, if what was measured is true: its mean and
/// the standard deviation of a block. None beyond [`MOST_BLOCKS`].
///
/// The number B with |mean - ln value| = (t(1 - alpha / 2) + t(0.8)) s / sqrt(B), with the degrees of freedom of B blocks.
fn blocks(ratio: &LogMean, value: f64, alpha: f64) -> Option<u32> {
    let enough = |blocks: &u32| ratio.would_exclude(value, *blocks, alpha, POWER);
    let first = ratio.count as u32 + 1;
    if first > MOST_BLOCKS || !enough(&MOST_BLOCKS) {
        return None;
    }
    let (mut too_few, mut many) = (first - 1, MOST_BLOCKS);
    while many - too_few > 1 {
        let middle = too_few.midpoint(many);
        match enough(&middle) {
            true => many = middle,
            false => too_few = middle,
        }
    }
    Some(many)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(logs: &[f64]) -> LogMean {
        let ratios: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        LogMean::of(&ratios).unwrap()
    }

    #[test]
    fn a_difference_of_one_standard_deviation_needs_ten_blocks() {
        // The known sample size of a paired t test for d = 1, 5 % two-sided and 80 % power is 10.
        let one = ratio(&[0.0, 0.1, 0.2]);
        assert_eq!(blocks(&one, 1.0, 0.05), Some(10));
    }

    #[test]
    fn more_claims_need_more_blocks() {
        let one = ratio(&[0.0, 0.1, 0.2]);
        assert!(blocks(&one, 1.0, 0.005) > blocks(&one, 1.0, 0.05));
    }

    #[test]
    fn no_number_of_blocks_excludes_the_true_value() {
        assert_eq!(blocks(&ratio(&[-0.1, 0.0, 0.1]), 1.0, 0.05), None);
    }

    #[test]
    fn a_direction_needs_two_blocks() {
        assert!(Side::of(&ratio(&[0.5]), None).is_none());
    }

    #[test]
    fn a_lower_bound_can_only_be_above() {
        let low = ratio(&[-0.5, -0.51, -0.49]);
        let sides = [
            Side::of(&low, None),
            Side::of(&low, Some(Limit::AtLeast)),
            None,
        ];
        let directions = directions(&sides);
        assert_eq!(
            directions,
            [Some(Direction::Below), Some(Direction::Undecided), None]
        );
    }
}

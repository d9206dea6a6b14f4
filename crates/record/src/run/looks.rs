//! When the claims of a run are judged, and why the run stopped.
//!
//! Purpose: the numbers of blocks after which a run looks at its claims, and each look's share of the error rate. Boundaries: judging
//! is in `stats`, choosing the next trial in crate `spec`.
//!
//! Jennison and Turnbull, "Interim analyses: the repeated confidence interval approach", 1989: p divided by the look's share may be
//! taken at its smallest, and the intervals at the levels of the shares hold together.

use serde::{Deserialize, Serialize};

const SHARES_OF_THREE: [f64; 3] = [0.4, 0.3, 0.3];
const SHARES_OF_TWO: [f64; 2] = [0.5, 0.5];

/// The looks of a run at its claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Looks {
    /// The looks, at least one. Their numbers of blocks ascend, and their weights add up to 1.
    all: Vec<Look>,
    /// Measured time (s): no block after the first look starts that would end later.
    pub within_s: Option<f64>,
    /// None until the run has stopped.
    pub ended: Option<Ended>,
}

/// One judgement of all claims.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// It is taken after this many blocks.
    pub blocks: u32,
    /// Its share of the error rate.
    pub weight: f64,
    /// Whether only the cells of undecided claims are measured between the look before and this one.
    pub only_undecided: bool,
    /// Whether it was added to a finished run.
    pub added: bool,
}

/// Why a run measured no further block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// More blocks decide no further verdict.
    Decided,
    /// The last look was taken.
    Most,
    /// The next block would have ended after the time limit.
    Within,
}

impl Ended {
    pub fn text(self) -> &'static str {
        match self {
            Ended::Decided => "no verdict is left that more blocks could decide",
            Ended::Most => "the maximum number of blocks was reached",
            Ended::Within => "the next block would have exceeded the time limit",
        }
    }
}

impl Looks {
    /// All cells have the same number of blocks, and the claims are judged once.
    pub fn fixed(blocks: u32) -> Looks {
        Looks::planned(&[blocks], &[1.0], None)
    }

    /// Looks at `first`, at the middle (the geometric mean) and at `most` blocks; without a number between them, two looks or one.
    pub fn until_decided(first: u32, most: u32, within_s: Option<f64>) -> Looks {
        let middle = (f64::from(first) * f64::from(most)).sqrt().round() as u32;
        if first == most {
            Looks::planned(&[first], &[1.0], within_s)
        } else if first < middle && middle < most {
            Looks::planned(&[first, middle, most], &SHARES_OF_THREE, within_s)
        } else {
            Looks::planned(&[first, most], &SHARES_OF_TWO, within_s)
        }
    }

    fn planned(blocks: &[u32], weights: &[f64], within_s: Option<f64>) -> Looks {
        let look = |(place, (blocks, weight)): (usize, (&u32, &f64))| Look {
            blocks: *blocks,
            weight: *weight,
            only_undecided: place > 0,
            added: false,
        };
        Looks {
            all: blocks.iter().zip(weights).enumerate().map(look).collect(),
            within_s,
            ended: None,
        }
    }

    /// A finished run of `measured` blocks with a further look after `blocks`, which has to be more. It gets the weight of the planned
    /// looks that were not taken, or half of the weight of the last one if all were.
    #[must_use]
    pub fn with_added(&self, measured: u32, blocks: u32, only_undecided: bool) -> Looks {
        let mut taken: Vec<Look> = Vec::new();
        for look in &self.all {
            if taken.last().is_none_or(|last| last.blocks < measured) {
                taken.push(Look {
                    blocks: look.blocks.min(measured),
                    ..*look
                });
            }
        }
        let spent: f64 = taken.iter().map(|look| look.weight).sum();
        let weight = match (taken.len() < self.all.len(), taken.last_mut()) {
            (false, Some(last)) => {
                last.weight /= 2.0;
                last.weight
            }
            _ => 1.0 - spent,
        };
        taken.push(Look {
            blocks,
            weight,
            only_undecided,
            added: true,
        });
        Looks {
            all: taken,
            within_s: None,
            ended: None,
        }
    }

    /// The share of the error rate that a comparison with another run has. Blocks that were added to a finished run may follow such a
    /// comparison; planned looks depend on the run's own claims.
    pub fn share_of_comparison(&self) -> f64 {
        match self.all.last() {
            Some(last) if last.added => last.weight,
            _ => 1.0,
        }
    }

    pub fn all(&self) -> &[Look] {
        &self.all
    }

    /// Blocks of every cell.
    pub fn first(&self) -> u32 {
        self.all[0].blocks
    }

    /// The largest number of blocks of a cell.
    pub fn most(&self) -> u32 {
        self.all[self.all.len() - 1].blocks
    }

    /// The looks that are taken before this block (from 0) is measured, and the look that it is measured for.
    pub fn around(&self, block: u32) -> (&[Look], Option<&Look>) {
        let taken = self.all.partition_point(|look| look.blocks <= block);
        (&self.all[..taken], self.all.get(taken))
    }

    /// Whether a block of `next_s` seconds may start after `spent_s` seconds of measuring.
    pub fn leave_time_for(&self, next_s: f64, spent_s: f64) -> bool {
        self.within_s
            .is_none_or(|within_s| spent_s + next_s <= within_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(looks: &Looks) -> Vec<(u32, f64)> {
        let share = |look: &Look| (look.blocks, look.weight);
        looks.all().iter().map(share).collect()
    }

    #[test]
    fn three_to_nine_blocks_have_looks_at_three_five_and_nine() {
        let looks = Looks::until_decided(3, 9, None);
        assert_eq!(shares(&looks), [(3, 0.4), (5, 0.3), (9, 0.3)]);
        let only: Vec<bool> = looks.all().iter().map(|look| look.only_undecided).collect();
        assert_eq!(only, [false, true, true]);
    }

    #[test]
    fn neighbouring_numbers_have_two_looks_and_equal_ones_a_single_look() {
        let two = Looks::until_decided(3, 4, None);
        assert_eq!(shares(&two), [(3, 0.5), (4, 0.5)]);
        assert_eq!(shares(&Looks::until_decided(4, 4, None)), [(4, 1.0)]);
    }

    #[test]
    fn a_look_added_to_a_run_that_stopped_early_gets_the_weight_that_is_left() {
        let added = Looks::until_decided(3, 9, Some(60.0)).with_added(3, 12, false);
        assert_eq!(added.within_s, None);
        assert_eq!(shares(&added)[0], (3, 0.4));
        assert!((added.all()[1].weight - 0.6).abs() < 1e-12);
        assert_eq!((added.all()[1].blocks, added.all()[1].added), (12, true));
    }

    #[test]
    fn a_look_that_the_time_limit_moved_forward_keeps_its_weight() {
        let added = Looks::until_decided(3, 9, Some(60.0)).with_added(4, 9, true);
        let shares = shares(&added);
        assert_eq!(shares[..2], [(3, 0.4), (4, 0.3)]);
        assert!((shares[2].1 - 0.3).abs() < 1e-12);
    }

    #[test]
    fn a_look_added_after_the_last_one_shares_its_weight() {
        let once = Looks::fixed(3).with_added(3, 9, false);
        assert_eq!(shares(&once), [(3, 0.5), (9, 0.5)]);
        let twice = once.with_added(9, 12, false);
        assert_eq!(shares(&twice), [(3, 0.5), (9, 0.25), (12, 0.25)]);
        let compared = [Looks::until_decided(3, 9, None), once, twice];
        let compared = compared.map(|looks| looks.share_of_comparison());
        assert_eq!(compared, [1.0, 0.5, 0.25]);
    }
}

//! How a budget of time is spent on trials in slices: the measured time of a trial, the number of blocks, and the smallest effect
//! that they find.
//!
//! Purpose: pure functions of the noise and the costs. Boundaries: `slice_noise` reads them from trials, the caller chooses whose.
//!
//! A block's ratio varies by a part that each start of a server has anew, and by a part that falls with the measured time. With many
//! blocks the best time per start is the square root of the start's cost, in measured seconds, times the second part over the first (Kalibera
//! and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, for two levels). With few blocks Student's t is wide, so every number of
//! blocks that the budget holds is tried, and the one with the smallest effect is taken.

use super::power::level;
use crate::inference::ratio::seen;
use crate::judge::decide::POWER;
use record::Looks;

/// More blocks are not planned.
const BLOCKS_MAX: u32 = 1000;

/// Variances of the logarithm of a ratio of two cells that take turns in slices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceNoise {
    /// From one start of the servers to the next.
    pub starts: f64,
    /// Within a block, if each cell is measured for one second; it falls with the time.
    pub second: f64,
}

impl SliceNoise {
    /// Where nothing was measured: 1.5 % from start to start, and 1.2 % within 20 s of each server. Two equal servers with 8 clients on two
    /// shared cores had 1.4 to 1.8 % and 1.1 to 1.3 %.
    pub const ASSUMED: SliceNoise = SliceNoise {
        starts: 0.015 * 0.015,
        second: 0.012 * 0.012 * 20.0,
    };

    /// The variance of a block's ratio, with so many measured seconds of each cell.
    pub fn of_block(&self, time_s: f64) -> f64 {
        self.starts + self.second / time_s
    }

    /// The ratio above 1 that the plain t finds with 80 % probability at the level `alpha`. None with fewer than two blocks.
    pub fn finds(&self, time_s: f64, blocks: u32, alpha: f64) -> Option<f64> {
        Some((unit(blocks, alpha)? * self.of_block(time_s).sqrt()).exp())
    }

    /// The measured seconds of each cell with which so many blocks find this ratio; None where no time is enough.
    fn needs_s(&self, effect: f64, blocks: u32, alpha: f64) -> Option<f64> {
        let allowed = (effect.ln() / unit(blocks, alpha)?).powi(2) - self.starts;
        (allowed > 0.0).then(|| self.second / allowed)
    }
}

/// The distance of two logarithms that so many blocks with a variance of 1 tell apart at the level `alpha`.
fn unit(blocks: u32, alpha: f64) -> Option<f64> {
    seen(1.0, f64::from(blocks) - 1.0, blocks, alpha, POWER)
}

/// What is given, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// For all blocks: starts, warm-ups and measured time (s).
    pub within_s: f64,
    /// Of a block.
    pub trials: u32,
    /// What a trial takes beside its measured time: the start of its server, the warm-up, the end (s).
    pub start_s: f64,
    /// What each of its measured seconds takes, with the changes from one server to the next (s).
    pub second_s: f64,
    /// The measured time of a trial (s); where the budget chooses it, the least.
    pub time_s: f64,
    pub chooses_time: bool,
    /// Where the budget chooses their number, the least.
    pub blocks: u32,
    pub chooses_blocks: bool,
    /// How many claims share the error rate.
    pub claims: usize,
}

/// How a budget is spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    pub blocks: u32,
    /// Measured seconds of each trial; whole ones, unless they were given.
    pub time_s: f64,
    /// The ratio above 1 that is found with 80 % probability: 1.03 is an effect of 3 %.
    pub finds: f64,
}

impl Budget {
    /// What finds the smallest effect; of equals, fewer blocks. None where the budget is below [`Budget::least_s`], and for a given single
    /// block.
    pub fn spend(&self, noise: &SliceNoise) -> Option<Spent> {
        let spent = |blocks: u32| {
            let time_s = match self.chooses_time {
                true => self.longest_s(blocks),
                false => self.time_s,
            };
            let fits = time_s >= self.time_s && self.costs_s(blocks, time_s) <= self.within_s;
            let finds = fits.then(|| self.finds(noise, time_s, blocks));
            finds.flatten().map(|finds| Spent {
                blocks,
                time_s,
                finds,
            })
        };
        let last = match self.chooses_blocks {
            true => self.most_blocks(),
            false => self.blocks,
        };
        (self.blocks..=last)
            .filter_map(spent)
            .min_by(|one, other| one.finds.total_cmp(&other.finds))
    }

    /// The cheapest plan that finds this ratio above 1, with any number of blocks and whatever the budget. None if no plan finds it.
    pub fn cheapest(&self, noise: &SliceNoise, effect: f64) -> Option<Spent> {
        let plan = |blocks: u32| {
            let needs_s = noise.needs_s(effect, blocks, self.alpha(blocks))?;
            let time_s = needs_s.ceil().max(self.time_s);
            Some(Spent {
                blocks,
                time_s,
                finds: self.finds(noise, time_s, blocks)?,
            })
        };
        let cost_s = |spent: &Spent| self.costs_s(spent.blocks, spent.time_s);
        (self.blocks..=BLOCKS_MAX)
            .filter_map(plan)
            .min_by(|one, other| cost_s(one).total_cmp(&cost_s(other)))
    }

    /// What so many blocks of so many measured seconds find, as [`SliceNoise::finds`].
    pub fn finds(&self, noise: &SliceNoise, time_s: f64, blocks: u32) -> Option<f64> {
        noise.finds(time_s, blocks, self.alpha(blocks))
    }

    /// A budget plans a fixed number of blocks, after which the claims are judged once.
    fn alpha(&self, blocks: u32) -> f64 {
        level(&Looks::fixed(blocks), blocks, self.claims)
    }

    /// The smallest budget that holds a plan (s).
    pub fn least_s(&self) -> f64 {
        self.costs_s(self.blocks, self.time_s)
    }

    /// What so many blocks of so many measured seconds cost (s).
    pub fn costs_s(&self, blocks: u32, time_s: f64) -> f64 {
        f64::from(blocks) * f64::from(self.trials) * (self.start_s + self.second_s * time_s)
    }

    /// The whole seconds that so many blocks leave for each trial.
    fn longest_s(&self, blocks: u32) -> f64 {
        let each_s = self.within_s / (f64::from(blocks) * f64::from(self.trials));
        ((each_s - self.start_s) / self.second_s).floor()
    }

    fn most_blocks(&self) -> u32 {
        ((self.within_s / self.costs_s(1, self.time_s)) as u32).min(BLOCKS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn budgets() -> impl Strategy<Value = Budget> {
        let times = (
            30.0..7200f64,
            0.0..60f64,
            1.0..1.5f64,
            1..30u32,
            proptest::bool::weighted(0.8),
        );
        let counts = (1..9u32, 2..9u32, proptest::bool::weighted(0.8), 1..9usize);
        (times, counts).prop_map(|(times, counts)| {
            let (within_s, start_s, second_s, time_s, chooses_time) = times;
            let (trials, blocks, chooses_blocks, claims) = counts;
            Budget {
                within_s,
                trials,
                start_s,
                second_s,
                time_s: time_s.into(),
                chooses_time,
                blocks,
                chooses_blocks,
                claims,
            }
        })
    }

    fn noises() -> impl Strategy<Value = SliceNoise> {
        let noise = |(starts, second): (f64, f64)| SliceNoise {
            starts: starts * starts,
            second: second * second,
        };
        (0.0..0.05f64, 0.001..0.3f64).prop_map(noise)
    }

    /// Every number of blocks with every whole number of seconds.
    fn by_search(budget: &Budget, noise: &SliceNoise) -> Option<f64> {
        let last = if budget.chooses_blocks {
            1000
        } else {
            budget.blocks
        };
        let mut best: Option<f64> = None;
        for blocks in budget.blocks..=last {
            let mut time_s = budget.time_s;
            while budget.costs_s(blocks, time_s) <= budget.within_s {
                let finds = budget.finds(noise, time_s, blocks).unwrap();
                best = Some(best.map_or(finds, |best| best.min(finds)));
                if !budget.chooses_time {
                    break;
                }
                time_s += 1.0;
            }
        }
        best
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_budget_is_never_exceeded_and_what_is_given_is_kept(budget in budgets(), noise in noises()) {
            if let Some(spent) = budget.spend(&noise) {
                prop_assert!(budget.costs_s(spent.blocks, spent.time_s) <= budget.within_s);
                prop_assert!(spent.time_s >= budget.time_s && spent.blocks >= budget.blocks);
                prop_assert!(budget.chooses_time || spent.time_s == budget.time_s);
                prop_assert!(budget.chooses_blocks || spent.blocks == budget.blocks);
            }
            prop_assert_eq!(budget.spend(&noise).is_some(), budget.least_s() <= budget.within_s);
        }

        #[test]
        fn a_larger_budget_never_finds_less(budget in budgets(), noise in noises(), more in 1.0..2.0f64) {
            let longer = Budget { within_s: budget.within_s * more, ..budget };
            if let Some(spent) = budget.spend(&noise) {
                prop_assert!(longer.spend(&noise).unwrap().finds <= spent.finds);
            }
        }

        #[test]
        fn a_smaller_budget_than_the_cheapest_does_not_find_the_effect(
            budget in budgets(),
            noise in noises(),
            effect in 1.005..1.2f64,
        ) {
            let budget = Budget { chooses_time: true, chooses_blocks: true, ..budget };
            if let Some(cheapest) = budget.cheapest(&noise, effect) {
                prop_assert!(cheapest.finds <= effect * (1.0 + 1e-9));
                let cost_s = budget.costs_s(cheapest.blocks, cheapest.time_s);
                let with = |within_s: f64| Budget { within_s, ..budget }.spend(&noise);
                prop_assert!(with(cost_s * (1.0 + 1e-9)).unwrap().finds <= effect * (1.0 + 1e-9));
                prop_assert!(with(cost_s * 0.999).is_none_or(|less| less.finds > effect));
            }
        }

        #[test]
        fn no_other_blocks_and_seconds_find_a_smaller_effect(
            budget in budgets(),
            noise in noises(),
            within_s in 30.0..200f64,
        ) {
            let budget = Budget { within_s, ..budget };
            let found = budget.spend(&noise).map(|spent| spent.finds);
            prop_assert_eq!(found, by_search(&budget, &noise));
        }
    }

    /// Ten minutes of two servers that start within 5 s.
    const TEN_MINUTES: Budget = Budget {
        within_s: 600.0,
        trials: 2,
        start_s: 5.0,
        second_s: 1.0,
        time_s: 4.0,
        chooses_time: true,
        blocks: 3,
        chooses_blocks: true,
        claims: 1,
    };

    #[test]
    fn with_many_blocks_the_time_is_the_square_root_of_cost_ratio_times_variance_ratio() {
        let budget = Budget {
            within_s: 100_000.0,
            start_s: 40.0,
            second_s: 1.25,
            ..TEN_MINUTES
        };
        let noise = SliceNoise::ASSUMED;
        let spent = budget.spend(&noise).unwrap();
        let best_s = (40.0 / 1.25 * noise.second / noise.starts).sqrt();
        assert!(
            (spent.time_s / best_s - 1.0).abs() < 0.1,
            "{spent:?} {best_s}"
        );
    }

    #[test]
    fn ten_minutes_find_two_percent_of_two_servers_with_the_assumed_noise() {
        let spent = TEN_MINUTES.spend(&SliceNoise::ASSUMED).unwrap();
        assert!((1.010..1.020).contains(&spent.finds), "{spent:?}");
        let three = Budget {
            claims: 3,
            ..TEN_MINUTES
        };
        assert!(three.spend(&SliceNoise::ASSUMED).unwrap().finds > spent.finds);
    }

    #[test]
    fn the_effects_are_those_that_were_simulated_beforehand() {
        // The standard deviation 0.0175 finds 3 % with five blocks in 80 %, and 2 % with eight in 78 %.
        let noise = SliceNoise {
            starts: 0.0175 * 0.0175,
            second: 0.0,
        };
        assert!((noise.finds(20.0, 5, 0.05).unwrap() - 1.03).abs() < 0.0005);
        assert!((noise.finds(20.0, 8, 0.05).unwrap() - 1.0202).abs() < 0.0005);
        assert_eq!(noise.finds(20.0, 1, 0.05), None);
    }

    #[test]
    fn a_budget_without_room_for_three_blocks_holds_no_plan() {
        let small = Budget {
            within_s: 53.9,
            ..TEN_MINUTES
        };
        assert_eq!(small.spend(&SliceNoise::ASSUMED), None);
        assert_eq!(small.least_s(), 54.0);
    }
}

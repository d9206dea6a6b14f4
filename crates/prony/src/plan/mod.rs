//! The next trial, from the experiment, the seed and what is finished.
//!
//! Goal: one pure function for a fixed matrix, a resume and a shard. The points (`matrix`) come in blocks of shuffled
//! order (`order`); what is finished is left out. Non-goals: running trials; asking anything of a server.

pub mod estimate;
pub mod shard;
pub mod trial;

mod matrix;
mod order;

#[cfg(test)]
mod tests;

pub use shard::{Shard, ShardError};
pub use trial::PlannedTrial;

use crate::spec::Experiment;
use matrix::Point;
use record::TrialKey;
use std::collections::HashSet;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("the matrix has {trials} trials ({product}), more than the {max} that prony plans: {cut}", max = matrix::TRIALS_MAX)]
    TooLarge {
        trials: u128,
        /// `2 server x 1000 size x ...`
        product: String,
        /// What to do.
        cut: String,
    },
    #[error(
        "the matrix is empty: every combination of levels is excluded by an \"only\"; take one out or name more levels in it"
    )]
    Empty,
}

impl PlanError {
    fn too_large(trials: u128, counts: Vec<(String, usize)>) -> PlanError {
        let several: Vec<String> = counts
            .iter()
            .filter(|(_, count)| *count > 1)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let largest = counts
            .iter()
            .max_by_key(|(_, count)| *count)
            .map_or("", |(name, _)| name);
        let cut = match largest {
            "blocks" => "give fewer blocks with --blocks N".to_string(),
            name => format!("cut \"{name}\" first, in the file or with --only {name}=LEVEL"),
        };
        PlanError::TooLarge {
            trials,
            product: several.join(" x "),
            cut,
        }
    }
}

/// The order of execution of an experiment's trials. It holds places only; trials are made when they are asked for.
#[derive(Clone, Debug)]
pub struct Plan<'e> {
    experiment: &'e Experiment,
    points: Vec<Point>,
    /// (block, point), in the order of execution.
    order: Vec<(u32, usize)>,
}

impl<'e> Plan<'e> {
    /// # Errors
    /// A matrix that is too large, which is found before it is expanded, or empty.
    pub fn new(experiment: &'e Experiment, seed: u64) -> Result<Plan<'e>, PlanError> {
        Plan::of_shard(experiment, seed, None)
    }

    /// The part of the plan that falls to a shard; the whole without one.
    ///
    /// # Errors
    /// As for `new`.
    pub fn of_shard(
        experiment: &'e Experiment,
        seed: u64,
        shard: Option<Shard>,
    ) -> Result<Plan<'e>, PlanError> {
        let points = matrix::points(experiment)?;
        let orders = order::orders(points.len(), experiment.protocol.blocks, seed);
        let dealt = orders.iter().enumerate().flat_map(|(block, order)| {
            let own = order
                .iter()
                .enumerate()
                .filter(|(position, _)| shard.is_none_or(|shard| shard.holds(*position)));
            own.map(move |(_, point)| (block as u32, *point))
        });
        let order = dealt.collect();
        Ok(Plan {
            experiment,
            points,
            order,
        })
    }

    /// The number of trials, all blocks.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Only a shard can be empty.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// All trials in the order of execution.
    pub fn trials(&self) -> impl Iterator<Item = PlannedTrial> {
        self.order
            .iter()
            .map(|(block, point)| trial::planned(self.experiment, &self.points[*point], *block))
    }

    /// The first trial that is not finished.
    pub fn next(&self, finished: &[TrialKey]) -> Option<PlannedTrial> {
        let finished: HashSet<&TrialKey> = finished.iter().collect();
        let open = |(block, point): &&(u32, usize)| {
            !finished.contains(&trial::key(self.experiment, &self.points[*point], *block))
        };
        self.order
            .iter()
            .find(open)
            .map(|(block, point)| trial::planned(self.experiment, &self.points[*point], *block))
    }
}

/// The whole matrix, in the order of execution.
///
/// # Errors
/// A matrix that is too large or empty.
pub fn expand(experiment: &Experiment, seed: u64) -> Result<Vec<PlannedTrial>, PlanError> {
    Ok(Plan::new(experiment, seed)?.trials().collect())
}

/// The next trial; none where all are finished, or where `expand` refuses the matrix. It makes the plan anew: where many
/// are asked for, `Plan::next` of one plan gives the same.
pub fn next(experiment: &Experiment, seed: u64, finished: &[TrialKey]) -> Option<PlannedTrial> {
    Plan::new(experiment, seed).ok()?.next(finished)
}

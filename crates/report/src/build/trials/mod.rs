//! What became of the trials: audits, events, failures, warnings, noise, and the number of blocks.

pub(crate) mod audit;
pub(crate) mod blocks;
pub(crate) mod events;
pub(crate) mod failures;
pub(crate) mod noise;
pub(crate) mod warnings;

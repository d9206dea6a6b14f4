//! The next trial, from the experiment, the seed and what is finished.

pub mod trial;

pub use trial::PlannedTrial;

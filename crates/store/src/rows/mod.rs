//! The rows of `run.sqlite`: each kind is written and read in its own file.

mod audit;
mod column;
pub(crate) mod counters;
pub(crate) mod live;
pub(crate) mod load;
mod plans;
pub(crate) mod read;
mod series;
pub(crate) mod slim;
mod value;
pub(crate) mod write;

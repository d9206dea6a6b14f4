//! Counters of the MySQL family: what each means and costs, what makes it small, and which of two sides' differ most.

pub(crate) mod causes;
pub(crate) mod cost;
pub(crate) mod doubled;
pub(crate) mod meanings;
pub(crate) mod misses;
pub(crate) mod rank;

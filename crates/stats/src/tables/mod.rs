//! The tables of a report: rows of servers and levels, with an estimate in each cell.
//!
//! Purpose: everything that is shown of all trials together and is no claim. Boundaries: `report` draws them.

pub(crate) mod drift;
pub(crate) mod loads;
pub(crate) mod predictions;
pub mod queueing;
pub(crate) mod recoveries;
pub mod resource_use;
pub(crate) mod round_scaling;
pub(crate) mod scaling;
pub(crate) mod series_of;
pub(crate) mod table;
pub(crate) mod workers;

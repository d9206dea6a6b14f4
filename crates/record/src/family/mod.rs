//! The words that every part of a record uses: kinds of time, percentiles, states, factors of a load, names of counters.

pub(crate) mod kind;
pub(crate) mod load_factor;
pub mod names;
pub(crate) mod percentile;
pub(crate) mod state;

use std::collections::BTreeMap;

/// Differences of the server's cumulative counters over one query or one round, by name as the server spells it.
/// A counter that the server has and that did not move is 0; one that the server lacks is not in the map ("absent").
pub type Counters = BTreeMap<String, i64>;

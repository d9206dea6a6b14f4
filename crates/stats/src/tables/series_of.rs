//! Rows that differ in one number alone: clients, workers.

use super::loads::{Counted, counted};
use super::table::rows;
use crate::values::cells::by_key;
use record::load::Mode;
use record::run::Question;
use record::trial::Trial;
use std::collections::BTreeMap;

/// A value in each block.
pub(crate) type ByBlock = BTreeMap<u32, f64>;

/// Rows alike in all but one factor, by its number, ascending.
pub(crate) struct SeriesOf<'t> {
    pub(crate) server: Option<String>,
    /// Without the factor.
    pub(crate) levels: Vec<(String, String)>,
    pub(crate) points: BTreeMap<u32, Vec<Counted<'t>>>,
}

/// In the order of `table`; `number` returns the load's number of clients or workers, none for another kind of load.
pub(crate) fn series_of<'t>(
    question: &Question,
    trials: &'t [Trial],
    factor: &str,
    number: impl Fn(&Mode) -> Option<u32>,
) -> Vec<SeriesOf<'t>> {
    let mut points = Vec::new();
    for ((server, levels), trials) in rows(question, trials) {
        let counted = counted(&trials);
        if let Some(number) = counted.first().and_then(|c| number(&c.load.mode)) {
            points.push(((server, without(levels, factor)), (number, counted)));
        }
    }
    by_key(points)
        .into_iter()
        .map(|((server, levels), points)| SeriesOf {
            server: server.map(String::from),
            levels,
            points: points.into_iter().collect(),
        })
        .collect()
}

/// The levels of the other factors.
pub(crate) fn without(levels: &[(String, String)], factor: &str) -> Vec<(String, String)> {
    let others = levels.iter().filter(|(name, _)| name != factor);
    others.cloned().collect()
}

/// The values of two points in the blocks that have both.
pub(crate) fn paired(of: &ByBlock, to: &ByBlock) -> (Vec<f64>, Vec<f64>) {
    let pairs = (of.iter()).filter_map(|(block, value)| Some((*value, *to.get(block)?)));
    pairs.unzip()
}

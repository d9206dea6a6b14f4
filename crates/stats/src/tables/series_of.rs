//! Rows that differ in one number alone: clients, workers.

use super::loads::{Counted, counted};
use super::table::rows;
use record::load::Mode;
use record::run::Question;
use record::trial::Trial;
use std::collections::BTreeMap;

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
    let mut all: Vec<SeriesOf> = Vec::new();
    for ((server, levels), trials) in rows(question, trials) {
        let counted = counted(&trials);
        let Some(number) = counted.first().and_then(|c| number(&c.load.mode)) else {
            continue;
        };
        let others = levels.iter().filter(|(name, _)| name != factor).cloned();
        let others: Vec<_> = others.collect();
        let known = all
            .iter_mut()
            .find(|s| s.server.as_deref() == server && s.levels == others);
        match known {
            Some(series) => drop(series.points.insert(number, counted)),
            None => all.push(SeriesOf {
                server: server.map(String::from),
                levels: others,
                points: BTreeMap::from([(number, counted)]),
            }),
        }
    }
    all
}

/// The values of two points in the blocks that have both.
pub(crate) fn paired(
    of: &[Counted],
    to: &[Counted],
    value: impl Fn(&Counted) -> Option<f64>,
) -> (Vec<f64>, Vec<f64>) {
    of.iter()
        .filter_map(|of| {
            let to = to
                .iter()
                .find(|to| to.trial.key.block == of.trial.key.block)?;
            Some((value(of)?, value(to)?))
        })
        .unzip()
}

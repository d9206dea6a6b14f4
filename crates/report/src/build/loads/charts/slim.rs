//! What a page says and shows of a slim record in the place of its seconds.

use super::distribution;
use crate::build::loads::grid::cell::Cell as Point;
use crate::document::{Block, Section};
use record::Slim;

pub(crate) fn section(slim: &Slim) -> Option<Section> {
    let lacks = format!(
        "This record is slim. Its figures and verdicts were made from the whole record by prony {} (rules {}); the series and histograms of its seconds were left out. So this page lacks the charts of the seconds, the curves of the latency distribution, the causes of stalls except for events, the predicted latency, the figures around events, and the CPU, disk and network use.",
        slim.prony_version, slim.rules
    );
    Section::unless_empty(
        "slim",
        "What this slim record lacks",
        vec![Block::text(lacks).page()],
    )
}

pub(crate) fn percentiles(cells: &[&Point]) -> Option<Section> {
    if cells.is_empty() {
        return None;
    }
    let table = Block::table(distribution::percentiles(cells)).page();
    Section::unless_empty("percentiles", "Percentiles of each block (ms)", vec![table])
}

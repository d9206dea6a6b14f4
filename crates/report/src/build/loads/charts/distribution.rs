//! The distribution of the latency: a curve by percentile, and the percentiles of each block in a table.

use crate::build::loads::grid::cell::Cell as Point;
use crate::build::loads::measure::{at, kind_words};
use crate::document::{
    Block, Cell, Chart, Charts, Column, ColumnContent, Quantiles, Section, Series, Table,
};
use crate::{format, names};
use record::{LatencyKind, Percentile};

pub(crate) fn section(cells: &[&Point]) -> Option<Section> {
    let groups = groups(cells);
    if groups.is_empty() {
        return None;
    }
    let list = groups
        .iter()
        .enumerate()
        .map(|(place, group)| chart(place, group));
    let charts = Charts {
        caption: String::new(),
        label: "Latency (ms) by percentile; the table below has the usual percentiles".to_string(),
        choice: "row",
        list: list.collect(),
    };
    let about = "All blocks together, by adding the counts of their histograms. A curve ends where fewer than 100 operations lie above it.";
    let nodes = vec![
        Block::Charts(charts).page(),
        Block::remark(about).page(),
        Block::fold(
            "Percentiles of each block (ms)",
            false,
            vec![Block::table(percentiles(cells)).page()],
        )
        .page(),
    ];
    Section::unless_empty("distribution", "Latency distribution", nodes)
}

/// The percentiles of each block (ms), which need no histograms.
pub(crate) fn percentiles(cells: &[&Point]) -> Table {
    let has = |cell: &&&Point, kind: LatencyKind| {
        let mut blocks = cell.blocks.iter();
        cell.open && blocks.any(|block| block.summary.latency.of(kind).is_some())
    };
    let kinds = [
        LatencyKind::Response,
        LatencyKind::Wait,
        LatencyKind::Service,
    ]
    .into_iter();
    let kinds: Vec<LatencyKind> = kinds
        .filter(|kind| *kind == LatencyKind::Response || cells.iter().any(|cell| has(&cell, *kind)))
        .collect();
    let mut rows = Vec::new();
    for cell in cells {
        for block in &cell.blocks {
            for kind in &kinds {
                let Some(found) = block.summary.latency.of(*kind) else {
                    continue;
                };
                let mut row = vec![
                    Cell::text(cell.named_with_loop()),
                    Cell::text((block.trial.key.block + 1).to_string()),
                    Cell::text(kind_words(*kind)),
                ];
                row.extend(Percentile::ALL.map(|percentile| at(Some(found), percentile)));
                row.push(Cell::text(format::count(found.count as f64)));
                rows.push(row);
            }
        }
    }
    let percentiles = Percentile::ALL.map(Percentile::title);
    let columns = Column::list(&[
        (ColumnContent::Label, &["cell", "block", "kind"]),
        (ColumnContent::Figure, &percentiles),
        (ColumnContent::Figure, &["operations"]),
    ]);
    Table::new("", columns, rows)
}

/// The stable cells of each line.
fn groups<'c, 'd>(cells: &[&'c Point<'d>]) -> Vec<Vec<&'c Point<'d>>> {
    let unstable = |cell: &&Point| cell.blocks.iter().any(|block| block.unstable().is_some());
    let stable = cells.iter().copied().filter(|cell| !unstable(cell));
    let groups = stats::by_key(stable.map(|cell| ((&cell.line, cell.open), cell)));
    groups.into_iter().map(|(_, group)| group).collect()
}

fn chart(place: usize, group: &[&Point]) -> Chart {
    let curve = |cell: &&Point| (cell.level.clone(), cell.quantiles());
    Chart {
        name: super::numbered("distribution", place),
        title: format!("{}, {}", group[0].line, names::load_loop(group[0].open)),
        series: Series::Quantiles(Quantiles {
            curves: group.iter().map(curve).collect(),
        }),
    }
}

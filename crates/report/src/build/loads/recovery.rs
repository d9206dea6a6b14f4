//! Recovery: what each cell's server took to come back after an outage, as a table and as bars.
//!
//! Boundaries: the numbers are measured by the run, `stats` takes their means over blocks.

use crate::build::Context;
use crate::document::{
    Bars, Block, Cell, Chart, Charts, Column, ColumnContent, Node, Section, Series, Table,
};
use crate::{format, names};
use stats::{Estimate, Recovery, RowKey};

/// A column of the table: the number and its head.
const SECONDS: [(&str, &str); 5] = [
    ("accept_s", "first connection (s)"),
    ("commit_s", "first commit (s)"),
    ("recovered_s", "throughput back (s)"),
    ("redo_s", "redo (s)"),
    ("undo_s", "undo (s)"),
];
/// The bars of the chart.
const BARS: [(&str, &str); 3] = [
    ("redo_s", "redo"),
    ("accept_s", "first connection"),
    ("recovered_s", "throughput back"),
];

pub(super) fn section(context: &Context) -> Option<Section> {
    let cells = stats::recoveries(context.trials);
    if cells.is_empty() {
        return None;
    }
    let about = "Times count from the event; those of redo and undo are durations from the server's log. Redo log is what the server reads again: from its last checkpoint to the end. Throughput is back at 95 % of the median of the 30 s before, as a running median of 5 s.";
    let mut nodes = vec![
        Block::remark(about).page(),
        Block::table(table(context, &cells))
            .everywhere()
            .on_first_screen(),
    ];
    nodes.extend(chart(context, &cells));
    Section::unless_empty("recovery", "Recovery", nodes)
}

fn name(context: &Context, (server, levels): &RowKey) -> String {
    names::row(context.run, *server, levels)
}

fn table(context: &Context, cells: &[Recovery]) -> Table {
    let heads: Vec<&str> = SECONDS.iter().map(|(_, head)| *head).collect();
    let columns = [
        Column::list(&[(ColumnContent::Label, &["cell"])]),
        Column::of(ColumnContent::Figure, ["redo log"]),
        Column::of(ColumnContent::Figure, heads),
    ];
    let rows = cells.iter().map(|cell| {
        let redo = cell.numbers.get("redo_bytes");
        let mut row = vec![
            Cell::text(name(context, &cell.row)),
            Cell::figure(redo.map(|redo| redo.mean), |bytes| {
                format::bytes(bytes as u64)
            }),
        ];
        let seconds = |number: &str| {
            if number == "recovered_s" && cell.not_back > 0 {
                return Cell::text(not_back(cell));
            }
            let found = cell.numbers.get(number);
            let decimals = format::decimals(found.map(|found| found.mean));
            Cell::estimate(found, |value| format::seconds(value, decimals))
        };
        row.extend(SECONDS.iter().map(|(number, _)| seconds(number)));
        row
    });
    Table::new("", columns.into_iter().flatten(), rows)
}

/// `not in 1 of 3 trials`
fn not_back(cell: &Recovery) -> String {
    let all = format::plural(cell.trials, "trial");
    format!("not in {} of {all}", cell.not_back)
}

/// One group of bars for each cell.
fn chart(context: &Context, cells: &[Recovery]) -> Option<Node> {
    let series = BARS.iter().filter_map(|(number, label)| {
        let of_cells = cells.iter().map(|cell| cell.numbers.get(number).cloned());
        let of_cells: Vec<Option<Estimate>> = of_cells.collect();
        let is_known = of_cells.iter().any(Option::is_some);
        is_known.then(|| (label.to_string(), of_cells))
    });
    let bars = Bars {
        horizontal: true,
        categories: cells.iter().map(|cell| name(context, &cell.row)).collect(),
        series: series.collect(),
    };
    if bars.series.is_empty() {
        return None;
    }
    let title = "Recovery time (s)";
    let chart = Chart {
        name: "recovery".to_string(),
        title: title.to_string(),
        series: Series::Bars(bars),
    };
    let label = format!("{title}; the table above has the same figures");
    Some(Block::Charts(Charts::single(title, label, chart)).page())
}

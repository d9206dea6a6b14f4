//! Resource limits of the servers: requested, and as measured at the start of each trial.

use crate::document::{Block, Cell, Column, ColumnContent, Section, Table};
use crate::format;
use record::Trial;
use stats::by_key;

/// A row for each limit and value; none if nothing was limited.
pub(crate) fn section(trials: &[Trial]) -> Option<Section> {
    let limits = trials.iter().flat_map(|trial| &trial.limits);
    let kinds = by_key(limits.map(|limit| ((limit.name.as_str(), limit.asked), limit.measured)));
    if kinds.is_empty() {
        return None;
    }
    let columns = Column::list(&[
        (ColumnContent::Label, &["limit"]),
        (
            ColumnContent::Figure,
            &["requested", "min measured", "max measured", "trials"],
        ),
    ]);
    let about = "Measured before each trial's server was started. Where IOPS are limited too, the bandwidth may stay below its limit.";
    let nodes = vec![
        Block::table(Table::new("", columns, kinds.iter().map(row))).everywhere(),
        Block::remark(about).everywhere(),
    ];
    Section::unless_empty("limits", "Limits of the servers", nodes)
}

fn row(((name, requested), measured): &((&str, f64), Vec<f64>)) -> Vec<Cell> {
    let min = measured.iter().copied().fold(f64::INFINITY, f64::min);
    let max = measured.iter().copied().fold(0.0, f64::max);
    let figures = [*requested, min, max].map(|value| figure(name, value));
    let texts = std::iter::once(name.to_string()).chain(figures);
    texts
        .chain([measured.len().to_string()])
        .map(Cell::text)
        .collect()
}

fn figure(name: &str, value: f64) -> String {
    match name {
        "read_bandwidth" | "write_bandwidth" => format!("{}/s", format::bytes(value as u64)),
        "memory" => format::bytes(value as u64),
        "cpus" => format::ratio(value),
        // The speed of a link, whose unit is in its name.
        _ if name.ends_with(')') => format::operations(value),
        _ => format!("{}/s", format::operations(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_cpus_and_requests_have_their_own_units() {
        let texts = [
            figure("read_iops", 1000.4),
            figure("read_bandwidth", 52_428_800.0),
            figure("memory", 2_147_483_648.0),
            figure("cpus", 0.5),
        ];
        assert_eq!(texts, ["1,000/s", "50.0 MiB/s", "2.0 GiB", "0.50"]);
    }
}

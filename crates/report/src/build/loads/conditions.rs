//! What a throughput is to be read with: the tail of the latency, CPU use, scaling, and what the server was set to.
//!
//! Boundaries: only the terminal shows it; the page has charts and the settings.

use super::grid::Grid;
use super::grid::cell::Cell as Point;
use super::measure::Measure;
use super::overview;
use crate::build::Context;
use crate::document::{Block, Cell, Column, ColumnContent, Forms, Node, Table};
use crate::format;
use record::{CARRIED, LatencyKind, Mode, Percentile, Trial};
use stats::{Scaling, each_once};

/// From this share on the CPU is saturated.
const SATURATED: f64 = 0.95;
/// Settings that decide when a commit is durable, on servers that have them.
pub(crate) const DURABILITY: [&str; 5] = [
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_flush_method",
    "log_bin",
    "sync_binlog",
];
pub(crate) const POOL: &str = "innodb_buffer_pool_size";
/// The series of the CPU columns, and those that show the noise of servers that take turns.
pub const SERIES: [&str; 4] = [SERVER_CPU, MACHINE_CPU, "throughput", CARRIED];
const SERVER_CPU: &str = "server cpu";
const MACHINE_CPU: &str = "machine cpu";
/// Different texts of one fact that are shown.
const TEXTS_MAX: usize = 3;

pub(super) fn nodes(context: &Context, grid: &Grid, scaling: &[Scaling]) -> Vec<Node> {
    let measured = || grid.cells().filter(|cell| !cell.blocks.is_empty());
    if measured().next().is_none() {
        return Vec::new();
    }
    let trials = || measured().flat_map(|cell| cell.blocks.iter().map(|block| block.trial));
    let facts = [
        ("data", each_once(trials().filter_map(data))),
        (
            "connection",
            each_once(trials().filter_map(|trial| connection(context, trial))),
        ),
        ("durability", each_once(trials().filter_map(durability))),
    ];
    let facts = facts.into_iter().filter(|(_, texts)| !texts.is_empty());
    let facts =
        facts.map(|(name, texts)| (name.to_string(), format::first_few(texts, TEXTS_MAX, "; ")));
    let facts: Vec<(String, String)> = facts.collect();
    let facts = (!facts.is_empty()).then_some(Block::Facts(facts));
    // Below claims it is evidence.
    let first_screen = context.run.question.claims.is_empty();
    let node = |block: Block| Node {
        first_screen,
        ..block.shown(Forms::TERMINAL)
    };
    let table = Block::table(table(grid, scaling));
    std::iter::once(table).chain(facts).map(node).collect()
}

/// `data 240.0 MiB, buffer pool 128.0 MiB`
fn data(trial: &Trial) -> Option<String> {
    let data = trial.dataset.as_ref()?.data_bytes;
    let pool = trial.settings.get(POOL).and_then(|text| text.parse().ok());
    let pool = pool.map(|bytes| format!(", buffer pool {}", format::bytes(bytes)));
    (data > 0).then(|| format::bytes(data) + &pool.unwrap_or_default())
}

/// How clients reach the server. None of a server of several nodes.
fn connection(context: &Context, trial: &Trial) -> Option<String> {
    let identity = context
        .run
        .environment
        .servers
        .get(trial.key.server.as_ref()?)?;
    let is_external = identity.build.starts_with("mysql://");
    match is_external && !identity.build.contains("socket=") {
        _ if identity.build == "sqlite" || !trial.node_settings.is_empty() => None,
        true => Some("TCP".to_string()),
        false => Some("Unix socket".to_string()),
    }
}

fn durability(trial: &Trial) -> Option<String> {
    let known = DURABILITY.iter().filter_map(|name| {
        let value = trial
            .settings
            .get(*name)
            .filter(|value| !value.is_empty())?;
        Some(format!("{name}={value}"))
    });
    Some(known.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

fn table(grid: &Grid, scaling: &[Scaling]) -> Table {
    let has_scaling = scaling.iter().any(|one| {
        let mut points = one.points.iter();
        points.any(|point| point.clients > 1 && point.factor.is_some())
    });
    let mut columns = Column::of(ColumnContent::Label, overview::labels(grid));
    let heads = ["p99.9", "max"].into_iter();
    let heads = heads.chain(has_scaling.then_some("× 1 client"));
    let heads = heads.chain(["server CPU", "client CPU", "machine"]);
    columns.extend(Column::of(ColumnContent::Figure, heads));
    let rows = grid.lines.iter().flat_map(|line| {
        overview::points(grid, line).map(|(mut labels, cell)| {
            labels.extend(tail(cell));
            labels.extend(has_scaling.then(|| factor(scaling, cell)));
            labels.extend(cpu(cell));
            labels
        })
    });
    let caption = "Tail of the latency (ms), and CPU use (cores, and share of the machine)";
    Table::new(caption, columns, rows)
}

fn tail(cell: &Point) -> [Cell; 2] {
    let is_unstable = cell.is_unstable();
    [Percentile::P999, Percentile::Max].map(|percentile| {
        let found = Measure::Latency(LatencyKind::Response, percentile).cell(cell);
        if is_unstable {
            Cell::none()
        } else {
            Cell::text(found.text)
        }
    })
}

/// Throughput relative to one client.
fn factor(scaling: &[Scaling], cell: &Point) -> Cell {
    let load = cell.load.as_ref();
    let found = load.and_then(|load| {
        let Some(Mode::Closed { clients, .. }) = load.mode else {
            return None;
        };
        let levels = load.levels.iter().filter(|(factor, _)| factor != "clients");
        let levels: Vec<_> = levels.cloned().collect();
        let mut rows = scaling.iter();
        let row = rows.find(|row| row.server == load.server && row.levels == levels)?;
        let point = row.points.iter().find(|point| point.clients == clients)?;
        point.factor
    });
    Cell::figure(found.map(|(factor, _)| factor), format::ratio)
}

/// CPU use of the server and of the load generator (cores), and of everything as a share of the machine.
fn cpu(cell: &Point) -> [Cell; 3] {
    let cores = |value: Option<f64>| Cell::figure(value, |cores| format!("{cores:.2}"));
    let available = cell.over_blocks(|block| block.load.engine.cores);
    let machine = cell.mean(MACHINE_CPU).zip(available);
    let machine = machine.and_then(|(used, cores)| share_of_machine(used, cores));
    [
        cores(cell.mean(SERVER_CPU)),
        cores(cell.over_blocks(|block| block.summary.engine.cores)),
        Cell::figure(machine, |share| match share >= SATURATED {
            true => format!("{} saturated", format::percent(share)),
            false => format::percent(share),
        }),
    ]
}

/// None if more than the cores that prony may use were used: a quota allows it less than its CPUs have, and what is left of it is not known.
fn share_of_machine(used: f64, cores: f64) -> Option<f64> {
    let share = used / cores;
    (cores > 0.0 && share <= 2.0 - SATURATED).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_uses_more_cores_than_prony_may_use_shows_no_share() {
        assert_eq!(share_of_machine(1.5, 2.0), Some(0.75));
        assert!(share_of_machine(2.04, 2.0).is_some(), "by rounding");
        assert_eq!(share_of_machine(6.5, 2.0), None, "a quota of 2 CPUs");
        assert_eq!(share_of_machine(1.0, 0.0), None);
    }
}

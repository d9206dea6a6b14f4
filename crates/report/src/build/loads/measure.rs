//! The measures of a timed load, and how a cell shows each.

use super::grid::Grid;
use super::grid::cell::Cell as Point;
use crate::document::Cell;
use crate::format;
use record::{LatencyKind, Percentile, Percentiles};
use stats::{Estimate, LoadRow};

#[derive(Clone, Copy)]
pub(crate) enum Measure {
    Throughput,
    Offered,
    Latency(LatencyKind, Percentile),
}

impl Measure {
    /// `p99 latency (ms) by clients, mean over blocks, 95 % CI`
    pub(crate) fn caption(&self, grid: &Grid) -> String {
        let what = match self {
            Measure::Throughput => "Throughput (ops/s)".to_string(),
            Measure::Offered => "Offered load (ops/s)".to_string(),
            Measure::Latency(kind, percentile) => {
                format!("{} {} (ms)", percentile.title(), kind_words(*kind))
            }
        };
        let across = grid.across.as_ref();
        let by = across.map_or(String::new(), |across| format!(" by {}", across.factor));
        let queue = match self {
            Measure::Latency(LatencyKind::Response, _) if grid.open => ", queue wait included",
            _ => "",
        };
        format!("{what}{by}{queue}{}", grid.spread())
    }

    pub(crate) fn head(&self) -> String {
        match self {
            Measure::Throughput => "ops/s".to_string(),
            Measure::Offered => "offered ops/s".to_string(),
            Measure::Latency(LatencyKind::Response, percentile) => {
                format!("{} (ms)", percentile.title())
            }
            Measure::Latency(kind, percentile) => {
                format!("{} {} (ms)", percentile.title(), kind_words(*kind))
            }
        }
    }

    pub(crate) fn estimate<'l>(&self, load: &'l LoadRow) -> Option<&'l Estimate> {
        match self {
            Measure::Throughput => load.throughput.as_ref(),
            Measure::Offered => load.offered.as_ref(),
            Measure::Latency(kind, percentile) => load.latency.of(*kind, *percentile),
        }
    }

    fn written(&self, value: f64) -> String {
        match self {
            Measure::Throughput | Measure::Offered => format::operations(value),
            Measure::Latency(..) => format::milliseconds(value),
        }
    }

    pub(crate) fn cell(&self, cell: &Point) -> Cell {
        let estimate = cell.load.as_ref().and_then(|load| self.estimate(load));
        let latency = matches!(self, Measure::Latency(..));
        let text = match estimate {
            None if latency && cell.is_unstable() => unstable(cell),
            estimate => Cell::estimate(estimate, |value| self.written(value)),
        };
        let is_uncertain = cell
            .load
            .as_ref()
            .is_some_and(|load| self.is_uncertain(load));
        text.uncertain(is_uncertain).marked(cell.marks.clone())
    }

    fn is_uncertain(&self, load: &LoadRow) -> bool {
        match self {
            Measure::Throughput | Measure::Offered => false,
            Measure::Latency(kind, percentile) => load.latency.is_uncertain(*kind, *percentile),
        }
    }
}

/// Instead of a percentile.
fn unstable(cell: &Point) -> Cell {
    let load = cell.load.as_ref();
    let first = load.and_then(|load| load.unstable.first());
    Cell {
        beside: cell
            .growth()
            .map(|growth| format!("+{}/s", format::count(growth.round()))),
        sentence: first.map(|(_, sentence)| sentence.clone()),
        ..Cell::text("unstable")
    }
}

/// A percentile (ms), with a `~` where it is uncertain, or a dash.
pub(crate) fn at(latency: Option<&Percentiles>, percentile: Percentile) -> Cell {
    let found = latency.and_then(|latency| latency.at(percentile));
    let is_uncertain = latency.is_some_and(|latency| latency.is_uncertain(percentile));
    Cell::figure(found, format::milliseconds).uncertain(is_uncertain)
}

/// Kinds of latency; in closed loop the latency is the service time.
pub(crate) fn kind_words(kind: LatencyKind) -> &'static str {
    match kind {
        LatencyKind::Wait => "queue wait",
        other => other.noun(),
    }
}

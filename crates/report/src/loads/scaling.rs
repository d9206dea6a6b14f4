//! The throughput as a multiple of one client's.

use super::sheet::{Figure, Sheet, SheetRow};
use crate::{format, names};
use record::stats::{self, Scaling, ScalingPoint};
use record::{Run, Trial};
use std::collections::BTreeSet;

/// A table of closed loads by clients; none where nothing was measured with one client and with several.
pub fn scaling(run: &Run, trials: &[Trial]) -> Option<Sheet> {
    let all = stats::scaling(&run.question, trials);
    let several: Vec<&Scaling> = all
        .iter()
        .filter(|scaling| {
            scaling
                .points
                .iter()
                .any(|point| point.clients > 1 && point.factor.is_some())
        })
        .collect();
    let clients: BTreeSet<u32> = several
        .iter()
        .flat_map(|scaling| &scaling.points)
        .map(|point| point.clients)
        .collect();
    let row = |scaling: &&Scaling| SheetRow {
        labels: vec![names::row(
            &run.question,
            scaling.server.as_deref(),
            &scaling.levels,
        )],
        cells: clients
            .iter()
            .map(|clients| figure(scaling, *clients))
            .collect(),
    };
    (!several.is_empty()).then(|| Sheet {
        caption: "Operations a second as a multiple of one client's, by clients; closed loop"
            .to_string(),
        head: "times 1 client".to_string(),
        labels: vec!["server and settings".to_string()],
        across: Some("clients".to_string()),
        heads: clients.iter().map(u32::to_string).collect(),
        rows: several.iter().map(row).collect(),
    })
}

/// One client is its own measure, so it has no interval.
fn figure(scaling: &Scaling, clients: u32) -> Figure {
    let point = scaling.points.iter().find(|point| point.clients == clients);
    let factor = point.and_then(|point: &ScalingPoint| point.factor);
    match factor {
        Some((factor, ci)) => figure_of(factor, ci.filter(|_| clients > 1)),
        None => Figure::none(),
    }
}

fn figure_of(factor: f64, ci: Option<(f64, f64)>) -> Figure {
    Figure {
        text: format::with_interval(factor, ci, format::ratio),
        beside: ci.map(format::half_width),
        interval: ci.map(|ci| format::interval(ci, format::ratio)),
        ..Figure::default()
    }
}

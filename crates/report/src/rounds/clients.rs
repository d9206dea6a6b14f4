//! Rounds by their number of clients: queries an hour, and as a multiple of one client's.

use super::estimate;
use crate::loads::{Figure, Sheet, SheetRow};
use crate::{format, names};
use record::stats::{self, RoundPoint, RoundScaling};
use record::{Run, Trial};
use std::collections::BTreeSet;

/// Two tables; none where no round had several clients, and one where one client was not measured.
pub fn clients(run: &Run, trials: &[Trial]) -> Vec<Sheet> {
    let all = stats::round_scaling(&run.question, trials);
    let points = || all.iter().flat_map(|scaling| &scaling.points);
    let clients: BTreeSet<u32> = points().map(|point| point.clients).collect();
    let sheet = |caption: &str, head: &str, figure: &dyn Fn(&RoundPoint) -> Figure| Sheet {
        caption: caption.to_string(),
        head: head.to_string(),
        labels: vec!["server and settings".to_string(), "round".to_string()],
        across: Some("clients".to_string()),
        heads: clients.iter().map(u32::to_string).collect(),
        rows: all
            .iter()
            .map(|scaling| row(run, scaling, &clients, figure))
            .collect(),
    };
    let compared = points().any(|point| point.clients > 1 && point.factor.is_some());
    let rate = || {
        sheet(
            "Queries an hour of all clients together, by clients",
            "queries an hour",
            &|point| estimate(point.queries_per_hour.as_ref(), format::operations),
        )
    };
    let factor = || {
        sheet(
            "Queries an hour as a multiple of one client's, by clients",
            "times 1 client",
            &factor,
        )
    };
    let tables = [(!all.is_empty()).then(rate), compared.then(factor)];
    tables.into_iter().flatten().collect()
}

fn row(
    run: &Run,
    scaling: &RoundScaling,
    clients: &BTreeSet<u32>,
    figure: &dyn Fn(&RoundPoint) -> Figure,
) -> SheetRow {
    let cell = |clients: &u32| {
        let point = scaling
            .points
            .iter()
            .find(|point| point.clients == *clients);
        point.map_or_else(Figure::none, figure)
    };
    SheetRow {
        labels: vec![
            names::row(&run.question, scaling.server.as_deref(), &scaling.levels),
            scaling.round.clone(),
        ],
        cells: clients.iter().map(cell).collect(),
    }
}

/// One client is its own measure, so it has no interval.
fn factor(point: &RoundPoint) -> Figure {
    match point.factor {
        Some((factor, ci)) => {
            let ci = ci.filter(|_| point.clients > 1);
            Figure {
                text: format::with_interval(factor, ci, format::ratio),
                beside: ci.map(format::half_width),
                interval: ci.map(|ci| format::interval(ci, format::ratio)),
                ..Figure::default()
            }
        }
        None => Figure::none(),
    }
}

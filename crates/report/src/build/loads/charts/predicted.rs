//! The latency predicted from the service times, and the measured one.

use super::curves::{MILLISECONDS, doublings, lines};
use crate::build::Context;
use crate::document::{
    Axis, Block, Cell, Chart, Charts, Column, ColumnContent, Curve, Section, Series, Table,
};
use crate::{format, names};
use record::{Percentile, Percentiles, Run};
use stats::{Estimate, Prediction};

const SHOWN: [Percentile; 3] = [Percentile::P50, Percentile::P95, Percentile::P99];

pub(crate) fn section(context: &Context) -> Option<Section> {
    let run = context.run;
    let predictions = stats::predictions(&run.question, context.trials, run.seed);
    if predictions.is_empty() {
        return None;
    }
    let model = "The prediction simulates a first-come, first-served queue with as many workers and the measured service times (FCFS G/G/k), for each block. \
        Where the measured latency is longer, operations waited for something else than the queue, or the service times depend on each other.";
    let about = "Ratio: measured over predicted, mean over blocks and 95 % CI. Formula: the mean after Allen and Cunneen.";
    let mut nodes = vec![Block::text(model).page(), Block::remark(about).page()];
    nodes.extend(chart(run, &predictions).map(|charts| Block::Charts(charts).page()));
    let columns = Column::list(&[
        (ColumnContent::Words, &["cell"]),
        (ColumnContent::Figure, &["utilisation"]),
        (ColumnContent::Label, &["latency (ms)"]),
        (
            ColumnContent::Figure,
            &["formula", "predicted", "measured", "ratio"],
        ),
    ]);
    let rows = predictions
        .iter()
        .flat_map(|prediction| rows(run, prediction));
    nodes.push(Block::table(Table::new("", columns, rows)).page());
    Section::unless_empty(
        "predicted",
        "Predicted and measured latency, open loop",
        nodes,
    )
}

/// A row for the mean and for each percentile of the latency.
fn rows(run: &Run, prediction: &Prediction) -> Vec<Vec<Cell>> {
    let below = SHOWN.len();
    let spanning = |cell: Cell| Cell { below, ..cell };
    let name = names::row(run, prediction.server.as_deref(), &prediction.levels);
    let utilisation = Cell::figure(prediction.utilisation(), utilised);
    let mut mean = vec![
        spanning(Cell::text(name).remarked(remarks(prediction))),
        spanning(utilisation),
        Cell::text("mean"),
        ms(prediction.formula_ms()),
    ];
    mean.extend(figures(prediction, |latency| Some(latency.mean_ms)));
    let mut rows = vec![mean];
    for percentile in SHOWN {
        let mut row = vec![
            Cell::default(),
            Cell::default(),
            Cell::text(percentile.text()),
            Cell::default(),
        ];
        let is_uncertain = |latency: &Percentiles| latency.is_uncertain(percentile);
        let mut measured = prediction
            .blocks
            .iter()
            .filter_map(|block| block.measured.as_ref());
        let mut cells = figures(prediction, |latency| latency.at(percentile));
        cells[1] = std::mem::take(&mut cells[1]).uncertain(measured.any(is_uncertain));
        row.extend(cells);
        rows.push(row);
    }
    rows
}

/// `62 %`; from 100 % on how many times as much was offered as the workers can complete, since no worker is busy for more than all of
/// its time.
fn utilised(share: f64) -> String {
    match share {
        share if share < 1.0 => format::percent(share),
        share => format!("overload, {}× the capacity", format::ratio(share)),
    }
}

fn figures(prediction: &Prediction, of: impl Fn(&Percentiles) -> Option<f64>) -> [Cell; 3] {
    let ratio = prediction.ratio(&of);
    [
        ms(prediction.simulated_ms(&of)),
        ms(prediction.measured_ms(&of)),
        ratio.map_or_else(Cell::none, |(ratio, ci)| {
            Cell::with_interval(ratio, ci, format::ratio)
        }),
    ]
}

fn ms(estimate: Option<Estimate>) -> Cell {
    let cell = Cell::estimate(estimate.as_ref(), format::milliseconds);
    Cell::text(cell.text)
}

/// What the figures of a row leave open.
fn remarks(prediction: &Prediction) -> Vec<String> {
    let (growing, blocks) = (prediction.growing(), prediction.blocks.len());
    let grows = (growing > 0).then(|| match growing == blocks {
        true => "the queue of the model grows".to_string(),
        false => format!("the queue of the model grows in {growing} of {blocks} blocks"),
    });
    let uncertain = prediction
        .is_uncertain()
        .then(|| "the model itself is uncertain by more than 5 %".to_string());
    let no_model = prediction.no_model().map(String::from);
    no_model.into_iter().chain(grows).chain(uncertain).collect()
}

/// Charts the highest percentile that several predictions and measurements share; none if workers do not vary.
fn chart(run: &Run, predictions: &[Prediction]) -> Option<Charts> {
    let both = |percentile: &Percentile| {
        let with = predictions
            .iter()
            .filter(|p| p.ratio(|latency| latency.at(*percentile)).is_some());
        let mut workers: Vec<u32> = with.map(|p| p.workers).collect();
        workers.sort_unstable();
        workers.dedup();
        workers.len() > 1
    };
    let percentile = SHOWN.into_iter().rev().find(both)?;
    let curves = curves(run, predictions, percentile);
    let workers = Axis {
        name: "workers",
        scale: doublings(&curves),
    };
    let title = format!("{} by workers", percentile.text());
    let chart = Chart {
        name: format!("predicted-{}", percentile.text()),
        title: title.clone(),
        series: Series::Lines(lines(workers, MILLISECONDS, curves)),
    };
    let label = "Predicted and measured latency by workers; the table below has the same figures";
    Some(Charts::single(title, label, chart))
}

fn curves(run: &Run, predictions: &[Prediction], percentile: Percentile) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    let mut rows: Vec<String> = Vec::new();
    for prediction in predictions {
        let others = prediction
            .levels
            .iter()
            .filter(|(name, _)| name != "workers");
        let others: Vec<_> = others.cloned().collect();
        let row = names::row(run, prediction.server.as_deref(), &others);
        if !rows.contains(&row) {
            rows.push(row.clone());
        }
        let at = |latency: &Percentiles| latency.at(percentile);
        let both = [
            ("measured", prediction.measured_ms(at), false),
            ("predicted", prediction.simulated_ms(at), true),
        ];
        for (kind, estimate, dashed) in both {
            let Some(estimate) = estimate else { continue };
            let name = format!("{row}, {kind}");
            let point = (f64::from(prediction.workers), estimate);
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve {
                    name,
                    colour: rows.iter().position(|known| *known == row).unwrap_or(0),
                    dashed,
                    points: vec![point],
                }),
            }
        }
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_utilisation_exceeds_all_of_the_time() {
        assert_eq!(utilised(0.62), "62 %");
        assert_eq!(utilised(121.1), "overload, 121× the capacity");
    }
}

//! What response follows from the service times alone, laid over the measured one.

use super::super::charts::frame;
use super::option::{Axis, Curve, Scale, lines};
use crate::{format, names};
use maud::{Markup, html};
use record::stats::{Estimate, Percentiles, Prediction};
use record::{Percentile, Run};
use serde_json::Value;

const SHOWN: [Percentile; 3] = [Percentile::P50, Percentile::P95, Percentile::P99];
/// The mean and the percentiles.
const FIGURES: usize = 1 + SHOWN.len();

pub fn section(run: &Run, predictions: &[Prediction]) -> Markup {
    html! {
        @if !predictions.is_empty() {
            section #predicted {
                h2 { "Predicted and measured response, open loop" }
                p {
                    "The prediction simulates a queue that is served first come, first served by as many workers, with the measured service times (FCFS G/G/k), each block by itself. "
                    "Where the measured response is longer, something else than the queue made operations wait, or the service times depend on each other."
                }
                p.quiet { "The ratio is measured over predicted, the mean over blocks and its 95 % interval. The formula for the mean is that of Allen and Cunneen." }
                @if let Some(percentile) = charted(predictions) {
                    h3.needs-script { (percentile.text()) " by workers" }
                    (frame(&name(percentile), "Predicted and measured response by workers; the table below has the same figures"))
                }
                div.scroll.tall tabindex="0" { table {
                    thead { tr {
                        th scope="col" { "Cell" } th.n scope="col" { "Utilisation" } th scope="col" { "Milliseconds" }
                        th.n scope="col" { "Formula" } th.n scope="col" { "Predicted" } th.n scope="col" { "Measured" } th.n scope="col" { "Ratio" }
                    } }
                    @for prediction in predictions { (group(run, prediction)) }
                } }
            }
        }
    }
}

/// A line for each figure of the response.
fn group(run: &Run, prediction: &Prediction) -> Markup {
    let name = names::row(
        &run.question,
        prediction.server.as_deref(),
        &prediction.levels,
    );
    let utilisation = prediction.utilisation();
    html! {
        tbody {
            tr {
                th.words rowspan=(FIGURES) scope="rowgroup" { (name) @for remark in remarks(prediction) { p.quiet { (remark) } } }
                td.n rowspan=(FIGURES) { (utilisation.map_or("-".to_string(), |share| format!("{:.0} %", share * 100.0))) }
                (figures(prediction, "mean", mean, Some(ms(prediction.formula_ms()))))
            }
            @for percentile in SHOWN {
                tr { (figures(prediction, percentile.text(), |response| response.at(percentile), None)) }
            }
        }
    }
}

fn figures(
    prediction: &Prediction,
    name: &str,
    of: impl Fn(&Percentiles) -> Option<f64>,
    formula: Option<String>,
) -> Markup {
    html! {
        td { (name) }
        td.n { @if let Some(formula) = formula { (formula) } }
        td.n { (ms(prediction.simulated_ms(&of))) }
        td.n { (ms(prediction.measured_ms(&of))) }
        td.n { @match prediction.ratio(&of) {
            Some((ratio, ci)) => {
                (format::with_interval(ratio, ci, format::ratio))
                @if let Some(ci) = ci { span.spread { (format::interval(ci, format::ratio)) } }
            }
            None => { "-" }
        } }
    }
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

fn ms(estimate: Option<Estimate>) -> String {
    estimate.map_or("-".to_string(), |estimate| {
        format::with_interval(estimate.mean, estimate.ci, format::milliseconds)
    })
}

fn mean(response: &Percentiles) -> Option<f64> {
    Some(response.mean_ms)
}

fn predicted(prediction: &Prediction, percentile: Percentile) -> Option<Estimate> {
    prediction.simulated_ms(|response| response.at(percentile))
}

fn measured(prediction: &Prediction, percentile: Percentile) -> Option<Estimate> {
    prediction.measured_ms(|response| response.at(percentile))
}

fn name(percentile: Percentile) -> String {
    format!("predicted-{}", percentile.text())
}

/// The highest percentile that several predictions share with a measurement; none where workers do not vary.
fn charted(predictions: &[Prediction]) -> Option<Percentile> {
    let both = |percentile: &Percentile| {
        let with = predictions
            .iter()
            .filter(|p| p.ratio(|response| response.at(*percentile)).is_some());
        let mut workers: Vec<u32> = with.map(|p| p.workers).collect();
        workers.sort_unstable();
        workers.dedup();
        workers.len() > 1
    };
    SHOWN.into_iter().rev().find(both)
}

pub fn options(run: &Run, predictions: &[Prediction]) -> Vec<(String, Value)> {
    let option = |percentile: Percentile| {
        let curves = curves(run, predictions, percentile);
        let option = lines(
            Axis {
                name: "workers",
                scale: Scale::doublings(&curves),
            },
            Axis {
                name: "milliseconds",
                scale: Scale::Log(10),
            },
            &curves,
            None,
        );
        (name(percentile), option)
    };
    charted(predictions).map(option).into_iter().collect()
}

fn curves(run: &Run, predictions: &[Prediction], percentile: Percentile) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    let mut rows: Vec<String> = Vec::new();
    for prediction in predictions {
        let others: Vec<_> = prediction
            .levels
            .iter()
            .filter(|(name, _)| name != "workers")
            .cloned()
            .collect();
        let row = names::row(&run.question, prediction.server.as_deref(), &others);
        if !rows.contains(&row) {
            rows.push(row.clone());
        }
        let both = [
            ("measured", measured(prediction, percentile), false),
            ("predicted", predicted(prediction, percentile), true),
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

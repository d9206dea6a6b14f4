//! What response follows from the service times alone, laid over the measured one.

use super::super::charts::frame;
use super::option::{Axis, Curve, Scale, lines};
use crate::{format, names};
use maud::{Markup, html};
use record::stats::{Estimate, Prediction};
use record::{Percentile, Run};
use serde_json::Value;

const SHOWN: [Percentile; 3] = [Percentile::P50, Percentile::P95, Percentile::P99];

pub fn section(run: &Run, predictions: &[Prediction]) -> Markup {
    html! {
        @if !predictions.is_empty() {
            section #predicted {
                h2 { "Predicted and measured response, open loop" }
                p {
                    "The prediction simulates a queue that is served first come, first served by as many workers, with the measured service times (FCFS G/G/k). "
                    "Where the measured response is longer, something else than the queue made operations wait, or the service times depend on each other."
                }
                @if let Some(percentile) = charted(predictions) {
                    h3.needs-script { (percentile.text()) " by workers" }
                    (frame(&name(percentile), "Predicted and measured response by workers; the table below has the same figures"))
                }
                div.scroll.tall tabindex="0" { table {
                    thead {
                        tr {
                            th rowspan="2" scope="col" { "Cell" } th.n rowspan="2" scope="col" { "Utilisation" }
                            @for percentile in SHOWN { th.group colspan="3" scope="colgroup" { (percentile.text()) " ms" } }
                        }
                        tr { @for _ in SHOWN { th.n scope="col" { "predicted" } th.n scope="col" { "measured" } th.n scope="col" { "deviation" } } }
                    }
                    tbody { @for prediction in predictions { (line(run, prediction)) } }
                } }
            }
        }
    }
}

fn line(run: &Run, prediction: &Prediction) -> Markup {
    let name = names::row(&run.question, &prediction.server, &prediction.levels);
    html! {
        tr {
            th.words scope="row" { (name) @if let Err(why) = &prediction.predicted { p.quiet { (why) } } }
            td.n { (prediction.predicted.as_ref().map_or("-".to_string(), |p| format!("{:.0} %", p.utilisation * 100.0))) }
            @for percentile in SHOWN {
                td.n { (ms(predicted(prediction, percentile))) }
                td.n { (ms(measured(prediction, percentile))) }
                td.n { (prediction.deviation(percentile).map_or("-".to_string(), |d| format!("{:+.0} %", d * 100.0))) }
            }
        }
    }
}

fn ms(value: Option<f64>) -> String {
    value.map_or("-".to_string(), format::milliseconds)
}

fn predicted(prediction: &Prediction, percentile: Percentile) -> Option<f64> {
    prediction
        .predicted
        .as_ref()
        .ok()?
        .response
        .as_ref()?
        .at(percentile)
}

fn measured(prediction: &Prediction, percentile: Percentile) -> Option<f64> {
    let found = prediction
        .measured_ms
        .iter()
        .find(|(known, _)| *known == percentile);
    found.map(|(_, ms)| *ms)
}

fn name(percentile: Percentile) -> String {
    format!("predicted-{}", percentile.text())
}

/// The highest percentile that several predictions share with a measurement; none where workers do not vary.
fn charted(predictions: &[Prediction]) -> Option<Percentile> {
    let both = |percentile: &Percentile| {
        let with = predictions
            .iter()
            .filter(|p| p.deviation(*percentile).is_some());
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
        let row = names::row(&run.question, &prediction.server, &others);
        if !rows.contains(&row) {
            rows.push(row.clone());
        }
        let both = [
            ("measured", measured(prediction, percentile), false),
            ("predicted", predicted(prediction, percentile), true),
        ];
        for (kind, ms, dashed) in both {
            let Some(ms) = ms else { continue };
            let name = format!("{row}, {kind}");
            let point = (f64::from(prediction.workers), alone(ms));
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

fn alone(value: f64) -> Estimate {
    Estimate {
        mean: value,
        ci: None,
        min: value,
        max: value,
        blocks: 1,
    }
}

//! Throughput and response against the number of clients, of workers, and against the rate.

use super::super::charts::frame;
use super::option::{Axis, Curve, LINES_SHOWN, REACH, Scale, lines};
use crate::loads::{Cell, Grid};
use maud::{Markup, html};
use record::stats::Estimate;
use record::{Kind, Mode, Percentile};
use serde_json::Value;

pub fn section(grids: &[Grid]) -> Markup {
    let charts: Vec<Chart> = grids.iter().flat_map(charts).collect();
    html! {
        @if !charts.is_empty() {
            section #curves.needs-script {
                h2 { "Curves" }
                p.quiet { "The tables above have the same figures. The bars are 95 % intervals over blocks; one without ends reaches further than " (REACH) " times up and down. An unstable load has no response, so its point is missing." }
                @if grids.iter().any(|grid| grid.lines.len() > LINES_SHOWN) {
                    p.quiet { "Shown are the first " (LINES_SHOWN) " lines; the others are a click on the legend away." }
                }
                @for chart in &charts { h3 { (chart.title) } (frame(&chart.name, &format!("{}; the tables above have the same figures", chart.title))) }
            }
        }
    }
}

pub fn options(grids: &[Grid]) -> Vec<(String, Value)> {
    grids
        .iter()
        .flat_map(charts)
        .map(|chart| (chart.name, chart.option))
        .collect()
}

struct Chart {
    name: String,
    title: String,
    option: Value,
}

/// What a grid's cells are laid against.
#[derive(Clone, Copy, PartialEq)]
enum Against {
    Clients,
    Workers,
    /// Arrivals a second as measured.
    Rate,
}

impl Against {
    fn name(self) -> &'static str {
        match self {
            Against::Clients => "clients",
            Against::Workers => "workers",
            Against::Rate => "arrivals a second",
        }
    }

    fn axis(self, curves: &[Curve]) -> Axis {
        let scale = match self {
            Against::Clients | Against::Workers => Scale::doublings(curves),
            Against::Rate => Scale::Log(10),
        };
        let name = self.name();
        Axis { name, scale }
    }

    fn of(self, cell: &Cell) -> Option<f64> {
        let load = cell.load.as_ref()?;
        match (self, load.mode.as_ref()?) {
            (Against::Clients, Mode::Closed { clients, .. }) => Some(f64::from(*clients)),
            (Against::Workers, Mode::Open { workers, .. }) => Some(f64::from(*workers)),
            (Against::Rate, Mode::Open { .. }) => Some(load.offered.as_ref()?.mean),
            _ => None,
        }
    }
}

fn charts(grid: &Grid) -> Vec<Chart> {
    let across = grid.across.as_ref().map(|across| across.factor.as_str());
    let searched = grid.factors.iter().any(|factor| factor == "rate") && across.is_none();
    match (grid.open, across) {
        (false, Some("clients")) => closed(grid),
        (true, Some("workers")) => vec![response(grid, Against::Workers)],
        (true, Some("rate")) => by_rate(grid),
        (true, None) if searched => by_rate(grid),
        _ => Vec::new(),
    }
}

fn closed(grid: &Grid) -> Vec<Chart> {
    let curves = curves(grid, Against::Clients, |cell| {
        cell.load.as_ref()?.throughput.clone()
    });
    let throughput = Chart {
        name: "throughput-clients".to_string(),
        title: "Operations a second by clients, closed loop".to_string(),
        option: lines(
            Against::Clients.axis(&curves),
            Axis {
                name: "operations a second",
                scale: Scale::Linear,
            },
            &curves,
            None,
        ),
    };
    vec![throughput, response(grid, Against::Clients)]
}

fn response(grid: &Grid, against: Against) -> Chart {
    let percentile = grid.percentile();
    let curves = curves(grid, against, |cell| at(cell, percentile));
    let kind = if grid.open {
        "open loop"
    } else {
        "closed loop"
    };
    let mark = match against {
        Against::Rate => knee(grid, percentile),
        _ => None,
    };
    Chart {
        name: format!("response-{}", against.name().replace(' ', "-")),
        title: format!(
            "Response ({}) by {}, {kind}",
            percentile.text(),
            against.name()
        ),
        option: lines(
            against.axis(&curves),
            Axis {
                name: "milliseconds",
                scale: Scale::Log(10),
            },
            &curves,
            mark.map(|rate| (rate, "knee")),
        ),
    }
}

fn by_rate(grid: &Grid) -> Vec<Chart> {
    let done = curves(grid, Against::Rate, |cell| {
        cell.load.as_ref()?.throughput.clone()
    });
    let served = Chart {
        name: "done-arrivals".to_string(),
        title: "Operations done by arrivals a second, open loop".to_string(),
        option: lines(
            Axis {
                name: Against::Rate.name(),
                scale: Scale::Linear,
            },
            Axis {
                name: "done a second",
                scale: Scale::Linear,
            },
            &done,
            None,
        ),
    };
    vec![response(grid, Against::Rate), served]
}

fn at(cell: &Cell, percentile: Percentile) -> Option<Estimate> {
    cell.load
        .as_ref()?
        .latency
        .of(Kind::Response, percentile)
        .cloned()
}

/// One curve for each line; where the rate itself names the lines, those alike in all else are one.
fn curves(grid: &Grid, against: Against, of: impl Fn(&Cell) -> Option<Estimate>) -> Vec<Curve> {
    let rate = grid.factors.iter().position(|factor| factor == "rate");
    let rate = rate.filter(|_| against == Against::Rate);
    let mut curves: Vec<Curve> = Vec::new();
    for line in &grid.lines {
        let labels = line
            .labels
            .iter()
            .enumerate()
            .filter(|(place, _)| Some(*place) != rate);
        let name = labels
            .map(|(_, label)| label.as_str())
            .collect::<Vec<_>>()
            .join(" · ");
        let points = line
            .cells
            .iter()
            .filter_map(|cell| Some((against.of(cell)?, of(cell)?)));
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.extend(points),
            None => curves.push(Curve {
                name,
                colour: curves.len(),
                dashed: false,
                points: points.collect(),
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

/// The rate at which throughput over response is largest, of a single curve: the "power" of Kleinrock, "Power and
/// deterministic rules of thumb for probabilistic problems in computer communications", 1979.
fn knee(grid: &Grid, percentile: Percentile) -> Option<f64> {
    let curves = curves(grid, Against::Rate, |cell| at(cell, percentile));
    let [curve] = curves.as_slice() else {
        return None;
    };
    let power = |point: &&(f64, Estimate)| point.0 / point.1.mean;
    let knee = curve
        .points
        .iter()
        .max_by(|a, b| power(a).total_cmp(&power(b)))?;
    (curve.points.len() > 2).then_some(knee.0)
}

//! Curves: throughput and latency by clients, by workers, and by rate.

use crate::build::loads::grid::Grid;
use crate::build::loads::grid::cell::Cell;
use crate::document::{Axis, Block, Chart, Charts, Curve, Lines, Scale, Section, Series};
use crate::names;
use record::{LatencyKind, LoadFactor, Mode, Percentile};
use stats::{Estimate, by_key};

pub(crate) fn section(grids: &[Grid]) -> Option<Section> {
    let charts: Vec<Chart> = grids.iter().flat_map(charts).collect();
    let about = "The tables above have the same figures. The bars are 95 % intervals over blocks, and the small circles are single blocks: all of them where there are fewer than four, or where the interval is wider than a factor of 3 and not drawn. An unstable load has no latency, so its point is missing. Where there is a legend, a click on a name shows or hides its line.";
    let mut nodes = Vec::new();
    if !charts.is_empty() {
        nodes.push(Block::remark(about).page());
    }
    nodes.extend(charts.into_iter().map(|chart| {
        let label = format!("{}; the tables above have the same figures", chart.title);
        Block::Charts(Charts::single(chart.title.clone(), label, chart)).page()
    }));
    Section::unless_empty("curves", "Curves", nodes)
}

fn axis(against: LoadFactor, curves: &[Curve]) -> Axis {
    let scale = if against.is_count() {
        doublings(curves)
    } else {
        Scale::Log(10)
    };
    let name = against.unit();
    Axis { name, scale }
}

/// The position of a cell on this axis. A rate is the measured one.
fn value(against: LoadFactor, cell: &Cell) -> Option<f64> {
    let load = cell.load.as_ref()?;
    match (against, load.mode.as_ref()?) {
        (LoadFactor::Clients, Mode::Closed { clients, .. }) => Some(f64::from(*clients)),
        (LoadFactor::Workers, Mode::Open { workers, .. }) => Some(f64::from(*workers)),
        (LoadFactor::Rate, Mode::Open { .. }) => Some(load.offered.as_ref()?.mean),
        _ => None,
    }
}

/// For numbers that double from level to level. The chart library leaves labels out from ten of them on, so the base is 4
/// there.
pub(crate) fn doublings(curves: &[Curve]) -> Scale {
    let all = || {
        let points = curves.iter().flat_map(|curve| &curve.points);
        points.map(|(x, _)| *x)
    };
    let span = all().fold(1.0, f64::max) / all().fold(f64::INFINITY, f64::min);
    Scale::Log(if span > 500.0 { 4 } else { 2 })
}

/// Milliseconds on a logarithmic axis.
pub(crate) const MILLISECONDS: Axis = Axis {
    name: "ms",
    scale: Scale::Log(10),
};
const OPERATIONS: Axis = Axis {
    name: "ops/s",
    scale: Scale::Linear,
};

fn charts(grid: &Grid) -> Vec<Chart> {
    let across = grid.across.as_ref().map(|across| across.factor.as_str());
    let searched = grid.factors.iter().any(|factor| factor == "rate") && across.is_none();
    match (grid.open, across) {
        (false, Some("clients")) => {
            let against = LoadFactor::Clients;
            let curves = curves(grid, against, throughput);
            let title = "Throughput by clients, closed loop";
            let lines = lines(axis(against, &curves), OPERATIONS, curves);
            vec![
                chart("throughput-clients", title, lines),
                latency(grid, against),
            ]
        }
        (true, Some("workers")) => vec![latency(grid, LoadFactor::Workers)],
        (true, Some("rate")) => by_rate(grid),
        (true, None) if searched => by_rate(grid),
        _ => Vec::new(),
    }
}

fn chart(name: &str, title: &str, lines: Lines) -> Chart {
    Chart {
        name: name.to_string(),
        title: title.to_string(),
        series: Series::Lines(lines),
    }
}

pub(crate) fn lines(x: Axis, y: Axis, curves: Vec<Curve>) -> Lines {
    Lines {
        x,
        y,
        curves,
        mark: None,
    }
}

fn latency(grid: &Grid, against: LoadFactor) -> Chart {
    let percentile = grid.percentile();
    let curves = curves(grid, against, |cell| at(cell, percentile));
    let (by, loop_name) = (against.unit(), names::load_loop(grid.open));
    let title = format!("{} latency by {by}, {loop_name}", percentile.title());
    let knee = knee(&curves).filter(|_| against == LoadFactor::Rate);
    let lines = Lines {
        mark: knee.map(|rate| (rate, "knee")),
        ..lines(axis(against, &curves), MILLISECONDS, curves)
    };
    chart(
        &format!("latency-{}", by.trim_end_matches("/s")),
        &title,
        lines,
    )
}

fn by_rate(grid: &Grid) -> Vec<Chart> {
    let done = curves(grid, LoadFactor::Rate, throughput);
    let x = Axis {
        name: LoadFactor::Rate.unit(),
        scale: Scale::Linear,
    };
    let title = "Throughput by requests/s, open loop";
    let served = chart("throughput-requests", title, lines(x, OPERATIONS, done));
    vec![latency(grid, LoadFactor::Rate), served]
}

fn throughput(cell: &Cell) -> Option<Estimate> {
    cell.load.as_ref()?.throughput.clone()
}

fn at(cell: &Cell, percentile: Percentile) -> Option<Estimate> {
    let load = cell.load.as_ref()?;
    load.latency.of(LatencyKind::Response, percentile).cloned()
}

/// One curve for each line. Where the rate itself names the lines, those that share all other labels are one curve.
fn curves(grid: &Grid, against: LoadFactor, of: impl Fn(&Cell) -> Option<Estimate>) -> Vec<Curve> {
    let rate = grid.factors.iter().position(|factor| factor == "rate");
    let rate = rate.filter(|_| against == LoadFactor::Rate);
    let lines = by_key(grid.lines.iter().map(|line| {
        let labels = line.labels.iter().enumerate();
        let labels = labels.filter(|(place, _)| Some(*place) != rate);
        let labels: Vec<&str> = labels.map(|(_, label)| label.as_str()).collect();
        (labels.join(" · "), line)
    }));
    let curves = lines
        .into_iter()
        .enumerate()
        .map(|(colour, (name, lines))| {
            let cells = lines.into_iter().flat_map(|line| &line.cells);
            let points = cells.filter_map(|cell| Some((value(against, cell)?, of(cell)?)));
            let mut points: Vec<(f64, Estimate)> = points.collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Curve {
                name,
                colour,
                dashed: false,
                points,
            }
        });
    curves.collect()
}

/// The rate at which throughput over latency is largest, of a single curve: the "power" of Kleinrock, "Power and
/// deterministic rules of thumb for probabilistic problems in computer communications", 1979.
fn knee(curves: &[Curve]) -> Option<f64> {
    let [curve] = curves else {
        return None;
    };
    let power = |point: &&(f64, Estimate)| point.0 / point.1.mean;
    let points = curve.points.iter();
    let knee = points.max_by(|a, b| power(a).total_cmp(&power(b)))?;
    (curve.points.len() > 2).then_some(knee.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_many_doublings_has_labels_at_every_other_one() {
        let estimate = Estimate {
            mean: 1.0,
            ci: None,
            min: 1.0,
            max: 1.0,
            blocks: 1,
            values: vec![1.0],
            at_least: false,
        };
        let scale = |clients: &[f64]| {
            doublings(&[Curve {
                name: String::new(),
                colour: 0,
                dashed: false,
                points: clients.iter().map(|x| (*x, estimate.clone())).collect(),
            }])
        };
        assert!(scale(&[1.0, 8.0, 64.0, 256.0]) == Scale::Log(2));
        assert!(scale(&[1.0, 32.0, 1024.0]) == Scale::Log(4));
    }
}

//! The seconds of each cell: throughput, response and queue, with the warm-up, the events and the stalls.
//!
//! Goal: at most so many points that a page of hundreds of trials stays small, and that no stall of a second is lost: a
//! point is the least, the median and the most of its seconds in all blocks.

use super::super::charts::frame;
use super::cells::{Block, Envelope, Measured};
use super::option::{COLOURS, rounded_or_null};
use crate::format;
use maud::{Markup, html};
use record::stats::Percentiles;
use serde_json::{Map, Value, json};

/// Points of a series, and of all series of a page.
const POINTS_MAX: usize = 2000;
const POINTS_OF_A_PAGE: usize = 400_000;
/// Series of a cell, about.
const SERIES: usize = 12;
/// Events that are drawn of a cell.
const EVENTS_MAX: usize = 20;
/// A percentile of so many operations has 100 above its 99th.
const OPERATIONS_OF_P99: f64 = 10_000.0;

pub fn section(cells: &[Measured]) -> Markup {
    html! {
        @if !cells.is_empty() {
            section #seconds {
                h2 { "Second by second" }
                form.needs-script autocomplete="off" {
                    label { "cell " select data-chooses="seconds" {
                        @for (place, cell) in cells.iter().enumerate() { option value=(name(place)) { (cell.name) } }
                    } }
                }
                (frame("seconds", "Throughput, response and queue of one cell second by second; the table below sums up all cells"))
                p.quiet { "The line is the median of all blocks, the band reaches from the least to the most. Grey: warm-up, not counted. Red: a stall. Blue: an event." }
                details open[cells.len() <= 12] { summary { "All cells" }
                    div.scroll.tall tabindex="0" { table {
                        thead { tr {
                            th scope="col" { "Cell" } th.n scope="col" { "Blocks" } th.n scope="col" { "Counted from (s)" }
                            th.n scope="col" { "Least second" } th.n scope="col" { "Median" } th.n scope="col" { "Most" } th scope="col" { "What it is like" }
                        } }
                        tbody { @for cell in cells { (line(cell)) } }
                    } }
                }
            }
        }
    }
}

fn name(place: usize) -> String {
    match place {
        0 => "seconds".to_string(),
        place => format!("seconds-{place}"),
    }
}

fn line(cell: &Measured) -> Markup {
    let envelope = Envelope::of(cell.values("throughput"));
    let figure = |of: fn(&Envelope) -> f64| {
        envelope
            .as_ref()
            .map_or("-".to_string(), |e| format::operations(of(e)))
    };
    let from = cell.blocks.iter().map(|block| block.summary.steady.from_s);
    html! {
        tr {
            th.words scope="row" { (cell.name) ", " (cell.loop_words()) }
            td.n { (cell.blocks.len()) }
            td.n { (from.max().unwrap_or(0)) }
            td.n { (figure(|e| e.least)) } td.n { (figure(|e| e.median)) } td.n { (figure(|e| e.most)) }
            td.words { @for sentence in sentences(cell) { p { (sentence) } } }
        }
    }
}

/// What every block is like in the same words stands once.
fn sentences(cell: &Measured) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for block in &cell.blocks {
        let summary = &block.summary;
        let unstable = summary
            .offered
            .as_ref()
            .and_then(|offered| offered.unstable.clone());
        let steady = std::iter::once(summary.steady.reason.clone());
        let notes = summary
            .notes()
            .into_iter()
            .filter(|note| *note != summary.steady.reason);
        for sentence in unstable.into_iter().chain(steady).chain(notes) {
            if !all.contains(&sentence) {
                all.push(sentence);
            }
        }
    }
    all
}

pub fn options(cells: &[Measured]) -> Vec<(String, Value)> {
    let points = (POINTS_OF_A_PAGE / (SERIES * cells.len().max(1))).clamp(60, POINTS_MAX);
    let named = cells.iter().enumerate();
    named
        .map(|(place, cell)| (name(place), option(cell, points)))
        .collect()
}

/// One panel below the other, each with an axis of seconds of its own.
struct Panel {
    name: &'static str,
    log: bool,
    /// Seconds of a point.
    width: usize,
    series: Vec<Value>,
}

fn option(cell: &Measured, points: usize) -> Value {
    let width = cell.seconds().div_ceil(points).max(1);
    let mut panels = vec![throughput(cell, width), response(cell, width)];
    if cell.open {
        panels.push(queue(cell, width));
    }
    let height = 200;
    let place = |n: usize| 64 + n * (height + 46);
    let seconds = cell.seconds();
    let each = |of: &dyn Fn(usize, &Panel) -> Value| {
        panels
            .iter()
            .enumerate()
            .map(|(n, panel)| of(n, panel))
            .collect::<Vec<Value>>()
    };
    let series: Vec<Value> = panels
        .iter()
        .enumerate()
        .flat_map(|(n, panel)| {
            panel.series.iter().cloned().map(move |mut series| {
                series["xAxisIndex"] = json!(n);
                series["yAxisIndex"] = json!(n);
                series
            })
        })
        .collect();
    json!({
        "height": place(panels.len()) - 30,
        "wide": true,
        "baseOption": {
            "color": COLOURS,
            "title": { "text": format!("{}, {}", cell.name, cell.loop_words()), "textStyle": { "fontSize": 13 } },
            "legend": { "type": "scroll", "top": 22, "data": ["done a second", "arrivals a second", "p50", "p95", "p99", "max", "queued"] },
            "tooltip": { "trigger": "axis" },
            "grid": each(&|n, _| json!({ "left": 64, "right": 16, "top": place(n) + 8, "height": height - 30 })),
            "xAxis": each(&|n, panel| json!({
                "type": "category", "gridIndex": n, "boundaryGap": false, "name": "s", "nameGap": 4,
                "data": (0..seconds).step_by(panel.width).collect::<Vec<_>>(),
            })),
            "yAxis": each(&|n, panel| json!({
                "type": if panel.log { "log" } else { "value" }, "gridIndex": n, "name": panel.name, "nameGap": 6,
                "nameTextStyle": { "align": "left" }, "minInterval": if panel.log { 0 } else { 1 },
            })),
            "series": series,
        },
    })
}

fn throughput(cell: &Measured, width: usize) -> Panel {
    let done = cell.envelopes(width, |block, second| {
        let done = block.load.seconds("throughput").get(second);
        done.copied().flatten().filter(|_| is_whole(block, second))
    });
    let mut series = band("done a second", COLOURS[0], &done);
    if cell.open {
        let offered = cell.envelopes(width, arrivals);
        series.push(plain(
            "arrivals a second",
            COLOURS[1],
            offered.iter().map(|e| e.as_ref().map(|e| e.median)),
        ));
    }
    if let Some(median) = series
        .iter_mut()
        .find(|series| series["name"] == "done a second")
    {
        mark(median, cell, width);
    }
    Panel {
        name: "operations a second",
        log: false,
        width,
        series,
    }
}

/// A part of a second at the end would look like a stall.
fn is_whole(block: &Block, second: usize) -> bool {
    second < block.summary.steady.until_s as usize
}

/// What arrived in a second: what ended in it, was dropped, and what the queue grew by.
fn arrivals(block: &Block, second: usize) -> Option<f64> {
    let seconds = |name: &str| block.load.seconds(name);
    let at = |name: &str, second: usize| seconds(name).get(second).copied().flatten();
    let ended = at("throughput", second)? + at("errors", second).unwrap_or(0.0);
    let before = second
        .checked_sub(1)
        .and_then(|before| at("queued", before));
    let grown = at("queued", second).unwrap_or(0.0) - before.unwrap_or(0.0);
    let arrived = (ended + at("dropped", second).unwrap_or(0.0) + grown).max(0.0);
    is_whole(block, second).then_some(arrived)
}

/// A curve of the response: its name and the percentile that it shows.
type Curve = (&'static str, fn(&Percentiles) -> Option<f64>);

const CURVES: [Curve; 4] = [
    ("p50", |p| p.p50_ms),
    ("p95", |p| p.p95_ms),
    ("p99", |p| p.p99_ms),
    ("max", |p| Some(p.max_ms)),
];

/// In spans so long that most of them have a 99th percentile, but ten of them at least.
fn response(cell: &Measured, width: usize) -> Panel {
    let a_second = cell.mean("throughput").unwrap_or(0.0) * cell.blocks.len() as f64;
    let enough = (OPERATIONS_OF_P99 / a_second.max(1e-9)).ceil() as usize;
    let width = enough.min(cell.seconds() / 10).max(width);
    let found = cell.responses(width);
    let series = CURVES
        .into_iter()
        .zip(&COLOURS[2..])
        .map(|((name, of), colour)| {
            plain(
                name,
                colour,
                found
                    .iter()
                    .map(|found| found.as_ref().and_then(of).filter(|ms| *ms > 0.0)),
            )
        });
    Panel {
        name: "response, milliseconds",
        log: true,
        width,
        series: series.collect(),
    }
}

fn queue(cell: &Measured, width: usize) -> Panel {
    let queued = cell.envelopes(width, |block, second| {
        block.load.seconds("queued").get(second).copied().flatten()
    });
    Panel {
        name: "queued",
        log: false,
        width,
        series: band("queued", COLOURS[6], &queued),
    }
}

fn plain(name: &str, colour: &str, values: impl Iterator<Item = Option<f64>>) -> Value {
    json!({
        "type": "line", "name": name, "symbol": "none", "color": colour, "lineStyle": { "width": 1.5 },
        "data": values.map(rounded_or_null).collect::<Vec<_>>(), "sampling": "minmax",
    })
}

/// The median, and below it the span from the least to the most as two stacked series, where they differ.
fn band(name: &str, colour: &str, values: &[Option<Envelope>]) -> Vec<Value> {
    let of = |of: fn(&Envelope) -> f64| values.iter().map(move |value| value.as_ref().map(of));
    let median = plain(name, colour, of(|e| e.median));
    if values.iter().flatten().all(|e| e.least == e.most) {
        return vec![median];
    }
    let part = |area: f64, data: Vec<Value>| {
        json!({
            "type": "line", "name": format!("{name}, least to most"), "stack": name, "symbol": "none", "silent": true, "color": colour,
            "lineStyle": { "opacity": 0 }, "areaStyle": { "opacity": area }, "tooltip": { "show": false }, "data": data,
        })
    };
    vec![
        part(0.0, of(|e| e.least).map(rounded_or_null).collect()),
        part(
            0.25,
            of(|e| e.most - e.least).map(rounded_or_null).collect(),
        ),
        median,
    ]
}

/// The warm-up, the stalls and the events of all blocks, by the place of their point on the axis.
fn mark(series: &mut Value, cell: &Measured, width: usize) {
    let last = (cell.seconds().max(1) - 1) / width;
    let place = |second: f64| json!(((second / width as f64) as usize).min(last));
    let area = |from: f64, until: f64, colour: &str, name: &str| {
        json!([
            { "xAxis": place(from), "name": name, "itemStyle": { "color": colour, "opacity": 0.18 } },
            { "xAxis": place(until) },
        ])
    };
    let mut areas = Vec::new();
    let mut starts: Vec<Value> = Vec::new();
    let warm_up = cell
        .blocks
        .iter()
        .map(|block| block.summary.steady.from_s)
        .max()
        .unwrap_or(0);
    if warm_up > 0 {
        areas.push(area(0.0, f64::from(warm_up), "#808080", "warm-up"));
    }
    for block in &cell.blocks {
        for stall in &block.summary.stalls {
            let from = f64::from(stall.start_s);
            areas.push(area(
                from,
                from + f64::from(stall.seconds),
                "#d00000",
                "stall",
            ));
        }
        for event in block.trial.events.iter().take(EVENTS_MAX) {
            let second = |at_ns: i64| ((at_ns - block.load.started_ns) as f64 / 1e9).max(0.0);
            let from = second(event.at_ns);
            starts.push(json!({ "xAxis": place(from), "label": { "formatter": event.kind, "fontSize": 10 } }));
            if let Some(ended_ns) = event.ended_ns {
                areas.push(area(from, second(ended_ns), "#0072b2", ""));
            }
        }
    }
    let mut marks = Map::new();
    if !areas.is_empty() {
        marks.insert(
            "markArea".into(),
            json!({ "silent": true, "label": { "fontSize": 10, "position": "insideTop" }, "data": areas }),
        );
    }
    if !starts.is_empty() {
        marks.insert(
            "markLine".into(),
            json!({ "silent": true, "symbol": "none", "data": starts }),
        );
    }
    if let Some(series) = series.as_object_mut() {
        series.extend(marks);
    }
}

//! The seconds of each cell: throughput, latency and queue, with the warm-up, the events, the stalls, level shifts and periodic drops.
//!
//! Purpose: few enough points that a page of hundreds of trials stays small, without losing a stall of one second: a point is
//! the minimum, the median and the maximum of its seconds in all blocks.

use super::states;
use crate::build::loads::grid::cell::{Block as OneBlock, Cell as Point, envelope};
use crate::document::{
    Band, Block, Cell, Chart, Charts, Column, ColumnContent, Panel, Seconds, Section, Series, Span,
    Table,
};
use crate::format;
use record::{CARRIED_ERRORS, Percentiles};

/// Points of a series, and of all series of a page.
const POINTS_MAX: usize = 2000;
const POINTS_OF_A_PAGE: usize = 400_000;
/// Series of a cell, about.
const SERIES: usize = 19;
/// The share of a load that a fixed cut would leave out as warm-up, as published runs did; shown next to what was found.
const CUT: f64 = 0.5;
/// Events that are drawn of a block.
const EVENTS_MAX: usize = 20;
/// Drops of a period that are drawn of a block.
const DROPS_MAX: usize = 400;
/// The number of operations of which 100 lie above the p99.
const OPERATIONS_OF_P99: f64 = 10_000.0;

pub(crate) fn section(cells: &[&Point]) -> Option<Section> {
    if cells.is_empty() {
        return None;
    }
    let points = (POINTS_OF_A_PAGE / (SERIES * cells.len())).clamp(60, POINTS_MAX);
    let chart = |(place, cell): (usize, &&Point)| Chart {
        name: super::numbered("seconds", place),
        title: cell.named_with_loop(),
        series: Series::Seconds(seconds(cell, points)),
    };
    let charts = Charts {
        caption: String::new(),
        label: "Throughput, latency and queue of one cell second by second; the table below sums up all cells".to_string(),
        choice: "cell",
        list: cells.iter().enumerate().map(chart).collect(),
    };
    let about = "The line is the median of all blocks, the band reaches from the minimum to the maximum. Grey: warm-up, not counted. Red: a stall. Orange: a level shift, and the drops of a period. Blue: an event.";
    let figures = [
        "blocks",
        "counted from (s)",
        "min (ops/s)",
        "median (ops/s)",
        "max (ops/s)",
        "mean (ops/s)",
        "mean after a 50 % cut (ops/s)",
    ];
    let columns = Column::list(&[
        (ColumnContent::Words, &["cell"]),
        (ColumnContent::Figure, &figures),
        (ColumnContent::Words, &["state"]),
    ]);
    let table = Table::new("", columns, cells.iter().map(|cell| row(cell)));
    let nodes = vec![
        Block::Charts(charts).page(),
        Block::remark(about).page(),
        Block::fold(
            "All cells",
            cells.len() <= 12,
            vec![Block::table(table).page()],
        )
        .page(),
    ];
    Section::unless_empty("seconds", "Second by second", nodes)
}

fn row(cell: &Point) -> Vec<Cell> {
    let envelope = envelope(cell.values("throughput"));
    let figure = |place: usize| Cell::figure(envelope.map(|e| e[place]), format::operations);
    let mut sentences = sentences(cell).into_iter();
    let state = Cell::text(sentences.next().unwrap_or_default()).remarked(sentences);
    vec![
        Cell::text(cell.named_with_loop()),
        Cell::text(cell.blocks.len().to_string()),
        Cell::text(warm_up_s(cell).to_string()),
        figure(0),
        figure(1),
        figure(2),
        mean(cell, |block| block.summary.throughput),
        mean(cell, |block| stats::throughput_after(block.load, CUT)),
        state,
    ]
}

/// Over the blocks that have it.
fn mean(cell: &Point, of: impl Fn(&OneBlock) -> Option<f64>) -> Cell {
    let found: Vec<f64> = cell.blocks.iter().filter_map(of).collect();
    Cell::figure(stats::mean(&found), format::operations)
}

fn warm_up_s(cell: &Point) -> u32 {
    let from = cell.blocks.iter().map(|block| block.summary.steady.from_s);
    from.max().unwrap_or(0)
}

/// A sentence that several blocks share is shown once.
fn sentences(cell: &Point) -> Vec<String> {
    stats::each_once(cell.blocks.iter().flat_map(|block| {
        let unstable = block.unstable().cloned().into_iter();
        let reason = block.summary.steady.reason.clone();
        unstable.chain([reason]).chain(block.summary.notes())
    }))
}

fn seconds(cell: &Point, points: usize) -> Seconds {
    let width = cell.seconds().div_ceil(points).max(1);
    let mut panels = vec![throughput(cell, width), latency(cell, width)];
    if cell.open {
        panels.push(queue(cell, width));
    }
    panels.extend(states::panels(cell, width));
    let stalls = cell.blocks.iter().flat_map(|block| &block.summary.stalls);
    Seconds {
        seconds: cell.seconds(),
        panels,
        warm_up_s: warm_up_s(cell),
        stalls: stalls
            .map(|stall| Span {
                from_s: f64::from(stall.start_s),
                until_s: Some(f64::from(stall.start_s + stall.seconds)),
                name: "stall".to_string(),
            })
            .collect(),
        shapes: cell.blocks.iter().flat_map(shapes).collect(),
        events: cell.blocks.iter().flat_map(events).collect(),
    }
}

/// Level shifts, and the seconds in which the throughput drops at equal intervals: those below half of the drop.
fn shapes(block: &OneBlock) -> Vec<Span> {
    let shifts = block.summary.shifts.iter().map(|shift| Span {
        from_s: f64::from(shift.at_s),
        until_s: None,
        name: "level shift".to_string(),
    });
    let measured = block.summary.steady.from_s..block.summary.steady.until_s;
    let drops = block.summary.period.iter().flat_map(|period| {
        let bar = (period.usual + period.least) / 2.0;
        let is_low = move |second: &u32| {
            let value = block.at("throughput", *second as usize);
            value.is_some_and(|value| value < bar)
        };
        measured.clone().filter(is_low)
    });
    let drops = drops.take(DROPS_MAX).map(|second| Span {
        from_s: f64::from(second),
        until_s: Some(f64::from(second) + 1.0),
        name: String::new(),
    });
    shifts.chain(drops).collect()
}

fn events(block: &OneBlock) -> Vec<Span> {
    let second = |at_ns: i64| ((at_ns - block.load.started_ns) as f64 / 1e9).max(0.0);
    let events = block.trial.events.iter().take(EVENTS_MAX);
    let spans = events.map(|event| Span {
        from_s: second(event.at_ns),
        until_s: event.ended_ns.map(second),
        name: event.kind.clone(),
    });
    spans.collect()
}

fn throughput(cell: &Point, width: usize) -> Panel {
    let done = cell.envelopes(width, |block, second| {
        block
            .at("throughput", second)
            .filter(|_| is_whole(block, second))
    });
    let mut curves = vec![Band {
        name: "done",
        colour: 0,
        points: done,
    }];
    if cell.open {
        let offered = cell.envelopes(width, arrivals).into_iter();
        curves.push(Band {
            name: "offered",
            colour: 1,
            points: offered
                .map(|e| e.map(|[_, median, _]| [median; 3]))
                .collect(),
        });
    }
    Panel {
        name: "ops/s",
        log: false,
        width,
        curves,
    }
}

/// A partial second at the end would look like a stall.
fn is_whole(block: &OneBlock, second: usize) -> bool {
    second < block.summary.steady.until_s as usize
}

/// Arrivals in a second: operations that ended or were dropped in it, and the growth of the queue.
fn arrivals(block: &OneBlock, second: usize) -> Option<f64> {
    let at = |name: &str| block.at(name, second).unwrap_or(0.0);
    let ended = block.at("throughput", second)? + at("errors") + at(CARRIED_ERRORS);
    let before = second.checked_sub(1);
    let before = before.and_then(|before| block.at("queued", before));
    let grown = at("queued") - before.unwrap_or(0.0);
    let arrived = (ended + at("dropped") + grown).max(0.0);
    is_whole(block, second).then_some(arrived)
}

/// A curve of the latency: its name and its value.
type Of = (&'static str, fn(&Percentiles) -> Option<f64>);

const CURVES: [Of; 4] = [
    ("p50", |p| p.p50_ms),
    ("p95", |p| p.p95_ms),
    ("p99", |p| p.p99_ms),
    ("max", |p| Some(p.max_ms)),
];

/// Latency over spans that are long enough for most of them to have a p99. There are at least ten spans.
fn latency(cell: &Point, width: usize) -> Panel {
    let a_second = cell.mean("throughput").unwrap_or(0.0) * cell.blocks.len() as f64;
    let enough = (OPERATIONS_OF_P99 / a_second.max(1e-9)).ceil() as usize;
    let width = enough.min(cell.seconds() / 10).max(width);
    let found = cell.latencies(width);
    let curve = |(place, (name, of)): (usize, Of)| {
        let at = |found: &Option<Percentiles>| found.as_ref().and_then(of).filter(|ms| *ms > 0.0);
        Band {
            name,
            colour: 2 + place,
            points: found
                .iter()
                .map(|found| at(found).map(|ms| [ms; 3]))
                .collect(),
        }
    };
    Panel {
        name: "latency (ms)",
        log: true,
        width,
        curves: CURVES.into_iter().enumerate().map(curve).collect(),
    }
}

fn queue(cell: &Point, width: usize) -> Panel {
    Panel {
        name: "queued",
        log: false,
        width,
        curves: vec![Band {
            name: "queued",
            colour: 6,
            points: cell.envelopes(width, |block, second| block.at("queued", second)),
        }],
    }
}

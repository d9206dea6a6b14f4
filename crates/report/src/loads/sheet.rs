//! One table of timed loads in words: its caption, its heads, its figures.
//!
//! Goal: the terminal, Markdown and HTML draw the same cells. Non-goal: drawing.

use super::grid::{Cell, Grid};
use crate::format;
use crate::matrix::marks;
use record::stats::{Estimate, LoadRow};
use record::{Kind, Mode, Percentile};

pub struct Sheet {
    pub caption: String,
    /// Of all figures, where they stand in one column: `p99 ms`.
    pub head: String,
    /// The heads of the columns that name a row.
    pub labels: Vec<String>,
    /// What the columns of figures are levels of: `clients`; none where they are measures.
    pub across: Option<String>,
    pub heads: Vec<String>,
    pub rows: Vec<SheetRow>,
}

pub struct SheetRow {
    pub labels: Vec<String>,
    pub cells: Vec<Figure>,
}

/// A cell in words.
#[derive(Default)]
pub struct Figure {
    /// `[1, 3]`, or nothing.
    pub marks: String,
    pub text: String,
    /// `±2.1%`, or by how much the queue grows: `+412/s`.
    pub beside: Option<String>,
    /// The interval in full.
    pub interval: Option<String>,
    /// `unstable: the queue grows by 412 a second`, instead of a figure.
    pub sentence: Option<String>,
}

#[derive(Clone, Copy)]
enum Measure {
    Throughput,
    Offered,
    Latency(Kind, Percentile),
}

impl<'t> Grid<'t> {
    /// What answers the question: throughput and response in closed loop, response and throughput in open loop.
    pub fn sheets(&self) -> Vec<Sheet> {
        let response = Measure::Latency(Kind::Response, self.percentile());
        match (&self.across, self.open) {
            (None, _) => vec![self.list()],
            (Some(_), true) => vec![self.sheet(response), self.sheet(Measure::Throughput)],
            (Some(_), false) => vec![self.sheet(Measure::Throughput), self.sheet(response)],
        }
    }

    /// What the response of an open loop is made of, and what was offered.
    pub fn further_sheets(&self) -> Vec<Sheet> {
        if self.across.is_none() || !self.open {
            return Vec::new();
        }
        let at = |kind| Measure::Latency(kind, self.percentile());
        [at(Kind::Wait), at(Kind::Service), Measure::Offered]
            .into_iter()
            .filter(|measure| self.has(measure))
            .map(|measure| self.sheet(measure))
            .collect()
    }

    fn has(&self, measure: &Measure) -> bool {
        let mut loads = self.cells().filter_map(|cell| cell.load.as_ref());
        loads.any(|load| measure.estimate(load).is_some())
    }

    fn sheet(&self, measure: Measure) -> Sheet {
        let row = |line: &super::grid::Line| SheetRow {
            labels: line.labels.clone(),
            cells: line.cells.iter().map(|cell| measure.figure(cell)).collect(),
        };
        let across = self.across.as_ref();
        Sheet {
            caption: format!("{}; {}", measure.caption(self), self.set_up()),
            head: measure.head(),
            labels: self.factors.clone(),
            across: across.map(|across| across.factor.clone()),
            heads: across.map_or_else(Vec::new, |across| across.levels.clone()),
            rows: self.lines.iter().map(row).collect(),
        }
    }

    /// One row for each point, its figures across; columns that have none are left out.
    fn list(&self) -> Sheet {
        let percentile = |percentile| Measure::Latency(Kind::Response, percentile);
        let measures: Vec<Measure> = std::iter::once(Measure::Throughput)
            .chain(Percentile::ALL.map(percentile))
            .filter(|measure| matches!(measure, Measure::Throughput) || self.has(measure))
            .collect();
        let row = |line: &super::grid::Line| SheetRow {
            labels: line.labels.clone(),
            cells: line
                .cells
                .iter()
                .flat_map(|cell| listed(cell, &measures))
                .collect(),
        };
        Sheet {
            caption: format!(
                "Operations a second, and milliseconds of the response{}; {}",
                self.spread(),
                self.set_up()
            ),
            head: String::new(),
            labels: self.factors.clone(),
            across: None,
            heads: measures.iter().map(|measure| measure.head()).collect(),
            rows: self.lines.iter().map(row).collect(),
        }
    }

    /// `closed loop, 8 clients`: what all cells have in common.
    pub fn set_up(&self) -> String {
        let modes: Vec<&Mode> = self
            .cells()
            .filter_map(|cell| cell.load.as_ref()?.mode.as_ref())
            .collect();
        let mut parts = vec![
            if self.open {
                "open loop"
            } else {
                "closed loop"
            }
            .to_string(),
        ];
        let words: [fn(&Mode) -> Option<String>; 5] = [clients, think, arrivals, rate, workers];
        parts.extend(words.iter().filter_map(|words| common(&modes, *words)));
        parts.join(", ")
    }

    fn spread(&self) -> &'static str {
        let blocks = self
            .cells()
            .filter_map(|cell| cell.load.as_ref()?.throughput.as_ref())
            .map(|estimate| estimate.ci.is_some());
        match blocks.reduce(|a, b| a | b) {
            Some(true) => ", the mean over blocks and its 95 % interval",
            Some(false) => ", one block, so without an interval",
            None => "",
        }
    }
}

/// A cell's figures side by side; its marks stand once, and so does that it was unstable.
fn listed(cell: &Cell, measures: &[Measure]) -> Vec<Figure> {
    let figures = measures
        .iter()
        .enumerate()
        .map(|(place, measure)| match place {
            0 => measure.figure(cell),
            2.. if cell.unstable() => Figure::none(),
            _ => Figure {
                marks: String::new(),
                ..measure.figure(cell)
            },
        });
    figures.collect()
}

fn common(modes: &[&Mode], words: fn(&Mode) -> Option<String>) -> Option<String> {
    let first = words(modes.first()?)?;
    modes
        .iter()
        .all(|mode| words(mode).as_ref() == Some(&first))
        .then_some(first)
}

fn clients(mode: &Mode) -> Option<String> {
    match mode {
        Mode::Closed { clients, .. } => Some(format::plural(*clients as usize, "client")),
        Mode::Open { .. } => None,
    }
}

fn think(mode: &Mode) -> Option<String> {
    match mode {
        Mode::Closed { think_s, .. } if *think_s > 0.0 => Some(format!("think time {think_s} s")),
        _ => None,
    }
}

fn arrivals(mode: &Mode) -> Option<String> {
    match mode {
        Mode::Open { arrivals, .. } => Some(format!("{arrivals} arrivals")),
        Mode::Closed { .. } => None,
    }
}

fn rate(mode: &Mode) -> Option<String> {
    match mode {
        Mode::Open { rate, .. } => Some(format!("{} a second", format::operations(*rate))),
        Mode::Closed { .. } => None,
    }
}

fn workers(mode: &Mode) -> Option<String> {
    match mode {
        Mode::Open { workers, .. } => Some(format::plural(*workers as usize, "worker")),
        Mode::Closed { .. } => None,
    }
}

impl Measure {
    fn caption(&self, grid: &Grid) -> String {
        let what = match self {
            Measure::Throughput if grid.open => "Operations done a second".to_string(),
            Measure::Throughput => "Operations a second".to_string(),
            Measure::Offered => "Operations offered a second".to_string(),
            Measure::Latency(kind, percentile) => {
                let kind = match (kind, grid.open) {
                    (Kind::Response, true) => "response with the time in the queue",
                    (Kind::Response, false) => "response",
                    (Kind::Wait, _) => "wait in the queue",
                    (Kind::Service, _) => "service",
                };
                format!(
                    "Milliseconds of the {kind}, {}",
                    percentile_words(*percentile)
                )
            }
        };
        let by = grid
            .across
            .as_ref()
            .map_or(String::new(), |across| format!(" by {}", across.factor));
        what + &by + grid.spread()
    }

    fn head(&self) -> String {
        match self {
            Measure::Throughput => "operations/s".to_string(),
            Measure::Offered => "offered/s".to_string(),
            Measure::Latency(Kind::Response, percentile) => format!("{} ms", percentile.text()),
            Measure::Latency(Kind::Wait, percentile) => format!("wait {} ms", percentile.text()),
            Measure::Latency(Kind::Service, percentile) => {
                format!("service {} ms", percentile.text())
            }
        }
    }

    fn estimate<'l>(&self, load: &'l LoadRow) -> Option<&'l Estimate> {
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

    fn figure(&self, cell: &Cell) -> Figure {
        let marks = marks(&cell.marks);
        let estimate = cell.load.as_ref().and_then(|load| self.estimate(load));
        let latency = matches!(self, Measure::Latency(..));
        match estimate {
            Some(estimate) => Figure {
                marks,
                text: format::with_interval(estimate.mean, estimate.ci, |v| self.written(v)),
                beside: estimate.ci.map(format::half_width),
                interval: estimate
                    .ci
                    .map(|ci| format::interval(ci, |value| self.written(value))),
                sentence: None,
            },
            None if latency && cell.unstable() => Figure {
                marks,
                text: "unstable".to_string(),
                beside: cell.growth().map(|growth| format!("+{growth:.0}/s")),
                interval: None,
                sentence: cell
                    .load
                    .as_ref()
                    .and_then(|load| Some(load.unstable.first()?.1.clone())),
            },
            None => Figure {
                marks,
                ..Figure::none()
            },
        }
    }
}

fn percentile_words(percentile: Percentile) -> &'static str {
    match percentile {
        Percentile::P50 => "50th percentile",
        Percentile::P95 => "95th percentile",
        Percentile::P99 => "99th percentile",
        Percentile::P999 => "99.9th percentile",
        Percentile::Max => "the largest",
    }
}

impl Figure {
    pub fn none() -> Figure {
        Figure {
            text: "-".to_string(),
            ..Figure::default()
        }
    }

    /// `[1] 62 788 ±2.1%`, held together by no-break spaces.
    pub fn on_a_line(&self) -> String {
        self.joined("\u{a0}")
    }

    /// The figure, and its spread on a line below.
    pub fn on_two_lines(&self) -> String {
        self.joined("\n")
    }

    /// With the whole sentence where the load was unstable.
    pub fn in_words(&self) -> String {
        match &self.sentence {
            Some(sentence) => [self.marks.as_str(), sentence].join(" ").trim().to_string(),
            None => self.on_a_line(),
        }
    }

    fn joined(&self, between: &str) -> String {
        let marked = [self.marks.as_str(), self.text.as_str()];
        let marked: Vec<&str> = marked.into_iter().filter(|part| !part.is_empty()).collect();
        let marked = marked.join("\u{a0}");
        match &self.beside {
            Some(beside) => format!("{marked}{between}{beside}"),
            None => marked,
        }
    }
}

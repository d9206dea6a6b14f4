//! The published table's own form: servers and variants down, rounds across, with footnotes.
//!
//! Goal: what the table says, decided once for the terminal, Markdown and HTML. Non-goal: how it is drawn.

use crate::{format, names};
use record::stats::{self, Estimate, RoundCell, Row};
use record::{Question, Run, Trial, TrialState};

pub struct Matrix {
    /// The heads of the columns that name a row: `server`, `variant`, ... without factors of a single level.
    pub factors: Vec<String>,
    /// The heads of the other columns: `cold`, `hot 1`, ...
    pub rounds: Vec<String>,
    pub lines: Vec<Line>,
    /// Footnotes; the first is number 1.
    pub notes: Vec<String>,
    /// Decimals of all seconds in the table.
    pub decimals: usize,
}

pub struct Line {
    pub labels: Vec<String>,
    /// Numbers of the notes on the whole line.
    pub marks: Vec<usize>,
    pub cells: Vec<Cell>,
}

#[derive(Default)]
pub struct Cell {
    pub seconds: Option<Estimate>,
    pub lukewarm: bool,
    pub marks: Vec<usize>,
}

impl Matrix {
    pub fn of(run: &Run, trials: &[Trial]) -> Matrix {
        let question = &run.question;
        let rows = stats::table(question, trials);
        let columns = columns(question);
        let varying: Vec<&str> = question
            .factors
            .iter()
            .map(|f| f.name.as_str())
            .filter(|name| names::varies(question, name))
            .collect();
        let mut notes = Notes::default();
        let lines = rows
            .iter()
            .map(|row| line(row, &columns, &varying, trials, &mut notes))
            .collect::<Vec<_>>();
        let all = lines
            .iter()
            .flat_map(|line| &line.cells)
            .filter_map(|cell| cell.seconds.as_ref());
        Matrix {
            factors: std::iter::once("server")
                .chain(varying.iter().copied())
                .map(str::to_string)
                .collect(),
            rounds: columns
                .iter()
                .map(|(name, index)| names::round(question, name, *index))
                .collect(),
            decimals: format::decimals(all.map(|estimate| estimate.mean)),
            lines,
            notes: notes.texts,
        }
    }

    /// What the figures are, for the table's caption.
    pub fn caption(&self, run: &Run) -> String {
        let queries = match run.question.workload.operations.len() {
            1 => "the query".to_string(),
            n => format!("all {n} queries"),
        };
        let estimates = self
            .lines
            .iter()
            .flat_map(|line| &line.cells)
            .filter_map(|cell| cell.seconds.as_ref());
        let estimates: Vec<&Estimate> = estimates.collect();
        let any = |has: fn(&Estimate) -> bool| estimates.iter().any(|estimate| has(estimate));
        let spread = if estimates.is_empty() {
            ""
        } else if any(|estimate| estimate.ci.is_some()) {
            ": the mean over blocks and its 95 % interval"
        } else if any(|estimate| estimate.blocks > 1 && estimate.at_least) {
            ": the mean over blocks, lower bounds, so without an interval"
        } else {
            ", one block, so without an interval"
        };
        format!("Seconds for {queries} of a round{spread}")
    }
}

impl Line {
    /// The labels, the last with the line's marks.
    pub fn marked_labels(&self) -> Vec<String> {
        let mut labels = self.labels.clone();
        if let (Some(last), false) = (labels.last_mut(), self.marks.is_empty()) {
            last.push_str(&format!(" {}", marks(&self.marks)));
        }
        labels
    }
}

impl Cell {
    /// Marks, figure and half of the interval: `[1] ~361.49 ±2.8%`, held together by no-break spaces.
    pub fn on_a_line(&self, decimals: usize) -> String {
        let parts = [
            marks(&self.marks),
            self.figure(decimals),
            self.half_width().unwrap_or_default(),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\u{a0}")
    }

    /// `318.84`, `~361.49` where the round was lukewarm, `-` where there is no figure.
    pub fn figure(&self, decimals: usize) -> String {
        match &self.seconds {
            Some(estimate) if estimate.at_least => at_least(estimate.mean, decimals),
            Some(estimate) => {
                let mark = if self.lukewarm { "~" } else { "" };
                let figure = |seconds| format::seconds(seconds, decimals);
                mark.to_string() + &format::with_interval(estimate.mean, estimate.ci, figure)
            }
            None => "-".to_string(),
        }
    }

    /// Half of the interval: `±2.8%`.
    pub fn half_width(&self) -> Option<String> {
        self.seconds.as_ref()?.ci.map(format::half_width)
    }

    pub fn spread(&self, decimals: usize) -> Option<String> {
        spread(self.seconds.as_ref()?, decimals)
    }
}

/// `> 600 s`: a time of which only the limit is known, never rounded up but for the error of a geometric mean.
pub fn at_least(seconds: f64, decimals: usize) -> String {
    match seconds >= 100.0 {
        true => format!("> {:.0} s", (seconds * (1.0 + 1e-9)).floor()),
        false => format!("> {} s", format::seconds(seconds, decimals)),
    }
}

/// `310.20 to 327.90`, the 95 % interval of the mean; none with one block.
pub fn spread(estimate: &Estimate, decimals: usize) -> Option<String> {
    let figure = |value| format::seconds(value, decimals);
    Some(format::interval(estimate.ci?, figure))
}

/// The marks of footnotes: `[1]`, `[1, 3]`, or nothing.
pub fn marks(numbers: &[usize]) -> String {
    if numbers.is_empty() {
        return String::new();
    }
    let list = numbers
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    format!("[{list}]")
}

/// The rounds as asked for, each with its index within its name.
pub fn columns(question: &Question) -> Vec<(String, u32)> {
    let mut columns: Vec<(String, u32)> = Vec::new();
    for name in &question.rounds {
        let before = columns.iter().filter(|(seen, _)| seen == name).count() as u32;
        columns.push((name.clone(), before + 1));
    }
    columns
}

/// Factors that have the same level in every row.
pub fn constant(question: &Question) -> Vec<(String, String)> {
    let single = question
        .factors
        .iter()
        .filter(|factor| factor.levels.len() == 1);
    single
        .map(|factor| (factor.name.clone(), factor.levels[0].clone()))
        .collect()
}

fn line(
    row: &Row,
    columns: &[(String, u32)],
    varying: &[&str],
    trials: &[Trial],
    notes: &mut Notes,
) -> Line {
    let mine: Vec<&Trial> = trials
        .iter()
        .filter(|trial| trial.key.server == row.server && trial.key.levels == row.levels)
        .collect();
    let mut labels = vec![row.server.clone().unwrap_or_default()];
    for factor in varying {
        let level = row
            .levels
            .iter()
            .find(|(name, _)| name == factor)
            .map(|(_, level)| level.clone());
        labels.push(level.unwrap_or_default());
    }
    Line {
        labels,
        marks: line_marks(row, &mine, notes),
        cells: columns
            .iter()
            .map(|(name, index)| cell(row, name, *index, &mine, notes))
            .collect(),
    }
}

/// Why the line has no figures, or fewer than its blocks.
fn line_marks(row: &Row, mine: &[&Trial], notes: &mut Notes) -> Vec<usize> {
    if let Some(why) = &row.missing {
        return vec![notes.number(format!("no figure: {why}"))];
    }
    let left_out = mine.iter().filter(|trial| trial.state != TrialState::Done);
    left_out
        .map(|trial| notes.number(left_out_note(trial)))
        .collect()
}

fn left_out_note(trial: &Trial) -> String {
    let what = match trial.state {
        TrialState::Failed => "failed",
        _ => "is invalid",
    };
    let why = trial
        .flags
        .first()
        .map_or("the record does not say why", |flag| flag.text.as_str());
    format!(
        "block {} {what} and is not counted: {why}",
        trial.key.block + 1
    )
}

fn cell(row: &Row, name: &str, index: u32, mine: &[&Trial], notes: &mut Notes) -> Cell {
    let Some(found) = row
        .rounds
        .iter()
        .find(|cell| cell.name == name && cell.index == index)
    else {
        return Cell::default();
    };
    let marks = if found.lukewarm {
        vec![notes.number(lukewarm_note(found, mine))]
    } else {
        Vec::new()
    };
    Cell {
        seconds: found.elapsed_s.clone(),
        lukewarm: found.lukewarm,
        marks,
    }
}

fn lukewarm_note(cell: &RoundCell, mine: &[&Trial]) -> String {
    let coldness = mine
        .iter()
        .flat_map(|trial| &trial.rounds)
        .filter(|round| round.is_called(&cell.name) && round.index == cell.index);
    let reason = coldness
        .filter_map(|round| round.coldness.as_ref())
        .find_map(|coldness| coldness.reason.as_deref());
    format!(
        "~ lukewarm, not proved cold: {}",
        reason.unwrap_or("the record does not say why")
    )
}

/// Footnotes, each text once.
#[derive(Default)]
pub struct Notes {
    pub texts: Vec<String>,
}

impl Notes {
    /// The number of a note with this text.
    pub fn number(&mut self, text: String) -> usize {
        if let Some(place) = self.texts.iter().position(|seen| *seen == text) {
            return place + 1;
        }
        self.texts.push(text);
        self.texts.len()
    }
}

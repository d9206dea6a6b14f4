//! A table of words and figures. Times of rounds, timed loads, counters, settings: all tables of a report are of this type.

use crate::format;
use record::Verdict;
use stats::Estimate;

/// How many items or rows the text forms show; the page shows all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    pub terminal: usize,
    pub markdown: usize,
}

impl Most {
    pub const ALL: Most = Most {
        terminal: usize::MAX,
        markdown: usize::MAX,
    };

    /// Markdown shows all.
    pub const fn in_terminal(terminal: usize) -> Most {
        Most {
            terminal,
            ..Most::ALL
        }
    }
}

impl Default for Most {
    fn default() -> Most {
        Most::ALL
    }
}

#[derive(Default)]
pub struct Table {
    /// Empty if the section's title is enough.
    pub caption: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Set if the columns of figures are levels of a factor.
    pub across: Option<Across>,
    pub most: Most,
}

/// A factor whose levels are columns.
#[derive(Clone)]
pub struct Across {
    pub factor: String,
    /// The head of all figures where they are in one column: `p99 (ms)`.
    pub figure: String,
}

pub struct Column {
    pub head: String,
    pub kind: ColumnContent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnContent {
    /// Names a row.
    Label,
    /// Text of any length.
    Words,
    /// A name or a value of the server.
    Code,
    Figure,
}

#[derive(Default)]
pub struct Row {
    pub cells: Vec<Cell>,
    /// Whether it matters less than the others.
    pub quiet: bool,
}

#[derive(Clone, Default)]
pub struct Cell {
    /// Numbers of footnotes.
    pub marks: Vec<usize>,
    pub text: String,
    /// Half of the interval, `±2.1%`, or by how much a queue grows, `+412/s`.
    pub beside: Option<String>,
    /// The interval in full.
    pub interval: Option<String>,
    /// Replaces the figure where there is space: `unstable: the queue grows by 412 requests/s`.
    pub sentence: Option<String>,
    /// Caveats on the text.
    pub remarks: Vec<String>,
    /// The full text that is abbreviated here; only the page shows it.
    pub folded: Option<String>,
    pub badge: Option<Badge>,
    /// The number of further rows that it covers; those have an empty cell here.
    pub below: usize,
    /// The figure drawn; only the page shows it.
    pub drawn: Option<Ratio>,
}

/// A ratio with what it is compared with, for an axis that the cells of its column share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub measured: f64,
    /// An open end is 0 or infinity.
    pub interval: Option<(f64, f64)>,
    /// The range in which the claim holds; an open end is 0 or infinity.
    pub holds: (f64, f64),
    pub published: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Badge {
    Yes,
    No,
    Open,
    None,
}

impl From<Verdict> for Badge {
    fn from(verdict: Verdict) -> Badge {
        match verdict {
            Verdict::Reproduced => Badge::Yes,
            Verdict::NotReproduced => Badge::No,
            Verdict::Inconclusive => Badge::Open,
            Verdict::NotAvailable => Badge::None,
        }
    }
}

impl Table {
    pub fn new(
        caption: impl Into<String>,
        columns: impl IntoIterator<Item = Column>,
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> Table {
        let row = |cells| Row {
            cells,
            quiet: false,
        };
        Table {
            caption: caption.into(),
            columns: columns.into_iter().collect(),
            rows: rows.into_iter().map(row).collect(),
            ..Table::default()
        }
    }

    /// Makes the columns of figures levels of a factor, each of them a `figure`.
    pub fn across(self, factor: &str, figure: &str) -> Table {
        Table {
            across: Some(Across {
                factor: factor.to_string(),
                figure: figure.to_string(),
            }),
            ..self
        }
    }

    pub fn most(self, most: Most) -> Table {
        Table { most, ..self }
    }
}

impl Column {
    pub fn of(
        kind: ColumnContent,
        heads: impl IntoIterator<Item = impl Into<String>>,
    ) -> Vec<Column> {
        let column = |head: _| Column {
            head: Into::into(head),
            kind,
        };
        heads.into_iter().map(column).collect()
    }

    /// Columns of several kinds, from left to right.
    pub fn list(parts: &[(ColumnContent, &[&str])]) -> Vec<Column> {
        let parts = parts.iter();
        let columns = parts.map(|(kind, heads)| Column::of(*kind, heads.iter().copied()));
        columns.flatten().collect()
    }
}

impl Cell {
    /// The first text and how many more there are, with all of them in the fold.
    pub(crate) fn first_of(texts: &[impl AsRef<str>]) -> Cell {
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        match texts.as_slice() {
            [] => Cell::default(),
            [one] => Cell::text(*one),
            [first, more @ ..] => Cell {
                folded: Some(texts.join("; ")),
                ..Cell::text(format!("{first} and {} more", more.len()))
            },
        }
    }

    pub fn text(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            ..Cell::default()
        }
    }

    /// The name of a level; a dash where the row has none.
    pub fn label(text: impl Into<String>) -> Cell {
        let text = text.into();
        if text.is_empty() {
            Cell::none()
        } else {
            Cell::text(text)
        }
    }

    /// `-`
    pub fn none() -> Cell {
        Cell::text("-")
    }

    /// A figure, or a dash.
    pub fn figure(value: Option<f64>, figure: impl Fn(f64) -> String) -> Cell {
        value.map_or_else(Cell::none, |value| Cell::text(figure(value)))
    }

    /// A value with its interval.
    pub fn with_interval(
        value: f64,
        ci: Option<(f64, f64)>,
        figure: impl Fn(f64) -> String,
    ) -> Cell {
        Cell {
            text: format::with_interval(value, ci, &figure),
            beside: ci.map(format::half_width),
            interval: ci.map(|ci| format::interval(ci, figure)),
            ..Cell::default()
        }
    }

    /// Puts a `~` before the figure if it is uncertain.
    pub fn uncertain(mut self, is_uncertain: bool) -> Cell {
        if is_uncertain {
            self.text.insert(0, '~');
        }
        self
    }

    /// An estimate with its interval, or a dash.
    pub fn estimate(found: Option<&Estimate>, figure: impl Fn(f64) -> String) -> Cell {
        match found {
            Some(found) => Cell::with_interval(found.mean, found.ci, figure),
            None => Cell::none(),
        }
    }

    /// A ratio to one client. One client is its own measure, so it has no interval.
    pub fn times_one_client(factor: Option<(f64, Option<(f64, f64)>)>, clients: u32) -> Cell {
        match factor {
            Some((factor, ci)) => {
                Cell::with_interval(factor, ci.filter(|_| clients > 1), format::ratio)
            }
            None => Cell::none(),
        }
    }

    pub fn marked(self, marks: Vec<usize>) -> Cell {
        Cell { marks, ..self }
    }

    pub fn remarked(self, remarks: impl IntoIterator<Item = String>) -> Cell {
        Cell {
            remarks: remarks.into_iter().collect(),
            ..self
        }
    }

    pub fn badged(self, badge: Badge) -> Cell {
        Cell {
            badge: Some(badge),
            ..self
        }
    }

    /// `[1] 62,788 ±2.1%`, held together by no-break spaces.
    pub(crate) fn on_a_line(&self) -> String {
        self.joined("\u{a0}")
    }

    /// The figure, and its spread on a line below.
    pub fn on_two_lines(&self) -> String {
        self.joined("\n")
    }

    fn joined(&self, between: &str) -> String {
        let marked = [marks(&self.marks), self.text.clone()];
        let marked: Vec<String> = marked.into_iter().filter(|part| !part.is_empty()).collect();
        let marked = marked.join("\u{a0}");
        match &self.beside {
            Some(beside) => format!("{marked}{between}{beside}"),
            None => marked,
        }
    }

    /// A label or text in words: `5.6 [1]: remark`.
    pub(crate) fn in_words(&self) -> String {
        let marks = marks(&self.marks);
        let mut text = if marks.is_empty() {
            self.text.clone()
        } else {
            format!("{} {marks}", self.text)
        };
        if !self.remarks.is_empty() {
            text.push_str(&format!(": {}", self.remarks.join("; ")));
        }
        text
    }
}

/// The marks of footnotes: `[1]`, `[1, 3]`, or nothing.
pub fn marks(numbers: &[usize]) -> String {
    let list: Vec<String> = numbers.iter().map(usize::to_string).collect();
    if list.is_empty() {
        String::new()
    } else {
        format!("[{}]", list.join(", "))
    }
}

//! A run in the terminal: the table, the claims, the counters that explain the largest difference, plan changes, warnings.
//!
//! Goal: the answer on one screen of 100 columns. Non-goal: everything the record holds (see `html`).

use crate::matrix::{Matrix, marks};
use crate::{digest, format, names};
use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
use record::stats::{self, Difference, Explanation};
use record::{Judged, Run, Trial, Verdict};

/// Rows of counters, plan changes and warnings that are shown before the page is referred to.
const MOST: usize = 10;
/// Below this nothing can be laid out.
const WIDTH_MIN: usize = 40;

/// The run for a terminal of `width` columns, with ANSI colours where asked for.
pub fn terminal(run: &Run, trials: &[Trial], colour: bool, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let screen = Screen { colour, width };
    let matrix = Matrix::of(run, trials);
    let claims = stats::judge(&run.question, trials);
    let mut text = screen.head(run, trials, &matrix);
    text.push_str(&screen.matrix(run, &matrix));
    text.push_str(&screen.claims(&claims));
    if let Some(explanation) = stats::explain_largest(&run.question, trials, MOST) {
        text.push_str(&screen.explanation(run, &explanation));
    }
    text.push_str(&screen.plan_changes(run, trials));
    text.push_str(&screen.warnings(run, trials));
    text
}

struct Screen {
    colour: bool,
    width: usize,
}

impl Screen {
    fn head(&self, run: &Run, trials: &[Trial], matrix: &Matrix) -> String {
        let mut text = format!("{}\n", self.bold(&clean(&run.question.title)));
        text.push_str(&self.wrapped("", &run.question.question));
        text.push_str(&self.wrapped("", &digest::subtitle(run, trials, &matrix.constant)));
        text
    }

    fn matrix(&self, run: &Run, matrix: &Matrix) -> String {
        let mut table = self.table();
        let heads = matrix
            .factors
            .iter()
            .map(|factor| left(factor))
            .chain(matrix.rounds.iter().map(|round| right(round)));
        table.set_header(heads.collect::<Vec<_>>());
        for line in &matrix.lines {
            let mut labels = line.labels.clone();
            if let (Some(last), false) = (labels.last_mut(), line.marks.is_empty()) {
                last.push_str(&format!(" {}", marks(&line.marks)));
            }
            let figures = line.cells.iter().map(|cell| {
                let figure = [
                    Some(marks(&cell.marks)),
                    Some(cell.figure(matrix.decimals)),
                    cell.half_width(),
                ];
                let parts = figure
                    .into_iter()
                    .flatten()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>();
                right(&parts.join("\u{a0}"))
            });
            table.add_row(
                labels
                    .iter()
                    .map(|label| left(label))
                    .chain(figures)
                    .collect::<Vec<_>>(),
            );
        }
        let mut text = self.section(&matrix.caption(run), &table);
        for (place, note) in matrix.notes.iter().enumerate() {
            text.push_str(&self.wrapped(&format!(" [{}] ", place + 1), note));
        }
        text
    }

    fn claims(&self, claims: &[Judged]) -> String {
        let Some(summary) = digest::verdicts(claims) else {
            return String::new();
        };
        let mut table = self.table();
        let heads = ["verdict", "claim"].map(left).into_iter();
        table.set_header(
            heads
                .chain(["published", "measured", "95 % interval", "threshold"].map(right))
                .collect::<Vec<_>>(),
        );
        for claim in claims {
            let says = [Some(claim.claim.says.as_str()), claim.reason.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>();
            table.add_row(vec![
                left(claim.verdict.text()),
                left(&says.join("\n")),
                right(&claim.claim.published.map_or("-".to_string(), format::ratio)),
                right(&claim.measured.map_or("-".to_string(), format::ratio)),
                right(
                    &claim
                        .ci
                        .map_or("-".to_string(), |ci| format::interval(ci, format::ratio)),
                ),
                right(&claim.threshold),
            ]);
        }
        keep_whole(&mut table, &[0, 2, 3, 4, 5]);
        let text = self.section(&format!("Claims: {summary}"), &table);
        text.lines()
            .map(|line| self.verdict_coloured(line) + "\n")
            .collect()
    }

    fn explanation(&self, run: &Run, explanation: &Explanation) -> String {
        let mut table = self.table();
        table.set_header(vec![
            right("A"),
            right("B"),
            right("A / B"),
            left("counter of a round, and what it means"),
        ]);
        for difference in &explanation.differences {
            let meaning = difference
                .meaning
                .map_or(String::new(), |meaning| format!(": {meaning}"));
            table.add_row(vec![
                right(&counter(difference.of)),
                right(&counter(difference.to)),
                right(&counter_ratio(difference)),
                left(&format!("{}{meaning}", difference.counter)),
            ]);
        }
        keep_whole(&mut table, &[0, 1, 2]);
        let title = format!(
            "The largest difference: {}",
            digest::difference(explanation)
        );
        let mut text = format!("\n{}\n", self.bold(&title));
        text.push_str(&self.wrapped(
            " A = ",
            &names::row(&run.question, &explanation.of.0, &explanation.of.1),
        ));
        text.push_str(&self.wrapped(
            " B = ",
            &names::row(&run.question, &explanation.to.0, &explanation.to.1),
        ));
        if explanation.differences.is_empty() {
            return text + " No counter of the record differs between them.\n";
        }
        text.push_str(&drawn(&table));
        if explanation
            .differences
            .iter()
            .any(|difference| difference.beyond_noise == Some(false))
        {
            text.push_str(" ? within what the blocks differ among themselves\n");
        }
        text
    }

    fn plan_changes(&self, run: &Run, trials: &[Trial]) -> String {
        let changes = stats::plan_changes(&run.question, trials);
        if changes.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "\n{}\n",
            self.bold("Plans that changed within a row of the table")
        );
        for change in changes.iter().take(MOST) {
            for (hash, places) in &change.seen {
                text.push_str(&self.wrapped(
                    &format!(" {} plan {}  ", change.query, names::plan(hash)),
                    &some_of(places),
                ));
            }
        }
        text + &more(changes.len())
    }

    fn warnings(&self, run: &Run, trials: &[Trial]) -> String {
        let warnings = digest::warnings(run, trials);
        if warnings.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}\n", self.bold("Warnings"));
        for warning in warnings.iter().take(MOST) {
            let words = format!("{} ({})", warning.text, warning.whose(trials.len()));
            text.push_str(&self.wrapped(&format!(" {}: ", warning.kind), &words));
        }
        text + &more(warnings.len())
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(
            TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')),
        );
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(self.width).unwrap_or(u16::MAX));
        table
    }

    fn section(&self, title: &str, table: &Table) -> String {
        format!("\n{}\n{}", self.bold(title), drawn(table))
    }

    /// Words on lines of the screen's width; lines after the first stand under the first word.
    fn wrapped(&self, start: &str, words: &str) -> String {
        let indent = start.chars().count();
        let mut text = start.to_string();
        let mut column = indent;
        for word in clean(words).split_ascii_whitespace() {
            let length = word.chars().count();
            if column > indent && column + 1 + length > self.width {
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                column = indent;
            } else if column > indent {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += length;
        }
        text.push('\n');
        text
    }

    fn bold(&self, text: &str) -> String {
        self.painted("1", text)
    }

    fn painted(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    /// A line of the claims' table begins with its verdict; nothing else there is coloured, however a claim is worded.
    fn verdict_coloured(&self, line: &str) -> String {
        let verdicts = [
            Verdict::Reproduced,
            Verdict::NotReproduced,
            Verdict::Inconclusive,
            Verdict::NotAvailable,
        ];
        let inner = line.strip_prefix(' ').unwrap_or(line);
        for verdict in verdicts {
            if let Some(rest) = inner
                .strip_prefix(verdict.text())
                .filter(|_| line.starts_with(' '))
            {
                return format!(" {}{rest}", self.painted(code(verdict), verdict.text()));
            }
        }
        line.to_string()
    }
}

fn code(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "32",
        Verdict::NotReproduced => "31",
        Verdict::Inconclusive => "33",
        Verdict::NotAvailable => "2",
    }
}

fn left(text: &str) -> Cell {
    Cell::new(clean(text))
}

fn right(text: &str) -> Cell {
    Cell::new(clean(text)).set_alignment(CellAlignment::Right)
}

/// What a server says goes to the terminal without its control characters.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .collect()
}

fn keep_whole(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

fn drawn(table: &Table) -> String {
    table
        .lines()
        .map(|line| line.trim_end().to_string() + "\n")
        .collect()
}

fn counter(value: Option<f64>) -> String {
    value.map_or("absent".to_string(), format::count)
}

/// The mark `?` where the difference lies within what the blocks differ among themselves.
fn counter_ratio(difference: &Difference) -> String {
    let ratio = difference
        .ratio
        .filter(|ratio| ratio.is_finite())
        .map_or("-".to_string(), format::ratio);
    if difference.beyond_noise == Some(false) {
        format!("{ratio} ?")
    } else {
        ratio
    }
}

fn some_of(places: &[String]) -> String {
    const FEW: usize = 6;
    let shown = places
        .iter()
        .take(FEW)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    if places.len() > FEW {
        format!("{shown}; and {} more", places.len() - FEW)
    } else {
        shown
    }
}

fn more(all: usize) -> String {
    if all > MOST {
        format!(" ... and {} more in the page\n", all - MOST)
    } else {
        String::new()
    }
}

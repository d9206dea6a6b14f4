//! A run in the terminal: the tables, the claims, the counters that explain the largest difference, plan changes, warnings.
//!
//! Goal: the answer on one screen of 100 columns. Non-goal: everything the record holds (see `html`).

mod plans;
mod sheets;

use crate::limits::limits;
use crate::loads::Figure;
use crate::matrix::{Matrix, Notes};
use crate::why::Explained;
use crate::{digest, format, loads, names, rounds, why};
use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
use explain::Explanation;
use record::{Judged, Run, Trial, Verdict};

/// Rows of counters, plan changes and warnings that are shown before the page is referred to.
const MOST: usize = 10;
/// Below this nothing can be laid out.
const WIDTH_MIN: usize = 40;

/// The run for a terminal of `width` columns, with ANSI colours where asked for.
pub fn terminal(run: &Run, trials: &[Trial], colour: bool, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let screen = Screen { colour, width };
    let claims = explain::judge(&run.question, trials);
    let mut text = screen.head(run, trials);
    if loads::timed(run) {
        text.push_str(&screen.timed_loads(run, trials));
    } else {
        text.push_str(&screen.matrix(run, &Matrix::of(run, trials)));
        text.push_str(&screen.sheets(&rounds::clients(run, trials)));
        text.push_str(&screen.sheets(rounds::of_rounds(run, trials).as_slice()));
    }
    text.push_str(&screen.claims(&claims));
    let explained = why::claims(run, trials);
    let largest = explain::explain_largest(&run.question, trials, MOST);
    text.push_str(&screen.reasons(&explained));
    if let Some(explanation) = &largest {
        text.push_str(&screen.explanation(run, explanation));
    }
    if let Some(caveat) = why::caveat(&explained, largest.as_ref()) {
        text.push_str(&screen.wrapped(" ", caveat));
    }
    text.push_str(&screen.plans(run, trials));
    if let Some(sheet) = limits(trials) {
        text.push_str(&screen.sheet(&sheet, Figure::on_a_line));
    }
    text.push_str(&screen.warnings(run, trials));
    text.push_str(&screen.sheets(rounds::datasets(run, trials).as_slice()));
    text
}

struct Screen {
    colour: bool,
    width: usize,
}

impl Screen {
    fn head(&self, run: &Run, trials: &[Trial]) -> String {
        let mut text = self.heading(&run.question.title);
        text.push_str(&self.wrapped("", &run.question.question));
        text.push_str(&self.wrapped("", &digest::subtitle(run, trials)));
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
            let figures = line
                .cells
                .iter()
                .map(|cell| right(&cell.on_a_line(matrix.decimals)));
            let labels = line.marked_labels().into_iter().map(|label| left(&label));
            table.add_row(labels.chain(figures).collect::<Vec<_>>());
        }
        let mut text = self.section(&matrix.caption(run), &table);
        text.push_str(&self.notes(&matrix.notes));
        text
    }

    fn notes(&self, notes: &[String]) -> String {
        let numbered = notes.iter().enumerate();
        numbered
            .map(|(place, note)| self.wrapped(&format!(" [{}] ", place + 1), note))
            .collect()
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
        let mut reasons = Notes::default();
        for claim in claims {
            let mut says = claim.claim.says.clone();
            if let Some(reason) = &claim.reason {
                says.push_str(&format!(" [{}]", reasons.number(reason.clone())));
            }
            table.add_row(vec![
                left(claim.verdict.text()),
                left(&says),
                right(&claim.claim.published.map_or("-".to_string(), format::ratio)),
                right(&digest::measured(claim)),
                right(&digest::interval(claim)),
                right(&claim.threshold),
            ]);
        }
        keep_whole(&mut table, &[0, 2, 3, 4, 5]);
        let text = self.section(&format!("Claims: {summary}"), &table);
        let coloured: String = text
            .lines()
            .map(|line| self.verdict_coloured(line) + "\n")
            .collect();
        coloured + &self.notes(&reasons.texts)
    }

    /// The sentence of each claim that has one.
    fn reasons(&self, explained: &[Explained]) -> String {
        let sentences: Vec<String> = explained
            .iter()
            .filter_map(|one| Some(format!("{}: {}", one.says, one.sentence()?)))
            .collect();
        if sentences.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}", self.heading("Why, by the counters"));
        for sentence in sentences.iter().take(MOST) {
            text.push_str(&self.wrapped(" - ", sentence));
        }
        text + &more(sentences.len())
    }

    fn explanation(&self, run: &Run, explanation: &Explanation) -> String {
        let mut table = self.table();
        table.set_header(vec![
            right("A"),
            right("B"),
            right("A / B"),
            left(&format!(
                "counter of a {}, and what it means",
                why::per(&explanation.why)
            )),
        ]);
        for difference in &explanation.why.differences {
            let meaning = match why::meaning(difference) {
                meaning if meaning.is_empty() => meaning,
                meaning => format!(": {meaning}"),
            };
            table.add_row(vec![
                right(&digest::counter(difference.of)),
                right(&digest::counter(difference.to)),
                right(&digest::counter_ratio(difference)),
                left(&format!("{}{meaning}", difference.counter)),
            ]);
        }
        keep_whole(&mut table, &[0, 1, 2]);
        let title = format!(
            "The largest difference: {}",
            digest::difference(explanation)
        );
        let mut text = format!("\n{}", self.heading(&title));
        text.push_str(&self.wrapped(
            " A = ",
            &names::row(
                &run.question,
                explanation.of.0.as_deref(),
                &explanation.of.1,
            ),
        ));
        text.push_str(&self.wrapped(
            " B = ",
            &names::row(
                &run.question,
                explanation.to.0.as_deref(),
                &explanation.to.1,
            ),
        ));
        if explanation.why.differences.is_empty() {
            return text + &format!(" {}\n", digest::no_counters(explanation));
        }
        if let Some(reason) = &explanation.why.reason {
            text.push_str(&self.wrapped(" ", &why::sentence(reason, ("A", "B"))));
        }
        text.push_str(&drawn(&table));
        if let Some(note) = digest::counter_note(&explanation.why) {
            text.push_str(&format!(" {note}\n"));
        }
        text
    }

    fn warnings(&self, run: &Run, trials: &[Trial]) -> String {
        let warnings = digest::warnings(run, trials);
        if warnings.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}", self.heading("Warnings"));
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
        format!("\n{}{}", self.heading(title), drawn(table))
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

    fn heading(&self, text: &str) -> String {
        self.painted("1", self.wrapped("", text).trim_end()) + "\n"
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

fn more(all: usize) -> String {
    if all > MOST {
        format!(" ... and {} more in the page\n", all - MOST)
    } else {
        String::new()
    }
}

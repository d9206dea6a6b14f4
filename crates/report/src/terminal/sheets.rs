//! The tables of timed loads in the terminal.
//!
//! Goal: the published form as long as it fits: a figure and its interval on one line, else on two, else each row of the
//! published table by itself. Non-goal: what the tables say (`loads`).

use super::{MOST, Screen, drawn, keep_whole, left, more, right};
use crate::loads::{self, Figure, Grid, Sheet};
use record::{Run, Trial};

/// The space between two columns.
const BETWEEN: usize = 3;
/// A label is not broken into less.
const LABEL_MIN: usize = 12;

impl Screen {
    pub(super) fn timed_loads(&self, run: &Run, trials: &[Trial]) -> String {
        let mut text: String = loads::grids(run, trials)
            .iter()
            .map(|grid| self.grid(grid))
            .collect();
        let answers = loads::answers(run, trials);
        if !answers.is_empty() {
            text.push_str(&format!("\n{}", self.heading("Answers")));
            let lines = answers
                .iter()
                .take(MOST)
                .map(|answer| self.wrapped(" ", answer));
            text.extend(lines);
            text.push_str(&more(answers.len()));
        }
        text
    }

    fn grid(&self, grid: &Grid) -> String {
        let mut text = self.sheets(&grid.sheets());
        text.extend(grid.remarks.iter().map(|remark| self.wrapped(" ", remark)));
        text + &self.notes(&grid.notes)
    }

    /// In the widest form in which all of them fit.
    pub(super) fn sheets(&self, sheets: &[Sheet]) -> String {
        let written: [fn(&Figure) -> String; 2] = [Figure::on_a_line, Figure::on_two_lines];
        let fitting = written
            .into_iter()
            .find(|written| sheets.iter().all(|sheet| self.fits(sheet, *written)));
        match fitting {
            Some(written) => sheets
                .iter()
                .map(|sheet| self.sheet(sheet, written))
                .collect(),
            None => self.one_by_one(sheets),
        }
    }

    fn fits(&self, sheet: &Sheet, written: fn(&Figure) -> String) -> bool {
        let labels = (0..sheet.labels.len()).map(|place| {
            let cells = sheet.rows.iter().map(|row| row.labels[place].as_str());
            let words = cells
                .chain([sheet.labels[place].as_str()])
                .flat_map(str::split_whitespace);
            let word = words.map(|word| word.chars().count()).max().unwrap_or(0);
            let whole = sheet
                .rows
                .iter()
                .map(|row| row.labels[place].chars().count())
                .max();
            word.max(whole.unwrap_or(0).min(LABEL_MIN))
        });
        let figures = (0..sheet.heads.len()).map(|place| {
            let cells = sheet
                .rows
                .iter()
                .map(|row| width(&written(&row.cells[place])));
            cells.chain([width(&sheet.heads[place])]).max().unwrap_or(0)
        });
        let needed: usize = labels.chain(figures).map(|column| column + BETWEEN).sum();
        needed <= self.width
    }

    pub(super) fn sheet(&self, sheet: &Sheet, written: fn(&Figure) -> String) -> String {
        let mut table = self.table();
        let heads = sheet.labels.iter().map(|head| left(head));
        table.set_header(
            heads
                .chain(sheet.heads.iter().map(|head| right(head)))
                .collect::<Vec<_>>(),
        );
        for row in &sheet.rows {
            let labels = row.labels.iter().map(|label| left(label));
            let figures = row.cells.iter().map(|figure| right(&written(figure)));
            table.add_row(labels.chain(figures).collect::<Vec<_>>());
        }
        let figures: Vec<usize> =
            (sheet.labels.len()..sheet.labels.len() + sheet.heads.len()).collect();
        keep_whole(&mut table, &figures);
        self.section(&sheet.caption, &table)
    }

    /// A small table for each row: the levels down, one column for each sheet.
    fn one_by_one(&self, sheets: &[Sheet]) -> String {
        let captions = sheets
            .iter()
            .map(|sheet| format!("\n{}", self.heading(&sheet.caption)));
        let mut text: String = captions.collect();
        let Some(first) = sheets.first() else {
            return text;
        };
        for (place, row) in first.rows.iter().enumerate() {
            text.push('\n');
            text.push_str(&self.wrapped(" ", &row.labels.join(" · ")));
            let mut table = self.table();
            let across = first.across.as_deref().unwrap_or_default();
            let figures = sheets
                .iter()
                .filter(|sheet| sheet.across.is_some())
                .map(|sheet| right(&sheet.head));
            match first.across {
                Some(_) => {
                    table.set_header(
                        std::iter::once(right(across))
                            .chain(figures)
                            .collect::<Vec<_>>(),
                    );
                    for (column, level) in first.heads.iter().enumerate() {
                        let cells = sheets
                            .iter()
                            .map(|sheet| right(&sheet.rows[place].cells[column].on_a_line()));
                        table.add_row(
                            std::iter::once(right(level))
                                .chain(cells)
                                .collect::<Vec<_>>(),
                        );
                    }
                }
                None => {
                    for (head, figure) in first.heads.iter().zip(&row.cells) {
                        table.add_row(vec![left(head), right(&figure.on_a_line())]);
                    }
                }
            }
            text.push_str(&drawn(&table));
        }
        text
    }
}

/// Of the widest line.
fn width(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

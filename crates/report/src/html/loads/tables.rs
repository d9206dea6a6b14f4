//! The published tables.

use crate::loads::{self, Figure, Grid, Sheet};
use maud::{Markup, html};
use record::{Run, Trial};

pub fn section(run: &Run, trials: &[Trial], grids: &[Grid]) -> Markup {
    let answers = loads::answers(run, trials);
    html! {
        section #table {
            h2 { "Throughput and response" }
            @for grid in grids { (tables(grid)) }
            @if let Some(scaling) = loads::scaling(run, trials) { (sheet(&scaling)) }
            @if !answers.is_empty() {
                h3 { "Answers" }
                ul { @for answer in &answers { li { (answer) } } }
            }
        }
    }
}

fn tables(grid: &Grid) -> Markup {
    html! {
        @for one in grid.sheets() { (sheet(&one)) }
        @for remark in &grid.remarks { p.quiet { (remark) } }
        @if !grid.notes.is_empty() { ol.notes { @for note in &grid.notes { li { (note) } } } }
        @let further = grid.further_sheets();
        @if !further.is_empty() {
            details { summary { "Wait, service and what was offered" } @for one in &further { (sheet(one)) } }
        }
    }
}

pub fn sheet(sheet: &Sheet) -> Markup {
    html! {
        h3 { (sheet.caption) }
        div.scroll tabindex="0" { table {
            thead { tr {
                @for label in &sheet.labels { th scope="col" { (label) } }
                @for head in &sheet.heads { th.n scope="col" { (head) } }
            } }
            tbody { @for row in &sheet.rows {
                tr {
                    @for label in &row.labels { th scope="row" { (label) } }
                    @for cell in &row.cells { (figure(cell)) }
                }
            } }
        } }
    }
}

fn figure(figure: &Figure) -> Markup {
    html! {
        td.n title=[&figure.sentence] {
            @if !figure.marks.is_empty() { sup { (figure.marks) "\u{a0}" } }
            (figure.text)
            @if let Some(beside) = figure.interval.as_ref().or(figure.beside.as_ref()) { span.spread { (beside) } }
        }
    }
}

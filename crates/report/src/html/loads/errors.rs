//! Operations that failed, by the server's number.

use super::cells::Measured;
use crate::format;
use maud::{Markup, html};
use std::collections::BTreeMap;

pub fn section(cells: &[Measured]) -> Markup {
    let found: Vec<(&Measured, BTreeMap<u16, u64>)> = cells
        .iter()
        .map(|cell| (cell, codes(cell)))
        .filter(|(_, codes)| !codes.is_empty())
        .collect();
    html! {
        @if !found.is_empty() {
            section #errors {
                h2 { "Errors" }
                p.quiet { "In all seconds of all blocks, the warm-up among them: failures, losses and what was behind retries. Numbers above 60,000 are prony's own." }
                div.scroll.tall tabindex="0" { table {
                    thead { tr { th scope="col" { "Cell" } th.n scope="col" { "Number" } th scope="col" { "Name" } th.n scope="col" { "Count" } } }
                    tbody { @for (cell, codes) in &found { @for (code, count) in codes {
                        tr {
                            th.words scope="row" { (cell.name) } td.n { (code) } td { (words(*code)) } td.n { (format::count(*count as f64)) }
                        }
                    } } }
                } }
            }
        }
    }
}

fn codes(cell: &Measured) -> BTreeMap<u16, u64> {
    let mut codes = BTreeMap::new();
    for error in cell.blocks.iter().flat_map(|block| &block.load.errors) {
        *codes.entry(error.code).or_default() += error.count;
    }
    codes
}

/// The usual ones, after the server's list of error messages.
fn words(code: u16) -> &'static str {
    match code {
        1020 => "record has changed",
        1040 => "too many connections",
        1053 => "server shutdown",
        1062 => "duplicate key",
        1205 => "lock wait timeout",
        1213 => "deadlock",
        1317 => "interrupted",
        2006 => "server has gone away",
        2013 => "lost connection",
        _ => "",
    }
}

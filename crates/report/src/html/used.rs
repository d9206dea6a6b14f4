//! Rounds besides their times: several clients, what was used, how the tables were loaded.

use super::loads::sheet;
use crate::rounds;
use maud::{Markup, html};
use record::{Run, Trial};

pub fn clients(run: &Run, trials: &[Trial]) -> Markup {
    let sheets = rounds::clients(run, trials);
    html! {
        @if !sheets.is_empty() {
            section #clients {
                h2 { "Several clients" }
                p.quiet { "Each client runs every query once a round, all at once; a round lasts until the last one has ended." }
                @for one in &sheets { (sheet(one)) }
            }
        }
    }
}

pub fn section(run: &Run, trials: &[Trial]) -> Markup {
    let Some(of_rounds) = rounds::of_rounds(run, trials) else {
        return html! {};
    };
    html! {
        section #used {
            h2 { "Processor and device" }
            (sheet(&of_rounds))
            @if let Some(of_queries) = rounds::of_queries(run, trials) {
                details { summary { "Query by query" } (sheet(&of_queries)) }
            }
        }
    }
}

pub fn datasets(run: &Run, trials: &[Trial]) -> Markup {
    html! {
        @if let Some(datasets) = rounds::datasets(run, trials) {
            section #datasets { h2 { "Datasets" } (sheet(&datasets)) }
        }
    }
}

//! What happened beside the load.
//!
//! Goal: how often and when an event ran in each trial, and the last thing it said. Non-goal: a line for each time.

use crate::names;
use maud::{Markup, html};
use record::{EventNote, Run, Trial};

pub fn section(run: &Run, trials: &[Trial]) -> Markup {
    let with_events: Vec<&Trial> = trials
        .iter()
        .filter(|trial| !trial.events.is_empty())
        .collect();
    html! {
        @if !with_events.is_empty() {
            section #events {
                h2 { "Events beside the load" }
                p.quiet { "Their own work is in the server's counters, too." }
                div.scroll.tall tabindex="0" { table {
                    thead { tr { th scope="col" { "Trial" } th.n scope="col" { "Times" } th.n scope="col" { "First, last (s after the start)" } th scope="col" { "Last" } } }
                    tbody { @for trial in with_events { (line(run, trial)) } }
                } }
            }
        }
    }
}

fn line(run: &Run, trial: &Trial) -> Markup {
    let after_s = |event: &EventNote| (event.at_ns - trial.started_ns) as f64 / 1e9;
    let first = trial.events.first().map_or(0.0, after_s);
    let last = trial.events.last().map_or(0.0, after_s);
    html! {
        tr {
            th.words scope="row" { (names::trial(&run.question, &trial.key)) }
            td.n { (trial.events.len()) }
            td.n { (format!("{first:.1}, {last:.1}")) }
            td.words { @if let Some(event) = trial.events.last() { (event.text) } }
        }
    }
}

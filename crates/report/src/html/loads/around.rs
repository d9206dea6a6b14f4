//! What events did to the users: before, during and after each.

use crate::{format, names};
use maud::{Markup, html};
use record::stats::{self, Span};
use record::{EventNote, Run, Trial, TrialState};

/// Events of a trial that are compared; one that repeats every second says nothing by itself.
const EVENTS_MAX: usize = 5;

pub fn section(run: &Run, trials: &[Trial]) -> Markup {
    let found: Vec<_> = trials
        .iter()
        .filter(|trial| trial.state == TrialState::Done)
        .flat_map(|trial| {
            trial
                .events
                .iter()
                .take(EVENTS_MAX)
                .map(move |event| (trial, event))
        })
        .filter_map(|(trial, event)| Some((trial, event, stats::around(trial, event)?)))
        .collect();
    html! {
        @if !found.is_empty() {
            section #around {
                h2 { "Before, during and after" }
                p.quiet {
                    "Milliseconds of the response of all operations that ended in the span. Before and after reach to the next second in which another event took a part. "
                    "Of each trial that counts, the first " (EVENTS_MAX) " events."
                }
                div.scroll.tall tabindex="0" { table {
                    thead { tr {
                        th scope="col" { "Trial and event" } th scope="col" { "Span" } th.n scope="col" { "Seconds" } th.n scope="col" { "Operations/s" }
                        th.n scope="col" { "p50" } th.n scope="col" { "p95" } th.n scope="col" { "p99" } th.n scope="col" { "max" }
                    } }
                    @for (trial, event, around) in &found {
                        tbody {
                            (line(Some((run, trial, event)), "before", &around.before))
                            (line(None, "during", &around.during))
                            (line(None, "after", &around.after))
                        }
                    }
                } }
            }
        }
    }
}

fn line(head: Option<(&Run, &Trial, &EventNote)>, name: &str, span: &Span) -> Markup {
    let response = span.response.as_ref();
    let ms = |value: Option<f64>| value.map_or("-".to_string(), format::milliseconds);
    html! {
        tr {
            @if let Some((run, trial, event)) = head {
                th.words rowspan="3" scope="rowgroup" {
                    (names::trial(&run.question, &trial.key))
                    p.quiet { @if !event.text.starts_with(&event.kind) { (event.kind) ": " } (event.text) }
                    @if let Some(unstable) = unstable(trial) { p.quiet { (unstable) } }
                }
            }
            td { (name) }
            td.n { @if span.from_s < span.until_s { (span.from_s) " to " (span.until_s) } @else { "-" } }
            td.n { (span.throughput.map_or("-".to_string(), format::operations)) }
            td.n { (ms(response.and_then(|r| r.p50_ms))) } td.n { (ms(response.and_then(|r| r.p95_ms))) }
            td.n { (ms(response.and_then(|r| r.p99_ms))) } td.n { (ms(response.map(|r| r.max_ms))) }
        }
    }
}

/// Percentiles of a load that was too much hang on how long it lasted.
fn unstable(trial: &Trial) -> Option<String> {
    let summary = stats::summary(trial.load.as_deref()?);
    summary.offered.as_ref()?.unstable.clone()
}

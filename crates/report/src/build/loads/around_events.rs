//! The effect of events: throughput and latency before, during and after each.

use crate::build::Context;
use crate::document::{Block, Cell, Column, ColumnContent, Recorded, Section, Table};
use crate::{format, names};
use record::{EventNote, Percentile, Run, TrialState};
use stats::{Around, Span};

/// Maximum number of events of a trial that are compared: the effect of a single frequent event cannot be seen.
const EVENTS_MAX: usize = 5;

pub(super) fn section(context: &Context) -> Option<Section> {
    let done = context
        .recorded
        .iter()
        .filter(|one| one.trial.state == TrialState::Done);
    let mut rows = Vec::new();
    for recorded in done {
        for event in recorded.trial.events.iter().take(EVENTS_MAX) {
            if let Some(around) = stats::around(recorded.trial, event) {
                rows.extend(self::rows(context.run, recorded, event, &around));
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let columns = Column::list(&[
        (ColumnContent::Words, &["trial and event"]),
        (ColumnContent::Label, &["span"]),
        (
            ColumnContent::Figure,
            &[
                "seconds", "ops/s", "p50 (ms)", "p95 (ms)", "p99 (ms)", "max (ms)",
            ],
        ),
    ]);
    let about = format!(
        "Latency of all operations that ended in the span. Before and after reach to the next second in which another event was active. Shown are the first {EVENTS_MAX} events of each trial that counts."
    );
    let nodes = vec![
        Block::remark(about).page(),
        Block::table(Table::new("", columns, rows)).page(),
    ];
    Section::unless_empty("around", "Before, during and after events", nodes)
}

fn rows(run: &Run, recorded: &Recorded, event: &EventNote, around: &Around) -> Vec<Vec<Cell>> {
    let text = if event.text.starts_with(&event.kind) {
        event.text.clone()
    } else {
        format!("{}: {}", event.kind, event.text)
    };
    // Percentiles of an unstable load depend on how long it lasted.
    let offered = recorded
        .summary
        .as_ref()
        .and_then(|summary| summary.offered.as_ref());
    let unstable = offered.and_then(|offered| offered.unstable.clone());
    let name = Cell::text(names::trial(run, &recorded.trial.key));
    let name = name.remarked(std::iter::once(text).chain(unstable));
    vec![
        row(Cell { below: 2, ..name }, "before", &around.before),
        row(Cell::default(), "during", &around.during),
        row(Cell::default(), "after", &around.after),
    ]
}

fn row(name: Cell, what: &str, span: &Span) -> Vec<Cell> {
    let latency = span.response.as_ref();
    let ms = |percentile: Percentile| super::measure::at(latency, percentile);
    vec![
        name,
        Cell::text(what),
        if span.from_s < span.until_s {
            Cell::text(format!("{} to {}", span.from_s, span.until_s))
        } else {
            Cell::none()
        },
        Cell::figure(span.throughput, format::operations),
        ms(Percentile::P50),
        ms(Percentile::P95),
        ms(Percentile::P99),
        ms(Percentile::Max),
    ]
}

//! Events during the trials: how often each trial had one, and the text of the last.

use crate::build::Context;
use crate::document::{Block, Cell, Column, ColumnContent, Section, Table};
use crate::names;
use record::{EventNote, Trial};

pub(crate) fn section(context: &Context) -> Option<Section> {
    let with_events = context
        .trials
        .iter()
        .filter(|trial| !trial.events.is_empty());
    let row = |trial: &Trial| {
        let after_s = |event: Option<&EventNote>| {
            event.map_or(0.0, |event| (event.at_ns - trial.started_ns) as f64 / 1e9)
        };
        let (first, last) = (trial.events.first(), trial.events.last());
        vec![
            Cell::text(names::trial(context.run, &trial.key)),
            Cell::text(trial.events.len().to_string()),
            Cell::text(format!("{:.1}, {:.1}", after_s(first), after_s(last))),
            Cell::text(last.map(text).unwrap_or_default()),
        ]
    };
    let rows: Vec<Vec<Cell>> = with_events.map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = Column::list(&[
        (ColumnContent::Label, &["trial"]),
        (
            ColumnContent::Figure,
            &["events", "first, last (s after the start)"],
        ),
        (ColumnContent::Words, &["last event"]),
    ]);
    let nodes = vec![
        Block::table(Table::new("", columns, rows)).page(),
        Block::remark("The server's counters include the work of the events.").page(),
    ];
    Section::unless_empty("events", "Events", nodes)
}

/// What it did, and what was measured of it: `kill: back after 3.2 s (recovered_s 3.214, redo_bytes 1048576)`.
fn text(event: &EventNote) -> String {
    let numbers = event.numbers.iter();
    let written = |(name, value): (&String, &f64)| match value.fract() == 0.0 {
        true => format!("{name} {value}"),
        false => format!("{name} {value:.3}"),
    };
    let numbers: Vec<String> = numbers.map(written).collect();
    if numbers.is_empty() {
        event.text.clone()
    } else {
        format!("{} ({})", event.text, numbers.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_an_event_have_no_decimals() {
        let numbers = [("redo_bytes", 1_048_576.0), ("start_s", 1.25)];
        let event = EventNote {
            at_ns: 0,
            ended_ns: None,
            kind: "power_cut".into(),
            node: None,
            numbers: numbers
                .map(|(name, value)| (name.to_string(), value))
                .into(),
            text: "power_cut".into(),
        };
        let expected = "power_cut (redo_bytes 1048576, start_s 1.250)";
        assert_eq!(text(&event), expected);
    }
}

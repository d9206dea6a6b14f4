//! How the tables were loaded: rows, bytes, load time and index build time.

use crate::build::Context;
use crate::document::{Block, Cell, Column, ColumnContent, Section, Table};
use crate::{format, names};
use record::DatasetNote;
use stats::{by_key, each_once};

/// One row for each dataset on each build; none in records of an older prony.
pub(crate) fn section(context: &Context) -> Option<Section> {
    let seen = by_key(context.trials.iter().filter_map(|trial| {
        let row = names::row(context.run, trial.key.server.as_deref(), &trial.key.levels);
        Some((trial.dataset.as_ref()?, row))
    }));
    if seen.is_empty() {
        return None;
    }
    let columns = Column::list(&[
        (ColumnContent::Label, &["dataset", "used by"]),
        (
            ColumnContent::Figure,
            &[
                "rows",
                "size",
                "index size",
                "load time (s)",
                "index build (s)",
            ],
        ),
    ]);
    let table = Table::new(
        "",
        columns,
        seen.iter()
            .map(|(note, rows)| cells(note, &each_once(rows))),
    );
    let about = "A snapshot that is used again keeps the times of its load.";
    let nodes = vec![
        Block::table(table).everywhere(),
        Block::remark(about).everywhere(),
    ];
    Section::unless_empty("datasets", "Datasets", nodes)
}

fn cells(note: &DatasetNote, rows: &[&String]) -> Vec<Cell> {
    let used_by = match rows {
        [one] => one.to_string(),
        [first, others @ ..] => {
            format!("{first} and {}", format::plural(others.len(), "other row"))
        }
        [] => String::new(),
    };
    let seconds = |seconds: f64| Cell::text(format::seconds(seconds, 2));
    vec![
        Cell::text(&note.fingerprint),
        Cell::text(used_by),
        Cell::text(format::count(note.rows as f64)),
        Cell::text(format::bytes(note.data_bytes)),
        note.index_bytes
            .map_or_else(Cell::none, |bytes| Cell::text(format::bytes(bytes))),
        note.load_s
            .map_or_else(|| Cell::text(&note.method), seconds),
        if note.index_s.is_empty() {
            Cell::text("with the rows")
        } else {
            seconds(note.index_s.values().sum())
        },
    ]
}

//! How the tables were loaded: rows, bytes, and the seconds of the rows and of the indexes built after them.

use crate::loads::{Figure, Sheet, SheetRow};
use crate::{format, names};
use record::{DatasetNote, Run, Trial};

/// One row for each dataset on each build; none in records of an older prony.
pub fn datasets(run: &Run, trials: &[Trial]) -> Option<Sheet> {
    let mut seen: Vec<(&DatasetNote, Vec<String>)> = Vec::new();
    for trial in trials {
        let Some(note) = &trial.dataset else {
            continue;
        };
        let row = names::row(
            &run.question,
            trial.key.server.as_deref(),
            &trial.key.levels,
        );
        match seen.iter_mut().find(|(known, _)| *known == note) {
            Some((_, rows)) if rows.contains(&row) => {}
            Some((_, rows)) => rows.push(row),
            None => seen.push((note, vec![row])),
        }
    }
    (!seen.is_empty()).then(|| Sheet {
        caption:
            "How the tables were loaded; a snapshot that is used again keeps the times of its load"
                .to_string(),
        head: String::new(),
        labels: vec!["dataset".to_string(), "of".to_string()],
        across: None,
        heads: ["rows", "bytes", "of indexes", "load s", "indexes s"]
            .map(String::from)
            .to_vec(),
        rows: seen
            .iter()
            .map(|(note, rows)| sheet_row(note, rows))
            .collect(),
    })
}

fn sheet_row(note: &DatasetNote, rows: &[String]) -> SheetRow {
    let of = match rows {
        [one] => one.clone(),
        [first, others @ ..] => {
            format!("{first} and {}", format::plural(others.len(), "other row"))
        }
        [] => String::new(),
    };
    let text = |text: String| Figure {
        text,
        ..Figure::default()
    };
    let seconds = |seconds: f64| text(format::seconds(seconds, 2));
    let indexes = match note.index_s.is_empty() {
        true => text("with the rows".to_string()),
        false => seconds(note.index_s.values().sum()),
    };
    SheetRow {
        labels: vec![note.fingerprint.clone(), of],
        cells: vec![
            text(format::count(note.rows as f64)),
            text(format::bytes(note.data_bytes)),
            note.index_bytes
                .map_or_else(Figure::none, |bytes| text(format::bytes(bytes))),
            note.load_s
                .map_or_else(|| text(note.method.clone()), seconds),
            indexes,
        ],
    }
}

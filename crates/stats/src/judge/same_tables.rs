//! Whether the user's own tables are the same on two servers of a run.
//!
//! Purpose: a missing index is not a slower server. Boundaries: prony's own tables have a fingerprint; the data of different runs are
//! compared in `compare`.

use crate::values::cells::valid;
use record::{DatasetNote, Trial, grouped};

/// How the tables differ; None where they are the same, for tables that prony defines, and where a record does not tell. Rows are those of
/// tables that only queries read.
pub(crate) fn other(old: &[&Trial], new: &[&Trial]) -> Option<String> {
    let (old, new) = (dataset(old)?, dataset(new)?);
    let rows = || {
        let (old, new) = (grouped(old.rows), grouped(new.rows));
        format!("tables of {new} rows against {old}")
    };
    other_definitions(old, new).or_else(|| old.has_other_rows(new).then(rows))
}

pub(crate) fn other_definitions(old: &DatasetNote, new: &DatasetNote) -> Option<String> {
    let differ = |old: Option<&String>, new: Option<&String>| {
        old.zip(new).is_some_and(|(old, new)| old != new)
    };
    if differ(old.definitions.as_ref(), new.definitions.as_ref()) {
        return Some("tables with other columns, other indexes or another engine".to_string());
    }
    differ(old.objects.as_ref(), new.objects.as_ref())
        .then(|| "tables with other triggers, other foreign keys or other views".to_string())
}

/// Of the first valid trial that names its data.
pub(crate) fn dataset<'t>(trials: &[&'t Trial]) -> Option<&'t DatasetNote> {
    valid(trials).find_map(|trial| trial.dataset.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::TrialKey;

    fn on(definitions: Option<&str>, rows: u64, rows_estimated: bool) -> Trial {
        let note = serde_json::json!({
            "fingerprint": "schema-shop", "server": "db", "rows": rows, "rows_estimated": rows_estimated, "data_bytes": 16384,
            "load_s": null, "method": "already there", "definitions": definitions
        });
        let mut trial = Trial::unmeasured(TrialKey::default(), 0);
        trial.dataset = serde_json::from_value(note).ok();
        trial
    }

    #[test]
    fn the_users_tables_on_two_servers_have_the_same_definition_and_rows() {
        let old = on(Some("1f"), 4, false);
        let says = |new: &Trial| other(&[&old], &[new]);
        assert!(says(&on(Some("2e"), 4, false)).is_some_and(|says| says.contains("indexes")));
        let fewer = says(&on(Some("1f"), 3, false));
        assert_eq!(fewer.as_deref(), Some("tables of 3 rows against 4"));
        let same = [
            on(Some("1f"), 4, false),
            on(Some("1f"), 3, true),
            on(None, 3, false),
        ];
        assert_eq!(same.iter().find_map(says), None);
    }

    #[test]
    fn triggers_and_foreign_keys_are_compared_where_both_records_have_them() {
        let with = |objects: Option<&str>| {
            let mut trial = on(Some("1f"), 4, false);
            let note = trial.dataset.as_mut().unwrap();
            note.objects = objects.map(String::from);
            trial
        };
        let says = |new: Option<&str>| other(&[&with(Some("3d"))], &[&with(new)]);
        assert!(says(Some("4c")).is_some_and(|says| says.contains("triggers")));
        assert_eq!(says(Some("3d")), None);
        assert_eq!(says(None), None);
    }
}

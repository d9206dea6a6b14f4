//! How many rows each table must have after the statements of a dump or a setup.
//!
//! Purpose: rows that the server took and that are not there afterwards are found. Boundaries: tables to which rows are only added;
//! where a statement may have done anything else, nothing is expected.

use crate::sql::dump::Effect;
use std::collections::{BTreeMap, BTreeSet};

/// The expectation so far.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// None: unknown.
    tables: BTreeMap<String, Option<u64>>,
    temporary: BTreeSet<String>,
    /// Tables with a trigger.
    triggered: BTreeSet<String>,
}

impl Rows {
    /// Takes note of a statement that has run. `affected`: the rows that the server counted.
    pub(super) fn note(&mut self, effect: Effect, affected: u64) {
        match effect {
            Effect::Inserts(table) => self.insert(table, affected),
            Effect::Creates { table, anew } => {
                if anew || !self.tables.contains_key(&table) {
                    self.tables.insert(table, Some(affected));
                }
            }
            Effect::CreatesTemporary(table) => {
                self.temporary.insert(table);
            }
            Effect::Drops(tables) => {
                for table in tables {
                    let is_temporary = self.temporary.remove(&table);
                    if !is_temporary {
                        self.tables.remove(&table);
                    }
                }
            }
            Effect::CreatesTrigger(table) => {
                self.triggered.insert(table);
            }
            Effect::Changes if self.triggered.is_empty() => {}
            Effect::Changes | Effect::Unknown => self.forget(),
            Effect::Nothing => {}
        }
    }

    fn insert(&mut self, table: String, affected: u64) {
        if self.temporary.contains(&table) {
            return;
        }
        // What was not made here may be a view of any table.
        if self.triggered.contains(&table) || !self.tables.contains_key(&table) {
            self.forget();
        }
        let rows = self.tables.entry(table).or_insert(None);
        *rows = rows.map(|rows| rows + affected);
    }

    fn forget(&mut self) {
        self.tables.values_mut().for_each(|rows| *rows = None);
    }

    /// A file has added rows to this table, which then had so many.
    pub(super) fn set(&mut self, table: &str, rows: u64) {
        // As in `insert`.
        if self.triggered.contains(table) || !self.tables.contains_key(table) {
            self.forget();
        }
        self.tables.insert(table.to_string(), Some(rows));
    }

    /// The tables whose rows are known, with their number.
    pub(super) fn expected(&self) -> impl Iterator<Item = (&str, u64)> {
        let tables = self.tables.iter();
        tables.filter_map(|(table, rows)| Some((table.as_str(), (*rows)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Effect::*;

    fn after(effects: Vec<(Effect, u64)>) -> Vec<(String, u64)> {
        let mut rows = Rows::default();
        for (effect, affected) in effects {
            rows.note(effect, affected);
        }
        rows.expected()
            .map(|(table, rows)| (table.to_string(), rows))
            .collect()
    }

    fn creates(table: &str) -> (Effect, u64) {
        let table = table.into();
        (Creates { table, anew: false }, 0)
    }

    fn inserts(table: &str, rows: u64) -> (Effect, u64) {
        (Inserts(table.into()), rows)
    }

    #[test]
    fn inserted_rows_are_expected() {
        let effects = vec![
            creates("a"),
            inserts("a", 3),
            (Nothing, 0),
            creates("a"),
            inserts("a", 2),
            creates("b"),
        ];
        assert_eq!(after(effects), [("a".to_string(), 5), ("b".to_string(), 0)]);
    }

    #[test]
    fn a_file_for_a_view_fills_tables_that_are_not_known() {
        let mut rows = Rows::default();
        rows.note(creates("a").0, 0);
        rows.set("view_of_a", 2);
        let expected: Vec<(&str, u64)> = rows.expected().collect();
        assert_eq!(expected, [("view_of_a", 2)]);
    }

    #[test]
    fn nothing_is_expected_where_rows_may_have_gone() {
        for effects in [
            vec![creates("a"), inserts("a", 3), (Unknown, 1)],
            vec![inserts("a", 3)],
            vec![creates("a"), inserts("view_of_a", 3)],
            vec![
                creates("a"),
                (CreatesTrigger("a".into()), 0),
                inserts("a", 1),
            ],
            vec![creates("a"), (CreatesTrigger("b".into()), 0), (Changes, 1)],
            vec![creates("a"), (Drops(vec!["a".into()]), 0)],
            vec![(CreatesTemporary("a".into()), 0), inserts("a", 1)],
        ] {
            assert_eq!(after(effects.clone()), [], "{effects:?}");
        }
    }

    #[test]
    fn a_trigger_on_a_table_that_gets_no_more_rows_changes_nothing() {
        let effects = vec![
            creates("a"),
            inserts("a", 1),
            (CreatesTrigger("a".into()), 0),
            creates("b"),
            inserts("b", 2),
        ];
        assert_eq!(after(effects), [("a".to_string(), 1), ("b".to_string(), 2)]);
    }
}

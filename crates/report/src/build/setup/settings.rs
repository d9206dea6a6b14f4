//! Effective settings that differ between rows.
//!
//! Purpose: the values are the servers' own, so an unintended difference is seen; it is shown near the answer. Boundaries: settings
//! that only name an instance (folders, ports, identities) always differ and are left out.

use crate::build::rows::{Row, Rows};
use crate::document::{Block, Cell, Column, ColumnContent, Section, Table};
use explain::{Intended, is_of_an_instance};
use record::Run;
use std::collections::BTreeSet;

struct Differing<'a> {
    name: &'a str,
    /// The value in each row; none if the server has no such setting.
    values: Vec<Option<&'a str>>,
}

/// What differs between rows of one server although the experiment does not name it. Different servers have different defaults,
/// which is expected.
pub(crate) fn unintended(run: &Run, rows: &Rows) -> Option<Section> {
    let shown = with_settings(rows);
    let intended = Intended::by(run)?;
    let differs_within = |setting: &Differing| {
        let places = 0..shown.len();
        places.clone().any(|a| {
            let mut others = places.clone();
            others.any(|b| {
                shown[a].figures.server == shown[b].figures.server
                    && setting.values[a] != setting.values[b]
            })
        })
    };
    let found: Vec<Differing> = differing(&shown)
        .into_iter()
        .filter(|setting| !intended.covers(setting.name) && differs_within(setting))
        .collect();
    if found.is_empty() {
        return None;
    }
    let about = "The experiment does not name these settings, but they differ between rows of one server. The server may derive them from others.";
    let nodes = vec![
        Block::text(about).page(),
        Block::table(table(&names(&shown), &found)).page(),
    ];
    Section::unless_empty("unintended", "Unintended differences", nodes)
}

/// The rows whose settings are in the record.
fn with_settings<'a>(rows: &'a Rows) -> Vec<&'a Row<'a>> {
    let has_settings = |row: &&Row| row.trials.iter().any(|trial| !trial.settings.is_empty());
    rows.list.iter().filter(has_settings).collect()
}

pub(crate) fn section(rows: &Rows) -> Option<Section> {
    let shown = with_settings(rows);
    if shown.len() < 2 {
        return None;
    }
    let all = differing(&shown).into_iter();
    let (everywhere, absent_somewhere): (Vec<_>, Vec<_>) =
        all.partition(|setting| setting.values.iter().all(Option::is_some));
    let mut nodes = vec![match everywhere.is_empty() {
        true => Block::text("No setting that all servers have differs between the rows.").page(),
        false => Block::table(table(&names(&shown), &everywhere)).page(),
    }];
    if !absent_somewhere.is_empty() {
        let summary = format!(
            "Settings that some servers lack: {}",
            absent_somewhere.len()
        );
        let table = Block::table(table(&names(&shown), &absent_somewhere)).page();
        nodes.push(Block::fold(summary, false, vec![table]).page());
    }
    Section::unless_empty("settings", "Effective settings that differ", nodes)
}

fn names<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    rows.iter().map(|row| row.name.as_str()).collect()
}

/// How many rows have a column each; with more, a line for each value is easier to read, and fits on paper.
const COLUMNS_MAX: usize = 6;

fn table(rows: &[&str], settings: &[Differing]) -> Table {
    if rows.len() > COLUMNS_MAX {
        table_by_value(rows, settings)
    } else {
        table_by_row(rows, settings)
    }
}

/// A line for each value of a setting, with the rows that have it; the most frequent value comes first.
fn table_by_value(rows: &[&str], settings: &[Differing]) -> Table {
    let lines = settings.iter().flat_map(|setting| {
        let values = setting.values.iter().map(|value| value.unwrap_or("absent"));
        let mut by_value = stats::by_key(values.zip(rows.iter().copied()));
        by_value.sort_by_key(|(_, having)| std::cmp::Reverse(having.len()));
        by_value
            .into_iter()
            .enumerate()
            .map(|(place, (value, having))| {
                let head = if place == 0 { setting.name } else { "" };
                vec![Cell::text(head), Cell::text(value), Cell::first_of(&having)]
            })
    });
    let columns = Column::list(&[
        (ColumnContent::Code, &["setting", "value"]),
        (ColumnContent::Words, &["rows"]),
    ]);
    Table::new("", columns, lines)
}

fn table_by_row(rows: &[&str], settings: &[Differing]) -> Table {
    let heads = std::iter::once("setting").chain(rows.iter().copied());
    let cells = |setting: &Differing| {
        let values = setting.values.iter().map(|value| value.unwrap_or("absent"));
        std::iter::once(setting.name)
            .chain(values)
            .map(Cell::text)
            .collect()
    };
    Table::new(
        "",
        Column::of(ColumnContent::Code, heads),
        settings.iter().map(cells),
    )
}

fn differing<'a>(rows: &[&'a Row]) -> Vec<Differing<'a>> {
    let settings = rows.iter().flat_map(|row| row.trials[0].settings.keys());
    let names: BTreeSet<&str> = settings
        .map(String::as_str)
        .filter(|name| !is_of_an_instance(name))
        .collect();
    let value = |row: &&'a Row, name: &str| row.trials[0].settings.get(name).map(String::as_str);
    let all = names.into_iter().map(|name| Differing {
        name,
        values: rows.iter().map(|row| value(row, name)).collect(),
    });
    let differs = |setting: &Differing| {
        let mut values = setting.values.iter();
        values.any(|value| *value != setting.values[0])
    };
    all.filter(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS_MAX, Differing, table};

    #[test]
    fn many_rows_are_listed_by_value_and_none_is_lost() {
        let rows: Vec<String> = (0..=COLUMNS_MAX).map(|row| format!("row {row}")).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let mut values = vec![Some("8M"); rows.len()];
        values[2] = None;
        let setting = Differing {
            name: "sort_area",
            values,
        };
        let table = table(&rows, &[setting]);
        let texts = |line: usize| {
            let cells = table.rows[line].cells.iter();
            cells.map(|cell| cell.text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(texts(0), ["sort_area", "8M", "row 0 and 5 more"]);
        assert_eq!(texts(1), ["", "absent", "row 2"]);
        let folded = table.rows[0].cells[2].folded.as_deref();
        assert_eq!(folded, Some("row 0; row 1; row 3; row 4; row 5; row 6"));
    }

    #[test]
    fn few_rows_have_a_column_each() {
        let setting = Differing {
            name: "sort_area",
            values: vec![Some("8M"), Some("4M")],
        };
        let table = table(&["old", "new"], &[setting]);
        let heads: Vec<&str> = table.columns.iter().map(|one| one.head.as_str()).collect();
        assert_eq!(heads, ["setting", "old", "new"]);
        assert_eq!(table.rows.len(), 1);
    }
}

//! What tables on a running server hold now, in comparison with what was loaded.
//!
//! Purpose: tables that stay on a server between runs are measured only if they are what the record says: their rows, their indexes and a
//! sample of their values. Boundaries: the marker keeps what was loaded; `run` decides what a difference means.

use crate::schema::{self, definitions, marker};
use server::{ServerError, Session, Sha256};

/// Rows of a sample at each end of a table.
const AT_EACH_END: u32 = 50;
/// Places within a table from which further rows are taken, and their number at each.
const PLACES: i128 = 8;
const AT_EACH_PLACE: u32 = 10;

/// Error code: unknown column.
const NO_SUCH_COLUMN: u16 = 1054;

/// What the tables of a dataset hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    /// Of all tables.
    pub rows: u64,
    /// Whether the server has estimated them.
    pub is_estimated: bool,
    /// Rows that were loaded; None if that is not known.
    pub loaded_rows: Option<u64>,
    /// The tables with other rows than were loaded, one sentence each.
    pub other_rows: Vec<String>,
    /// The indexes that are missing, or were not loaded, or the tables with another definition.
    pub other_indexes: Option<String>,
    /// The share of the sampled rows that differ from the loaded ones, from 0 to 1; None if no sample was kept.
    pub moved: Option<f64>,
}

impl Held {
    /// What differs from the loaded tables; None if nothing does.
    pub fn differs(&self) -> Option<String> {
        let all = self.other_rows.iter().chain(&self.other_indexes);
        let all: Vec<&str> = all.map(String::as_str).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The share of the loaded rows that were added or are missing, from 0.
    pub fn moved_rows(&self) -> f64 {
        let loaded = self.loaded_rows.unwrap_or(self.rows);
        self.rows.abs_diff(loaded) as f64 / loaded.max(1) as f64
    }
}

/// The indexes and definitions of loaded tables, and a sample of their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// `table.index(column, column)`, in order.
    indexes: Vec<String>,
    /// Hashes of rows, by table in the order of their names.
    sample: Vec<Vec<u32>>,
    /// See [`definitions::read`]; empty where an older prony has loaded the tables.
    definitions: Vec<String>,
}

/// What stands between the sample and the definitions in the text of a look.
const DEFINITIONS: &str = "\n\ndefinitions\n";

impl Look {
    /// Looks at the tables. Costs a few hundred rows of each table, found by its primary key.
    pub(crate) fn at(
        session: &mut Session,
        schema: &str,
        tables: &[&str],
    ) -> Result<Look, ServerError> {
        let mut tables = tables.to_vec();
        tables.sort_unstable();
        let sample = tables.iter().map(|table| sample(session, schema, table));
        let sample = sample.collect::<Result<_, _>>()?;
        Ok(Look {
            indexes: indexes(session, schema, &tables)?,
            sample,
            definitions: definitions::read(session, schema, &tables)?,
        })
    }

    /// As one text, for the marker.
    pub(crate) fn text(&self) -> String {
        let sample = |hashes: &Vec<u32>| {
            let hashes = hashes.iter().map(|hash| format!("{hash:08x}"));
            hashes.collect::<Vec<_>>().join(" ")
        };
        let samples: Vec<String> = self.sample.iter().map(sample).collect();
        let mut text = format!("{}\n\n{}", self.indexes.join("\n"), samples.join("\n"));
        if !self.definitions.is_empty() {
            text += DEFINITIONS;
            text += &self.definitions.join("\n");
        }
        text
    }

    /// Reads [`Look::text`]; None if it is something else.
    pub(crate) fn parse(text: &str) -> Option<Look> {
        let (text, definitions) = text.rsplit_once(DEFINITIONS).unwrap_or((text, ""));
        let (indexes, samples) = text.split_once("\n\n")?;
        let hash = |word: &str| u32::from_str_radix(word, 16).ok();
        let sample = |line: &str| line.split_whitespace().map(hash).collect();
        Some(Look {
            indexes: indexes.lines().map(String::from).collect(),
            sample: samples.split('\n').map(sample).collect::<Option<_>>()?,
            definitions: definitions.lines().map(String::from).collect(),
        })
    }

    /// The indexes that one of the two lacks, as a sentence; None if they are the same.
    pub(crate) fn other_indexes(&self, loaded: &Look) -> Option<String> {
        let lacking = |of: &Look, from: &Look| -> Vec<String> {
            let own = of.indexes.iter();
            own.filter(|index| !from.indexes.contains(index))
                .cloned()
                .collect()
        };
        let (missing, added) = (lacking(loaded, self), lacking(self, loaded));
        match (missing.is_empty(), added.is_empty()) {
            (true, true) => None,
            (false, _) => Some(format!("the index {} is missing", missing.join(", "))),
            (true, false) => Some(format!("the index {} was not loaded", added.join(", "))),
        }
    }

    /// The tables that are defined otherwise, as a sentence; None if all are as loaded, or that is not known.
    fn other_definitions(&self, loaded: &Look) -> Option<String> {
        let others = self
            .definitions
            .iter()
            .filter(|line| !loaded.definitions.contains(line));
        let others: Vec<&str> = others.filter_map(|line| line.split(' ').next()).collect();
        (!others.is_empty() && !loaded.definitions.is_empty()).then(|| {
            format!(
                "{} has another engine, other columns or another kind of index than was loaded",
                others.join(", ")
            )
        })
    }

    /// The share of the sampled rows that differ; None without a sample.
    pub(crate) fn moved_since(&self, loaded: &Look) -> Option<f64> {
        let (mut rows, mut differing) = (0, 0);
        for (now, then) in self.sample.iter().zip(&loaded.sample) {
            let same = now.iter().zip(then).filter(|(now, then)| now == then);
            let all = now.len().max(then.len());
            rows += all;
            differing += all - same.count();
        }
        (rows > 0).then(|| differing as f64 / rows as f64)
    }
}

/// Compares tables of prony's own, whose rows are counted exactly, with what their marker says. `rows`: by table, as loaded; empty if only
/// their sum is known, which the marker has.
pub(crate) fn compared(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
    loaded: &[u64],
) -> Result<Held, ServerError> {
    let mut held = Held::default();
    for (n, table) in tables.iter().enumerate() {
        let name = format!("{}.{}", schema::quoted(schema), schema::quoted(table));
        let rows = schema::count(session, &name)?;
        held.rows += rows;
        if let Some(loaded) = loaded.get(n).filter(|loaded| **loaded != rows) {
            held.other_rows
                .push(format!("{table} has {rows} rows, {loaded} were loaded"));
        }
    }
    let marker = marker::read(session, schema)?;
    held.loaded_rows = marker.map(|marker| marker.rows);
    if let Some(loaded) = held.loaded_rows.filter(|loaded| *loaded != held.rows)
        && held.other_rows.is_empty()
    {
        let rows = held.rows;
        held.other_rows
            .push(format!("the tables have {rows} rows, {loaded} were loaded"));
    }
    if let Some(loaded) = read_look(session, schema)? {
        let now = Look::at(session, schema, tables)?;
        held.other_indexes = now
            .other_indexes(&loaded)
            .or_else(|| now.other_definitions(&loaded));
        held.moved = now.moved_since(&loaded);
    }
    Ok(held)
}

/// Adds a look at the loaded tables to the marker.
pub(crate) fn write_look(
    session: &mut Session,
    schema: &str,
    look: &Look,
) -> Result<(), ServerError> {
    let table = marker::qualified(session, schema);
    let text = schema::literal(&look.text());
    session.execute(&format!("UPDATE {table} SET look = {text}"))?;
    Ok(())
}

/// The look at the tables when they were loaded; None where an older prony has loaded them.
fn read_look(session: &mut Session, schema: &str) -> Result<Option<Look>, ServerError> {
    let table = marker::qualified(session, schema);
    match session.query(&format!("SELECT look FROM {table}")) {
        Ok(reply) => Ok(reply.first_text().as_deref().and_then(Look::parse)),
        Err(ServerError::Refused { code, .. }) if code == NO_SUCH_COLUMN => Ok(None),
        Err(other) => Err(other),
    }
}

fn indexes(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
) -> Result<Vec<String>, ServerError> {
    let reply = session.query(&format!(
        "SELECT table_name, index_name, column_name FROM information_schema.statistics WHERE table_schema = '{schema}' ORDER BY table_name, index_name, seq_in_index"
    ))?;
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for row in 0..reply.rows.len() {
        let text = |column| reply.text(row, column).unwrap_or_default();
        let (table, column) = (text(0), text(2));
        if !tables.contains(&table.as_str()) {
            continue;
        }
        let index = format!("{table}.{}", text(1));
        match found.last_mut().filter(|(last, _)| *last == index) {
            Some((_, columns)) => columns.push(column),
            None => found.push((index, vec![column])),
        }
    }
    let text = |(index, columns): (String, Vec<String>)| format!("{index}({})", columns.join(", "));
    Ok(found.into_iter().map(text).collect())
}

/// Hashes of rows at both ends of a table and at places between them; empty if it has no primary key.
fn sample(session: &mut Session, schema: &str, table: &str) -> Result<Vec<u32>, ServerError> {
    let key = primary_key(session, schema, table)?;
    let Some(first) = key.first() else {
        return Ok(Vec::new());
    };
    let from = format!("{}.{}", schema::quoted(schema), schema::quoted(table));
    let in_order = |direction: &str| {
        let key = key.iter().map(|column| format!("{column} {direction}"));
        key.collect::<Vec<_>>().join(", ")
    };
    let (up, down) = (in_order("ASC"), in_order("DESC"));
    let mut hashes = Vec::new();
    for order in [&up, &down] {
        let sql = format!("SELECT * FROM {from} ORDER BY {order} LIMIT {AT_EACH_END}");
        add_rows(session, &sql, &mut hashes)?;
    }
    let ends = session.query(&format!("SELECT MIN({first}), MAX({first}) FROM {from}"))?;
    let end = |column| -> Option<i128> { ends.text(0, column)?.parse().ok() };
    if let (Some(least), Some(most)) = (end(0), end(1)) {
        for place in 1..PLACES {
            let at = least + (most - least) * place / PLACES;
            let sql = format!(
                "SELECT * FROM {from} WHERE {first} >= {at} ORDER BY {up} LIMIT {AT_EACH_PLACE}"
            );
            add_rows(session, &sql, &mut hashes)?;
        }
    }
    Ok(hashes)
}

fn primary_key(
    session: &mut Session,
    schema: &str,
    table: &str,
) -> Result<Vec<String>, ServerError> {
    let table = schema::literal(table);
    let reply = session.query(&format!(
        "SELECT column_name FROM information_schema.statistics WHERE table_schema = '{schema}' AND table_name = {table} AND index_name = 'PRIMARY' ORDER BY seq_in_index"
    ))?;
    let names = marker::names(&reply);
    Ok(names.iter().map(|name| schema::quoted(name)).collect())
}

fn add_rows(session: &mut Session, sql: &str, hashes: &mut Vec<u32>) -> Result<(), ServerError> {
    session.each(sql, &mut |row| {
        let mut hash = Sha256::default();
        for cell in row {
            let length = cell.map_or(u64::MAX, |cell| cell.len() as u64);
            hash.update(length.to_le_bytes());
            hash.update(cell.unwrap_or_default());
        }
        let digits = hash.hex_of_first(4);
        hashes.push(u32::from_str_radix(&digits, 16).unwrap_or_default());
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(indexes: &[&str], sample: &[&[u32]]) -> Look {
        Look {
            indexes: indexes.iter().map(|index| index.to_string()).collect(),
            sample: sample.iter().map(|rows| rows.to_vec()).collect(),
            definitions: Vec::new(),
        }
    }

    fn defined(definition: &str) -> Look {
        Look {
            definitions: vec!["a 00".into(), definition.into()],
            ..look(&["t.PRIMARY(id)"], &[&[], &[], &[1]])
        }
    }

    #[test]
    fn what_differs_is_one_sentence_and_moved_rows_are_a_share() {
        let held = Held {
            rows: 90,
            loaded_rows: Some(100),
            other_rows: vec!["t has 90 rows, 100 were loaded".into()],
            other_indexes: Some("the index t.k(k) is missing".into()),
            ..Held::default()
        };
        let says = "t has 90 rows, 100 were loaded; the index t.k(k) is missing";
        assert_eq!(held.differs().as_deref(), Some(says));
        assert_eq!(held.moved_rows(), 0.1);
        assert_eq!(Held::default().differs(), None);
        assert_eq!(Held::default().moved_rows(), 0.0);
    }

    #[test]
    fn a_look_is_read_back_from_its_text() {
        for look in [
            look(&["t.PRIMARY(id)", "t.k(a, b)"], &[&[1, u32::MAX], &[]]),
            look(&[], &[&[]]),
            defined("t 1f"),
        ] {
            assert_eq!(Look::parse(&look.text()), Some(look));
        }
        assert_eq!(Look::parse("something"), None);
    }

    #[test]
    fn an_index_that_was_dropped_or_added_is_named() {
        let loaded = look(&["t.PRIMARY(id)", "t.k(k)"], &[]);
        let dropped = look(&["t.PRIMARY(id)"], &[]);
        let added = look(&["t.PRIMARY(id)", "t.c(c)", "t.k(k)"], &[]);
        assert_eq!(loaded.other_indexes(&loaded), None);
        let says = dropped.other_indexes(&loaded).unwrap();
        assert_eq!(says, "the index t.k(k) is missing");
        let says = added.other_indexes(&loaded).unwrap();
        assert_eq!(says, "the index t.c(c) was not loaded");
    }

    #[test]
    fn a_table_that_was_defined_anew_is_named() {
        let (loaded, altered) = (defined("t 1f"), defined("t 2e"));
        let says = altered.other_definitions(&loaded).unwrap();
        assert!(says.starts_with("t has another engine"), "{says}");
        assert_eq!(loaded.other_definitions(&loaded), None);
        let of_an_older_prony = look(&[], &[]);
        assert_eq!(altered.other_definitions(&of_an_older_prony), None);
    }

    #[test]
    fn the_share_of_rows_that_moved_counts_changed_and_missing_ones() {
        let loaded = look(&[], &[&[1, 2, 3, 4], &[5, 6, 7, 8]]);
        let moved = |sample: &[&[u32]]| look(&[], sample).moved_since(&loaded);
        assert_eq!(moved(&[&[1, 2, 3, 4], &[5, 6, 7, 8]]), Some(0.0));
        assert_eq!(moved(&[&[1, 2, 3, 9], &[5, 6]]), Some(0.375));
        assert_eq!(look(&[], &[&[]]).moved_since(&look(&[], &[&[]])), None);
    }
}

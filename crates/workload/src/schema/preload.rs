//! Preloads the tables into the server's memory.
//!
//! Purpose: read every page of every index once, and check with the server's counters whether they stayed in memory.
//! Boundaries: no control over the pages that too small a pool evicts.

use crate::schema;
use server::{Reply, ServerError, Session};

/// Pages that a server reads for its own purposes (purge, system tables): 7 on 5.6.14 and 13 on 9.7 were observed.
const PAGES_BESIDE: u64 = 64;
/// In a large dataset one in this many pages may be missing, because longer scans coincide with more background reads.
const PAGES_FOR_ONE: u64 = 1000;

/// Longer values may lie in pages of their own.
///
/// Source: "InnoDB Row Formats" in the MySQL manual.
const IN_ROW_BYTES: u32 = 767;

/// An index and its first column; None where the index does not hold it whole: of a prefix, or of an expression.
type Index = (String, Option<String>);

/// The result of a preload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preloaded {
    /// Scanned indexes, including clustered ones.
    pub indexes: usize,
    /// Pages that InnoDB read from disk (buffer pool misses) during the second scan; None if not counted.
    pub pages_read_again: Option<u64>,
    /// Whether there are so few that the tables are in memory. None if unknown (not InnoDB).
    pub held: Option<bool>,
}

/// Scans every index of these tables twice; the second scan shows whether pages are read from disk again.
///
/// # Errors
/// Returns any error of the server.
pub(crate) fn preload(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
) -> Result<Preloaded, ServerError> {
    let scans = scans(session, schema, tables)?;
    for scan in &scans {
        session.query(scan)?;
    }
    let before = status(session, "Innodb_pages_read")?;
    for scan in &scans {
        session.query(scan)?;
    }
    let after = status(session, "Innodb_pages_read")?;
    let pages_read_again = before
        .zip(after)
        .map(|(before, after)| after.saturating_sub(before));
    let data_bytes = schema::data_bytes(session, schema, tables)?;
    let page_bytes = status(session, "Innodb_page_size")?;
    Ok(Preloaded {
        indexes: scans.len(),
        pages_read_again,
        held: pages_read_again
            .zip(page_bytes)
            .map(|(pages, page_bytes)| is_held(pages, data_bytes / page_bytes.max(1))),
    })
}

/// Whether few enough pages were read again, relative to the size of the data.
fn is_held(pages_read_again: u64, data_pages: u64) -> bool {
    pages_read_again <= PAGES_BESIDE.max(data_pages / PAGES_FOR_ONE)
}

fn scans(session: &mut Session, schema: &str, tables: &[&str]) -> Result<Vec<String>, ServerError> {
    let mut scans = Vec::new();
    for table in tables {
        let columns = columns_of_rows(session, schema, table)?;
        let indexes = indexes(session, schema, table)?;
        let table = format!("{schema}.{}", schema::quoted(table));
        scans.extend(scans_of(&table, &columns, &indexes));
    }
    Ok(scans)
}

/// One statement per index, and one for the table if none of them is clustered. `columns`: see [`columns_of_rows`].
fn scans_of(table: &str, columns: &[String], indexes: &[Index]) -> Vec<String> {
    // MAX(LENGTH()) cannot be optimized away: it reads every entry. Of a column that the index does not hold, it would read the table.
    let scan = |columns: &[String], hint: &str| {
        if columns.is_empty() {
            return format!("SELECT COUNT(*) FROM {table} {hint}");
        }
        let each = columns.iter().map(|column| schema::quoted(column));
        let each: Vec<String> = each
            .map(|column| format!("MAX(LENGTH({column}))"))
            .collect();
        format!("SELECT {} FROM {table} {hint}", each.join(", "))
    };
    let is_table = |index: &str| index == "PRIMARY";
    let mut scans = Vec::new();
    for (index, column) in indexes {
        let read = match is_table(index) {
            true => columns,
            false => column.as_slice(),
        };
        let hint = format!("FORCE INDEX ({})", schema::quoted(index));
        scans.push(scan(read, &hint));
    }
    // Without a primary key InnoDB keeps the rows in an index that the server does not list.
    if !indexes.iter().any(|(index, _)| is_table(index)) {
        scans.push(scan(columns, "USE INDEX ()"));
    }
    scans
}

/// Each index that a hint may name. Those that the optimizer does not see are refused in a hint.
fn indexes(session: &mut Session, schema: &str, table: &str) -> Result<Vec<Index>, ServerError> {
    let table = schema::quoted(table);
    let reply = session.query(&format!("SHOW INDEX FROM {schema}.{table}"))?;
    Ok(seen_indexes(&reply))
}

/// `Visible` is of MySQL 8.0, `Ignored` of MariaDB 10.6. An index on an expression has no column.
fn seen_indexes(reply: &Reply) -> Vec<Index> {
    let column = |name: &str| reply.columns.iter().position(|known| known == name);
    let text = |row: usize, name: &str| reply.text(row, column(name)?);
    let is = |row: usize, name: &str, value: &str| text(row, name).as_deref() == Some(value);
    let one = |row: usize| {
        let is_seen = !is(row, "Visible", "NO") && !is(row, "Ignored", "YES");
        let is_first = is(row, "Seq_in_index", "1") && is(row, "Index_type", "BTREE");
        let whole = text(row, "Column_name").filter(|_| text(row, "Sub_part").is_none());
        let index = text(row, "Key_name").map(|name| (name, whole));
        index.filter(|_| is_seen && is_first)
    };
    let mut indexes: Vec<_> = (0..reply.rows.len()).filter_map(one).collect();
    indexes.sort();
    indexes
}

/// The columns whose lengths take every page of the rows: the last one, which is in no other index of ours, and those with long values.
fn columns_of_rows(
    session: &mut Session,
    schema: &str,
    table: &str,
) -> Result<Vec<String>, ServerError> {
    let reply = session.query(&format!(
        "SELECT column_name, character_octet_length > {IN_ROW_BYTES} OR data_type = 'json' FROM information_schema.columns WHERE table_schema = '{schema}' AND table_name = {} ORDER BY ordinal_position DESC",
        schema::literal(table)
    ))?;
    let is_read = |row: &usize| *row == 0 || reply.text(*row, 1).as_deref() == Some("1");
    let rows = (0..reply.rows.len()).filter(is_read);
    Ok(rows.filter_map(|row| reply.text(row, 0)).collect())
}

/// The current value of a status counter; None if the server does not have it.
fn status(session: &mut Session, name: &str) -> Result<Option<u64>, ServerError> {
    let reply = session.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
    Ok(reply.text(0, 1).and_then(|value| value.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scans(indexes: &[(&str, &str)]) -> Vec<String> {
        let owned = |&(index, column): &(&str, &str)| (index.to_owned(), Some(column.to_owned()));
        let indexes: Vec<Index> = indexes.iter().map(owned).collect();
        scans_of("s.`t`", &["pad".to_string()], &indexes)
    }

    #[test]
    fn every_index_is_scanned_and_the_table_by_its_primary_key() {
        assert_eq!(
            scans(&[("PRIMARY", "id"), ("k_1", "k")]),
            [
                "SELECT MAX(LENGTH(`pad`)) FROM s.`t` FORCE INDEX (`PRIMARY`)",
                "SELECT MAX(LENGTH(`k`)) FROM s.`t` FORCE INDEX (`k_1`)",
            ]
        );
    }

    #[test]
    fn long_values_that_lie_in_pages_of_their_own_are_read_with_the_rows() {
        let rows = [("changed", None), ("body", Some("1")), ("id", Some("0"))];
        let cell = |text: &str| Some(text.as_bytes().to_vec());
        let row = |(name, is_long): (&str, Option<&str>)| vec![cell(name), is_long.and_then(cell)];
        let rows = rows.map(row).to_vec();
        let mut session = Session::Scripted(Box::new(move |_: &str| {
            Ok(Reply {
                rows: rows.clone(),
                ..Reply::default()
            })
        }));
        let columns = columns_of_rows(&mut session, "s", "t").unwrap();
        let indexes = [("PRIMARY".to_string(), Some("id".to_string()))];
        assert_eq!(
            scans_of("s.`t`", &columns, &indexes),
            [
                "SELECT MAX(LENGTH(`changed`)), MAX(LENGTH(`body`)) FROM s.`t` FORCE INDEX (`PRIMARY`)"
            ]
        );
    }

    #[test]
    fn an_index_of_a_prefix_or_an_expression_is_read_by_counting_its_entries() {
        let index = [("k_1".to_string(), None)];
        assert_eq!(
            scans_of("s.`t`", &["pad".to_string()], &index)[0],
            "SELECT COUNT(*) FROM s.`t` FORCE INDEX (`k_1`)"
        );
    }

    #[test]
    fn indexes_that_a_hint_may_not_name_are_passed_over() {
        let names = [
            "Key_name",
            "Seq_in_index",
            "Column_name",
            "Index_type",
            "Visible",
            "Ignored",
            "Sub_part",
        ];
        let rows = [
            ["PRIMARY", "1", "id", "BTREE", "YES", "NO", ""],
            ["two", "1", "a", "BTREE", "YES", "NO", ""],
            ["two", "2", "b", "BTREE", "YES", "NO", "5"],
            ["start", "1", "b", "BTREE", "YES", "NO", "5"],
            ["sum", "1", "", "BTREE", "YES", "NO", ""],
            ["hidden", "1", "c", "BTREE", "NO", "NO", ""],
            ["ignored", "1", "c", "BTREE", "YES", "YES", ""],
            ["words", "1", "d", "FULLTEXT", "YES", "NO", ""],
        ];
        let cell = |cell: &str| (!cell.is_empty()).then(|| cell.as_bytes().to_vec());
        let cells = |row: [&str; 7]| row.map(cell).to_vec();
        let reply = Reply {
            columns: names.map(String::from).to_vec(),
            rows: rows.map(cells).to_vec(),
            ..Reply::default()
        };
        let seen = seen_indexes(&reply);
        let seen = seen.iter().map(|(a, b)| (a.as_str(), b.as_deref()));
        let seen: Vec<(&str, Option<&str>)> = seen.collect();
        let expected = [
            ("PRIMARY", Some("id")),
            ("start", None),
            ("sum", None),
            ("two", Some("a")),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_table_without_a_primary_key_is_scanned_itself() {
        let table = "SELECT MAX(LENGTH(`pad`)) FROM s.`t` USE INDEX ()";
        assert_eq!(scans(&[]), [table]);
        assert_eq!(
            scans(&[("k`1", "k")]),
            [
                "SELECT MAX(LENGTH(`k`)) FROM s.`t` FORCE INDEX (`k``1`)",
                table,
            ]
        );
    }

    #[test]
    fn background_reads_do_not_count_as_evicted_tables() {
        for (pages_read_again, data_pages, held) in [
            (0, 0, true),
            (13, 1_000, true),
            (64, 1_000, true),
            (65, 1_000, false),
            (1_000, 1_000_000, true),
            (1_001, 1_000_000, false),
        ] {
            assert_eq!(is_held(pages_read_again, data_pages), held, "{data_pages}");
        }
    }
}

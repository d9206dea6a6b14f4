//! Reading the tables into the server's memory before they are measured.
//!
//! Goal: every page of every index is read once, and whether they stayed is seen in the server's own counters. Non-goal: the order in
//! which a pool that is too small keeps them.

use super::schema;
use crate::server::{ServerError, Session};

/// Pages that a server reads for itself meanwhile (purge, its own tables): 7 and 13 were seen, on 5.6.14 and 9.7.
const PAGES_BESIDE: u64 = 64;
/// Of a large dataset one page in so many may be missing: a scan that reads it again takes longer, and more comes beside.
const PAGES_FOR_ONE: u64 = 1000;

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preloaded {
    /// Indexes that were scanned, those that are the tables themselves among them.
    pub indexes: usize,
    /// Pages that InnoDB read from disk while everything was scanned once more; none where it does not count them.
    pub pages_read_again: Option<u64>,
    /// Whether these are so few that the tables are in memory. None where that cannot be known (no InnoDB).
    pub held: Option<bool>,
}

/// Scans every index of these tables twice; the second time to see whether anything had to be read again.
///
/// # Errors
/// Whatever the server answers.
pub fn preload(
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

/// Whether pages that were read again are few enough beside those of the data.
fn is_held(pages_read_again: u64, data_pages: u64) -> bool {
    pages_read_again <= PAGES_BESIDE.max(data_pages / PAGES_FOR_ONE)
}

/// One statement an index. MAX(LENGTH()) of a column has no shortcut: it looks at every entry.
fn scans(session: &mut Session, schema: &str, tables: &[&str]) -> Result<Vec<String>, ServerError> {
    let mut scans = Vec::new();
    for table in tables {
        let whole = last_column(session, schema, table)?;
        for (index, column) in indexes(session, schema, table)? {
            // The table itself is its primary key; a column at its end is in no other index of ours.
            let column = if index == "PRIMARY" { &whole } else { &column };
            scans.push(format!(
                "SELECT MAX(LENGTH(`{column}`)) FROM {schema}.`{table}` FORCE INDEX (`{index}`)"
            ));
        }
    }
    Ok(scans)
}

/// Each index with its first column.
fn indexes(
    session: &mut Session,
    schema: &str,
    table: &str,
) -> Result<Vec<(String, String)>, ServerError> {
    let reply = session.query(&format!(
        "SELECT index_name, column_name FROM information_schema.statistics WHERE table_schema = '{schema}' AND table_name = '{table}' AND seq_in_index = 1 AND index_type = 'BTREE' ORDER BY index_name"
    ))?;
    let cell = |row: &[Option<Vec<u8>>], n: usize| {
        let cell = row.get(n)?.as_deref()?;
        Some(String::from_utf8_lossy(cell).into_owned())
    };
    let rows = reply.rows.iter();
    Ok(rows
        .filter_map(|row| cell(row, 0).zip(cell(row, 1)))
        .collect())
}

fn last_column(session: &mut Session, schema: &str, table: &str) -> Result<String, ServerError> {
    let reply = session.query(&format!(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = '{schema}' AND table_name = '{table}' ORDER BY ordinal_position DESC LIMIT 1"
    ))?;
    Ok(reply.first_text().unwrap_or_default())
}

/// A status counter as it stands; none where the server does not have it.
fn status(session: &mut Session, name: &str) -> Result<Option<u64>, ServerError> {
    let reply = session.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
    let value = reply.rows.first().and_then(|row| row.get(1)?.as_deref());
    Ok(value.and_then(|value| std::str::from_utf8(value).ok()?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_reads_for_itself_does_not_say_that_the_tables_are_gone() {
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

//! The tables `sbtest1`, `sbtest2`, ...: their statements and rows.

use super::section::Data;
use crate::Estimate;
use crate::generated::generator::Generated;
use crate::generated::stored_tables::{Sqlite, Stored};
use crate::schema::indexes::IndexBuild;
use crate::schema::marker;
use datagen::oltp::Oltp;

/// prony's own schema for these tables.
pub const SCHEMA: &str = "prony_oltp";
const TABLE: &str = include_str!("schema.mysql.sql");
/// The index on `k`, with the comma before it.
const INDEX: &str = ",\n    KEY k_{n} (k)";
/// Increment it when the generated rows change, so that stored datasets are reloaded.
const GENERATOR: u32 = 1;
const COLUMNS: usize = 4;

// A million rows in one table and in four, InnoDB of 5.5.34, 5.6.14, 8.0.33 and MariaDB 10.11: 225 MB of data, 14 to 16 MB of
// index, and an extent or two a table.
const BYTES_PER_ROW: u64 = 225;
const BYTES_PER_INDEX_ENTRY: u64 = 15;
const BYTES_PER_TABLE: u64 = 1 << 20;
/// An estimate: those loads took 23 to 53 s with default redo logs, on two heavily shared cores.
const SECONDS_PER_ROW: f64 = 12e-6;

/// The tables of a section.
///
/// # Panics
/// If there are no tables or no rows; the section refuses such data.
pub fn tables(data: &Data) -> Stored {
    let oltp = Oltp::new(data.tables, data.rows).expect("the section has checked it");
    // Tables load side by side, each in the order of its ids.
    let rows = Generated::new(oltp, (1..=data.tables).map(|n| (n, COLUMNS)));
    Stored {
        fingerprint: fingerprint(data),
        summary: summary(data),
        schema: SCHEMA,
        engine: data.engine.clone(),
        // Built by sorting, as in sysbench.
        index_build: IndexBuild::After,
        create: create(data),
        sqlite: Sqlite::Refused {
            what: "This workload drives many concurrent clients, which SQLite does not support",
            instead: "name a server of the MySQL family",
        },
        pattern: Some("sbtest%"),
        connections: crate::connections().min(data.tables as usize),
        cost: cost(data),
        rows: Box::new(rows),
        after_rows: Vec::new(),
        changing: None,
        reload: data.reload,
    }
}

fn fingerprint(data: &Data) -> String {
    let hash = marker::hash(&[TABLE.as_bytes(), &GENERATOR.to_le_bytes()]);
    let Data {
        tables,
        rows,
        engine,
        secondary_index,
        reload: _,
    } = data;
    let index = if *secondary_index { "indexed" } else { "plain" };
    format!("oltp-{tables}x{rows}-{engine}-{index}-{hash}")
}

/// `4 tables of 100000 rows, InnoDB`
fn summary(data: &Data) -> String {
    let Data { rows, engine, .. } = data;
    let tables = record::plural(data.tables as usize, "table");
    let index = if data.secondary_index {
        ""
    } else {
        ", no secondary index"
    };
    format!("{tables} of {rows} rows, {engine}{index}")
}

/// Bytes are measured, see [`BYTES_PER_ROW`]; there are no rounds.
fn cost(data: &Data) -> Estimate {
    let tables = u64::from(data.tables);
    let rows = data.rows * tables;
    let index = if data.secondary_index {
        BYTES_PER_INDEX_ENTRY
    } else {
        0
    };
    Estimate {
        data_bytes: tables * BYTES_PER_TABLE + rows * (BYTES_PER_ROW + index),
        load_s: 1.0 + rows as f64 * SECONDS_PER_ROW,
        ..Estimate::default()
    }
}

fn create(data: &Data) -> String {
    let table = if data.secondary_index {
        TABLE.to_owned()
    } else {
        TABLE.replace(INDEX, "")
    };
    let tables = (1..=data.tables).map(|n| table.replace("{n}", &n.to_string()));
    tables.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{self, indexes};

    fn created(secondary_index: bool) -> String {
        let data = Data {
            tables: 2,
            rows: 1,
            engine: "InnoDB".into(),
            secondary_index,
            reload: false,
        };
        create(&data)
    }

    #[test]
    fn every_table_is_created_with_its_number() {
        let text = created(true);
        let made: Vec<&str> = schema::statements(&text).map(indexes::table).collect();
        assert_eq!(made, ["sbtest1", "sbtest2"]);
        assert!(!text.contains("{n}"), "{text}");
    }

    #[test]
    fn the_secondary_index_can_be_left_out() {
        let (indexed, plain) = (created(true), created(false));
        assert!(indexed.contains("KEY k_2 (k)"), "{indexed}");
        assert!(!plain.contains("KEY k_"), "{plain}");
    }
}

//! The tables `sbtest1`, `sbtest2`, ...: made, filled, counted.

use super::section::Data;
use crate::indexes::IndexBuild;
use crate::loader::{self, Cut, Piece, Table, settings};
use crate::marker::{self, Marker};
use crate::stored::{Filling, Stored};
use crate::{Estimate, LoadError, Loaded, Preloaded, Progress, State, schema};
use datagen::Format;
use datagen::oltp::{Chunk, Oltp};
use server::{ServerError, Session};

/// prony's own schema for these tables.
pub const SCHEMA: &str = "prony_oltp";
const TABLE: &str = include_str!("schema.mysql.sql");
/// The index on `k`, with the comma before it.
const INDEX: &str = ",\n    KEY k_{n} (k)";
/// To be raised when the generator's rows change, so that kept datasets are made anew.
const GENERATOR: u32 = 1;
const COLUMNS: usize = 4;
/// More connections gain nothing on the machines that this is meant for.
const CONNECTIONS_MAX: usize = 8;

// A million rows in one table and in four, InnoDB of 5.5.34, 5.6.14, 8.0.33 and MariaDB 10.11: 225 MB of data, 14 to 16 MB of
// index, and an extent or two a table.
const BYTES_PER_ROW: u64 = 225;
const BYTES_PER_INDEX_ENTRY: u64 = 15;
const BYTES_PER_TABLE: u64 = 1 << 20;
/// Guessed: those loads took 23 to 53 s with the servers' default redo logs, on two cores that twenty others wanted.
const SECONDS_PER_ROW: f64 = 12e-6;

const CUT: Cut<Chunk> = Cut {
    split: |chunk, n| chunk.split(n).collect(),
    write: |chunk, to| chunk.write(to, Format::Tbl),
};

pub struct Tables {
    data: Data,
    oltp: Oltp,
    names: Vec<String>,
    /// CREATE TABLE statements, each with `{engine}`.
    create: String,
}

impl Tables {
    /// # Panics
    /// Where there are no tables or no rows; the section lets no such data through.
    pub fn new(data: Data) -> Tables {
        let oltp = Oltp::new(data.tables, data.rows).expect("the section has checked it");
        let names = (1..=data.tables).map(|n| format!("sbtest{n}")).collect();
        let create = create(&data);
        Tables {
            data,
            oltp,
            names,
            create,
        }
    }

    /// Of all tables.
    pub fn rows(&self) -> u64 {
        self.data.rows * u64::from(self.data.tables)
    }

    pub fn fingerprint(&self) -> String {
        let hash = marker::hash(&[TABLE.as_bytes(), &GENERATOR.to_le_bytes()]);
        let Data {
            tables,
            rows,
            engine,
            secondary_index,
        } = &self.data;
        let index = if *secondary_index { "indexed" } else { "plain" };
        format!("oltp-{tables}x{rows}-{engine}-{index}-{hash}")
    }

    /// `4 tables of 100000 rows, InnoDB`
    pub fn summary(&self) -> String {
        let Data {
            tables,
            rows,
            engine,
            secondary_index,
        } = &self.data;
        let tables = match tables {
            1 => "1 table".into(),
            many => format!("{many} tables"),
        };
        let index = if *secondary_index {
            ""
        } else {
            ", no secondary index"
        };
        format!("{tables} of {rows} rows, {engine}{index}")
    }

    /// Bytes are measured, see [`BYTES_PER_ROW`]; there are no rounds.
    pub fn estimate(&self) -> Estimate {
        let text_bytes = u64::from(self.data.tables) * self.oltp.whole(1).bytes_estimate();
        let index = if self.data.secondary_index {
            BYTES_PER_INDEX_ENTRY
        } else {
            0
        };
        Estimate {
            rows: self.rows(),
            data_bytes: u64::from(self.data.tables) * BYTES_PER_TABLE
                + self.rows() * (BYTES_PER_ROW + index),
            text_bytes,
            load_s: 1.0 + self.rows() as f64 * SECONDS_PER_ROW,
            round_cold_s: 0.0,
            round_hot_s: 0.0,
        }
    }

    fn stored(&self) -> Stored<'_> {
        Stored {
            schema: SCHEMA,
            tables: self.names.iter().map(String::as_str).collect(),
            engine: &self.data.engine,
            // By sorting, as sysbench makes it.
            index_build: IndexBuild::After,
            create: &self.create,
            indexes_sqlite: "",
        }
    }

    fn marker(&self) -> Marker {
        Marker {
            fingerprint: self.fingerprint(),
            rows: self.rows(),
        }
    }

    pub fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        self.stored().enter(session)
    }

    pub fn state(&self, session: &mut Session) -> Result<State, ServerError> {
        self.stored().state(session)
    }

    pub fn create(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError> {
        schema::refuse_sqlite(
            session,
            "These tables are for a load of many clients, which SQLite does not take",
            "name a server of the MySQL family",
        )?;
        let failed = LoadError::during("The schema prony_oltp cannot be looked at");
        let present = present(session).map_err(failed)?;
        let what = format!("the tables {}", present.join(", "));
        schema::make_room(session, SCHEMA, &present, what, allow_drop)?;
        self.stored().create_mysql(session)
    }

    /// Fills the empty tables, several at once where there are several, each in the order of its ids.
    pub fn load(
        &self,
        connect: loader::Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let filling = Filling {
            tables: self.list(),
            pieces: self.pieces(),
            connections: self.names.len().min(cores).min(CONNECTIONS_MAX),
            data_bytes: self.estimate().data_bytes,
            marker: self.marker(),
        };
        self.stored().load(filling, connect, progress, cancel)
    }

    fn list(&self) -> Vec<Table> {
        let table = |name: &String| Table {
            name: name.clone(),
            columns: COLUMNS,
            rows: self.data.rows,
        };
        self.names.iter().map(table).collect()
    }

    /// Statements of as many rows as the engine is best loaded with.
    fn pieces(&self) -> Vec<Piece> {
        let each = settings::strategy(&self.data.engine).rows_per_statement;
        let pieces = |table: usize| {
            let whole = self.oltp.whole(table as u32 + 1);
            CUT.pieces(table, self.data.rows, each, &whole)
        };
        (0..self.names.len()).flat_map(pieces).collect()
    }

    /// Counts the rows of every table and reads the marker.
    pub fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        self.stored().verify(session, &self.list(), &self.marker())
    }

    pub fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        self.stored().data_bytes(session)
    }

    pub fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        self.stored().preload(session)
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

/// Whatever tables of this kind are there, of another number of tables too, and the marker.
fn present(session: &mut Session) -> Result<Vec<String>, ServerError> {
    let reply = session.query(&format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND (table_name LIKE 'sbtest%' OR table_name = '{}') ORDER BY table_name",
        marker::TABLE
    ))?;
    let names = reply.rows.iter().filter_map(|row| row.first()?.as_deref());
    Ok(names
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexes;

    fn created(secondary_index: bool) -> String {
        let data = Data {
            tables: 2,
            secondary_index,
            ..Data::default()
        };
        Tables::new(data).create
    }

    #[test]
    fn every_table_is_made_under_its_number() {
        let text = created(true);
        let made: Vec<&str> = schema::statements(&text).map(indexes::table).collect();
        assert_eq!(made, ["sbtest1", "sbtest2"]);
        assert!(!text.contains("{n}"), "{text}");
    }

    #[test]
    fn the_secondary_index_is_there_only_where_it_is_asked_for() {
        let (indexed, plain) = (created(true), created(false));
        assert!(indexed.contains("KEY k_2 (k)"), "{indexed}");
        assert!(!plain.contains("KEY k_"), "{plain}");
    }
}

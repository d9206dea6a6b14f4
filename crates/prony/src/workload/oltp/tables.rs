//! The tables `sbtest1`, `sbtest2`, ...: made, filled, counted.

use super::section::Data;
use crate::server::{ServerError, Session};
use crate::workload::loader::{self, Part, Piece, Table, settings};
use crate::workload::marker::{self, Marker};
use crate::workload::{Dialect, Estimate, LoadError, Loaded, Preloaded, Progress, State};
use crate::workload::{preload, schema};
use datagen::oltp::{Chunk, Oltp};
use datagen::ssb::Format;
use sha2::{Digest, Sha256};
use std::time::Instant;

/// prony's own schema for these tables.
pub const SCHEMA: &str = "prony_oltp";
const MYSQL: &str = include_str!("schema.mysql.sql");
/// To be raised when the generator's rows change, so that kept datasets are made anew.
const GENERATOR: u32 = 1;
const COLUMNS: usize = 4;
/// Rows between two looks at whether the load was cancelled: some milliseconds of a server's time.
const ROWS_PER_PART: u64 = 2_000;
/// More connections gain nothing on the machines that this is meant for.
const CONNECTIONS_MAX: usize = 8;

// A million rows in one table and in four, InnoDB of 5.5.34, 5.6.14, 8.0.33 and MariaDB 10.11: 225 MB of data, 14 to 16 MB of
// index, and an extent or two a table.
const BYTES_PER_ROW: u64 = 225;
const BYTES_PER_INDEX_ENTRY: u64 = 15;
const BYTES_PER_TABLE: u64 = 1 << 20;
/// Guessed: those loads took 23 to 53 s with the servers' default redo logs, on two cores that twenty others wanted.
const SECONDS_PER_ROW: f64 = 12e-6;

pub struct Tables {
    data: Data,
    oltp: Oltp,
    names: Vec<String>,
}

impl Tables {
    /// # Panics
    /// Where there are no tables or no rows; the section lets no such data through.
    pub fn new(data: Data) -> Tables {
        let oltp = Oltp::new(data.tables, data.rows).expect("the section has checked it");
        let names = (1..=data.tables).map(|n| format!("sbtest{n}")).collect();
        Tables { data, oltp, names }
    }

    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Of all tables.
    pub fn rows(&self) -> u64 {
        self.data.rows * u64::from(self.data.tables)
    }

    fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(MYSQL);
        hash.update(GENERATOR.to_le_bytes());
        let hash = hash.finalize();
        let hash: String = hash
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
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

    pub fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        session.execute(&format!("USE {SCHEMA}")).map(|_| ())
    }

    pub fn state(&self, session: &mut Session) -> Result<State, ServerError> {
        marker::state(session, SCHEMA, &self.names())
    }

    pub fn create(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError> {
        if Dialect::of(session) == Dialect::Sqlite {
            return Err(LoadError::Server {
                what: "These tables are for a load of many clients, which SQLite does not take",
                cause: ServerError::Unusable("name a server of the MySQL family".into()),
            });
        }
        let failed = failed("The schema prony_oltp cannot be looked at");
        let present = present(session).map_err(failed)?;
        if !present.is_empty() {
            if !allow_drop {
                let what = format!("the tables {}", present.join(", "));
                return Err(LoadError::Exists {
                    schema: SCHEMA.into(),
                    what,
                });
            }
            schema::drop(session, SCHEMA, &present)?;
        }
        let engine = &self.data.engine;
        self.make(session)
            .map_err(|cause| schema::cannot_create(engine, cause))
    }

    fn make(&self, session: &mut Session) -> Result<(), ServerError> {
        schema::make(session, SCHEMA)?;
        for table in 1..=self.data.tables {
            let text = MYSQL
                .replace("{n}", &table.to_string())
                .replace("{engine}", &self.data.engine);
            for statement in schema::statements(&text) {
                session.execute(statement)?;
            }
        }
        Ok(())
    }

    /// Fills the empty tables, several at once where there are several, each in the order of its ids.
    pub fn load(
        &self,
        connect: loader::Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let mut session = connect().map_err(failed("The server cannot be reached for the load"))?;
        self.enter(&mut session)
            .map_err(failed("The schema prony_oltp cannot be entered"))?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let job = loader::Job {
            prepare: vec![
                format!("USE {SCHEMA}"),
                "SET SESSION sql_mode = 'STRICT_ALL_TABLES'".into(),
            ],
            tables: self.list(),
            pieces: self.pieces(),
            connections: self.names.len().min(cores).min(CONNECTIONS_MAX),
            data_bytes: self.estimate().data_bytes,
        };
        let mut loaded = loader::run(job, connect, progress, cancel)?;
        let begun = Instant::now();
        self.finish(&mut session).map_err(failed(
            "The rows are loaded, but the tables could not be finished",
        ))?;
        loaded.finish_s = begun.elapsed().as_secs_f64();
        Ok(loaded)
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
        let count = each.map_or(1, |each| self.data.rows.div_ceil(each));
        let mut pieces = Vec::new();
        for table in 0..self.names.len() {
            let whole = self.oltp.whole(table as u32 + 1);
            pieces.extend(whole.split(count).map(|chunk| Piece {
                table,
                parts: parts(&chunk),
            }));
        }
        pieces
    }

    /// The index is made by sorting, as sysbench makes it; then the server looks at the tables, since statistics decide plans.
    fn finish(&self, session: &mut Session) -> Result<(), ServerError> {
        if self.data.secondary_index {
            for (n, table) in (1..).zip(&self.names) {
                session.execute(&format!("CREATE INDEX k_{n} ON {table} (k)"))?;
            }
        }
        session.query(&format!("ANALYZE TABLE {}", self.names.join(", ")))?;
        let marker = Marker {
            fingerprint: self.fingerprint(),
            rows: self.rows(),
        };
        marker::write(session, SCHEMA, &self.data.engine, &marker)
    }

    /// Counts the rows of every table and reads the marker.
    pub fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        let failed = failed("The loaded tables cannot be counted");
        let wrong = |table: &str, says: String| LoadError::Wrong {
            table: table.into(),
            says,
        };
        self.enter(session).map_err(&failed)?;
        for table in &self.names {
            let counted = schema::count(session, table).map_err(&failed)?;
            if counted != self.data.rows {
                let says = format!("it has {counted} rows and should have {}", self.data.rows);
                return Err(wrong(table, says));
            }
        }
        match marker::read(session, SCHEMA).map_err(failed)? {
            Some(found) if found.fingerprint == self.fingerprint() => Ok(()),
            other => {
                let says = format!(
                    "its row is {other:?} and should name {}",
                    self.fingerprint()
                );
                Err(wrong(marker::TABLE, says))
            }
        }
    }

    pub fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        schema::data_bytes(session, SCHEMA, &self.names())
    }

    pub fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        preload::preload(session, SCHEMA, &self.names())
    }
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

fn parts(chunk: &Chunk) -> Vec<Part> {
    let part = |chunk: Chunk| Part {
        write: Box::new(move |to| chunk.write(to, Format::Tbl)),
    };
    chunk
        .split(chunk.rows().div_ceil(ROWS_PER_PART))
        .map(part)
        .collect()
}

fn failed(what: &'static str) -> impl Fn(ServerError) -> LoadError {
    move |cause| LoadError::Server { what, cause }
}

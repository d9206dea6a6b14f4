//! Tables created by the user's setup statements.
//!
//! Purpose: run them once in prony's own schema, and detect an incomplete setup. Boundaries: no stored programs, which
//! contain unquoted semicolons.

use super::cancel::killed_on_cancel;
use crate::marker::{self, Marker};
use crate::script::statements;
use crate::{Dataset, Estimate, LoadError, Loaded, Preloaded, Progress, State};
use crate::{preload, schema};
use server::{ServerError, Session};
use std::collections::BTreeMap;
use std::time::Instant;

/// prony's own schema for these tables.
pub(super) const SCHEMA: &str = "prony_sql";
/// A placeholder size for the check of free disk space, since the result of statements is unknown.
const DATA_BYTES_GUESSED: u64 = 256 << 20;
/// Maximum length of a statement in a message, since those of a dump may have megabytes.
const SHOWN_CHARS: usize = 200;

pub(super) struct Setup {
    sql: String,
}

impl Dataset for Setup {
    fn fingerprint(&self) -> String {
        format!("sql-{}", marker::hash(&[self.sql.as_bytes()]))
    }

    fn summary(&self) -> String {
        match self.statements().len() {
            0 => "no tables".into(),
            1 => "tables of 1 statement".into(),
            many => format!("tables of {many} statements"),
        }
    }

    fn schema(&self) -> &str {
        SCHEMA
    }

    fn estimate(&self) -> Estimate {
        Estimate {
            rows: 0,
            data_bytes: DATA_BYTES_GUESSED,
            text_bytes: self.sql.len() as u64,
            load_s: 1.0,
            round_cold_s: 0.0,
            round_hot_s: 0.0,
        }
    }

    fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        schema::enter(session, SCHEMA)
    }

    fn state(&self, session: &mut Session) -> Result<State, ServerError> {
        let tables = tables(session)?;
        if tables.is_empty() && views(session)?.is_empty() {
            return Ok(State::Absent);
        }
        let whole = tables.iter().any(|table| table == marker::TABLE);
        match if whole {
            marker::read(session, SCHEMA)?
        } else {
            None
        } {
            Some(marker) => Ok(State::Complete(marker.fingerprint)),
            None => Ok(State::Partial),
        }
    }

    fn create(&self, session: &mut Session, allow_drop: bool) -> Result<(), LoadError> {
        schema::refuse_sqlite(
            session,
            "This workload drives many concurrent clients, which SQLite does not support",
            "name a server of the MySQL family",
        )?;
        let failed = LoadError::during("The schema prony_sql cannot be created");
        let tables = tables(session).map_err(&failed)?;
        let views = views(session).map_err(&failed)?;
        let present = [&tables[..], &views[..]].concat();
        let what = format!("the tables {}", present.join(", "));
        schema::may_drop(SCHEMA, &present, what, allow_drop)?;
        schema::drop_views(session, SCHEMA, &views)?;
        // Allows tables with foreign keys to be dropped in any order.
        session
            .execute("SET SESSION foreign_key_checks = 0")
            .map_err(&failed)?;
        schema::drop_tables(session, SCHEMA, &tables)?;
        session
            .execute("SET SESSION foreign_key_checks = 1")
            .map_err(&failed)?;
        schema::make(session, SCHEMA).map_err(failed)
    }

    fn load(
        &self,
        connect: crate::loader::Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let mut session = connect().map_err(LoadError::during(
            "The server cannot be reached for the load",
        ))?;
        self.enter(&mut session)
            .map_err(LoadError::during("The schema prony_sql cannot be selected"))?;
        let connection = session.connection_id();
        killed_on_cancel(connection, connect, cancel, || {
            self.fill(&mut session, progress, cancel)
        })
    }

    /// Counts the rows of all tables and compares the sum with the count after the setup.
    fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        let failed = LoadError::during("The tables cannot be counted");
        self.enter(session).map_err(&failed)?;
        let rows = count(session).map_err(&failed)?;
        let expected = Marker {
            fingerprint: self.fingerprint(),
            rows,
        };
        match marker::read(session, SCHEMA).map_err(failed)? {
            Some(found) if found == expected => Ok(()),
            other => Err(LoadError::Wrong {
                table: marker::TABLE.into(),
                says: format!("its row is {other:?} but should be {expected:?}"),
            }),
        }
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        let tables = tables(session)?;
        let names: Vec<&str> = tables.iter().map(String::as_str).collect();
        schema::data_bytes(session, SCHEMA, &names)
    }

    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        let tables = tables(session)?;
        let names: Vec<&str> = tables.iter().map(String::as_str).collect();
        preload::preload(session, SCHEMA, &names)
    }
}

impl Setup {
    /// `sql`: empty, or statements that the section has checked.
    pub(super) fn new(sql: String) -> Setup {
        Setup { sql }
    }

    fn statements(&self) -> Vec<&str> {
        statements(&self.sql).unwrap_or_default()
    }

    fn fill(
        &self,
        session: &mut Session,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let begun = Instant::now();
        let list = self.statements();
        let cancelled = |n: usize| LoadError::Cancelled {
            rows: n as u64,
            rows_total: list.len() as u64,
        };
        for (n, statement) in list.iter().enumerate() {
            if cancel() {
                return Err(cancelled(n));
            }
            session.query(statement).map_err(|cause| match cancel() {
                true => cancelled(n),
                false => refused(n, list.len(), statement, cause),
            })?;
            progress(Progress {
                table: "setup".into(),
                rows: n as u64 + 1,
                rows_total: list.len() as u64,
                elapsed_s: begun.elapsed().as_secs_f64(),
                idle_s: 0.0,
            });
        }
        let elapsed_s = begun.elapsed().as_secs_f64();
        let unfinished = LoadError::during(
            "The statements ran, but the statistics or the marker could not be written",
        );
        let rows = self.finish(session).map_err(|cause| match cancel() {
            true => cancelled(list.len()),
            false => unfinished(cause),
        })?;
        Ok(Loaded {
            rows,
            bytes: self.sql.len() as u64,
            elapsed_s,
            index_s: BTreeMap::new(),
            finish_s: begun.elapsed().as_secs_f64() - elapsed_s,
            method: "setup".into(),
            connections: 1,
            tables: BTreeMap::new(),
        })
    }

    /// Updates the optimizer statistics and writes the marker with the number of rows.
    fn finish(&self, session: &mut Session) -> Result<u64, ServerError> {
        let tables = tables(session)?;
        if !tables.is_empty() {
            let names: Vec<String> = tables.iter().map(|name| schema::quoted(name)).collect();
            session.query(&format!("ANALYZE TABLE {}", names.join(", ")))?;
        }
        let rows = count(session)?;
        let marker = Marker {
            fingerprint: self.fingerprint(),
            rows,
        };
        marker::write(session, SCHEMA, "InnoDB", &marker)?;
        Ok(rows)
    }
}

/// All tables of the schema, the marker's among them.
fn tables(session: &mut Session) -> Result<Vec<String>, ServerError> {
    names(session, "BASE TABLE")
}

fn views(session: &mut Session) -> Result<Vec<String>, ServerError> {
    names(session, "VIEW")
}

/// The objects of a given type in the schema, from information_schema.
fn names(session: &mut Session, table_type: &str) -> Result<Vec<String>, ServerError> {
    let reply = session.query(&format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_type = '{table_type}' ORDER BY table_name"
    ))?;
    Ok(marker::names(&reply))
}

/// Rows of all tables but the marker's.
fn count(session: &mut Session) -> Result<u64, ServerError> {
    let mut rows = 0;
    for table in tables(session)? {
        if table != marker::TABLE {
            rows += schema::count(session, &schema::quoted(&table))?;
        }
    }
    Ok(rows)
}

fn refused(n: usize, of: usize, statement: &str, cause: ServerError) -> LoadError {
    LoadError::Refused {
        table: format!(
            "statement {} of the setup ({})",
            n + 1,
            beginning(statement)
        ),
        rows: n as u64,
        rows_total: of as u64,
        cause: cause.to_string(),
    }
}

fn beginning(statement: &str) -> String {
    match statement.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{} ...", &statement[..end]),
        None => statement.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(statement: &str) -> String {
        let cause = ServerError::Refused {
            code: 1064,
            message: "no".into(),
        };
        refused(1, 3, statement, cause).to_string()
    }

    #[test]
    fn an_error_shows_at_most_the_start_of_a_long_statement() {
        assert_eq!(
            message("selec 1"),
            "the server refused statement 2 of the setup (selec 1) after 1 of 3 rows: 1064 no"
        );
        let (whole, longer) = ("ä".repeat(SHOWN_CHARS), "ä".repeat(1 << 20));
        assert!(message(&whole).contains(&format!("({whole})")));
        assert!(message(&longer).contains(&format!("({whole} ...)")));
    }
}

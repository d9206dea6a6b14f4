//! Tables that prony creates from the user's own SQL and files, in prony's own schema.
//!
//! Purpose: make the schema, drop what an earlier load made in it, and detect an incomplete load. Boundaries: `loading` fills it,
//! `existing_tables` measures tables that exist already.

use super::loading::Load;
use super::own_schema::{SCHEMA, count, loaded_tables, sequences, tables, views};
use super::sources::{Charset, Sources};
use super::{confined, existing_tables};
use crate::loader::Connect;
use crate::schema::held::{self, Held};
use crate::schema::marker::{self, Marker};
use crate::schema::{self, definitions, preload};
use crate::{
    AfterLoad, AllowDrop, Dataset, DatasetState, Estimate, LoadError, Loaded, Preloaded, Progress,
};
use server::{ServerError, Session};
use std::sync::OnceLock;

/// The engine of the marker; the user chooses those of the tables.
const ENGINE_OF_MARKER: &str = "InnoDB";
/// A placeholder size for the check of free disk space, since the result of statements is unknown.
const DATA_BYTES_GUESSED: u64 = 256 << 20;
/// Bytes in a server for each byte of a file: rows with their indexes.
const SERVER_BYTES_PER_BYTE: u64 = 3;
/// A server loads about this much of a dump in a second: 24 MB with 360,000 rows took MariaDB 10.11 7.1 s on two busy cores, and
/// 9.5 s with its own client and settings.
const LOAD_BYTES_PER_S: f64 = 3e6;
/// The error code of: Unknown character set.
const NO_CHARSET: u16 = 1115;

pub(super) struct Tables {
    sources: Sources,
    /// Taken once, since files may be large.
    fingerprint: OnceLock<String>,
}

impl Dataset for Tables {
    /// Includes the content of every file.
    fn fingerprint(&self) -> String {
        let taken = self.fingerprint.get_or_init(|| self.sources.fingerprint());
        taken.clone()
    }

    fn summary(&self) -> String {
        self.sources.summary()
    }

    fn schema(&self) -> &str {
        SCHEMA
    }

    fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    fn estimate(&self) -> Estimate {
        let (text, expanded) = self.sources.bytes();
        let data_bytes = (expanded * SERVER_BYTES_PER_BYTE).max(DATA_BYTES_GUESSED);
        Estimate {
            data_bytes,
            text_bytes: text,
            load_s: 1.0 + expanded as f64 / LOAD_BYTES_PER_S,
            ..Estimate::default()
        }
    }

    fn state(&self, session: &mut Session) -> Result<DatasetState, ServerError> {
        let tables = tables(session)?;
        if tables.is_empty() && views(session)?.is_empty() {
            return Ok(DatasetState::Absent);
        }
        let is_marked = tables.iter().any(|table| table == marker::TABLE);
        if !is_marked {
            return Ok(DatasetState::Theirs);
        }
        Ok(match marker::read(session, SCHEMA)? {
            Some(marker) => DatasetState::Complete(marker.fingerprint),
            None => DatasetState::Partial,
        })
    }

    fn held(&self, session: &mut Session) -> Result<Held, ServerError> {
        let tables = loaded_tables(session)?;
        let names: Vec<&str> = tables.iter().map(String::as_str).collect();
        held::compared(session, SCHEMA, &names, &[])
    }

    fn after_load(&self) -> AfterLoad {
        if self.sources.reload {
            AfterLoad::Reload
        } else {
            AfterLoad::Keep
        }
    }

    fn confined(&self, session: &mut Session) -> Result<(), LoadError> {
        confined::on(session, &self.sources)
    }

    fn create(&self, session: &mut Session, allow: &AllowDrop) -> Result<(), LoadError> {
        schema::refuse_sqlite(
            session,
            "The workload sql runs on servers of the MySQL family only",
            "name one of them instead of SQLite",
        )?;
        let failed = LoadError::during("The schema prony_sql cannot be created");
        let tables = tables(session).map_err(&failed)?;
        let views = views(session).map_err(&failed)?;
        let sequences = sequences(session).map_err(&failed)?;
        let present = [&tables[..], &views[..], &sequences[..]].concat();
        let what = format!("the tables {}", present.join(", "));
        schema::may_drop(SCHEMA, &present, what, allow)?;
        drop_programs(session)?;
        schema::drop(session, SCHEMA, "VIEW", &views)?;
        // Allows tables with foreign keys to be dropped in any order.
        session
            .execute("SET SESSION foreign_key_checks = 0")
            .map_err(&failed)?;
        schema::drop_tables(session, SCHEMA, &tables)?;
        schema::drop(session, SCHEMA, "SEQUENCE", &sequences)?;
        session
            .execute("SET SESSION foreign_key_checks = 1")
            .map_err(&failed)?;
        make_schema(session, &self.sources.charset).map_err(&failed)?;
        marker::make(session, SCHEMA, ENGINE_OF_MARKER).map_err(failed)
    }

    fn load(
        &self,
        connect: Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        Load::new(&self.sources, connect, progress, cancel).run(&self.fingerprint())
    }

    /// Counts the rows of all tables and compares the sum with the count after the load.
    fn verify(&self, session: &mut Session) -> Result<(), LoadError> {
        let failed = LoadError::during("The tables cannot be counted");
        self.enter(session).map_err(&failed)?;
        let rows = count(session).map_err(&failed)?.values().sum();
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

    fn collations(&self, session: &mut Session) -> Result<Vec<String>, ServerError> {
        existing_tables::collations(session, SCHEMA)
    }

    /// One dump makes other tables on other servers: comments of a version (`/*!80000 INVISIBLE */`) are for some of them only.
    fn definitions(&self, session: &mut Session) -> Result<Option<String>, ServerError> {
        let tables = loaded_tables(session)?;
        definitions::hash_of(session, SCHEMA, &tables).map(Some)
    }

    fn objects(&self, session: &mut Session) -> Result<Option<String>, ServerError> {
        definitions::hash_of_objects(session, SCHEMA).map(Some)
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        existing_tables::data_bytes(session, SCHEMA)
    }

    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        let tables = tables(session)?;
        let names: Vec<&str> = tables.iter().map(String::as_str).collect();
        preload::preload(session, SCHEMA, &names)
    }
}

impl Tables {
    pub(super) fn new(sources: Sources) -> Tables {
        Tables {
            sources,
            fingerprint: OnceLock::new(),
        }
    }
}

/// Makes and selects the schema, with the character set of tables that name none.
fn make_schema(session: &mut Session, charset: &Charset) -> Result<(), ServerError> {
    let names = match charset {
        Charset::OfDump => vec!["utf8mb4".to_string(), "utf8".to_string()],
        Charset::Named(name) => vec![name.clone()],
        Charset::OfServer => {
            let sql = "SELECT CONCAT(@@character_set_server, ' COLLATE ', @@collation_server)";
            session.query(sql)?.first_text().into_iter().collect()
        }
    };
    let mut last = Ok(());
    for name in names {
        let sql = match schema::exists(session, SCHEMA)? {
            true => format!("ALTER DATABASE {SCHEMA} DEFAULT CHARACTER SET {name}"),
            false => format!("CREATE DATABASE {SCHEMA} DEFAULT CHARACTER SET {name}"),
        };
        last = session.execute(&sql).map(drop);
        match last {
            Err(ServerError::Refused { code, .. }) if code == NO_CHARSET => {}
            _ => break,
        }
    }
    last?;
    schema::make(session, SCHEMA)
}

/// Drops the routines and events of the schema. Triggers go with their tables.
fn drop_programs(session: &mut Session) -> Result<(), LoadError> {
    let failed = LoadError::during("The routines of prony_sql cannot be listed");
    let sql = format!(
        "SELECT routine_type, routine_name FROM information_schema.routines WHERE routine_schema = '{SCHEMA}' UNION ALL SELECT 'EVENT', event_name FROM information_schema.events WHERE event_schema = '{SCHEMA}'"
    );
    let found = session.query(&sql).map_err(failed)?;
    for row in 0..found.rows.len() {
        let kind = found.text(row, 0).unwrap_or_default();
        // The body goes with the package, and a routine of a package too.
        if ["PROCEDURE", "FUNCTION", "EVENT", "PACKAGE"].contains(&kind.as_str()) {
            let name = found.text(row, 1).unwrap_or_default();
            schema::drop(session, SCHEMA, &kind, &[name])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sources::tests::of_setup;
    use super::*;
    use server::Reply;

    /// The definitions on a server that made an index visible, or not.
    fn defined(is_visible: &'static str) -> Option<String> {
        let mut session = Session::Scripted(Box::new(move |sql: &str| {
            let cells = match sql.contains("information_schema.statistics") {
                true => ["t", "k", is_visible],
                false => ["t", "", ""],
            };
            let columns = ["table_name", "index_name", "is_visible"];
            Ok(Reply {
                columns: columns.map(String::from).to_vec(),
                rows: vec![cells.map(|cell| Some(cell.as_bytes().to_vec())).to_vec()],
                ..Reply::default()
            })
        }));
        let tables = Tables::new(of_setup("", None));
        tables.definitions(&mut session).unwrap()
    }

    #[test]
    fn a_dump_whose_index_one_server_hides_made_other_tables_there() {
        assert!(defined("YES").is_some());
        assert_eq!(defined("YES"), defined("YES"));
        assert_ne!(defined("YES"), defined("NO"));
    }
}

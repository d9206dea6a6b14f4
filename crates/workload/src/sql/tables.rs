//! Tables that prony creates from the user's own SQL and files, in prony's own schema.
//!
//! Purpose: run the setup or the dump once, then load the files, and detect an incomplete load. Every mistake names the user's
//! file and line. Boundaries: `dump` reads statements, `files` loads rows, `theirs` measures tables that exist already.

use super::confined;
use super::dump::{self, Action, Cut, Filter, Statements};
use super::files::TableFile;
use super::losses::{self, At};
use super::theirs;
use super::watched::{Watched, watched};
use crate::held::{self, Held, Look};
use crate::loader::Connect;
use crate::loader::warnings::Values;
use crate::marker::{self, Marker};
use crate::script::{statements, witness};
use crate::{
    AfterLoad, AllowDrop, Dataset, Estimate, LoadError, Loaded, Preloaded, Progress, State, Unit,
};
use crate::{preload, schema};
use server::{ServerError, Session};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// prony's own schema for these tables.
pub(super) const SCHEMA: &str = "prony_sql";
/// The engine of the marker; the user chooses those of the tables.
const ENGINE_OF_MARKER: &str = "InnoDB";
/// A placeholder size for the check of free disk space, since the result of statements is unknown.
const DATA_BYTES_GUESSED: u64 = 256 << 20;
/// Bytes in a server for each byte of a file: rows with their indexes. A compressed file expands first.
const SERVER_BYTES_PER_BYTE: u64 = 3;
const EXPANDED_BYTES_PER_BYTE: u64 = 6;
/// A server loads about this much of a dump in a second: 24 MB with 360,000 rows took MariaDB 10.11 7.1 s on two busy cores, and
/// 9.5 s with its own client and settings.
const LOAD_BYTES_PER_S: f64 = 3e6;
/// Maximum length of a statement in a message, since those of a dump may have megabytes.
const SHOWN_CHARS: usize = 200;

/// The statements that create the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Creation {
    /// `file`: where they come from, if not from the experiment file.
    Setup {
        sql: String,
        file: Option<String>,
    },
    Dump(PathBuf),
}

/// Where the tables come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    pub creation: Creation,
    /// Loaded after the statements, in this order.
    pub files: Vec<TableFile>,
    /// Texts that are replaced in the statements of a dump, but not in its rows.
    pub replace: Vec<(String, String)>,
    /// Whether values may be stored other than they are given.
    pub accept_warnings: bool,
    /// Whether tables that a load has changed are dropped and loaded anew before each trial on a running server.
    pub reload: bool,
}

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

    fn estimate(&self) -> Estimate {
        let (text, expanded) = self.sources.bytes();
        let data_bytes = (expanded * SERVER_BYTES_PER_BYTE).max(DATA_BYTES_GUESSED);
        Estimate {
            rows: 0,
            data_bytes,
            text_bytes: text,
            load_s: 1.0 + expanded as f64 / LOAD_BYTES_PER_S,
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
        let is_marked = tables.iter().any(|table| table == marker::TABLE);
        if !is_marked {
            return Ok(State::Theirs);
        }
        Ok(match marker::read(session, SCHEMA)? {
            Some(marker) => State::Complete(marker.fingerprint),
            None => State::Partial,
        })
    }

    fn held(&self, session: &mut Session) -> Result<Held, ServerError> {
        let tables = loaded_tables(session)?;
        let names: Vec<&str> = tables.iter().map(String::as_str).collect();
        held::compared(session, SCHEMA, &names, &[])
    }

    fn after_load(&self) -> AfterLoad {
        match self.sources.reload {
            true => AfterLoad::Reload,
            false => AfterLoad::Keep,
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
        let present = [&tables[..], &views[..]].concat();
        let what = format!("the tables {}", present.join(", "));
        schema::may_drop(SCHEMA, &present, what, allow)?;
        schema::drop_views(session, SCHEMA, &views)?;
        // Allows tables with foreign keys to be dropped in any order.
        session
            .execute("SET SESSION foreign_key_checks = 0")
            .map_err(&failed)?;
        schema::drop_tables(session, SCHEMA, &tables)?;
        session
            .execute("SET SESSION foreign_key_checks = 1")
            .map_err(&failed)?;
        schema::make(session, SCHEMA).map_err(&failed)?;
        marker::make(session, SCHEMA, ENGINE_OF_MARKER).map_err(failed)
    }

    fn load(
        &self,
        connect: Connect<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        let mut session = connect().map_err(LoadError::during(
            "The server cannot be reached for the load",
        ))?;
        self.enter(&mut session)
            .map_err(LoadError::during("The schema prony_sql cannot be selected"))?;
        let load = Load {
            sources: &self.sources,
            begun: Instant::now(),
            total: self.sources.bytes().0,
            read: Arc::default(),
            at: Mutex::default(),
            cancel,
        };
        let watch = Watched {
            connection: session.connection_id(),
            connect,
            cancel,
            tick: &|| progress(load.progress()),
        };
        watched(&watch, || {
            load.fill(&mut session)?;
            load.finish(connect, &self.fingerprint())
        })
    }

    /// Counts the rows of all tables and compares the sum with the count after the load.
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
        theirs::data_bytes(session, SCHEMA)
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

impl Sources {
    fn fingerprint(&self) -> String {
        let mut parts = match &self.creation {
            Creation::Setup { sql, .. } => vec![sql.clone()],
            Creation::Dump(path) => vec![dump::digest(path)],
        };
        for file in &self.files {
            parts.extend(file.identity());
        }
        for (from, to) in &self.replace {
            parts.extend([from.clone(), to.clone()]);
        }
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        format!("sql-{}", marker::hash(&parts))
    }

    fn summary(&self) -> String {
        let mut parts = Vec::new();
        match &self.creation {
            Creation::Setup { sql, .. } => match statements(sql).unwrap_or_default().len() {
                0 => parts.push("no tables".to_string()),
                1 => parts.push("tables of 1 statement".to_string()),
                many => parts.push(format!("tables of {many} statements")),
            },
            Creation::Dump(path) => parts.push(format!("the dump {}", file_name(path))),
        }
        parts.extend(self.files.iter().map(|file| file_name(&file.path)));
        parts.join(" and ")
    }

    /// The bytes of all texts and files, as they are and expanded (an estimate).
    fn bytes(&self) -> (u64, u64) {
        let of_creation = match &self.creation {
            Creation::Setup { sql, .. } => (sql.len() as u64, sql.len() as u64),
            Creation::Dump(path) => file_bytes(path),
        };
        let files = self.files.iter().map(|file| file_bytes(&file.path));
        files.fold(of_creation, |sum, bytes| (sum.0 + bytes.0, sum.1 + bytes.1))
    }
}

fn file_bytes(path: &Path) -> (u64, u64) {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let is_compressed = path
        .extension()
        .is_some_and(|extension| extension == "gz" || extension == "zst");
    match is_compressed {
        true => (bytes, bytes * EXPANDED_BYTES_PER_BYTE),
        false => (bytes, bytes),
    }
}

/// The name by which messages call a file: the last part of its path.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// A load under way.
struct Load<'a> {
    sources: &'a Sources,
    begun: Instant,
    /// Bytes of all files and texts.
    total: u64,
    read: Arc<AtomicU64>,
    /// The name of the file.
    at: Mutex<String>,
    cancel: &'a (dyn Fn() -> bool + Sync),
}

impl Load<'_> {
    fn progress(&self) -> Progress {
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        Progress {
            table: at.clone(),
            rows: self.read.load(Relaxed),
            rows_total: self.total,
            unit: Unit::Bytes,
            elapsed_s: self.begun.elapsed().as_secs_f64(),
            idle_s: 0.0,
        }
    }

    fn now_at(&self, name: &str) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = name.to_string();
    }

    fn fill(&self, session: &mut Session) -> Result<(), LoadError> {
        losses::show_all(session)?;
        match &self.sources.creation {
            Creation::Setup { sql, file } => {
                let name = file.as_deref().unwrap_or("setup");
                self.now_at(name);
                self.run(session, (name, Values::Computed), sql.as_bytes(), |sql| {
                    // It was read as text.
                    Ok(Action::Run(String::from_utf8_lossy(sql)))
                })?;
                self.read.fetch_add(sql.len() as u64, Relaxed);
            }
            Creation::Dump(path) => {
                let name = file_name(path);
                self.now_at(&name);
                let opened = dump::open(path, Arc::clone(&self.read));
                let dump = opened.map_err(|cause| not_opened(path, &cause))?;
                let mut filter = Filter::new(&self.sources.replace);
                self.run(session, (&name, Values::Given), dump, |sql| {
                    filter.action(sql).map_err(|refused| refused.to_string())
                })?;
                let ended = session.execute("COMMIT");
                ended.map_err(LoadError::during(
                    "The rows of the dump cannot be committed",
                ))?;
            }
        }
        for file in &self.sources.files {
            self.now_at(&file_name(&file.path));
            file.load(
                session,
                Arc::clone(&self.read),
                self.sources.accept_warnings,
            )?;
        }
        Ok(())
    }

    /// Runs the statements one by one.
    fn run<R: BufRead>(
        &self,
        session: &mut Session,
        (name, values): (&str, Values),
        from: R,
        mut action: impl for<'s> FnMut(&'s [u8]) -> Result<Action<'s>, String>,
    ) -> Result<(), LoadError> {
        let mut statements = Statements::new(from);
        while let Some(statement) = statements.next().map_err(|cut| cut_off(name, &cut))? {
            let place = format!("{name}:{}", statement.line);
            // A statement that runs when the load is cancelled is killed, and the server's reason would hide why.
            let wrong = |says| match (self.cancel)() {
                true => LoadError::Interrupted {
                    place: place.clone(),
                },
                false => LoadError::Written {
                    place: place.clone(),
                    says,
                },
            };
            if (self.cancel)() {
                return Err(LoadError::Interrupted { place });
            }
            match action(&statement.sql).map_err(wrong)? {
                Action::Skip => {}
                Action::Run(sql) => {
                    let ran = session.query(&sql);
                    ran.map_err(|cause| wrong(refused(&sql, &cause)))?;
                    let at = At {
                        file: name,
                        line: statement.line,
                    };
                    if !self.sources.accept_warnings {
                        losses::refuse(session, values, &sql, at)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Updates the optimizer statistics and writes the marker with the number of rows, on a connection without the settings
    /// that the statements have left.
    fn finish(&self, connect: Connect<'_>, fingerprint: &str) -> Result<Loaded, LoadError> {
        let elapsed_s = self.begun.elapsed().as_secs_f64();
        let unfinished = LoadError::during(
            "The statements ran, but the statistics or the marker could not be written",
        );
        let rows = finish(connect, fingerprint).map_err(unfinished)?;
        Ok(Loaded {
            rows,
            bytes: self.total,
            elapsed_s,
            index_s: BTreeMap::new(),
            finish_s: self.begun.elapsed().as_secs_f64() - elapsed_s,
            method: self.sources.method().into(),
            connections: 1,
            tables: BTreeMap::new(),
        })
    }
}

impl Sources {
    fn method(&self) -> &'static str {
        match (&self.creation, self.files.is_empty()) {
            (_, false) => "LOAD DATA LOCAL INFILE",
            (Creation::Setup { .. }, true) => "setup",
            (Creation::Dump(_), true) => "dump",
        }
    }
}

fn finish(connect: Connect<'_>, fingerprint: &str) -> Result<u64, ServerError> {
    let mut session = connect()?;
    schema::enter(&mut session, SCHEMA)?;
    let tables = loaded_tables(&mut session)?;
    if !tables.is_empty() {
        let names: Vec<String> = tables.iter().map(|name| schema::quoted(name)).collect();
        session.query(&format!("ANALYZE TABLE {}", names.join(", ")))?;
    }
    let rows = count(&mut session)?;
    let marker = Marker {
        fingerprint: fingerprint.to_string(),
        rows,
    };
    marker::write(&mut session, SCHEMA, &marker)?;
    let names: Vec<&str> = tables.iter().map(String::as_str).collect();
    let look = Look::at(&mut session, SCHEMA, &names)?;
    marker::write_look(&mut session, SCHEMA, &look)?;
    Ok(rows)
}

/// All tables of the schema, the marker's among them.
fn tables(session: &mut Session) -> Result<Vec<String>, ServerError> {
    theirs::names(session, SCHEMA, "BASE TABLE")
}

fn loaded_tables(session: &mut Session) -> Result<Vec<String>, ServerError> {
    let mut tables = tables(session)?;
    tables.retain(|name| name != marker::TABLE && name != witness::TABLE);
    Ok(tables)
}

fn views(session: &mut Session) -> Result<Vec<String>, ServerError> {
    theirs::names(session, SCHEMA, "VIEW")
}

/// Rows of all tables but the marker's.
fn count(session: &mut Session) -> Result<u64, ServerError> {
    let mut rows = 0;
    for table in loaded_tables(session)? {
        rows += schema::count(session, &schema::quoted(&table))?;
    }
    Ok(rows)
}

pub(super) fn cut_off(name: &str, cut: &Cut) -> LoadError {
    LoadError::Written {
        place: format!("{name}:{}", cut.line()),
        says: format!("{cut}; write the dump again, and check that the disk was not full"),
    }
}

pub(super) fn not_opened(path: &Path, cause: &std::io::Error) -> LoadError {
    LoadError::Written {
        place: path.display().to_string(),
        says: format!("the file cannot be read: {cause}"),
    }
}

/// What the server says of a statement, and the fix where one is known.
fn refused(sql: &str, cause: &ServerError) -> String {
    let fix = match cause {
        ServerError::Refused { code, message } => unknown_name(*code, message),
        _ => None,
    };
    let fix = fix.map_or(String::new(), |name| {
        format!(
            "; the dump comes from a server that knows {name}: replace it for all servers (--replace {name}={EVERYWHERE}, or replace = {{ {name} = \"{EVERYWHERE}\" }}), or leave this server out"
        )
    });
    format!("the server says {cause}, to: {}{fix}", beginning(sql))
}

/// A collation that all servers from 5.5 on know.
const EVERYWHERE: &str = "utf8mb4_general_ci";

/// The collation of error 1273, or the character set of 1115, that the server does not know.
fn unknown_name(code: u16, message: &str) -> Option<&str> {
    let is_unknown = matches!(code, 1115 | 1273);
    is_unknown.then(|| message.split('\'').nth(1))?
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

    fn says(statement: &str) -> String {
        let cause = ServerError::Refused {
            code: 1064,
            message: "no".into(),
        };
        refused(statement, &cause)
    }

    #[test]
    fn an_error_shows_at_most_the_start_of_a_long_statement() {
        assert_eq!(says("selec 1"), "the server says 1064 no, to: selec 1");
        let (whole, longer) = ("ä".repeat(SHOWN_CHARS), "ä".repeat(1 << 20));
        assert!(says(&whole).ends_with(&whole));
        assert!(says(&longer).ends_with(&format!("{whole} ...")));
    }

    /// Loads the sources on a server that refuses statements with the word `wrong`. Returns the statements that ran.
    fn load(sources: Sources) -> Result<Vec<String>, String> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connect = || -> Result<Session, ServerError> {
            let seen = Arc::clone(&seen);
            Ok(Session::Scripted(Box::new(move |sql: &str| {
                seen.lock().unwrap().push(sql.to_owned());
                match sql.contains("wrong") {
                    true => Err(ServerError::Refused {
                        code: 1064,
                        message: "no".into(),
                    }),
                    false => Ok(server::Reply::default()),
                }
            })))
        };
        let loaded = Tables::new(sources).load(&connect, &|_| (), &|| false);
        loaded.map_err(|error| error.to_string())?;
        Ok(seen.lock().unwrap().clone())
    }

    fn of_setup(sql: &str, file: Option<&str>) -> Sources {
        Sources {
            creation: Creation::Setup {
                sql: sql.into(),
                file: file.map(String::from),
            },
            files: Vec::new(),
            replace: Vec::new(),
            accept_warnings: false,
            reload: false,
        }
    }

    fn dump(text: &str) -> (tempfile::TempDir, Sources) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.sql");
        std::fs::write(&path, text).unwrap();
        let sources = Sources {
            creation: Creation::Dump(path),
            ..of_setup("", None)
        };
        (folder, sources)
    }

    #[test]
    fn a_refused_statement_names_the_file_and_the_line() {
        let setup = of_setup("select 1;\n\nselect wrong", Some("tables.sql"));
        let says = load(setup).unwrap_err();
        assert_eq!(
            says,
            "tables.sql:3: the server says 1064 no, to: select wrong"
        );
        let (_folder, dump) = dump("create table t (a int);\ninsert into wrong values (1);\n");
        let says = load(dump).unwrap_err();
        assert!(
            says.starts_with("shop.sql:2: the server says 1064 no"),
            "{says}"
        );
    }

    #[test]
    fn a_dump_that_stops_halfway_names_its_last_line() {
        let (_folder, dump) = dump("-- MySQL dump 10.13\nselect 1;\ninsert into t values ('a\n");
        let says = load(dump).unwrap_err();
        assert!(
            says.starts_with(
                "shop.sql:3: the file ends within the statement that begins in line 3"
            ),
            "{says}"
        );
    }

    #[test]
    fn a_dump_goes_into_pronys_schema_whatever_schema_it_names() {
        let (_folder, dump) = dump("CREATE DATABASE shop;\nUSE shop;\ncreate table t (a int);\n");
        let ran = load(dump).unwrap();
        assert_eq!(ran[2..4], ["create table t (a int)", "COMMIT"]);
        assert!(!ran.iter().any(|sql| sql.contains("shop")), "{ran:?}");
    }

    #[test]
    fn the_fingerprint_follows_the_content_of_the_dump() {
        let fingerprint = |text: &str| {
            let (_folder, sources) = dump(text);
            Tables::new(sources).fingerprint()
        };
        assert_eq!(fingerprint("select 1;"), fingerprint("select 1;"));
        assert_ne!(fingerprint("select 1;"), fingerprint("select 2;"));
    }

    #[test]
    fn the_fingerprint_tells_where_a_replacement_ends() {
        let fingerprint = |from: &str, to: &str| {
            let sources = Sources {
                replace: vec![(from.into(), to.into())],
                ..of_setup("", None)
            };
            Tables::new(sources).fingerprint()
        };
        assert_ne!(fingerprint("ab", "c"), fingerprint("a", "bc"));
    }
}

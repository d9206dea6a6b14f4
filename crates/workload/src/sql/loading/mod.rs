//! Runs the user's statements and loads the user's files.
//!
//! Purpose: what the files say is in the server afterwards, committed and counted on another connection; every mistake names the
//! user's file and line. Boundaries: `dump` reads statements, `table_file` reads rows, `created_tables` creates and drops.

mod expected_rows;
mod refused;
mod watched;

use super::dump::{self, Action, Effect, Filter, Statement};
use super::losses;
use super::own_schema::{self, SCHEMA};
use super::sources::{Creation, Sources};
use super::table_file;
use super::user_file::file_name;
use crate::loader::Connect;
use crate::loader::warnings::{self, Values};
use crate::schema;
use crate::schema::held::{self, Look};
use crate::schema::marker::{self, Marker};
use crate::{LoadError, Loaded, Progress, Unit};
use expected_rows::Rows;
use refused::refused;
use server::Session;
use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use watched::{Watched, watched};

/// A load under way.
pub(super) struct Load<'a> {
    sources: &'a Sources,
    begun: Instant,
    /// Bytes of all files and texts.
    total: u64,
    read: Arc<AtomicU64>,
    /// The name of the file.
    at: Mutex<String>,
    connect: Connect<'a>,
    progress: &'a (dyn Fn(Progress) + Sync),
    cancel: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Load<'a> {
    pub(super) fn new(
        sources: &'a Sources,
        connect: Connect<'a>,
        progress: &'a (dyn Fn(Progress) + Sync),
        cancel: &'a (dyn Fn() -> bool + Sync),
    ) -> Load<'a> {
        Load {
            sources,
            begun: Instant::now(),
            total: sources.bytes().0,
            read: Arc::default(),
            at: Mutex::default(),
            connect,
            progress,
            cancel,
        }
    }

    /// Fills the schema, updates the optimizer statistics and writes the marker with this fingerprint.
    pub(super) fn run(&self, fingerprint: &str) -> Result<Loaded, LoadError> {
        let (mut rows, events) = self.watched(|session| self.statements(session))?;
        refuse_missing(&self.sources.creation, &rows)?;
        if !self.sources.files.is_empty() {
            (self.progress)(Progress {
                has_tables: true,
                ..self.progress()
            });
        }
        for file in &self.sources.files {
            if (self.cancel)() {
                return Err(LoadError::Interrupted {
                    place: file_name(&file.path),
                });
            }
            self.now_at(&file_name(&file.path));
            // What the statements or an earlier file left in their session does not hold for this one.
            let accepts = self.sources.accept_warnings;
            let load = |session: &mut Session| file.load(session, Arc::clone(&self.read), accepts);
            let in_table = self.watched(load)?;
            rows.set(&file.table, in_table);
        }
        self.finish(fingerprint, &rows, events)
    }

    fn progress(&self) -> Progress {
        Progress {
            table: crate::held(&self.at).clone(),
            rows: self.read.load(Relaxed),
            rows_total: self.total,
            unit: Unit::Bytes,
            elapsed_s: self.begun.elapsed().as_secs_f64(),
            idle_s: 0.0,
            has_tables: false,
        }
    }

    fn now_at(&self, name: &str) {
        *crate::held(&self.at) = name.to_string();
    }

    /// Works on a new connection, which ends with the work.
    fn watched<T>(
        &self,
        work: impl FnOnce(&mut Session) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        let unreachable = LoadError::during("The server cannot be reached for the load");
        let mut session = (self.connect)().map_err(unreachable)?;
        let entered = schema::enter(&mut session, SCHEMA);
        entered.map_err(LoadError::during("The schema prony_sql cannot be selected"))?;
        let watch = Watched {
            connection: session.connection_id(),
            connect: self.connect,
            cancel: self.cancel,
            tick: &|| (self.progress)(self.progress()),
        };
        watched(&watch, || work(&mut session))
    }

    /// Runs all statements, commits, and frees what they have locked. Returns the rows to be expected, and the events.
    fn statements(&self, session: &mut Session) -> Result<(Rows, Vec<String>), LoadError> {
        let creation = &self.sources.creation;
        self.now_at(&creation.name());
        losses::show_all(session)?;
        let mut filter = self.sources.filter();
        let mut rows = Rows::default();
        let mut statements = creation.statements(&self.read)?;
        let mut is_empty = true;
        while let Some(statement) = statements.next()? {
            is_empty = false;
            filter.of_head(statements.database());
            self.statement(session, &mut filter, &statement, &mut rows)?;
        }
        match creation {
            Creation::Setup { sql, .. } => {
                self.read.fetch_add(sql.len() as u64, Relaxed);
            }
            Creation::Dump(_) if is_empty => {
                return Err(LoadError::Written {
                    place: creation.name(),
                    says: "there is no statement in the dump; write it again, and check that its program did not fail".into(),
                });
            }
            Creation::Dump(_) => {}
        }
        for end in ["COMMIT", "UNLOCK TABLES"] {
            let ended = session.execute(end);
            ended.map_err(LoadError::during("The rows cannot be committed"))?;
        }
        Ok((rows, filter.into_events()))
    }

    fn statement(
        &self,
        session: &mut Session,
        filter: &mut Filter,
        statement: &Statement,
        rows: &mut Rows,
    ) -> Result<(), LoadError> {
        let place = statement.place();
        // A statement that runs when the load is cancelled is killed, and the server's reason would hide why.
        let wrong = |says: String| match (self.cancel)() {
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
        let action = filter.action(statement);
        match action.map_err(|refused| wrong(refused.to_string()))? {
            Action::Skip => {}
            Action::Run { sql, effect } => {
                let ran = session.send(&sql);
                let affected = ran.map_err(|cause| wrong(refused(&sql, &cause)))?;
                if !self.sources.accept_warnings {
                    losses::refuse(session, self.sources.creation.values(), &sql, statement)?;
                }
                rows.note(effect, affected);
            }
            Action::Infile { sql, file, effect } => {
                let loaded = self
                    .infile(session, (&sql, &effect), &file)
                    .map_err(wrong)?;
                rows.note(effect, loaded);
            }
        }
        Ok(())
    }

    /// Sends a file that lies beside the statements. Returns the rows that the server took. The error says what is wrong.
    fn infile(
        &self,
        session: &mut Session,
        (sql, effect): (&[u8], &Effect),
        file: &str,
    ) -> Result<u64, String> {
        let Some(folder) = self.sources.creation.folder() else {
            return Err(format!(
                "the statement reads the file {file:?}, but this text is not in a file, so there is no folder to read from; write --load TABLE=FILE, or load = {{ TABLE = {file:?} }}"
            ));
        };
        let unreadable = |cause: std::io::Error| format!("the statement reads {file:?}: {cause}");
        let path = dump::beside(&folder, file).map_err(unreadable)?;
        let mut from = dump::open(&path, Arc::clone(&self.read)).map_err(unreadable)?;
        let start = from.fill_buf().map_err(unreadable)?;
        let has_bytes = !start.is_empty();
        let sql_text = String::from_utf8_lossy(sql);
        // The ends of lines mean nothing to LOAD XML.
        let second = sql_text.split_whitespace().nth(1);
        let is_data = second.is_some_and(|word| word.eq_ignore_ascii_case("DATA"));
        // The program that wrote a folder named the form of its files too.
        let is_of_folder = matches!(&self.sources.creation, Creation::Dump(path) if path.is_dir());
        let is_checked = is_data && !is_of_folder && !self.sources.accept_warnings;
        if is_checked {
            let columns = match effect {
                Effect::Inserts(table) => own_schema::columns(session, table),
                _ => Ok(Vec::new()),
            };
            let columns = columns.map_err(|cause| cause.to_string())?;
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            if let Some(says) = table_file::unsaid(&sql_text, start, &columns) {
                return Err(format!(
                    "{file}: {says} to the statement, or accept it with --accept-warnings (accept_warnings = true)"
                ));
            }
        }
        let producer = move |to: &mut dyn std::io::Write| std::io::copy(&mut from, to).map(drop);
        let loaded = session.load(&sql_text, Box::new(producer));
        let loaded = loaded.map_err(|cause| refused(sql, &cause))?;
        let lost = warnings::loss(session, Values::Given).map_err(|cause| cause.to_string())?;
        if let Some(loss) = lost.filter(|_| !self.sources.accept_warnings) {
            return Err(format!("in the rows of {file}, {}", loss.says()));
        }
        match loaded == 0 && has_bytes && !session.is_scripted() {
            true => Err(format!("{file} has text, and no row came of it")),
            false => Ok(loaded),
        }
    }

    /// Updates the optimizer statistics, compares the rows, and writes the marker, on a connection without the settings that the
    /// statements have left.
    fn finish(
        &self,
        fingerprint: &str,
        expected: &Rows,
        events: Vec<String>,
    ) -> Result<Loaded, LoadError> {
        let elapsed_s = self.begun.elapsed().as_secs_f64();
        let rows = self.watched(|session| {
            let unfinished = LoadError::during(
                "The statements ran, but the statistics or the marker could not be written",
            );
            let counts = own_schema::analyze_and_count(session).map_err(&unfinished)?;
            if !session.is_scripted() {
                compare(session, expected, &counts)?;
            }
            let marker = Marker {
                fingerprint: fingerprint.to_string(),
                rows: counts.values().sum(),
            };
            marker::write(session, SCHEMA, &marker).map_err(&unfinished)?;
            let tables: Vec<&str> = counts.keys().map(String::as_str).collect();
            let look = Look::at(session, SCHEMA, &tables).map_err(&unfinished)?;
            held::write_look(session, SCHEMA, &look).map_err(unfinished)?;
            Ok(marker.rows)
        })?;
        Ok(Loaded {
            rows,
            bytes: self.total,
            elapsed_s,
            index_s: BTreeMap::new(),
            finish_s: self.begun.elapsed().as_secs_f64() - elapsed_s,
            method: self.sources.method().into(),
            connections: 1,
            tables: BTreeMap::new(),
            events,
        })
    }
}

/// # Errors
/// The statements put fewer rows into a table than the program that wrote them says.
fn refuse_missing(creation: &Creation, loaded: &Rows) -> Result<(), LoadError> {
    let written = creation.rows();
    for (table, found) in loaded.expected() {
        if let Some(wanted) = written.get(table).filter(|wanted| **wanted > found) {
            return Err(LoadError::Written {
                place: format!("table {table}"),
                says: format!(
                    "metadata says {wanted} rows, and {found} are there: a file of the folder is missing; copy it again"
                ),
            });
        }
    }
    Ok(())
}

/// # Errors
/// A table has not the rows that the server took.
fn compare(
    session: &mut Session,
    expected: &Rows,
    counts: &BTreeMap<String, u64>,
) -> Result<(), LoadError> {
    for (table, wanted) in expected.expected() {
        let Some(found) = counts.get(table).filter(|found| **found != wanted) else {
            continue;
        };
        let failed = LoadError::during("The rows of a table cannot be counted");
        if own_schema::keeps_rows(session, table, wanted).map_err(failed)? {
            return Err(LoadError::Written {
                place: format!("table {table}"),
                says: format!(
                    "the server took {wanted} rows, and {found} are there after the last COMMIT; look for a statement that takes rows away, or report this with the dump"
                ),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sources::tests::{dump, of_setup};
    use super::*;
    use server::ServerError;

    /// Loads the sources on a server that refuses statements with the word `wrong`, and whose tables have the columns `first` and `last`.
    /// Returns the statements that ran, with the number of the connection.
    fn load(sources: &Sources) -> Result<Vec<(usize, String)>, String> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = AtomicU64::new(0);
        let connect = || -> Result<Session, ServerError> {
            let seen = Arc::clone(&seen);
            let connection = connections.fetch_add(1, Relaxed) as usize;
            Ok(Session::Scripted(Box::new(move |sql: &str| {
                seen.lock().unwrap().push((connection, sql.to_owned()));
                let columns = ["first", "last"].map(|name| vec![Some(name.as_bytes().to_vec())]);
                match sql {
                    _ if sql.contains("wrong") => Err(ServerError::Refused {
                        code: 1064,
                        message: "no".into(),
                    }),
                    _ if sql.contains("FROM information_schema.columns WHERE") => {
                        Ok(server::Reply {
                            rows: columns.to_vec(),
                            ..server::Reply::default()
                        })
                    }
                    _ => Ok(server::Reply::default()),
                }
            })))
        };
        let loaded = Load::new(sources, &connect, &|_| (), &|| false).run("f");
        loaded.map_err(|error| error.to_string())?;
        Ok(seen.lock().unwrap().clone())
    }

    #[test]
    fn a_refused_statement_names_the_file_and_the_line() {
        let setup = of_setup("select 1;\n\nselect wrong", Some("tables.sql"));
        let says = load(&setup).unwrap_err();
        assert_eq!(
            says,
            "tables.sql:3: the server says 1064 no, to: select wrong"
        );
        let (_folder, dump) = dump("create table t (a int);\ninsert into wrong values (1);\n");
        let says = load(&dump).unwrap_err();
        assert!(
            says.starts_with("shop.sql:2: the server says 1064 no"),
            "{says}"
        );
    }

    #[test]
    fn a_dump_without_a_statement_is_refused() {
        for text in ["", "-- MySQL dump 10.13\n-- Dump completed\n"] {
            let (_folder, dump) = dump(text);
            let says = load(&dump).unwrap_err();
            assert!(says.starts_with("shop.sql: there is no"), "{says}");
        }
    }

    #[test]
    fn a_dump_that_stops_halfway_names_its_last_line() {
        let (_folder, dump) = dump("-- MySQL dump 10.13\nselect 1;\ninsert into t values ('a\n");
        let says = load(&dump).unwrap_err();
        assert!(
            says.starts_with(
                "shop.sql:3: the file ends within the statement that begins in line 3"
            ),
            "{says}"
        );
    }

    #[test]
    fn a_file_whose_ends_of_lines_load_data_does_not_name_is_refused() {
        for words in ["load data", "LOAD\nDATA"] {
            let text = format!("{words} local infile 'pet.txt' into table pet;\n");
            let (folder, sources) = dump(&text);
            let path = folder.path().join("pet.txt");
            std::fs::write(path, "Bluebell\tAda\r\nRex\tBo\r\n").unwrap();
            let says = load(&sources).unwrap_err();
            let ends = "shop.sql:1: pet.txt: its lines end in \\r\\n";
            assert!(says.starts_with(ends), "{says}");
        }
    }

    #[test]
    fn a_header_that_load_data_reads_as_a_row_or_in_another_order_is_refused() {
        let says = |clauses: &str| {
            let statement = format!("load data local infile 'pet.txt' into table pet {clauses};\n");
            let (folder, sources) = dump(&statement);
            let path = folder.path().join("pet.txt");
            std::fs::write(path, "last\tfirst\nAda\tBluebell\n").unwrap();
            load(&sources).err().unwrap_or_default()
        };
        assert!(says("").contains("its first line has the names of columns"));
        assert!(says("ignore 1 lines").contains("in another order than the table"));
        assert_eq!(says("ignore 1 lines (last, first)"), "");
    }

    #[test]
    fn a_folder_of_mydumper_without_one_of_its_chunks_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        let metadata = |rows: u64| format!("[`shop`.`t`]\nreal_table_name=t\nrows = {rows}\n");
        write("shop-schema-create.sql", "CREATE DATABASE `shop`;\n");
        write("shop.t-schema.sql", "CREATE TABLE `t` (a int);\n");
        let sources = Sources {
            creation: Creation::Dump(folder.path().to_path_buf()),
            ..of_setup("", None)
        };
        write("metadata", &metadata(0));
        assert!(load(&sources).is_ok());
        write("metadata", &metadata(1000));
        let says = load(&sources).unwrap_err();
        let missing = "table t: metadata says 1000 rows, and 0 are there: a file";
        assert!(says.starts_with(missing), "{says}");
    }

    #[test]
    fn a_dump_goes_into_pronys_schema_whatever_schema_it_names() {
        let (_folder, dump) =
            dump("CREATE DATABASE shop;\nUSE shop;\ncreate table shop.t (a int);\n");
        let ran = load(&dump).unwrap();
        let first: Vec<&str> = ran[..5].iter().map(|(_, sql)| sql.as_str()).collect();
        assert_eq!(
            first,
            [
                "USE prony_sql",
                "SET SESSION sql_notes = 1, max_error_count = 65535",
                "create table prony_sql.t (a int)",
                "COMMIT",
                "UNLOCK TABLES"
            ]
        );
        assert!(!ran.iter().any(|(_, sql)| sql.contains("shop")), "{ran:?}");
    }

    #[test]
    fn what_follows_the_statements_has_a_connection_of_its_own() {
        let (folder, mut sources) = dump("set autocommit = 0;\nlock tables t write;\n");
        let path = folder.path().join("t.sql");
        std::fs::write(&path, "").unwrap();
        sources.files = Vec::new();
        let ran = load(&sources).unwrap();
        let unlocked = ran.iter().position(|(_, sql)| sql == "UNLOCK TABLES");
        let after = &ran[unlocked.unwrap() + 1..];
        assert!(
            after.iter().all(|(connection, _)| *connection == 1),
            "{ran:?}"
        );
    }

    #[test]
    fn sourced_files_have_their_own_names_and_lines() {
        let (folder, sources) = dump("select 1;\nsource rows.sql ;\nselect 2;\n");
        let rows = folder.path().join("rows.sql");
        std::fs::write(&rows, "select 3;\nselect 4\n").unwrap();
        let ran = load(&sources).unwrap();
        let ran: Vec<&str> = ran[2..6].iter().map(|(_, sql)| sql.as_str()).collect();
        assert_eq!(ran, ["select 1", "select 3", "select 4", "select 2"]);
        std::fs::write(&rows, "select 3;\nselect wrong\n").unwrap();
        let says = load(&sources).unwrap_err();
        assert!(says.starts_with("rows.sql:2: "), "{says}");
        std::fs::remove_file(&rows).unwrap();
        let says = load(&sources).unwrap_err();
        assert!(
            says.starts_with("shop.sql:2: it reads the file \"rows.sql\""),
            "{says}"
        );
    }
}

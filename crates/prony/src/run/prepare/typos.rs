//! Mistakes in the user's own SQL, found before a long load or a long round.
//!
//! Purpose: the server parses each statement and looks up its names as early as it can: the grammar before anything is loaded, the names
//! once there are tables. A statement that only some servers know is measured on the others, so a mistake is a warning; where no statement
//! can run, the run ends. Outside this module: what a statement answers (`rounds`).

use crate::lock;
use crate::run::plan::Request;
use crate::run::{Progress, RunError, settings};
use server::{ServerError, Session};
use spec::plan::PlannedTrial;
use std::collections::BTreeSet;
use std::sync::Mutex;
use workload::{Connect, Dataset, Operation, Workload};

/// The setting on which the grammar depends.
const MODE: &str = "sql_mode";

/// Error codes of a text that the server cannot parse.
const UNPARSED: [u16; 2] = [1064, 1149];

/// Error codes of names and calls that are wrong on these tables. All others may come from preparing alone, as 1295 of a statement that
/// can only be run.
const WRONG: [u16; 17] = [
    1049, 1052, 1054, 1055, 1056, 1066, 1109, 1111, 1140, 1146, 1222, 1241, 1248, 1305, 1318, 1582,
    1630,
];

/// A statement of the user's, and what the sessions of its trial execute before it.
#[derive(Clone, PartialEq)]
pub(crate) struct Own {
    session: Vec<String>,
    statement: Operation,
}

impl Own {
    /// What the session executes first, and the statement.
    pub(crate) fn parts(&self) -> (&[String], &Operation) {
        (self.session.as_slice(), &self.statement)
    }
}

/// What a server can look up.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sees {
    /// The tables are not there yet.
    Grammar,
    Names,
}

/// The statements of trials that share a dataset, without those that come with prony.
pub(crate) fn of_trials<'t>(
    request: &Request,
    trials: impl Iterator<Item = &'t PlannedTrial>,
) -> Result<Vec<Own>, RunError> {
    let mut found: Vec<Own> = Vec::new();
    for trial in trials {
        let session = session_of(trial);
        let written = request.workload(trial)?.written().into_iter();
        found.extend(written.map(|statement| Own {
            session: session.clone(),
            statement,
        }));
    }
    Ok(stats::each_once(found))
}

/// The grammar depends on the SQL mode, which the file can set for the server too. Sizes relative to the data do not matter here.
fn session_of(trial: &PlannedTrial) -> Vec<String> {
    let modes = trial.settings.iter();
    let modes = modes.filter(|(name, _)| spec::listed(name) == MODE);
    let modes = modes
        .map(|(_, mode)| (MODE.to_string(), mode.clone()))
        .collect();
    let session = settings::session_statements(&trial.session, 0);
    [settings::session_statements(&modes, 0), session].concat()
}

/// Looks at the statements of a run.
pub(crate) struct Typos<'a> {
    progress: &'a Progress,
    /// Whether all trials are on one server and its tables, so that a run without a statement that works measures nothing.
    is_alone: bool,
    said: Mutex<BTreeSet<String>>,
    /// (server, statement) whose names were looked up.
    seen: Mutex<BTreeSet<(String, String)>>,
}

impl<'a> Typos<'a> {
    pub(crate) fn new(progress: &'a Progress, is_alone: bool) -> Typos<'a> {
        Typos {
            progress,
            is_alone,
            said: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// Says which statements the server of this name refuses. `connect` opens sessions of their own, since a proxy may end them.
    ///
    /// # Errors
    /// It refuses all, and there is no other server.
    pub(crate) fn look(
        &self,
        server: &str,
        sees: Sees,
        own: &[Own],
        connect: Connect,
        dataset: &dyn Dataset,
    ) -> Result<(), RunError> {
        let refused: Vec<String> = own
            .chunk_by(|one, next| one.session == next.session)
            .filter_map(|alike| Some((alike, opened(connect, dataset, sees, &alike[0].session)?)))
            .flat_map(|(alike, mut session)| {
                let statements = alike.iter().map(|own| &own.statement);
                self.refused(server, sees, &mut session, statements)
            })
            .collect();
        if self.is_alone && !own.is_empty() && refused.len() == own.len() {
            return Err(RunError::Written(format!(
                "server {server}: {}; nothing can be measured",
                refused.join("; ")
            )));
        }
        self.say(server, refused);
        Ok(())
    }

    /// The same, with the names, for the statements of a round that is about to begin. Call it unless [`Typos::has_seen`] them.
    pub(crate) fn look_once(&self, server: &str, session: &mut Session, workload: &dyn Workload) {
        let written = workload.written();
        let refused = self.refused(server, Sees::Names, session, written.iter());
        self.say(server, refused);
    }

    /// Whether the names of all statements were looked up on this server.
    pub(crate) fn has_seen(&self, server: &str, workload: &dyn Workload) -> bool {
        let seen = lock(&self.seen);
        let mut written = workload.written().into_iter();
        written.all(|one| seen.contains(&(server.to_string(), one.mysql)))
    }

    fn refused<'o>(
        &self,
        server: &str,
        sees: Sees,
        session: &mut Session,
        statements: impl Iterator<Item = &'o Operation>,
    ) -> Vec<String> {
        let mut refused = Vec::new();
        for statement in statements {
            let set = statement.before.iter();
            // A SET that fails is reported with its query when that runs.
            if set.map(|set| session.execute(set)).any(|set| set.is_err()) {
                continue;
            }
            match session.prepare(&statement.mysql) {
                Err(ServerError::Refused { code, message }) => {
                    refused.extend(says(statement, sees, code, &message));
                }
                Ok(()) => {}
                // The connection is gone, which a trial would notice too.
                Err(_) => return refused,
            }
            if sees == Sees::Names {
                lock(&self.seen).insert((server.to_string(), statement.mysql.clone()));
            }
        }
        refused
    }

    fn say(&self, server: &str, refused: Vec<String>) {
        let mut said = lock(&self.said);
        for refused in refused {
            let line = format!(
                "warning: server {server}: {refused}; everything else is measured (Ctrl-C ends the run)"
            );
            if said.insert(line.clone()) {
                self.progress.say(&line);
            }
        }
    }
}

/// A session as the trials have it; None if the server does not give one, which the load reports.
fn opened(
    connect: Connect,
    dataset: &dyn Dataset,
    sees: Sees,
    statements: &[String],
) -> Option<Session> {
    let mut session = connect().ok()?.for_control();
    if sees == Sees::Names {
        dataset.enter(&mut session).ok()?;
    }
    let mut executed = statements.iter().map(|set| session.execute(set));
    executed.all(|set| set.is_ok()).then_some(())?;
    Some(session)
}

/// Whether the schema has a table besides prony's marker.
pub(super) fn has_tables(session: &mut Session, schema: &str) -> Result<bool, ServerError> {
    if !session.is_mysql() {
        return Ok(false);
    }
    let found = session.query(&format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND table_name <> '{}' LIMIT 1",
        workload::MARKER
    ))?;
    Ok(!found.rows.is_empty())
}

/// `Q2 (q.sql:3): the server says 1064 ...`; None where the statement may still run.
fn says(statement: &Operation, sees: Sees, code: u16, message: &str) -> Option<String> {
    let is_wrong = UNPARSED.contains(&code) || (sees == Sees::Names && WRONG.contains(&code));
    let place = statement.place.as_ref();
    let place = place.map_or(String::new(), |place| format!(" ({place})"));
    is_wrong.then(|| {
        format!(
            "{}{place}: the server says {code} {message}",
            statement.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::read_on_server;

    fn statement() -> Operation {
        Operation {
            place: Some("q.sql:3".into()),
            ..Operation::new("Q2", "select")
        }
    }

    #[test]
    fn the_grammar_is_that_of_the_sql_mode_however_the_file_writes_the_setting() {
        for name in ["sql_mode", "SQL-mode", "loose_sql_mode"] {
            let source = format!(
                "title = 't'\n[server.a]\nbuild = 'mariadb'\n[settings]\n{name} = 'ANSI_QUOTES'\n[workload.ssb]\n"
            );
            let experiment = read_on_server(&source);
            let planned = spec::plan::expand(&experiment, 1).unwrap();
            let session = session_of(&planned[0]);
            assert_eq!(session, ["SET SESSION sql_mode = 'ANSI_QUOTES'"], "{name}");
        }
    }

    #[test]
    fn names_are_wrong_only_where_there_are_tables_and_grammar_always() {
        let is_said = |sees, code| says(&statement(), sees, code, "no").is_some();
        assert!(is_said(Sees::Grammar, 1064) && is_said(Sees::Names, 1064));
        assert!(!is_said(Sees::Grammar, 1146) && is_said(Sees::Names, 1146));
        assert_eq!(
            says(&statement(), Sees::Names, 1054, "Unknown column").unwrap(),
            "Q2 (q.sql:3): the server says 1054 Unknown column"
        );
    }

    #[test]
    fn a_statement_that_can_only_be_run_is_no_typo() {
        for code in [1295, 1461, 1615, 1205] {
            assert_eq!(says(&statement(), Sees::Names, code, "unsupported"), None);
        }
    }
}

//! SQLite in this process, for machines where no server can be had.
//!
//! Goal: the same experiment in outline. The data are one file in the data folder; a restart closes and opens it.
//! Non-goals: settings, LOAD DATA, status counters: a server alone has them.

use crate::{Abilities, Connector, Node, ServerError, Session, StartRequest, Started};
use record::ServerIdentity;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const FILE: &str = "prony.sqlite";
/// How long a statement waits for another session's lock.
const LOCK_WAIT: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Sqlite {
    state: Mutex<State>,
}

#[derive(Clone, Default)]
struct State {
    identity: Option<ServerIdentity>,
    /// Where it is started.
    folder: Option<PathBuf>,
}

impl Sqlite {
    pub fn new() -> Sqlite {
        Sqlite::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Node for Sqlite {
    fn abilities(&self) -> Abilities {
        Abilities {
            restart: true,
            settings: false,
            mysql: false,
            snapshots: true,
        }
    }

    fn identity(&self) -> Option<ServerIdentity> {
        self.state().identity.clone()
    }

    fn start(&self, request: &StartRequest) -> Result<Started, ServerError> {
        let begun = Instant::now();
        let folder = &request.data_folder;
        std::fs::create_dir_all(folder)
            .map_err(|error| ServerError::Unusable(format!("{}: {error}", folder.display())))?;
        self.state().folder = Some(folder.clone());
        let mut session = self.connect()?;
        // The file is read at the first statement, not when it is opened.
        session
            .query("select count(*) from sqlite_schema")
            .map_err(|error| {
                ServerError::Unusable(format!(
                    "{}: {error}; delete the snapshot if it is damaged",
                    folder.join(FILE).display()
                ))
            })?;
        self.state().identity = Some(ServerIdentity {
            build: "sqlite".to_string(),
            version: rusqlite::version().to_string(),
            comment: "compiled into prony".to_string(),
            binary_sha256: String::new(),
        });
        Ok(Started {
            elapsed_s: begun.elapsed().as_secs_f64(),
        })
    }

    /// Nothing is kept open here: a session is the file's own connection.
    fn stop(&self) -> Result<(), ServerError> {
        self.state().folder = None;
        Ok(())
    }

    fn kill(&self) -> Result<(), ServerError> {
        self.stop()
    }

    fn connector(&self) -> Result<Connector, ServerError> {
        let folder = self
            .data_folder()
            .ok_or_else(|| ServerError::Lost("sqlite is not started".to_string()))?;
        let file = folder.join(FILE);
        Ok(Box::new(move || {
            let connection = rusqlite::Connection::open(&file)
                .and_then(|connection| connection.busy_timeout(LOCK_WAIT).map(|()| connection))
                .map_err(|error| ServerError::Unusable(format!("{}: {error}", file.display())))?;
            Ok(Session::Sqlite(connection))
        }))
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn data_folder(&self) -> Option<PathBuf> {
        self.state().folder.clone()
    }

    fn log_tail(&self, _lines: usize) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let request = StartRequest {
            data_folder: folder.path().join("data"),
            settings: Vec::new(),
            groups: Vec::new(),
        };
        let server = Sqlite::new();
        server.start(&request).unwrap();
        server
            .connect()
            .unwrap()
            .execute("create table t (n); insert into t values (7)")
            .unwrap();
        server.stop().unwrap();
        assert!(matches!(server.connect(), Err(ServerError::Lost(_))));
        server.start(&request).unwrap();
        assert_eq!(
            server
                .connect()
                .unwrap()
                .query("select n from t")
                .unwrap()
                .first_text()
                .as_deref(),
            Some("7")
        );
        assert_eq!(server.identity().unwrap().build, "sqlite");
    }

    #[test]
    fn a_file_that_is_no_database_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "x".repeat(2000)).unwrap();
        let request = StartRequest {
            data_folder: folder.path().into(),
            settings: Vec::new(),
            groups: Vec::new(),
        };
        let message = Sqlite::new().start(&request).unwrap_err().to_string();
        assert!(
            message.contains(FILE) && message.contains("delete the snapshot"),
            "{message}"
        );
    }
}

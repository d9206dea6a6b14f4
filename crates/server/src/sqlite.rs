//! SQLite inside the prony process, for machines without a server.
//!
//! It runs the same experiments, with fewer features: no settings, no LOAD DATA, no status counters. The data is one file
//! in the data folder. A restart closes and opens it.

use crate::{
    Abilities, Connector, Node, ServerError, Session, StartRequest, Started, file_error, lock,
};
use record::ServerIdentity;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const FILE: &str = "prony.sqlite";
/// How long a statement waits for another session's lock.
const LOCK_WAIT: Duration = Duration::from_secs(60);

/// A SQLite database that behaves like a server.
#[derive(Default)]
pub struct Sqlite {
    state: Mutex<SqliteState>,
}

#[derive(Clone, Default)]
struct SqliteState {
    identity: Option<ServerIdentity>,
    /// The data folder; None while it is stopped.
    folder: Option<PathBuf>,
}

impl Sqlite {
    /// A database that is not started.
    pub fn new() -> Sqlite {
        Sqlite::default()
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
        lock(&self.state).identity.clone()
    }

    fn start(&self, request: &StartRequest) -> Result<Started, ServerError> {
        let begun = Instant::now();
        let folder = &request.data_folder;
        std::fs::create_dir_all(folder).map_err(|error| file_error(folder, &error))?;
        lock(&self.state).folder = Some(folder.clone());
        let mut session = self.connect()?;
        // SQLite reads the file at the first statement, not when it opens it.
        session
            .query("select count(*) from sqlite_schema")
            .map_err(|error| {
                ServerError::Unusable(format!(
                    "{}: {error}; delete the snapshot if it is damaged",
                    folder.join(FILE).display()
                ))
            })?;
        lock(&self.state).identity = Some(ServerIdentity {
            build: "sqlite".to_string(),
            version: rusqlite::version().to_string(),
            comment: "compiled into prony".to_string(),
            binary_sha256: String::new(),
        });
        Ok(Started {
            elapsed_s: begun.elapsed().as_secs_f64(),
        })
    }

    /// Closes nothing: each session has its own connection to the file.
    fn stop(&self) -> Result<(), ServerError> {
        lock(&self.state).folder = None;
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

    fn data_folder(&self) -> Option<PathBuf> {
        lock(&self.state).folder.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_survives_a_restart() {
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
    fn the_error_for_a_damaged_file_names_it() {
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

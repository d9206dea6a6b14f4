//! A server that is a script: starts, answers and dies as it is told, in microseconds.
//!
//! Goal: the protocol, resuming and reports are tested without a server. Non-goal: any SQL.

use crate::session::Script;
use crate::{Abilities, Connector, Node, Reply, ServerError, Session, StartRequest, Started};
use record::ServerIdentity;
use spec::Dsn;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

/// Its fields say how it fails; as it is made it never does.
pub struct Fake {
    pub abilities: Abilities,
    /// The message of a start that fails.
    pub does_not_start: Option<String>,
    /// It dies at this statement, counted from 1 over all sessions and starts.
    pub dies_at: Option<u64>,
    /// The process that it says is its own.
    pub process: Option<u32>,
    identity: ServerIdentity,
    script: Arc<Mutex<Box<Script>>>,
    life: Arc<Life>,
    data_folder: Mutex<Option<PathBuf>>,
}

#[derive(Default)]
struct Life {
    runs: AtomicBool,
    died: AtomicBool,
    statements: AtomicU64,
    starts: AtomicU64,
}

impl Life {
    fn gone() -> ServerError {
        ServerError::Lost("the fake server is not running".into())
    }

    /// It runs, and was not started again since.
    fn is_of(&self, start: u64) -> Result<(), ServerError> {
        match self.runs.load(SeqCst) && self.starts.load(SeqCst) == start {
            true => Ok(()),
            false => Err(Life::gone()),
        }
    }

    fn count_statement(&self, dies_at: Option<u64>) -> Result<(), ServerError> {
        if Some(self.statements.fetch_add(1, SeqCst) + 1) != dies_at {
            return Ok(());
        }
        self.runs.store(false, SeqCst);
        self.died.store(true, SeqCst);
        Err(Life::gone())
    }
}

impl Fake {
    /// A server that can do everything, with the script's answers.
    pub fn new(
        build: &str,
        script: impl FnMut(&str) -> Result<Reply, ServerError> + Send + 'static,
    ) -> Fake {
        Fake {
            abilities: Abilities {
                restart: true,
                settings: true,
                mysql: true,
                snapshots: true,
            },
            does_not_start: None,
            dies_at: None,
            process: None,
            identity: ServerIdentity {
                build: build.into(),
                version: "0.0-fake".into(),
                comment: "a script".into(),
                binary_sha256: String::new(),
            },
            script: Arc::new(Mutex::new(Box::new(script))),
            life: Arc::default(),
            data_folder: Mutex::default(),
        }
    }

    /// Statements that its sessions were asked, over all starts.
    pub fn statements(&self) -> u64 {
        self.life.statements.load(SeqCst)
    }

    /// Starts that succeeded.
    pub fn starts(&self) -> u64 {
        self.life.starts.load(SeqCst)
    }
}

/// A reply of one column, NULL as None.
pub fn reply(column: &str, cells: &[Option<&str>]) -> Reply {
    Reply {
        columns: vec![column.into()],
        rows: cells
            .iter()
            .map(|cell| vec![cell.map(|text| text.as_bytes().to_vec())])
            .collect(),
        ..Reply::default()
    }
}

impl Node for Fake {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn identity(&self) -> Option<ServerIdentity> {
        (self.starts() > 0).then(|| self.identity.clone())
    }

    fn start(&self, request: &StartRequest) -> Result<Started, ServerError> {
        if let Some(why) = &self.does_not_start {
            return Err(ServerError::Unusable(why.clone()));
        }
        *self
            .data_folder
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(request.data_folder.clone());
        self.life.died.store(false, SeqCst);
        self.life.runs.store(true, SeqCst);
        self.life.starts.fetch_add(1, SeqCst);
        Ok(Started { elapsed_s: 0.001 })
    }

    fn stop(&self) -> Result<(), ServerError> {
        self.life.runs.store(false, SeqCst);
        Ok(())
    }

    fn kill(&self) -> Result<(), ServerError> {
        self.stop()
    }

    fn connector(&self) -> Result<Connector, ServerError> {
        let (life, script, dies_at) = (
            Arc::clone(&self.life),
            Arc::clone(&self.script),
            self.dies_at,
        );
        if self.starts() == 0 {
            return Err(Life::gone());
        }
        Ok(Box::new(move || {
            let (life, script) = (Arc::clone(&life), Arc::clone(&script));
            let start = life.starts.load(SeqCst);
            life.is_of(start)?;
            Ok(Session::Scripted(Box::new(move |sql| {
                life.is_of(start)?;
                life.count_statement(dies_at)?;
                let mut script = script
                    .lock()
                    .unwrap_or_else(|poisoned| poisoned.into_inner());
                script(sql)
            })))
        }))
    }

    /// Nothing listens there: the workloads of tests do not connect.
    fn endpoint(&self) -> Option<Dsn> {
        Some(Dsn {
            user: "nobody".into(),
            password: None,
            host: "127.0.0.1".into(),
            port: 1,
            schema: None,
            socket: None,
            others: Vec::new(),
            tls_required: false,
        })
    }

    fn pid(&self) -> Option<u32> {
        self.process
    }

    fn data_folder(&self) -> Option<PathBuf> {
        let folder = self.data_folder.lock();
        folder.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn log_tail(&self, lines: usize) -> Vec<String> {
        vec!["[Note] the fake server's last line".to_string()]
            .into_iter()
            .take(lines)
            .collect()
    }

    fn exit_reason(&self) -> Option<String> {
        self.life
            .died
            .load(SeqCst)
            .then(|| "it died as its script says".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake() -> Fake {
        Fake::new("fake", |sql| Ok(reply("said", &[Some(sql)])))
    }

    #[test]
    fn a_session_answers_by_the_script_until_the_server_stops() {
        let server = fake();
        assert!(server.connect().is_err());
        server.start(&StartRequest::default()).unwrap();
        let mut session = server.connect().unwrap();
        assert_eq!(
            session.query("hello").unwrap().rows,
            [[Some(b"hello".to_vec())]]
        );
        server.stop().unwrap();
        server.start(&StartRequest::default()).unwrap();
        assert!(
            matches!(session.query("hello"), Err(ServerError::Lost(_))),
            "a session does not outlive its start"
        );
        assert_eq!((server.starts(), server.statements()), (2, 1));
    }

    #[test]
    fn it_dies_at_the_statement_that_it_is_told() {
        let mut server = fake();
        server.dies_at = Some(2);
        server.start(&StartRequest::default()).unwrap();
        let mut session = server.connect().unwrap();
        session.query("1").unwrap();
        assert!(session.query("2").is_err() && server.connect().is_err());
        assert!(server.exit_reason().is_some());
    }

    #[test]
    fn it_does_not_start_where_it_is_told_not_to() {
        let mut server = fake();
        server.does_not_start = Some("no".into());
        assert_eq!(
            server
                .start(&StartRequest::default())
                .unwrap_err()
                .to_string(),
            "no"
        );
    }
}

//! A scripted fake server for tests: it starts, answers and dies on command, in microseconds.
//!
//! It lets tests exercise the protocol, resume and reports without a server. It understands no SQL.

use crate::session::Script;
use crate::{Abilities, Connector, Node, Reply, ServerError, Session, StartRequest, Started, lock};
use record::ServerIdentity;
use spec::Dsn;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// A fake server. Its public fields configure failures; by default it never fails.
pub struct Fake {
    /// What it claims to support.
    pub abilities: Abilities,
    /// Makes every start fail with this message.
    pub does_not_start: Option<String>,
    /// Makes the server die at this statement, counted from 1 over all sessions and starts.
    pub dies_at: Option<u64>,
    /// The process id that it reports as its own.
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
    fn not_running() -> ServerError {
        ServerError::Lost("the fake server is not running".into())
    }

    /// Fails unless the server still runs since this start.
    fn check_start(&self, start: u64) -> Result<(), ServerError> {
        if self.runs.load(SeqCst) && self.starts.load(SeqCst) == start {
            Ok(())
        } else {
            Err(Life::not_running())
        }
    }

    fn count_statement(&self, dies_at: Option<u64>) -> Result<(), ServerError> {
        if Some(self.statements.fetch_add(1, SeqCst) + 1) != dies_at {
            return Ok(());
        }
        self.runs.store(false, SeqCst);
        self.died.store(true, SeqCst);
        Err(Life::not_running())
    }
}

impl Fake {
    /// A server that supports everything and answers with the script.
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

    /// How many statements its sessions received, over all starts.
    pub fn statements(&self) -> u64 {
        self.life.statements.load(SeqCst)
    }

    /// How many starts succeeded.
    pub fn starts(&self) -> u64 {
        self.life.starts.load(SeqCst)
    }
}

/// A reply with one column; None is NULL.
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
        *lock(&self.data_folder) = Some(request.data_folder.clone());
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
            return Err(Life::not_running());
        }
        Ok(Box::new(move || {
            let (life, script) = (Arc::clone(&life), Arc::clone(&script));
            let start = life.starts.load(SeqCst);
            life.check_start(start)?;
            Ok(Session::Scripted(Box::new(move |sql| {
                life.check_start(start)?;
                life.count_statement(dies_at)?;
                let mut script = lock(&script);
                script(sql)
            })))
        }))
    }

    /// Nothing listens there: the workloads of tests do not connect.
    fn endpoint(&self) -> Option<Dsn> {
        "mysql://nobody@127.0.0.1:1".parse().ok()
    }

    fn pid(&self) -> Option<u32> {
        self.process
    }

    fn data_folder(&self) -> Option<PathBuf> {
        lock(&self.data_folder).clone()
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
            .then(|| "it died as configured".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake() -> Fake {
        Fake::new("fake", |sql| Ok(reply("statement", &[Some(sql)])))
    }

    #[test]
    fn a_session_answers_with_the_script_until_the_server_stops() {
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
    fn it_dies_at_the_configured_statement() {
        let mut server = fake();
        server.dies_at = Some(2);
        server.start(&StartRequest::default()).unwrap();
        let mut session = server.connect().unwrap();
        session.query("1").unwrap();
        assert!(session.query("2").is_err() && server.connect().is_err());
        assert!(server.exit_reason().is_some());
    }

    #[test]
    fn a_configured_start_failure_is_returned() {
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

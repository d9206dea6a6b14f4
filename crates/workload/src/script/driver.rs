//! The driver that runs a script for the load engine.

use super::cursor::Cursor;
use super::effects::{Noticed, Total};
use super::first_errors::FirstErrors;
use super::policy::Verdict;
use super::session::Session;
use super::{Operation, Script};
use crate::schema::witness::Witness;
use crate::{Readers, Target, Work};
use datagen::random::{hash, stream};
use load::{Effects, Failure, Io, Outcome, Request, Workload};
use std::sync::Arc;
use wire::{Done, Login, WireError};

/// Keeps the mix independent of the hashes for values.
const MIX: u64 = 0x6d69_7820_6d69_7820;

/// Why an operation is not done although every statement was answered.
const NOT_COMMITTED: &str = "the server answered every statement, and then autocommit was off or a transaction open, so that nothing is committed";

/// State shared by all clients.
#[derive(Clone)]
pub struct Driver {
    script: Arc<Script>,
    login: Login,
    /// Where operations go that only read; None: where all go.
    readers: Option<Readers>,
    /// Runs once on each new connection.
    session: Vec<String>,
    seed: u64,
    salt: u64,
    errors: Arc<FirstErrors>,
    effects: Total,
    /// None: nothing is written, or it is not looked for.
    witness: Option<Witness>,
}

impl Driver {
    /// `session`: statements that each connection runs once after it opens: `SET SESSION ...`.
    pub fn new(script: Arc<Script>, login: Login, session: &[String], seed: u64) -> Driver {
        Driver {
            effects: Total::new(script.operations.len()),
            witness: None,
            script,
            login,
            readers: None,
            session: session.to_vec(),
            seed,
            salt: hash(seed ^ MIX),
            errors: Arc::default(),
        }
    }

    /// The driver on a server, whose login gets this schema; None on any other target.
    pub fn on(target: &Target, script: &Arc<Script>, schema: &str, seed: u64) -> Option<Driver> {
        let Target::Server {
            login,
            readers,
            session,
        } = target
        else {
            return None;
        };
        let in_schema = |login: &Login| Login {
            schema: Some(schema.into()),
            ..login.clone()
        };
        let readers = readers.as_ref().map(|readers| Readers {
            login: in_schema(&readers.login),
            in_turn: readers.in_turn,
        });
        Some(Driver {
            readers,
            witness: script.writes().then(|| Witness::new(schema)),
            ..Driver::new(Arc::clone(script), in_schema(login), session, seed)
        })
    }

    /// One load, whose writes another connection looks for.
    pub(crate) fn work(self) -> Work {
        Work {
            witness: self.witness.clone(),
            ..Work::without_audit(self)
        }
    }

    /// Opens the sessions for operations that only read.
    async fn open_readers(&self, io: &Io, client: u32) -> Result<Vec<Session>, Failure> {
        let Some(Readers { login, in_turn }) = &self.readers else {
            return Ok(Vec::new());
        };
        let all = 0..login.endpoints.len() as u32;
        let nodes = if *in_turn { all } else { client..client + 1 };
        let mut readers = Vec::with_capacity(nodes.len());
        for node in nodes {
            readers.push(self.open_session(io, login, node).await?);
        }
        Ok(readers)
    }

    async fn open_session(&self, io: &Io, login: &Login, client: u32) -> Result<Session, Failure> {
        let (script, first) = (&self.script, &self.session);
        Session::open(script, io, login, client, first, &self.effects).await
    }

    /// The outcome of an error. A transaction is rolled back: a deadlock has ended it, a lock wait timeout has not.
    /// `commits`: whether the failed statement commits changes.
    #[cold]
    async fn after(
        &self,
        session: &mut Session,
        operation: &Operation,
        retries: u16,
        commits: bool,
        error: WireError,
    ) -> Outcome {
        let verdict = self.script.policy.judge(&error);
        if operation.transaction
            && !matches!(verdict, Verdict::Lost(_))
            && let Err(error) = session.rollback(operation.turns_autocommit_off).await
        {
            return Outcome::Lost(error.code());
        }
        match verdict {
            Verdict::Lost(code) if commits && error.may_have_committed() => Outcome::Unknown(code),
            Verdict::Lost(code) => Outcome::Lost(code),
            Verdict::Repeat(code) if retries < self.script.policy.retries_max => {
                Outcome::Retry(code)
            }
            Verdict::Repeat(code) | Verdict::Fail(code) => {
                self.errors.note(code, &error);
                Outcome::Failed(code)
            }
        }
    }
}

/// The connections of one client.
pub struct Client {
    own: Session,
    /// For operations that only read, in turn; empty: they use its own.
    readers: Vec<Session>,
}

impl Client {
    #[inline]
    fn session_for(&mut self, operation: &Operation, number: u64) -> &mut Session {
        match self.readers.len() {
            count if count > 0 && operation.reads_only => {
                &mut self.readers[(number % count as u64) as usize]
            }
            _ => &mut self.own,
        }
    }
}

impl Workload for Driver {
    type Session = Client;

    /// The server limits them over all clients (`max_prepared_stmt_count`). One connection of a client can be for reads.
    fn statements(&self) -> usize {
        let connections = 1 + usize::from(self.readers.is_some());
        self.script.prepared_per_session() * connections
    }

    fn operations(&self) -> Vec<String> {
        let names = self.script.operations.iter();
        names.map(|operation| operation.name.clone()).collect()
    }

    #[inline]
    fn pick(&self, number: u64) -> u16 {
        self.script.mix.pick(self.salt, number)
    }

    fn effects(&self) -> Vec<Effects> {
        self.effects.effects()
    }

    async fn open(&self, io: &Io, client: u32) -> Result<Client, Failure> {
        let own = self.open_session(io, &self.login, client).await?;
        let readers = self.open_readers(io, client).await?;
        Ok(Client { own, readers })
    }

    async fn operate(&self, client: &mut Client, request: &Request) -> Outcome {
        let operation = &self.script.operations[usize::from(request.operation)];
        let session = client.session_for(operation, request.number);
        // Values depend only on the seed and the number, so a retry has the same values.
        let mut cursor = Cursor::new(request.number, stream(self.seed, request.number));
        let (mut noticed, mut last) = (Noticed::default(), Done::default());
        let failed = loop {
            let asked = session.ask_next(&self.script, operation, &mut cursor);
            let Some((purpose, asked)) = asked else {
                break None;
            };
            match asked.await {
                Ok(done) => last = done,
                Err(error) => break Some(error),
            }
            noticed.reply(purpose, &last);
        };
        let Some(failed) = failed else {
            let ended = session.ended(request.operation, noticed, &last);
            if let Outcome::Failed(code) = ended {
                self.errors.note(code, &NOT_COMMITTED);
            }
            return ended;
        };
        let commits = cursor.commits(operation);
        self.after(session, operation, request.retries, commits, failed)
            .await
    }

    fn explain(&self, code: u16) -> Option<String> {
        self.errors.of(code)
    }

    async fn close(&self, client: Client) {
        for session in client.readers {
            session.close(None).await;
        }
        client.own.close(self.witness.as_ref()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, Policy, StatementGroup};
    use super::*;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;
    use wire::null::{Behaviour, NullServer};

    /// On blocking streams every await ends at once.
    fn now<T>(future: impl Future<Output = T>) -> T {
        match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => unreachable!("a blocking stream is never pending"),
        }
    }

    fn driver(sql: &str, server: &NullServer) -> Driver {
        let mut builder = Builder::new(None);
        let part = StatementGroup { times: 1, sql };
        builder.operation("o", 1, &[part]).unwrap();
        let policy = Policy {
            retries_max: 0,
            also: Vec::new(),
        };
        let login = Login {
            endpoints: vec![server.endpoint()],
            user: "app".into(),
            password: None,
            schema: None,
            protection: Default::default(),
            login_timeout: Duration::from_secs(20),
            stall_timeout: Some(Duration::from_secs(3)),
        };
        Driver::new(Arc::new(builder.finish(policy)), login, &[], 1)
    }

    const REQUEST: Request = Request {
        operation: 0,
        number: 0,
        scheduled_ns: 0,
        started_ns: 0,
        zero_ns: 0,
        retries: 0,
    };

    /// What comes of an operation on a server of such a behaviour.
    fn outcome(sql: &str, behaviour: Behaviour) -> Outcome {
        let server = NullServer::tcp(behaviour).unwrap();
        let driver = driver(sql, &server);
        let mut session = now(driver.open(&Io::blocking(), 0)).unwrap();
        now(driver.operate(&mut session, &REQUEST))
    }

    /// Statements of a new session: SET autocommit.
    const FIRST: u64 = 1;

    /// The server hangs up after so many statements of an operation.
    fn reset_after(statements: u64) -> Behaviour {
        Behaviour {
            reset_after: Some(FIRST + statements),
            ..Behaviour::default()
        }
    }

    #[test]
    fn a_commit_without_an_answer_is_unknown_and_what_comes_before_it_is_lost() {
        let sql = "begin; update t set a = 1; commit";
        for statements in 0..2 {
            let outcome = outcome(sql, reset_after(statements));
            assert_eq!(outcome, Outcome::Lost(2013), "after {statements}");
        }
        assert_eq!(outcome(sql, reset_after(2)), Outcome::Unknown(2013));
        assert_eq!(outcome(sql, reset_after(3)), Outcome::Done);
        let silent = Behaviour {
            stall_after: Some(FIRST + 2),
            ..Behaviour::default()
        };
        assert_eq!(outcome(sql, silent), Outcome::Unknown(2013));
    }

    #[test]
    fn a_write_outside_of_a_transaction_is_unknown_and_a_read_is_lost() {
        let write = "select a from t; update t set a = 1; select a from t";
        let outcomes = [0, 1, 2, 3].map(|statements| outcome(write, reset_after(statements)));
        let expected = [
            Outcome::Lost(2013),
            Outcome::Unknown(2013),
            Outcome::Lost(2013),
            Outcome::Done,
        ];
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn a_commit_at_which_the_server_closes_the_connection_is_unknown() {
        // Killed (MariaDB).
        let killed_at = |statement: u64| Behaviour {
            error_every: Some((FIRST + statement, 1927)),
            ..Behaviour::default()
        };
        let sql = "begin; update t set a = 1; commit";
        assert_eq!(outcome(sql, killed_at(2)), Outcome::Lost(1927));
        assert_eq!(outcome(sql, killed_at(3)), Outcome::Unknown(1927));
        let alone = "update t set a = 1";
        assert_eq!(outcome(alone, killed_at(1)), Outcome::Unknown(1927));
    }

    #[test]
    fn after_an_error_a_transaction_by_autocommit_is_rolled_back_and_autocommit_is_on_again() {
        let sql = "set autocommit = 0; update t set a = 1; commit; set autocommit = 1";
        // The update fails. Then come ROLLBACK and SET autocommit.
        let after = |statements: u64| Behaviour {
            error_every: Some((FIRST + 2, 1062)),
            reset_after: Some(FIRST + 2 + statements),
            ..Behaviour::default()
        };
        assert_eq!(outcome(sql, after(0)), Outcome::Lost(2013));
        assert_eq!(outcome(sql, after(1)), Outcome::Lost(2013));
        assert_eq!(outcome(sql, after(2)), Outcome::Failed(1062));
        let in_a_block = "begin; update t set a = 1; commit";
        assert_eq!(outcome(in_a_block, after(1)), Outcome::Failed(1062));
    }

    #[test]
    fn a_write_that_could_not_be_sent_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let server = NullServer::unix(&folder.path().join("s"), Behaviour::default()).unwrap();
        let driver = driver("update t set a = 1", &server);
        let mut session = now(driver.open(&Io::blocking(), 0)).unwrap();
        drop(server);
        let outcome = now(driver.operate(&mut session, &REQUEST));
        assert_eq!(outcome, Outcome::Lost(2013));
    }

    #[test]
    fn a_login_gets_the_schema_of_the_workload() {
        let server = NullServer::tcp(Behaviour::default()).unwrap();
        let other = driver("select 1", &server);
        let target = Target::Server {
            readers: None,
            login: other.login.clone(),
            session: vec!["SET SESSION a = 1".into()],
        };
        let driver = Driver::on(&target, &other.script, "own", 1).unwrap();
        assert_eq!(driver.login.schema.as_deref(), Some("own"));
        assert_eq!(driver.session, ["SET SESSION a = 1"]);
    }

    #[test]
    fn needs_follow_from_the_script() {
        let server = NullServer::tcp(Behaviour::default()).unwrap();
        let driver = driver("begin; update t set a = 1; select 1; commit", &server);
        let needs = load::Drivable::needs(&driver);
        assert_eq!((needs.connections, needs.statements), (1, 2));
    }
}

//! A script as the load engine drives it.

use super::cursor::Cursor;
use super::policy::Verdict;
use super::session::Session;
use super::{Operation, Script};
use datagen::oltp::{hash, stream};
use load::{Failure, Io, Outcome, Request, Workload};
use std::sync::Arc;
use wire::{Login, WireError};

/// So that the mix does not follow from the same hashes as the values.
const MIX: u64 = 0x6d69_7820_6d69_7820;

/// Everything that the clients of a drive share.
#[derive(Clone)]
pub struct Driver {
    script: Arc<Script>,
    login: Login,
    /// For each connection, once it is open.
    session: Vec<String>,
    seed: u64,
    salt: u64,
}

impl Driver {
    /// `session`: statements that each connection runs once, when it is open: `SET SESSION ...`.
    pub fn new(script: Arc<Script>, login: Login, session: &[String], seed: u64) -> Driver {
        Driver {
            script,
            login,
            session: session.to_vec(),
            seed,
            salt: hash(seed ^ MIX),
        }
    }

    /// Prepared statements that each client has; the server limits them over all (`max_prepared_stmt_count`).
    pub fn prepared_per_client(&self) -> usize {
        self.script.prepared_per_session()
    }

    /// What follows from an error. A transaction is rolled back: a deadlock has ended it, a lock wait has not.
    #[cold]
    async fn after(
        &self,
        session: &mut Session,
        operation: &Operation,
        retries: u16,
        error: WireError,
    ) -> Outcome {
        let verdict = self.script.policy.judge(&error);
        if operation.transaction
            && !matches!(verdict, Verdict::Lost(_))
            && let Err(error) = session.rollback().await
        {
            return Outcome::Lost(error.code());
        }
        match verdict {
            Verdict::Lost(code) => Outcome::Lost(code),
            Verdict::Repeat(code) if retries < self.script.policy.retries_max => {
                Outcome::Retry(code)
            }
            Verdict::Repeat(code) | Verdict::Fail(code) => Outcome::Failed(code),
        }
    }
}

impl Workload for Driver {
    type Session = Session;

    fn operations(&self) -> Vec<String> {
        let names = self.script.operations.iter();
        names.map(|operation| operation.name.clone()).collect()
    }

    #[inline]
    fn pick(&self, number: u64) -> u16 {
        self.script.mix.pick(self.salt, number)
    }

    async fn open(&self, io: &Io, client: u32) -> Result<Session, Failure> {
        Session::open(&self.script, io, &self.login, client, &self.session).await
    }

    async fn operate(&self, session: &mut Session, request: &Request) -> Outcome {
        let operation = &self.script.operations[usize::from(request.operation)];
        // Values follow from the seed and the number, so a retry has the same.
        let mut cursor = Cursor::new(request.number, stream(self.seed, request.number));
        let failed = loop {
            let Some(asked) = session.ask_next(&self.script, operation, &mut cursor) else {
                return Outcome::Done;
            };
            if let Err(error) = asked.await {
                break error;
            }
        };
        self.after(session, operation, request.retries, failed)
            .await
    }

    async fn close(&self, session: Session) {
        session.close().await;
    }
}

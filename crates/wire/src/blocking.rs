//! A connection for sessions: it runs one statement after another, and each call blocks until the reply is complete.
//!
//! Goals: the same protocol code as timed loads; every wait ends at a deadline, at an interruption of the process and by
//! [`Blocking::stopper`]; rows are handed out one by one. Non-goal: prepared statements, which no session uses.

use crate::authenticate;
use crate::capability::Capabilities;
use crate::connection::{Connection, Sink, WriteFile, now};
use crate::error::WireError;
use crate::login::Login;
use crate::reply::Done;
use load::{Io, OnSilence, Stopper};
use std::time::{Duration, Instant};

/// Capabilities of sessions in addition to those of loads.
const MORE: Capabilities = Capabilities::LOCAL_FILES.union(Capabilities::MULTI_STATEMENTS);

/// How long closing may wait for a server that does not read.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// A logged-in connection that blocks its thread.
pub struct Blocking {
    connection: Connection,
    io: Io,
    statement_timeout: Option<Duration>,
    /// The server's summary of the last load.
    info: String,
    /// The number of warnings of the last statement.
    warnings: u16,
}

// SAFETY: what is not `Send` are the reference counts and cells of the blocking reactor that `open` creates. Only `io` and
// `connection` refer to it, both are private and never lent by value, so they move to another thread together; what they share
// with other threads, the stopper, is `Send`.
unsafe impl Send for Blocking {}

impl Blocking {
    /// Connects and logs in at the first endpoint, which errors call `place`. A wait ends one second after `is_interrupted`
    /// returns true.
    ///
    /// # Errors
    /// They name the place, the cause and the fix, and never contain the password.
    pub fn open(
        login: &Login,
        place: &str,
        is_interrupted: fn() -> bool,
    ) -> Result<Blocking, WireError> {
        let Some(endpoint) = login.endpoints.first() else {
            return Err(WireError::Misuse("the login has no endpoint".into()));
        };
        let io = Io::interruptible(is_interrupted)?;
        let logged_in = now(authenticate::open(&io, endpoint, login, place, MORE))?;
        Ok(Blocking {
            connection: Connection::from_login(logged_in),
            io,
            statement_timeout: None,
            info: String::new(),
            warnings: 0,
        })
    }

    /// The connection's id on the server, for KILL.
    pub fn id(&self) -> u32 {
        self.connection.id()
    }

    /// A handle that ends the current and all later waits from another thread. The statement itself continues on the server.
    pub fn stopper(&self) -> Stopper {
        self.io.stopper()
    }

    /// Has `watch` look at statements without a limit while nothing arrives, see [`Io::on_silence`].
    pub fn on_silence(&mut self, watch: OnSilence) {
        self.io.on_silence(watch);
    }

    /// Limits each statement in total, from the request to the last byte of the reply; None for no limit. Returns the limit
    /// before.
    pub fn set_statement_timeout(&mut self, limit: Option<Duration>) -> Option<Duration> {
        std::mem::replace(&mut self.statement_timeout, limit)
    }

    /// The limit of a statement.
    pub fn statement_timeout(&self) -> Option<Duration> {
        self.statement_timeout
    }

    /// Runs a statement and counts its rows without reading them. Its bytes are in the character set of the connection.
    ///
    /// # Errors
    /// An error of the server, after which the connection stays usable, or one that ended it: [`WireError::is_lost`].
    pub fn run(&mut self, sql: impl AsRef<[u8]>) -> Result<Done, WireError> {
        self.begin();
        let done = now(self.connection.query(sql))?;
        self.warnings = done.warnings;
        Ok(done)
    }

    /// Has the server parse a statement and look up its names, without running it.
    ///
    /// # Errors
    /// As [`Blocking::run`].
    pub fn prepare(&mut self, sql: &str) -> Result<(), WireError> {
        self.begin();
        let statement = now(self.connection.prepare(sql))?;
        now(self.connection.close_statement(statement))
    }

    /// Runs a statement and passes its columns and rows to `sink` as they arrive.
    ///
    /// # Errors
    /// As [`Blocking::run`]; those of `sink`; [`WireError::ReplyTooLarge`] for a row of more than 64 MiB.
    pub fn read(&mut self, sql: &str, sink: &mut dyn Sink) -> Result<Done, WireError> {
        self.begin();
        let done = now(self.connection.read(sql, sink))?;
        self.warnings = done.warnings;
        Ok(done)
    }

    /// Runs a LOAD DATA LOCAL INFILE of a file `name`, whose contents `file` writes, and returns the number of loaded rows. A
    /// request for a file in any other reply is refused.
    ///
    /// # Errors
    /// As [`Blocking::run`]. An error of `file` is returned as [`WireError::Io`] and makes the connection unusable, because what
    /// was sent cannot be taken back.
    pub fn load(
        &mut self,
        sql: &str,
        name: &str,
        file: &mut WriteFile<'_>,
    ) -> Result<u64, WireError> {
        self.begin();
        self.info.clear();
        let loaded = self.connection.load(sql, name, file)?;
        self.info = loaded.info;
        self.warnings = loaded.warnings;
        Ok(loaded.rows)
    }

    /// The server's summary of the last load: `Records: 3  Deleted: 0  Skipped: 1  Warnings: 0`, possibly after a length byte.
    pub fn load_info(&self) -> &str {
        &self.info
    }

    /// The number of warnings of the last statement, at most 65,535; 0 if it failed.
    pub fn warnings(&self) -> u16 {
        self.warnings
    }

    fn begin(&mut self) {
        self.warnings = 0;
        self.set_deadline(self.statement_timeout);
    }

    fn set_deadline(&self, within: Option<Duration>) {
        let at = within.and_then(|within| Instant::now().checked_add(within));
        self.io.set_deadline(at);
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        self.set_deadline(Some(CLOSE_WITHIN));
        now(self.connection.quit());
    }
}

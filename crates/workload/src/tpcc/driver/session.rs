//! The session of one terminal: its connection, its home, its book.

use super::stop::Saw;
use super::terminal::Home;
use crate::script::commits;
use crate::script::failure::failure;
use crate::tpcc::ledger::Book;
use load::{Failure, Io, Request};
use wire::{Connection, Login, Value};

/// Servers have one of the two names, or both.
const ISOLATION: &str =
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')";

pub(super) struct Session {
    pub(super) connection: Connection,
    io: Io,
    /// False under READ UNCOMMITTED: then what a reader saw may have been rolled back.
    reads_committed: bool,
    pub(super) home: Home,
    pub(super) book: Book,
}

impl Session {
    /// Connects, runs the initial statements, and leaves autocommit, so that a transaction begins without a request of its own.
    pub(super) async fn open(
        io: &Io,
        login: &Login,
        client: u32,
        first: &[String],
        home: Home,
        book: Book,
    ) -> Result<Session, Failure> {
        let mut connection = Connection::open(io, login, client)
            .await
            .map_err(|error| failure("cannot connect", error))?;
        commits::begin(&mut connection, first, false).await?;
        let reads_committed = reads_committed(&mut connection).await?;
        Ok(Session {
            io: io.clone(),
            reads_committed,
            home,
            book,
            connection,
        })
    }

    /// The time of the drive.
    pub(super) fn now_ns(&self, request: &Request) -> u64 {
        self.io.now_ns().saturating_sub(request.zero_ns)
    }

    /// Notes what a reader saw, if it was committed.
    pub(super) fn note(&mut self, saw: Option<Saw>, request: &Request) {
        let at_ns = self.now_ns(request);
        if let Some(saw) = saw.filter(|_| self.reads_committed) {
            self.book
                .saw(saw.warehouse as u16, saw.district, saw.next, at_ns);
        }
    }
}

/// Whether all that the session reads is committed.
async fn reads_committed(connection: &mut Connection) -> Result<bool, Failure> {
    let mut all = true;
    let mut take = |row: &[Value]| all &= !is_uncommitted(row);
    let read = connection.query_rows(ISOLATION, &mut take).await;
    read.map_err(|error| failure(ISOLATION, error))?;
    Ok(all)
}

/// Whether a name with its value is the isolation level that reads what may be rolled back.
fn is_uncommitted(variable: &[Value]) -> bool {
    matches!(variable, [_, Value::Bytes(level)] if level.eq_ignore_ascii_case(b"READ-UNCOMMITTED"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_under_read_uncommitted_is_not_known_to_be_committed() {
        let is = |level: &'static str| {
            is_uncommitted(&[
                Value::Bytes(b"tx_isolation"),
                Value::Bytes(level.as_bytes()),
            ])
        };
        assert!(is("READ-UNCOMMITTED"));
        assert!(!is("READ-COMMITTED") && !is("REPEATABLE-READ") && !is("SERIALIZABLE"));
        assert!(!is_uncommitted(&[]));
    }
}

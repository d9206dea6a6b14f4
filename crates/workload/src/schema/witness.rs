//! Rows that clients write at the end of a load, for another connection to find.
//!
//! Purpose: what the server acknowledged to the clients is there for others, or the load did not do what it counted. Boundaries: the
//! caller opens the other connection. TPC-C compares every transaction instead (its audit).

use crate::schema;
use server::{ServerError, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use wire::Connection;

/// The table of these rows, beside those of the workload.
pub(crate) const TABLE: &str = "prony_written";
/// So many clients write a row; more would say the same.
const CLIENTS_MAX: u64 = 8;

/// The rows of one load. Clones share them.
#[derive(Clone)]
pub struct Witness {
    /// With its schema.
    table: String,
    rows: Arc<Rows>,
}

#[derive(Default)]
struct Rows {
    /// Whether the table is there.
    is_ready: AtomicBool,
    begun: AtomicU64,
    acknowledged: AtomicU64,
}

impl Witness {
    pub(crate) fn new(schema: &str) -> Witness {
        Witness {
            table: format!("{}.{TABLE}", schema::quoted(schema)),
            rows: Arc::default(),
        }
    }

    /// Creates the table before the load. A server that refuses that is not checked.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn prepare(&self, session: &mut Session) -> Result<(), ServerError> {
        let drop = format!("DROP TABLE IF EXISTS {}", self.table);
        let create = format!(
            "CREATE TABLE {} (n INT NOT NULL PRIMARY KEY) ENGINE=InnoDB",
            self.table
        );
        for sql in [drop, create] {
            match session.execute(&sql) {
                Ok(_) => {}
                Err(ServerError::Refused { .. }) => return Ok(()),
                Err(lost) => return Err(lost),
            }
        }
        self.rows.is_ready.store(true, SeqCst);
        Ok(())
    }

    /// Writes a row as the operations of this connection do.
    pub(crate) async fn write(&self, connection: &mut Connection) {
        if !self.rows.is_ready.load(SeqCst) {
            return;
        }
        let n = self.rows.begun.fetch_add(1, SeqCst);
        if n >= CLIENTS_MAX {
            return;
        }
        let sql = format!("INSERT INTO {} VALUES ({n})", self.table);
        if connection.query(&sql).await.is_ok() {
            self.rows.acknowledged.fetch_add(1, SeqCst);
        }
    }

    /// Looks for the rows on another connection, and drops the table. Returns what is wrong.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn check(&self, session: &mut Session) -> Result<Option<String>, ServerError> {
        if !self.rows.is_ready.load(SeqCst) {
            return Ok(None);
        }
        let found = schema::count(session, &self.table)?;
        session.execute(&format!("DROP TABLE {}", self.table))?;
        let acknowledged = self.rows.acknowledged.load(SeqCst);
        Ok((found < acknowledged).then(|| {
            format!(
                "the server acknowledged {acknowledged} rows that clients wrote at the end of the load, and another connection finds {found} of them: what it acknowledges is not there; look at autocommit, and at a proxy that sends reads elsewhere"
            )
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::{Reply, fake_reply};

    /// What is said of so many acknowledged rows where another connection finds these.
    fn checked(acknowledged: u64, found: &'static str) -> Option<String> {
        let script = move |sql: &str| {
            if sql.starts_with("SELECT COUNT") {
                Ok(fake_reply("count", &[Some(found)]))
            } else {
                Ok(Reply::default())
            }
        };
        let mut session = Session::Scripted(Box::new(script));
        let witness = Witness::new("prony_sql");
        witness.prepare(&mut session).unwrap();
        witness.rows.acknowledged.store(acknowledged, SeqCst);
        witness.check(&mut session).unwrap()
    }

    #[test]
    fn acknowledged_rows_that_another_connection_does_not_find_are_named() {
        let says = checked(8, "5").unwrap();
        assert!(says.contains("acknowledged 8 rows"), "{says}");
        assert!(says.contains("finds 5 of them"), "{says}");
        assert_eq!(checked(8, "8"), None);
        assert_eq!(checked(0, "0"), None);
    }

    #[test]
    fn a_server_that_refuses_the_table_is_not_checked() {
        let refused = |_: &str| {
            Err(ServerError::Refused {
                code: 1142,
                message: "denied".into(),
            })
        };
        let mut session = Session::Scripted(Box::new(refused));
        let witness = Witness::new("prony_sql");
        witness.prepare(&mut session).unwrap();
        assert_eq!(witness.check(&mut session).unwrap(), None);
    }
}

//! Autocommit of a load's connections: what prony counts as done must be committed.
//!
//! Purpose: set it on each new connection, whatever the server's default is, and make sure that the server follows. Boundaries: sessions
//! outside of loads do so when they are opened (crate `server`).

use super::failure::failure;
use load::Failure;
use wire::{Connection, Value};

/// The server keeps another value; it has no error number for that.
const NOT_SET: u16 = 64_901;

/// Runs the initial statements of a connection, then sets autocommit. Returns whether the server's replies show the value, which a proxy
/// may not pass on.
///
/// # Errors
/// Those of the statements; the server keeps another value.
pub(crate) async fn begin(
    connection: &mut Connection,
    first: &[String],
    autocommit: bool,
) -> Result<bool, Failure> {
    for sql in first {
        let set = connection.query(sql).await;
        set.map_err(|error| failure(sql, error))?;
    }
    let wanted = i64::from(autocommit);
    let sql = format!("SET SESSION autocommit = {wanted}");
    let set = connection.query(&sql).await;
    if set.map_err(|error| failure(&sql, error))?.autocommits() == autocommit {
        return Ok(true);
    }
    let mut value = String::new();
    let sql = "SELECT @@autocommit";
    let mut take = |row: &[Value]| {
        if let [Value::Bytes(bytes)] = row {
            value = String::from_utf8_lossy(bytes).into_owned();
        }
    };
    let read = connection.query_rows(sql, &mut take).await;
    read.map_err(|error| failure(sql, error))?;
    if value == wanted.to_string() {
        Ok(false)
    } else {
        Err(Failure {
            code: NOT_SET,
            text: format!(
                "the server keeps autocommit = {value} although the session sets it to {wanted}; correct the server or the proxy before it"
            ),
            transient: false,
        })
    }
}

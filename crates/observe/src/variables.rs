//! The effective settings, as the server reports them.

use server::{ServerError, Session};
use std::collections::BTreeMap;

/// Reads SHOW GLOBAL VARIABLES; empty for SQLite.
pub fn effective(session: &mut Session) -> Result<BTreeMap<String, String>, ServerError> {
    shown(session, "SHOW GLOBAL VARIABLES")
}

/// Reads SHOW SESSION VARIABLES of this connection; empty for SQLite.
pub fn of_session(session: &mut Session) -> Result<BTreeMap<String, String>, ServerError> {
    shown(session, "SHOW SESSION VARIABLES")
}

fn shown(session: &mut Session, sql: &str) -> Result<BTreeMap<String, String>, ServerError> {
    if !session.is_mysql() {
        return Ok(BTreeMap::new());
    }
    let reply = session.query(sql)?;
    Ok(reply
        .rows
        .into_iter()
        .filter_map(|mut row| {
            let value = row.pop()?.unwrap_or_default();
            let name = row.pop()??;
            Some((
                String::from_utf8_lossy(&name).into_owned(),
                String::from_utf8_lossy(&value).into_owned(),
            ))
        })
        .collect())
}

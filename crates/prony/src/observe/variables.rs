//! The settings that are in force, as the server reports them.

use crate::server::{ServerError, Session};
use std::collections::BTreeMap;

/// SHOW GLOBAL VARIABLES; empty for a server that has none.
pub fn effective(session: &mut Session) -> Result<BTreeMap<String, String>, ServerError> {
    if !session.is_mysql() {
        return Ok(BTreeMap::new());
    }
    let reply = session.query("SHOW GLOBAL VARIABLES")?;
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

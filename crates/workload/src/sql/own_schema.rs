//! prony's own schema for the user's tables: its name, and what it holds.
//!
//! Boundaries: `created_tables` creates and drops, `existing_tables` looks at schemas of the user's.

use super::existing_tables;
use crate::schema::{self, marker, witness};
use server::{ServerError, Session};
use std::collections::BTreeMap;

/// The name of the schema.
pub(crate) const SCHEMA: &str = "prony_sql";

/// Updates the optimizer statistics of all tables but the marker's, and counts their rows.
pub(super) fn analyze_and_count(
    session: &mut Session,
) -> Result<BTreeMap<String, u64>, ServerError> {
    let tables = loaded_tables(session)?;
    if !tables.is_empty() {
        let names: Vec<String> = tables.iter().map(|name| schema::quoted(name)).collect();
        session.query(&format!("ANALYZE TABLE {}", names.join(", ")))?;
    }
    count(session)
}

/// Whether rows of the table that were taken must be there: not where the engine keeps none, and not in the past of a versioned table.
pub(super) fn keeps_rows(
    session: &mut Session,
    table: &str,
    wanted: u64,
) -> Result<bool, ServerError> {
    let sql = format!(
        "SELECT engine, table_type FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name = {}",
        schema::literal(table)
    );
    let found = session.query(&sql)?;
    let engine = found.text(0, 0).unwrap_or_default();
    if ["BLACKHOLE", "MRG_MYISAM", "MRG_MyISAM", "FEDERATED"].contains(&engine.as_str()) {
        return Ok(false);
    }
    if found.text(0, 1).as_deref() == Some(existing_tables::VERSIONED) {
        let all = format!("{} FOR SYSTEM_TIME ALL", schema::quoted(table));
        return Ok(schema::count(session, &all)? != wanted);
    }
    Ok(true)
}

/// The names of a table's columns, in their order.
pub(super) fn columns(session: &mut Session, table: &str) -> Result<Vec<String>, ServerError> {
    let sql = format!(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = '{SCHEMA}' AND table_name = {} ORDER BY ordinal_position",
        schema::literal(table)
    );
    Ok(marker::names(&session.query(&sql)?))
}

/// All tables of the schema, the marker's among them.
pub(super) fn tables(session: &mut Session) -> Result<Vec<String>, ServerError> {
    existing_tables::tables(session, SCHEMA)
}

/// The tables of the user: neither the marker's nor the one that proves writes.
pub(super) fn loaded_tables(session: &mut Session) -> Result<Vec<String>, ServerError> {
    let mut tables = tables(session)?;
    tables.retain(|name| name != marker::TABLE && name != witness::TABLE);
    Ok(tables)
}

pub(super) fn views(session: &mut Session) -> Result<Vec<String>, ServerError> {
    existing_tables::names(session, SCHEMA, &["VIEW"])
}

pub(super) fn sequences(session: &mut Session) -> Result<Vec<String>, ServerError> {
    existing_tables::names(session, SCHEMA, &["SEQUENCE"])
}

/// Rows of each table but the marker's.
pub(super) fn count(session: &mut Session) -> Result<BTreeMap<String, u64>, ServerError> {
    let mut rows = BTreeMap::new();
    for table in loaded_tables(session)? {
        let found = schema::count(session, &schema::quoted(&table))?;
        rows.insert(table, found);
    }
    Ok(rows)
}

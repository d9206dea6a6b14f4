//! Columns of a row as the record's types.

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, Error, Params, Result, Row};
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed};

/// What `of` makes of each row of a query.
pub(super) fn list<T>(
    at: &Connection,
    sql: &str,
    params: impl Params,
    of: impl FnMut(&Row) -> Result<T>,
) -> Result<Vec<T>> {
    at.prepare_cached(sql)?.query_map(params, of)?.collect()
}

/// A JSON column.
pub(super) fn json<'a, T: Deserialize<'a>>(row: &'a Row, column: usize) -> Result<T> {
    serde_json::from_str(text(row, column)?).map_err(|e| unreadable(column, e))
}

/// A JSON column, deserialised by a seed.
pub(super) fn json_into<'a, S: DeserializeSeed<'a>>(
    row: &'a Row,
    column: usize,
    seed: S,
) -> Result<S::Value> {
    seed.deserialize(&mut serde_json::Deserializer::from_str(text(row, column)?))
        .map_err(|e| unreadable(column, e))
}

fn text<'a>(row: &'a Row, column: usize) -> Result<&'a str> {
    let text = row.get_ref(column)?.as_str();
    text.map_err(|e| unreadable(column, e))
}

/// A JSON column that may be NULL.
pub(super) fn json_or_none<T: DeserializeOwned>(row: &Row, column: usize) -> Result<Option<T>> {
    row.get::<_, Option<String>>(column)?
        .map(|text| serde_json::from_str(&text).map_err(|e| unreadable(column, e)))
        .transpose()
}

/// A column with the word of a variant without fields: `done`.
pub(super) fn word<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(text.into()).map_err(|e| unreadable(column, e))
}

/// A column with the word of a variant, or NULL.
pub(super) fn word_or_none<T: DeserializeOwned>(row: &Row, column: usize) -> Result<Option<T>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => word(row, column).map(Some),
    }
}

pub(super) fn unreadable(
    column: usize,
    cause: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, Box::new(cause))
}

/// The error of a column of bytes.
pub(super) fn spoiled(
    column: usize,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::FromSqlConversionFailure(column, Type::Blob, cause.into())
}

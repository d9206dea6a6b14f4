//! Prepares statements, runs them and reads their rows, or demands how many rows they change.

use super::decimal;
use super::stop::{Stop, Wrong};
use crate::script::failure::failure;
use load::Failure;
use std::ops::RangeInclusive;
use wire::{Connection, Done, Param, Statement, Value};

/// Prepares statements on a new connection.
pub(super) struct Prepare<'c>(pub(super) &'c mut Connection);

impl Prepare<'_> {
    pub(super) async fn sql(&mut self, sql: &str) -> Result<Statement, Failure> {
        let prepared = self.0.prepare(sql).await;
        prepared.map_err(|error| failure(sql, error))
    }
}

/// A row of a result.
pub(super) struct Row<'a>(&'a [Value<'a>]);

impl<'a> Row<'a> {
    pub(super) fn int(&self, place: usize) -> Result<i64, Wrong> {
        match self.0.get(place) {
            Some(Value::Int(value)) => Ok(*value),
            _ => Err(Wrong::Value),
        }
    }

    pub(super) fn text(&self, place: usize) -> Result<&'a [u8], Wrong> {
        match self.0.get(place) {
            Some(Value::Bytes(text)) => Ok(text),
            _ => Err(Wrong::Value),
        }
    }

    /// An amount, in cents.
    pub(super) fn cents(&self, place: usize) -> Result<i64, Wrong> {
        decimal::parse(self.text(place)?, 2).ok_or(Wrong::Value)
    }

    /// A tax or a discount, in 1/10,000.
    pub(super) fn rate(&self, place: usize) -> Result<i64, Wrong> {
        decimal::parse(self.text(place)?, 4).ok_or(Wrong::Value)
    }
}

/// Reads each row of a statement. Returns their number.
pub(super) async fn rows(
    connection: &mut Connection,
    statement: &Statement,
    params: &[Param<'_>],
    mut read: impl FnMut(&Row) -> Result<(), Wrong>,
) -> Result<u64, Stop> {
    let mut wrong = None;
    let mut each = |values: &[Value]| {
        if wrong.is_none() {
            wrong = read(&Row(values)).err();
        }
    };
    let done = connection
        .execute_rows(statement, params, &mut each)
        .await?;
    match wrong {
        Some(wrong) => Err(wrong.into()),
        None => Ok(done.rows),
    }
}

/// Reads the only row of a statement; another number of rows is the error `table`.
pub(super) async fn one<T>(
    connection: &mut Connection,
    statement: &Statement,
    params: &[Param<'_>],
    table: Wrong,
    mut read: impl FnMut(&Row) -> Result<T, Wrong>,
) -> Result<T, Stop> {
    let mut only = None;
    let rows = rows(connection, statement, params, |row| {
        only = Some(read(row)?);
        Ok(())
    });
    match (rows.await?, only) {
        (1, Some(value)) => Ok(value),
        _ => Err(table.into()),
    }
}

/// Changes exactly so many rows; any other number is the error `table`.
pub(super) async fn change(
    connection: &mut Connection,
    statement: &Statement,
    params: &[Param<'_>],
    expected: u64,
    table: Wrong,
) -> Result<Done, Stop> {
    let done = connection.execute(statement, params.iter()).await?;
    if done.affected == expected {
        Ok(done)
    } else {
        Err(table.into())
    }
}

/// A statement whose text depends on a number of rows, prepared for each number on a new connection. Not when a number first occurs:
/// Galera (MariaDB 10.11.18) does not report that it has rolled a transaction back if the next request prepares a SELECT.
pub(super) struct BySize {
    least: usize,
    prepared: Vec<Statement>,
}

impl BySize {
    pub(super) async fn prepare(
        prepare: &mut Prepare<'_>,
        sizes: RangeInclusive<usize>,
        text: fn(usize) -> String,
    ) -> Result<BySize, Failure> {
        let least = *sizes.start();
        let mut prepared = Vec::new();
        for size in sizes {
            prepared.push(prepare.sql(&text(size)).await?);
        }
        Ok(BySize { least, prepared })
    }

    pub(super) fn of(&self, size: usize) -> Result<&Statement, Wrong> {
        let place = size.checked_sub(self.least);
        let statement = place.and_then(|place| self.prepared.get(place));
        statement.ok_or(Wrong::Value)
    }
}

/// A list with `text` so many times: `?, ?, ?`.
pub(super) fn repeat(text: &str, times: usize) -> String {
    vec![text; times].join(", ")
}

pub(super) fn int(value: impl Into<i64>) -> Param<'static> {
    Param::Int(value.into())
}

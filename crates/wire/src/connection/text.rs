//! Text replies with the names of their columns, for sessions.
//!
//! Goal: one row at a time, as it arrives; what is kept of it is the caller's decision. Non-goal: values as numbers.

use super::{Connection, QUERY};
use crate::error::WireError;
use crate::reply::row::{self, ColumnKind, Described};
use crate::reply::{Done, Step, Walk};

/// Receives the parts of a reply in order: for each result its columns, then its rows.
pub trait Sink {
    /// A column and its index in the row; index 0 begins a result.
    ///
    /// # Errors
    /// An error ends the reply and makes the connection unusable.
    fn column(&mut self, place: u64, name: &[u8], kind: ColumnKind) -> Result<(), WireError>;

    /// A row. NULL is None.
    ///
    /// # Errors
    /// As [`Sink::column`].
    fn row(&mut self, cells: &[Option<&[u8]>]) -> Result<(), WireError>;
}

/// The rows of a text reply.
struct Reading {
    /// Number of columns of the current result.
    columns: usize,
    /// Empty; its memory is used again for the next rows.
    cells: Vec<Option<&'static [u8]>>,
}

impl Connection {
    /// Runs a statement in the text protocol and passes its columns and rows to `sink`.
    ///
    /// # Errors
    /// As [`Connection::query`]; those of `sink`; [`WireError::ReplyTooLarge`] for a row of more than 64 MiB.
    pub(crate) async fn read(&mut self, sql: &str, sink: &mut dyn Sink) -> Result<Done, WireError> {
        let number = self.write_text(QUERY, sql.as_bytes())?;
        let mut reading = Reading {
            columns: 0,
            cells: Vec::new(),
        };
        let read = |own: &mut Connection, walk: &mut Walk, at: &mut usize| {
            own.read_parts(&mut reading, walk, at, sink)
        };
        self.reply(number, read).await
    }

    /// Reads what has arrived. True at the end of the reply.
    fn read_parts(
        &mut self,
        reading: &mut Reading,
        walk: &mut Walk,
        at: &mut usize,
        sink: &mut dyn Sink,
    ) -> Result<bool, WireError> {
        let incoming = self.link.channel.incoming();
        let Reading {
            columns,
            cells: kept,
        } = reading;
        let mut cells = row::recycled_cells(std::mem::take(kept));
        let is_over = loop {
            match walk.step(incoming, at, &mut self.joined, self.row_bytes_max)? {
                Step::Wait => break false,
                Step::Over => break true,
                Step::Column(definition, place) => {
                    if place == 0 {
                        *columns = 0;
                    }
                    *columns += 1;
                    let column = Described::read(definition)?;
                    sink.column(place, column.name, column.kind)?;
                }
                Step::Row(payload) => {
                    cells.clear();
                    row::read_cells(payload, *columns, |cell| cells.push(cell))?;
                    sink.row(&cells)?;
                }
                Step::Joined => {
                    let payload = std::mem::take(&mut self.joined);
                    let mut cells = Vec::with_capacity(*columns);
                    row::read_cells(&payload, *columns, |cell| cells.push(cell))?;
                    sink.row(&cells)?;
                }
            }
        };
        *kept = row::recycled_cells(cells);
        Ok(is_over)
    }
}

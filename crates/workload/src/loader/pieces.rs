//! Splits a generated table into pieces.
//!
//! Purpose: one way of splitting for all workloads and generators. Boundaries: `settings` chooses the rows per statement.

use std::io::{self, Write};

/// Rows between two checks for cancellation: a few milliseconds of server time.
const ROWS_PER_PART: u64 = 2_000;

/// The rows of one statement: consecutive parts of a table.
pub struct Piece {
    /// An index into [`Job::tables`](super::Job::tables).
    pub table: usize,
    pub parts: Vec<Part>,
}

/// Lines of text: fields end with `|`, lines with `|` and a line feed. Small enough for prompt cancellation between two.
pub struct Part {
    pub write: WriteRows,
}

/// Writes rows of text and returns their number.
pub type WriteRows = Box<dyn FnOnce(&mut dyn Write) -> io::Result<u64> + Send>;

/// The operations on a generator's chunks.
pub struct Cut<C> {
    /// Splits the chunk into this many, in order.
    pub split: fn(&C, u64) -> Vec<C>,
    /// Writes the rows of the chunk and returns their number.
    pub write: fn(C, &mut dyn Write) -> io::Result<u64>,
}

impl<C: Send + 'static> Cut<C> {
    /// Splits the table `table` of `rows` rows into consecutive pieces of about this many rows; None: one piece.
    pub fn pieces(
        &self,
        table: usize,
        rows: u64,
        rows_per_piece: Option<u64>,
        whole: &C,
    ) -> Vec<Piece> {
        let count = rows_per_piece.map_or(1, |each| rows.div_ceil(each)).max(1);
        let parts_per_piece = (rows / count).div_ceil(ROWS_PER_PART);
        let pieces = (self.split)(whole, count).into_iter();
        let piece = |chunk: C| Piece {
            table,
            parts: self.parts(&chunk, parts_per_piece),
        };
        pieces.map(piece).collect()
    }

    fn parts(&self, chunk: &C, count: u64) -> Vec<Part> {
        let write = self.write;
        let part = |chunk: C| Part {
            write: Box::new(move |to| write(chunk, to)),
        };
        (self.split)(chunk, count).into_iter().map(part).collect()
    }
}

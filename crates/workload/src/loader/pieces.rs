//! A generated table in pieces.
//!
//! Goal: the same cut for every workload, whatever its generator calls a chunk. Non-goal: how many rows a statement should have
//! (`settings`).

use std::io::{self, Write};

/// Rows between two looks at whether the load was cancelled: some milliseconds of a server's time.
const ROWS_PER_PART: u64 = 2_000;

/// What one statement loads: some parts of a table, one after another.
pub struct Piece {
    /// An index into [`Job::tables`](super::Job::tables).
    pub table: usize,
    pub parts: Vec<Part>,
}

/// Lines of text: fields end with `|`, lines with `|` and a line feed. Small enough that cancelling between two is prompt.
pub struct Part {
    pub write: WriteRows,
}

/// Writes rows of text and gives their number.
pub type WriteRows = Box<dyn FnOnce(&mut dyn Write) -> io::Result<u64> + Send>;

/// How a generator's chunks are handled.
pub struct Cut<C> {
    /// The chunk in so many, in order.
    pub split: fn(&C, u64) -> Vec<C>,
    /// Writes the chunk's rows and gives their number.
    pub write: fn(C, &mut dyn Write) -> io::Result<u64>,
}

impl<C: Send + 'static> Cut<C> {
    /// The table `table` of `rows` rows in pieces of about so many, one after another; None: it is one piece.
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

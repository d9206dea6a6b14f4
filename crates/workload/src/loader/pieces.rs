//! The pieces in which a table is loaded.
//!
//! Boundaries: `settings` chooses the rows per statement, `generated` splits the tables.

use std::collections::HashMap;
use std::io::{self, Write};

/// Part `index`, from 0, of `of` parts of these pieces: of each table consecutive ones.
pub fn part(pieces: Vec<Piece>, index: u32, of: u32) -> Vec<Piece> {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    for piece in &pieces {
        *counts.entry(piece.table).or_default() += 1;
    }
    let (index, of) = (index as usize, of as usize);
    let mut seen: HashMap<usize, usize> = HashMap::new();
    let mut is_own = |piece: &Piece| {
        let place = seen.entry(piece.table).or_default();
        let count = counts[&piece.table];
        let own = count * index / of..count * (index + 1) / of;
        *place += 1;
        own.contains(&(*place - 1))
    };
    pieces.into_iter().filter(|piece| is_own(piece)).collect()
}

/// The rows of one statement: consecutive parts of a table.
pub struct Piece {
    /// An index into [`Job::tables`](super::Job::tables).
    pub table: usize,
    pub parts: Vec<PiecePart>,
}

/// Lines of text: fields end with `|`, lines with `|` and a line feed. Small enough for prompt cancellation between two.
pub struct PiecePart {
    pub write: WriteRows,
}

/// Writes rows of text and returns their number.
pub type WriteRows = Box<dyn FnOnce(&mut dyn Write) -> io::Result<u64> + Send>;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_parts_of_a_load_are_together_all_pieces(tables in proptest::collection::vec(0usize..4, 0..60), of in 1u32..9) {
            let pieces = || tables.iter().enumerate().map(|(n, table)| Piece {
                table: *table,
                // The number of parts tells pieces apart.
                parts: (0..n).map(|_| PiecePart { write: Box::new(|_| Ok(0)) }).collect(),
            });
            let mut together: Vec<usize> = (0..of)
                .flat_map(|index| part(pieces().collect(), index, of))
                .map(|piece| piece.parts.len())
                .collect();
            together.sort_unstable();
            prop_assert_eq!(together, (0..tables.len()).collect::<Vec<_>>());
        }
    }
}

//! The answer of a query as it arrives: kept whole up to a limit, and beyond it counted and hashed row by row.
//!
//! Purpose: the memory of a client does not grow with an answer. Boundaries: the canonical form of cells (`answers`).

use super::{
    CELL_END, Canonical, Cell, Reference, canonical_row, key_of, ordered_by, shown_row,
    update_escaped,
};
use crate::Operation;
use record::answer_hash;
use server::{ColumnKind, Reply, Sha256, TakeAnswer};

/// The most memory that an answer which is kept whole takes.
const WHOLE_BYTES_MAX: usize = 64 << 20;
/// What is kept of a larger one, to show where two answers differ.
const SHOWN_BYTES_MAX: usize = 1 << 20;
/// What a row and a cell take beside their text: their headers and those of the allocator.
const ROW_BYTES: usize = 32;
const CELL_BYTES: usize = 32;

/// The rows of a query.
pub struct Answer<'o> {
    operation: &'o Operation,
    /// All rows, or the first ones.
    pub first: Reply,
    pub rows: u64,
    bytes: usize,
    /// The hash of an answer that is not kept whole.
    large: Option<Large>,
}

/// Rows of equal keys may come in any order, so they are added; their groups are in order.
#[derive(Default)]
struct Large {
    ordered_by: Vec<usize>,
    /// The columns of the ORDER BY in the last row.
    key: Vec<Option<Vec<u8>>>,
    group: u128,
    groups: Sha256,
}

impl<'o> Answer<'o> {
    pub fn new(operation: &'o Operation) -> Answer<'o> {
        Answer {
            operation,
            first: Reply::default(),
            rows: 0,
            bytes: 0,
            large: None,
        }
    }

    /// The hash that compares answers: SHA-256 in hex.
    pub fn hash(&self) -> String {
        match &self.large {
            None => self.canonical().hash(),
            Some(large) => answer_hash::of_this_version(&large.hash(self.rows)),
        }
    }

    /// The first rows in the canonical form, as text of at most so many bytes.
    pub fn first_rows(&self, bytes_max: usize) -> Vec<String> {
        let mut left = bytes_max;
        let rows = self.canonical().rows.into_iter();
        let kept = rows.map(|row| shown_row(&row)).take_while(|row| {
            left = left.saturating_sub(row.len() + 1);
            left > 0
        });
        kept.collect()
    }

    /// How the answer differs from the reference; None: it does not.
    pub fn difference(&self, reference: &Reference) -> Option<String> {
        match &self.large {
            None => self.canonical().difference(reference),
            Some(_) => Some(format!(
                "there are {} rows of more than 64 MiB, and no reference is as large",
                self.rows
            )),
        }
    }

    fn canonical(&self) -> Canonical {
        Canonical::of(self.operation, &self.first)
    }

    /// Goes over to hashing: what was kept is hashed first, and all but the first of it is freed.
    fn stop_keeping(&mut self) {
        let rows = std::mem::take(&mut self.first.rows);
        self.large = Some(Large {
            ordered_by: ordered_by(self.operation, &self.first),
            ..Large::default()
        });
        for row in &rows {
            let cells: Vec<Option<&[u8]>> = row.iter().map(|cell| cell.as_deref()).collect();
            self.hash_row(&cells);
        }
        let mut left = SHOWN_BYTES_MAX;
        let shown = rows.into_iter().take_while(|row| {
            let bytes = row_bytes(row.iter().map(|cell| cell.as_deref()));
            left = left.saturating_sub(bytes);
            left > 0
        });
        self.first.rows = shown.collect();
    }

    fn hash_row(&mut self, cells: &[Option<&[u8]>]) {
        let cells = canonical_row(&self.first.kinds, cells);
        if let Some(large) = &mut self.large {
            large.add(&cells);
        }
    }
}

impl TakeAnswer for Answer<'_> {
    fn column(&mut self, name: &str, kind: ColumnKind) {
        self.first.columns.push(name.to_string());
        self.first.kinds.push(kind);
    }

    fn row(&mut self, cells: &[Option<&[u8]>]) {
        self.rows += 1;
        if self.large.is_some() {
            return self.hash_row(cells);
        }
        self.bytes += row_bytes(cells.iter().copied());
        let row = cells.iter().map(|cell| cell.map(<[u8]>::to_vec)).collect();
        self.first.rows.push(row);
        if self.bytes > WHOLE_BYTES_MAX {
            self.stop_keeping();
        }
    }
}

fn row_bytes<'c>(cells: impl Iterator<Item = Option<&'c [u8]>>) -> usize {
    let bytes = cells.map(|cell| CELL_BYTES + cell.map_or(0, <[u8]>::len));
    ROW_BYTES + bytes.sum::<usize>()
}

impl Large {
    fn add(&mut self, cells: &[Cell]) {
        let key = |&column: &usize| key_of(cells.get(column)?.as_deref());
        let key: Vec<Option<Vec<u8>>> = self.ordered_by.iter().map(key).collect();
        if self.key != key {
            self.end_group();
            self.key = key;
        }
        let mut hash = Sha256::default();
        for cell in cells {
            update_escaped(&mut hash, cell);
            hash.update([CELL_END]);
        }
        self.group = self.group.wrapping_add(hash.number());
    }

    fn end_group(&mut self) {
        self.groups.update(self.group.to_le_bytes());
        self.group = 0;
    }

    fn hash(&self, rows: u64) -> String {
        let mut groups = self.groups.clone();
        groups.update(self.group.to_le_bytes());
        groups.update(rows.to_le_bytes());
        groups.hex()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::tests::operation;

    /// An answer of rows with a text of this size, in this order.
    fn of<'o>(operation: &'o Operation, numbers: &[u32], bytes: usize) -> Answer<'o> {
        let mut answer = Answer::new(operation);
        for name in ["n", "t"] {
            answer.column(name, ColumnKind::Other);
        }
        for number in numbers {
            let (number, text) = (number.to_string(), "x".repeat(bytes));
            answer.row(&[Some(number.as_bytes()), Some(text.as_bytes())]);
        }
        answer
    }

    const LARGE: usize = 20 << 20;

    #[test]
    fn a_small_answer_has_the_hash_of_its_canonical_form() {
        let operation = operation(&[]);
        let answer = of(&operation, &[2, 1], 1);
        let canonical = Canonical::of(&operation, &answer.first);
        assert_eq!(answer.hash(), canonical.hash());
        assert_eq!(answer.rows, 2);
    }

    #[test]
    fn a_large_answer_is_hashed_and_only_its_first_rows_are_kept() {
        let unordered = operation(&[]);
        let large = of(&unordered, &[1, 2, 3, 4, 5], LARGE);
        assert_eq!((large.rows, large.first.rows.len()), (5, 0));
        let other_order = of(&unordered, &[5, 3, 1, 2, 4], LARGE);
        assert_eq!(large.hash(), other_order.hash());
        for other in [&[1, 2, 3, 4, 6][..], &[1, 2, 3, 4, 5, 5]] {
            assert_ne!(of(&unordered, other, LARGE).hash(), large.hash());
        }
        let ordered = operation(&[0]);
        let right = of(&ordered, &[1, 2, 3, 4, 5], LARGE).hash();
        assert_ne!(of(&ordered, &[1, 2, 3, 5, 4], LARGE).hash(), right);
    }
}

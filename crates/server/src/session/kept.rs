//! What a session keeps of a reply: the rows of a query, up to a limit, or nothing.

use super::{Reply, TakeAnswer, TakeRow};
use wire::{ColumnKind, Sink, WireError};

/// The most memory that the answer of a query takes.
const BYTES_MAX: usize = 64 << 20;

/// The memory of a row and of a cell without their text: their headers and those of the allocator.
const ROW_BYTES: usize = 32;
const CELL_BYTES: usize = 32;

/// Keeps the first result of a reply.
#[derive(Default)]
pub(super) struct Kept {
    reply: Reply,
    bytes: usize,
    /// A second result has begun.
    is_full: bool,
}

impl Kept {
    pub(super) fn reply(self) -> Reply {
        self.reply
    }

    fn count(&mut self, bytes: usize) -> Result<(), WireError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > BYTES_MAX {
            Err(WireError::AnswerTooLarge { limit: BYTES_MAX })
        } else {
            Ok(())
        }
    }
}

impl Sink for Kept {
    fn column(&mut self, place: u64, name: &[u8], kind: ColumnKind) -> Result<(), WireError> {
        self.is_full |= place == 0 && !self.reply.columns.is_empty();
        if self.is_full {
            return Ok(());
        }
        self.count(CELL_BYTES + name.len())?;
        let name = String::from_utf8_lossy(name).into_owned();
        self.reply.columns.push(name);
        self.reply.kinds.push(kind);
        Ok(())
    }

    fn row(&mut self, cells: &[Option<&[u8]>]) -> Result<(), WireError> {
        if self.is_full {
            return Ok(());
        }
        let text: usize = cells.iter().flatten().map(|cell| cell.len()).sum();
        self.count(ROW_BYTES + CELL_BYTES * cells.len() + text)?;
        let row = cells.iter().map(|cell| cell.map(<[u8]>::to_vec)).collect();
        self.reply.rows.push(row);
        Ok(())
    }
}

/// Hands out the first result of a reply.
pub(super) struct First<'a> {
    take: &'a mut dyn TakeAnswer,
    has_columns: bool,
    /// A second result has begun.
    is_over: bool,
}

impl First<'_> {
    pub(super) fn new(take: &mut dyn TakeAnswer) -> First<'_> {
        First {
            take,
            has_columns: false,
            is_over: false,
        }
    }
}

impl Sink for First<'_> {
    fn column(&mut self, place: u64, name: &[u8], kind: ColumnKind) -> Result<(), WireError> {
        self.is_over |= place == 0 && self.has_columns;
        self.has_columns = true;
        if !self.is_over {
            self.take.column(&String::from_utf8_lossy(name), kind);
        }
        Ok(())
    }

    fn row(&mut self, cells: &[Option<&[u8]>]) -> Result<(), WireError> {
        if !self.is_over {
            self.take.row(cells);
        }
        Ok(())
    }
}

/// Hands out each row and keeps none.
pub(super) struct Each<'a, 'b>(pub &'a mut TakeRow<'b>);

impl Sink for Each<'_, '_> {
    fn column(&mut self, _: u64, _: &[u8], _: ColumnKind) -> Result<(), WireError> {
        Ok(())
    }

    fn row(&mut self, cells: &[Option<&[u8]>]) -> Result<(), WireError> {
        (self.0)(cells);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_result_is_kept() {
        let mut kept = Kept::default();
        for (name, cell) in [(&b"a"[..], &b"1"[..]), (b"b", b"2")] {
            kept.column(0, name, ColumnKind::Other).unwrap();
            kept.row(&[Some(cell)]).unwrap();
        }
        let reply = kept.reply();
        assert_eq!(reply.columns, ["a"]);
        assert_eq!(reply.rows, [[Some(b"1".to_vec())]]);
    }

    #[test]
    fn rows_without_any_text_are_bounded_too() {
        let mut kept = Kept::default();
        kept.column(0, b"a", ColumnKind::Other).unwrap();
        let error = (0..BYTES_MAX)
            .find_map(|_| kept.row(&[None]).err())
            .unwrap();
        assert!(
            error.to_string().starts_with("the answer exceeds 64 MiB"),
            "{error}"
        );
        assert!(kept.reply().rows.len() >= 1_000_000);
    }
}

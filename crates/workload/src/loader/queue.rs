//! The queue of remaining pieces.
//!
//! Purpose: load each table in key order for any number of connections, so that its pages are reproducible.

use super::Piece;

pub(super) struct Queue {
    pieces: Vec<Piece>,
    /// Whether a connection is loading the table, by table.
    busy: Vec<bool>,
}

impl Queue {
    pub(super) fn new(pieces: Vec<Piece>, tables: usize) -> Queue {
        Queue {
            pieces,
            busy: vec![false; tables],
        }
    }

    /// The first piece of a table that no connection is loading. None ends a connection: the connections of the remaining
    /// tables load the rest.
    pub(super) fn take(&mut self) -> Option<Piece> {
        let free = |piece: &Piece| !self.busy[piece.table];
        let place = self.pieces.iter().position(free)?;
        let piece = self.pieces.remove(place);
        self.busy[piece.table] = true;
        Some(piece)
    }

    /// Marks a piece of the table as loaded.
    pub(super) fn leave(&mut self, table: usize) {
        self.busy[table] = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(tables: &[usize]) -> Queue {
        let piece = |&table: &usize| Piece {
            table,
            parts: Vec::new(),
        };
        Queue::new(tables.iter().map(piece).collect(), 3)
    }

    fn take(queue: &mut Queue) -> Option<usize> {
        queue.take().map(|piece| piece.table)
    }

    #[test]
    fn two_connections_are_never_at_one_table() {
        let mut queue = queue(&[0, 0, 1, 0]);
        assert_eq!(take(&mut queue), Some(0));
        assert_eq!(take(&mut queue), Some(1));
        assert_eq!(take(&mut queue), None);
        queue.leave(0);
        assert_eq!(take(&mut queue), Some(0));
    }

    #[test]
    fn one_connection_takes_the_pieces_in_their_order() {
        let order = [0, 0, 2, 1, 1];
        let mut queue = queue(&order);
        for table in order {
            assert_eq!(take(&mut queue), Some(table));
            queue.leave(table);
        }
        assert_eq!(take(&mut queue), None);
    }
}

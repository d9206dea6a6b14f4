//! What the clients of one load remember of their writing transactions, for the audit afterwards.
//!
//! Purpose: note at the client what was sent, acknowledged, refused or left unknown, with its keys and amounts, so that the tables
//! can be compared with it. Nothing is written to the tables for this. Boundaries: the driver calls a [`Book`], one per session;
//! `inputs` judges what terminals draw.

mod check;
mod code;
mod facts;
mod read;
mod store;
mod tables;

pub use check::{Before, check};
pub use facts::{Delivery, Facts, NewOrder, Noted, Payment, Seen, Write};
pub(crate) use read::next_orders;
pub use tables::{Counted, CustomerKey, District, Held, Key, OrderRow, Tables};

use super::inputs::{Input, Inputs};
use crate::held;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use store::Store;

/// Bytes of acknowledged transactions that a book collects before the ledger gets them: some 900 transactions.
const BLOCK: usize = 16 << 10;

/// The books of all clients of one load.
pub struct Ledger {
    inputs: Inputs,
    acknowledged: Mutex<Store>,
    /// All else, of the closed books.
    closed: Mutex<Facts>,
}

impl Ledger {
    pub fn new() -> Arc<Ledger> {
        Arc::new(Ledger {
            inputs: Inputs::default(),
            acknowledged: Mutex::default(),
            closed: Mutex::default(),
        })
    }

    /// Keeps the acknowledged transactions in a file in this folder, which has no name and ends with the ledger. Otherwise they are
    /// kept in memory.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn keep_in(&self, folder: &Path) -> io::Result<()> {
        held(&self.acknowledged).write_to(folder)
    }

    /// A book for one session or background worker. Its facts reach the ledger when it is dropped.
    pub fn book(self: &Arc<Ledger>) -> Book {
        Book {
            ledger: self.clone(),
            acknowledged: Vec::new(),
            facts: Facts::default(),
            sent: None,
        }
    }

    /// Everything that the closed books noted. The ledger is empty afterwards.
    ///
    /// # Errors
    /// The file of the acknowledged transactions cannot be read.
    pub fn take(&self) -> io::Result<Facts> {
        let mut facts = std::mem::take(&mut *held(&self.closed));
        std::mem::take(&mut *held(&self.acknowledged)).read(&mut facts)?;
        Ok(facts)
    }

    /// The inputs that terminals drew.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }
}

/// What one session remembers. Times are nanoseconds since the start of the load.
///
/// A writing transaction is `sent` and then exactly one of `acknowledged`, `refused`, `unknown`. A book that is dropped while a
/// transaction is sent notes it as unknown.
pub struct Book {
    ledger: Arc<Ledger>,
    /// Encoded, less than a block.
    acknowledged: Vec<u8>,
    /// All else.
    facts: Facts,
    /// The transaction whose COMMIT was sent.
    sent: Option<Noted<Write>>,
}

impl Book {
    /// Call it immediately before COMMIT is sent, and also before the ROLLBACK of a New-Order with an unused item: if such an
    /// order is found in the tables, it is a ghost.
    pub fn sent(&mut self, write: Write, at_ns: u64) {
        self.unknown();
        self.sent = Some(Noted::new(write, at_ns));
    }

    /// The server answered COMMIT with OK.
    pub fn acknowledged(&mut self, at_ns: u64) {
        if let Some(sent) = self.sent.take() {
            Noted::new(sent.what, at_ns).encode(&mut self.acknowledged);
            if self.acknowledged.len() >= BLOCK {
                self.hand_over();
            }
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        let block = std::mem::take(&mut self.acknowledged);
        held(&self.ledger.acknowledged).put(block);
    }

    /// The transaction was rolled back: deliberately, or by the server with an error. If it was not `sent`, it is only counted.
    pub fn refused(&mut self) {
        self.facts.refuse(self.sent.take());
    }

    /// COMMIT was sent and the connection was lost. Does nothing if no transaction was sent.
    pub fn unknown(&mut self) {
        self.facts.unknown.extend(self.sent.take());
    }

    /// A reader saw this D_NEXT_O_ID in committed data: all orders below it were committed.
    pub(crate) fn saw(&mut self, w: u16, d: u8, next_o_id: u32, at_ns: u64) {
        self.facts.see((w, d), Noted::new(next_o_id, at_ns));
    }

    /// A Delivery found no new order in any district.
    pub(crate) fn delivered_nothing(&mut self) {
        self.facts.empty_deliveries += 1;
    }

    /// A terminal drew these inputs. Call it once for each transaction, not for its retries.
    pub fn input(&mut self, input: Input) {
        self.ledger.inputs.add(&input);
        self.facts.inputs.add(&input);
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        self.unknown();
        self.hand_over();
        let facts = std::mem::take(&mut self.facts);
        held(&self.ledger.closed).append(facts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payment(cents: u32) -> Write {
        Write::Payment(Payment {
            w: 1,
            d: 2,
            c_w: 1,
            c_d: 2,
            c: 3,
            cents,
        })
    }

    #[test]
    fn a_book_tells_acknowledged_refused_and_unknown_apart() {
        let ledger = Ledger::new();
        let mut book = ledger.book();
        book.sent(payment(100), 1);
        book.acknowledged(2_000_000);
        book.sent(payment(200), 3);
        book.refused();
        book.refused();
        book.sent(payment(300), 4);
        book.unknown();
        book.unknown();
        drop(book);
        let facts = ledger.take().unwrap();
        let acknowledged: Vec<_> = facts.payments.iter().collect();
        assert_eq!(acknowledged.len(), 1);
        assert_eq!(
            (acknowledged[0].what.cents, acknowledged[0].at_s()),
            (100, 0.002)
        );
        assert_eq!((facts.refused.len(), facts.refused_count), (1, 2));
        assert_eq!(facts.unknown[0].what, payment(300));
        assert_eq!(facts.unknown.len(), 1);
    }

    #[test]
    fn a_book_dropped_while_a_commit_is_sent_notes_it_as_unknown() {
        let ledger = Ledger::new();
        ledger.book().sent(payment(1), 1);
        let mut again = ledger.book();
        again.sent(payment(2), 2);
        again.sent(payment(3), 3);
        again.acknowledged(4);
        drop(again);
        let facts = ledger.take().unwrap();
        assert_eq!((facts.unknown.len(), facts.payments.len()), (2, 1));
        assert_eq!(ledger.take().unwrap().unknown.len(), 0);
    }

    #[test]
    fn readers_keep_the_largest_order_of_each_district_and_when_they_saw_it_first() {
        let ledger = Ledger::new();
        let (mut one, mut other) = (ledger.book(), ledger.book());
        one.saw(1, 1, 3005, 1_000_000);
        one.saw(1, 1, 3004, 2_000_000);
        other.saw(1, 1, 3005, 500_000);
        other.saw(1, 2, 3001, 1);
        drop((one, other));
        let seen = ledger.take().unwrap().seen;
        assert_eq!(seen[&(1, 1)], Noted::new(3005, 500_000));
        assert_eq!(seen.len(), 2);
    }

    #[test]
    fn a_long_load_is_kept_in_the_file_and_a_book_keeps_less_than_a_block() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new();
        ledger.keep_in(folder.path()).unwrap();
        let mut book = ledger.book();
        for cents in 0..10_000 {
            book.sent(payment(cents), 0);
            book.acknowledged(u64::from(cents) * 1_000_000);
            assert!(book.acknowledged.len() < BLOCK);
        }
        drop(book);
        let facts = ledger.take().unwrap();
        let kept = facts
            .payments
            .iter()
            .map(|noted| (noted.what.cents, noted.at_s()));
        assert!(kept.eq((0..10_000).map(|cents| (cents, f64::from(cents) / 1_000.0))));
    }
}

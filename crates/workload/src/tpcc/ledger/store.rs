//! The acknowledged transactions of a load, encoded, while it runs.
//!
//! Purpose: keep them in a file, so that the memory of a long load does not grow with its transactions. A thread writes, since a
//! write to a busy disk can wait, and no client may wait with it. Boundaries: `code` encodes and decodes.

use super::facts::{Facts, Noted};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Where blocks of encoded transactions go.
#[derive(Default)]
pub(super) struct Store {
    writer: Option<Writer>,
    in_memory: Vec<Vec<u8>>,
}

struct Writer {
    blocks: Sender<Vec<u8>>,
    thread: JoinHandle<Written>,
}

struct Written {
    file: File,
    /// The length of the blocks that were written completely.
    bytes: u64,
    /// What the disk did not take.
    refused: Vec<Vec<u8>>,
}

impl Store {
    /// Keeps all later blocks in a file without a name in this folder. Nothing of it is left, however prony ends.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(super) fn write_to(&mut self, folder: &Path) -> io::Result<()> {
        let file = tempfile::tempfile_in(folder)?;
        let (blocks, received) = channel();
        let thread = std::thread::spawn(move || write(file, received));
        self.writer = Some(Writer { blocks, thread });
        Ok(())
    }

    pub(super) fn put(&mut self, block: Vec<u8>) {
        match &self.writer {
            // It receives until the sender is gone.
            Some(writer) => drop(writer.blocks.send(block)),
            None => self.in_memory.push(block),
        }
    }

    /// Adds all transactions to the facts.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn read(self, facts: &mut Facts) -> io::Result<()> {
        let mut blocks = self.in_memory;
        if let Some(Writer {
            blocks: sender,
            thread,
        }) = self.writer
        {
            drop(sender);
            let ended = thread.join();
            let mut written =
                ended.map_err(|_| io::Error::other("the thread that wrote it panicked"))?;
            written.file.rewind()?;
            decode_all(BufReader::new(written.file.take(written.bytes)), facts)?;
            blocks.extend(written.refused);
        }
        blocks
            .iter()
            .try_for_each(|block| decode_all(block.as_slice(), facts))
    }
}

/// Once a block was refused, as by a full disk, all later ones stay in memory: the file ends with the last complete one.
fn write(mut file: File, blocks: Receiver<Vec<u8>>) -> Written {
    let (mut bytes, mut refused) = (0, Vec::new());
    for block in blocks {
        if refused.is_empty() && file.write_all(&block).is_ok() {
            bytes += block.len() as u64
        } else {
            refused.push(block)
        }
    }
    Written {
        file,
        bytes,
        refused,
    }
}

fn decode_all(mut from: impl BufRead, facts: &mut Facts) -> io::Result<()> {
    while !from.fill_buf()?.is_empty() {
        facts.acknowledge(Noted::decode(&mut from)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::ledger::{Payment, Write as Transaction};

    fn block(cents: u32) -> Vec<u8> {
        let payment = Payment {
            w: 1,
            d: 2,
            c_w: 3,
            c_d: 4,
            c: 5,
            cents,
        };
        let mut block = Vec::new();
        Noted::new(Transaction::Payment(payment), 0).encode(&mut block);
        block
    }

    fn cents(store: Store) -> Vec<u32> {
        let mut facts = Facts::default();
        store.read(&mut facts).unwrap();
        facts
            .payments
            .iter()
            .map(|noted| noted.what.cents)
            .collect()
    }

    #[test]
    fn blocks_go_to_a_file_without_a_name_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::default();
        store.put(block(0));
        store.write_to(folder.path()).unwrap();
        (1..100).for_each(|cents| store.put(block(cents)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(store.in_memory.len() == 1, "only what came before the file");
        let mut found = cents(store);
        found.sort();
        assert!(found.into_iter().eq(0..100));
    }

    #[test]
    fn what_a_full_disk_refuses_stays_in_memory() {
        // Every write to it fails as on a full disk.
        let full = File::options()
            .read(true)
            .write(true)
            .open("/dev/full")
            .unwrap();
        let (sender, received) = channel();
        (0..3).for_each(|cents| sender.send(block(cents)).unwrap());
        drop(sender);
        let written = write(full, received);
        assert_eq!((written.bytes, written.refused.len()), (0, 3));
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error() {
        let gone = tempfile::tempdir().unwrap().path().join("gone");
        assert!(Store::default().write_to(&gone).is_err());
    }
}

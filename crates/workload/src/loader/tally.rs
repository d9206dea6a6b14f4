//! Counts the rows sent to the server, shared by several threads.

use super::{PiecePart, Table};
use crate::held;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

pub(super) struct Tally {
    /// Rows to load, by table.
    totals: Vec<u64>,
    /// Rows sent, by table.
    sent: Vec<AtomicU64>,
    /// Rows that the server has committed, by table.
    done: Vec<AtomicU64>,
    pub bytes: AtomicU64,
    /// Whether to stop sending.
    pub stop: AtomicBool,
    /// First start and last end, by table.
    times: Mutex<Vec<Option<(Instant, Instant)>>>,
}

impl Tally {
    pub(super) fn new(totals: Vec<u64>) -> Tally {
        let zeroes = || totals.iter().map(|_| AtomicU64::new(0)).collect();
        Tally {
            sent: zeroes(),
            done: zeroes(),
            bytes: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            times: Mutex::new(vec![None; totals.len()]),
            totals,
        }
    }

    /// Writes a part and counts it; fails at once if the load was stopped.
    pub(super) fn write(
        &self,
        table: usize,
        part: PiecePart,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        if self.stop.load(Relaxed) {
            return Err(io::Error::other("the load was stopped"));
        }
        let mut to = Counted { to, bytes: 0 };
        let rows = (part.write)(&mut to)?;
        self.bytes.fetch_add(to.bytes, Relaxed);
        self.sent[table].fetch_add(rows, Relaxed);
        Ok(())
    }

    /// Counts a committed statement that began at the given time.
    pub(super) fn finished(&self, table: usize, rows: u64, begun: Instant) {
        self.done[table].fetch_add(rows, Relaxed);
        let mut times = held(&self.times);
        let first = times[table].map_or(begun, |(first, _)| first.min(begun));
        times[table] = Some((first, Instant::now()));
    }

    pub(super) fn total(&self) -> u64 {
        self.totals.iter().sum()
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.iter().map(|rows| rows.load(Relaxed)).sum()
    }

    pub(super) fn done(&self) -> u64 {
        self.done.iter().map(|rows| rows.load(Relaxed)).sum()
    }

    pub(super) fn sent_of(&self, table: usize) -> u64 {
        self.sent[table].load(Relaxed)
    }

    pub(super) fn done_of(&self, table: usize) -> u64 {
        self.done[table].load(Relaxed)
    }

    /// The largest table in progress; the last table if there is none.
    pub(super) fn at(&self) -> usize {
        let open = (0..self.totals.len()).filter(|&table| self.done_of(table) < self.totals[table]);
        let begun = open.clone().filter(|&table| self.sent_of(table) > 0);
        begun
            .max_by_key(|&table| self.totals[table])
            .or_else(|| open.min_by_key(|&table| self.totals[table]))
            .unwrap_or(self.totals.len() - 1)
    }

    pub(super) fn by_table(&self, tables: &[Table]) -> BTreeMap<String, (u64, f64)> {
        let times = held(&self.times);
        let elapsed_s =
            |table: usize| times[table].map_or(0.0, |(from, to)| (to - from).as_secs_f64());
        let entry =
            |(n, table): (usize, &Table)| (table.name.clone(), (self.done_of(n), elapsed_s(n)));
        tables.iter().enumerate().map(entry).collect()
    }
}

struct Counted<'a> {
    to: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.to.write(buffer)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

//! What one event of a counter costs: from the measurements of the same trials, or from a table with sources.
//!
//! Purpose: the plausible cost of a counter, so that counters can be ranked by the time that they can explain. Boundary:
//! plausible, not exact. A table entry is a typical cost and the largest plausible one; both are published in
//! METHODOLOGY-APPENDIX.md, A9, with the sources of [`COSTS`].

use super::misses::PAGE_BYTES;
use crate::side::Side;
use record::names;

/// A counter that costs a smaller share of the difference does not explain it: at its largest plausible cost if the record shows a
/// cause, else at its typical or measured one.
pub(crate) const SHARE_MIN: f64 = 0.1;
/// No read of a disk is smaller (bytes).
const READ_BYTES_MIN: f64 = 4096.0;
/// The largest plausible cost of an event whose cost was measured: a flush of the disk is a part of an fsync, and reads queue.
const MEASURED_MOST: f64 = 3.0;
/// A read ahead costs this part of a read at a random place: 4 times 10.24 µs of 100 µs.
const IN_SEQUENCE: f64 = 0.4;
/// Fewer events do not measure a mean.
const MEASURED_MIN: f64 = 10.0;

/// What happens when a counter moves by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Fsync,
    /// A page at a random place, from disk or from the page cache of the operating system.
    RandomRead,
    /// A page, read ahead or on demand.
    AnyRead,
    /// A request that reached the disk.
    DiskRead,
    /// A byte that the server read from disk.
    DiskByte,
    PageWrite,
    /// A page of the buffer pool that a query visits.
    PageVisit,
    /// A row that an engine returns or writes.
    Row,
    /// A search down an index.
    IndexSearch,
    RowSort,
    MergePass,
    TemporaryTable,
    DiskTable,
    LockWait,
    /// A whole operation again.
    Repetition,
    LogWait,
    FreePageWait,
}

/// A cost per event, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub typical_s: f64,
    /// The largest plausible one.
    pub most_s: f64,
    /// Whether the trials themselves measured it.
    pub measured: bool,
}

/// How much of a difference of times the difference of a counter explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explains {
    /// The cost of one event.
    pub each: Cost,
    /// The share of the difference of the times at the typical or measured cost; may be above 1, because waits overlap.
    pub share: f64,
    /// The share at the largest plausible cost.
    pub share_most: f64,
}

impl Explains {
    pub(crate) fn is_enough(&self) -> bool {
        self.share_most >= SHARE_MIN
    }
}

/// Typical and largest plausible cost (s). Sources:
/// fsync: 12 µs to 10 ms on nine SSDs (Mark Callaghan, "SSDs, power loss protection and fsync latency", 2026), 3.5 ms on a Samsung
/// 960 Pro (Peter Zaitsev, "Why Consumer SSD Reviews are Useless", 2018).
/// Disk reads: flash memory 10 to 100 µs, rotational disks 1 to 10 ms (Brendan Gregg, "Systems Performance", 2nd edition, table
/// 2.2). Read ahead: 10.24 µs for 4 KiB in a sequence (MariaDB, `optimizer_disk_read_cost`). A page write: 52 µs (Intel 520,
/// docs/REFERENCE.md, disks by name), and with its flush up to 1 ms.
/// A page from the page cache: 6 µs, in bench/results/before/quickstart.sqlite.zst: the time that a miss of the small pool adds.
/// Rows, searches and page visits: 0.43 µs per row of a scan, 1 µs for a search, 0.5 µs per page (MySQL 9,
/// sql/join_optimizer/cost_constants.h); five times that for wide rows and older processors.
/// Merge passes rewrite seven sort buffers (MySQL, MERGEBUFF).
const COSTS: [(Event, f64, f64); 14] = [
    (Event::Fsync, 1e-3, 10e-3),
    (Event::DiskRead, 100e-6, 10e-3),
    (Event::PageWrite, 52e-6, 1e-3),
    (Event::PageVisit, 0.5e-6, 2.5e-6),
    (Event::Row, 0.43e-6, 2.2e-6),
    (Event::IndexSearch, 1e-6, 5e-6),
    (Event::RowSort, 0.5e-6, 2.5e-6),
    (Event::MergePass, 2e-3, 100e-3),
    (Event::TemporaryTable, 20e-6, 100e-6),
    (Event::DiskTable, 100e-6, 5e-3),
    (Event::LockWait, 1e-3, 100e-3),
    (Event::Repetition, 1e-3, 100e-3),
    (Event::LogWait, 100e-6, 10e-3),
    (Event::FreePageWait, 100e-6, 10e-3),
];

/// A page of the operating system's page cache, copied and checked (s).
const PAGE_COPY: (f64, f64) = (6e-6, 30e-6);

/// The counters that cost time, by what happens when they move. A counter that is not listed explains nothing.
#[rustfmt::skip]
const EVENTS: [(Event, &[&str]); 17] = [
    (Event::Fsync, &["Innodb_os_log_fsyncs", "Innodb_data_fsyncs", names::DEVICE_FLUSHES]),
    (Event::RandomRead, &["Innodb_buffer_pool_reads", "buffer_pool_reads", "Key_reads"]),
    (Event::AnyRead, &["Innodb_pages_read", "buffer_pages_read"]),
    (Event::DiskRead, &[names::DEVICE_READS]),
    (Event::DiskByte, &[names::SERVER_READ]),
    (
        Event::PageWrite,
        &[
            "Innodb_pages_written",
            "Innodb_buffer_pool_pages_flushed",
            "Innodb_buffer_pool_pages_LRU_flushed",
            "Innodb_dblwr_pages_written",
            "buffer_flush_sync_total_pages",
            "buffer_flush_adaptive_total_pages",
            "buffer_flush_background_total_pages",
            "buffer_flush_neighbor_total_pages",
            "buffer_LRU_batch_flush_total_pages",
        ],
    ),
    (Event::PageVisit, &["Innodb_buffer_pool_read_requests", "buffer_pool_read_requests", "Key_read_requests"]),
    (
        Event::Row,
        &[
            "Handler_read_next",
            "Handler_read_prev",
            "Handler_read_rnd_next",
            "Handler_write",
            "Handler_tmp_write",
            "Innodb_rows_read",
            "Rows_read",
            "Rows_tmp_read",
        ],
    ),
    (
        Event::IndexSearch,
        &[
            "Handler_read_key",
            "Handler_read_rnd",
            "adaptive_hash_searches_btree",
            "Innodb_adaptive_hash_non_hash_searches",
        ],
    ),
    (Event::RowSort, &["Sort_rows"]),
    (Event::MergePass, &["Sort_merge_passes"]),
    (Event::TemporaryTable, &["Created_tmp_tables"]),
    (Event::DiskTable, &["Created_tmp_disk_tables"]),
    (Event::LockWait, &["Innodb_row_lock_waits"]),
    (Event::Repetition, &["lock_deadlocks", "Innodb_deadlocks", "lock_timeouts"]),
    (Event::LogWait, &["Innodb_log_waits"]),
    (
        Event::FreePageWait,
        &[
            "Innodb_buffer_pool_wait_free",
            "buffer_LRU_get_free_loops",
            "buffer_LRU_get_free_waits",
            "buffer_LRU_single_flush_num_scan",
        ],
    ),
];

/// What happens when this counter moves; None if it costs no time that prony knows.
pub(crate) fn event(counter: &str) -> Option<Event> {
    let found = EVENTS.iter().find(|(_, names)| names.contains(&counter));
    found.map(|(event, _)| *event)
}

/// The part of a counter that the server itself can have caused, from 0 to 1. A disk counts the reads of all processes, and beside one
/// that reads all the time a longer operation has more of them. 1 where the record does not say what the server read.
pub(crate) fn own_share(counter: &str, side: &Side) -> f64 {
    let own = || {
        let reads = side.sum(names::DEVICE_READS).filter(|reads| *reads > 0.0)?;
        Some((side.sum(names::SERVER_READ)? / READ_BYTES_MIN / reads).min(1.0))
    };
    match counter {
        names::DEVICE_READS => own().unwrap_or(1.0),
        _ => 1.0,
    }
}

impl Event {
    /// Whether all clients wait for one event, as for the log in a group commit, and not only the one that caused it.
    pub(crate) fn holds_up_all(self) -> bool {
        matches!(self, Event::Fsync | Event::LogWait)
    }

    /// Whether it costs CPU time and nothing else.
    pub(crate) fn is_cpu(self) -> bool {
        matches!(
            self,
            Event::PageVisit | Event::Row | Event::IndexSearch | Event::RowSort
        )
    }

    /// Per event, on the side that had more of them.
    pub(crate) fn cost(self, slower: &Side) -> Cost {
        match self {
            Event::Fsync => flush(slower).unwrap_or_else(|| self.known()),
            Event::DiskRead => disk_read(slower),
            Event::DiskByte => per_byte(in_sequence(disk_read(slower))),
            Event::RandomRead => cached(disk_read(slower), slower),
            Event::AnyRead => cached(in_sequence(disk_read(slower)), slower),
            Event::LockWait => lock_wait(slower).unwrap_or_else(|| self.known()),
            Event::Repetition => slower.waited_s().map_or_else(|| self.known(), measured),
            _ => self.known(),
        }
    }

    /// The cost of the table.
    fn known(self) -> Cost {
        let (_, typical_s, most_s) = COSTS
            .into_iter()
            .find(|(event, _, _)| *event == self)
            .unwrap_or((self, 0.0, 0.0));
        Cost {
            typical_s,
            most_s,
            measured: false,
        }
    }
}

fn measured(typical_s: f64) -> Cost {
    Cost {
        typical_s,
        most_s: typical_s * MEASURED_MOST,
        measured: true,
    }
}

/// The disk reads of a byte; a measured cost or that of the table.
fn per_byte(read: Cost) -> Cost {
    Cost {
        typical_s: read.typical_s / PAGE_BYTES,
        most_s: read.most_s / PAGE_BYTES,
        ..read
    }
}

/// A read that is likely one of several pages in a row, and at most one at a random place.
fn in_sequence(read: Cost) -> Cost {
    Cost {
        typical_s: read.typical_s * IN_SEQUENCE,
        ..read
    }
}

/// The mean of a cumulative time (µs) per event.
fn mean_s(side: &Side, time_us: &'static str, events: &'static str) -> Option<f64> {
    let (time_us, events) = (side.sum(time_us)?, side.sum(events)?);
    (events >= MEASURED_MIN && time_us > 0.0).then(|| time_us / events / 1e6)
}

fn flush(side: &Side) -> Option<Cost> {
    mean_s(side, names::DEVICE_FLUSH_US, names::DEVICE_FLUSHES).map(measured)
}

/// The time that the disk took, at least what a limit allows.
fn disk_read(side: &Side) -> Cost {
    let limited = side.limit("read_iops").map(|iops| 1.0 / iops);
    let took = mean_s(side, names::DEVICE_READ_US, names::DEVICE_READS);
    match limited.into_iter().chain(took).reduce(f64::max) {
        Some(read_s) => measured(read_s),
        None => Event::DiskRead.known(),
    }
}

/// The cost of a page read, of which the page cache serves the part that the server did not read from disk.
fn cached(disk: Cost, side: &Side) -> Cost {
    let read = side.sum(names::SERVER_READ);
    let pages = side
        .sum("Innodb_pages_read")
        .or(side.sum("Innodb_buffer_pool_reads"));
    let (Some(read), Some(pages)) = (read, pages.filter(|pages| *pages > 0.0)) else {
        return disk;
    };
    let from_disk = (read / PAGE_BYTES / pages).min(1.0);
    let (typical_s, most_s) = PAGE_COPY;
    Cost {
        typical_s: from_disk * disk.typical_s + (1.0 - from_disk) * typical_s,
        most_s: from_disk * disk.most_s + (1.0 - from_disk) * most_s,
        measured: disk.measured && from_disk > 0.5,
    }
}

/// InnoDB counts the time of its lock waits itself (ms).
fn lock_wait(side: &Side) -> Option<Cost> {
    let waited_ms = side.sum("Innodb_row_lock_time")?;
    let waits = side.sum("Innodb_row_lock_waits")?;
    (waits > 0.0 && waited_ms > 0.0).then(|| measured(waited_ms / 1e3 / waits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meaning;

    #[test]
    fn every_event_has_a_cost_and_the_largest_is_above_the_typical() {
        let nothing = Side::default();
        for (event, _) in EVENTS {
            let cost = event.cost(&nothing);
            assert!(
                cost.typical_s > 0.0 && cost.most_s > cost.typical_s && !cost.measured,
                "{event:?}"
            );
        }
    }

    #[test]
    fn every_counter_that_costs_time_has_a_meaning() {
        for counter in EVENTS.iter().flat_map(|(_, counters)| *counters) {
            assert!(meaning(counter).is_some(), "{counter}");
        }
    }
}

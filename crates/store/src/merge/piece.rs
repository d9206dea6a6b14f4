//! A shard's part of a trial, and its place in time.

use super::ShardRecord;
use record::{Loaded, ShardStart};

/// A shard's load in a trial.
pub(super) struct Piece<'p> {
    pub part: &'p ShardRecord,
    pub load: &'p Loaded,
    pub start: &'p ShardStart,
}

impl Piece<'_> {
    /// Its start by the server's clock, in nanoseconds since the Unix epoch.
    pub(super) fn started_ns(&self) -> i64 {
        on_server(self.load.started_ns, self.start)
    }
}

/// A time of a shard's machine by the server's clock.
pub(super) fn on_server(machine_ns: i64, start: &ShardStart) -> i64 {
    machine_ns + (start.clock_offset_s * 1e9).round() as i64
}

/// Whole seconds between the common start and the piece's own by the server's clock; 0 unless its start was missed.
pub(super) fn shift_s(pieces: &[Piece], piece: &Piece) -> u32 {
    let apart_ns = piece.started_ns() - pieces[0].start.start_ns;
    (apart_ns as f64 / 1e9).round().max(0.0) as u32
}

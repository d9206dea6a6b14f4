//! Adds the histograms of one trial, bucket by bucket.
//!
//! Purpose: exact sums, in a fraction of the time that unpacking takes: hours of one-second histograms of many shards are hundreds of
//! megabytes. Boundaries: decoding is in `histogram_sum`.

use super::MergeError;
use super::load::shift_s;
use super::trial::Piece;
use crate::TrialKey;
use crate::histogram_sum::HistogramSum;
use crate::load::{HistogramNote, Kind};
use crate::store::{Store, StoreError};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

/// What a histogram is of: operation, kind, length in seconds, first second since the common start.
type Of = (Option<String>, Kind, u32, u32);
/// The place of a histogram: the shard's index, its row.
type Place = (usize, i64);

/// The sums over all pieces, in the order of `Of`.
pub(super) fn added(pieces: &[Piece], key: &TrialKey) -> Result<Vec<HistogramNote>, MergeError> {
    let mut places: BTreeMap<Of, Vec<Place>> = BTreeMap::new();
    for (index, piece) in pieces.iter().enumerate() {
        let shift = shift_s(pieces, piece);
        for row in piece.part.store.histogram_rows(key)? {
            let of = (row.operation, row.kind, row.every_s, row.start_s + shift);
            places.entry(of).or_default().push((index, row.id));
        }
    }
    let paths: Vec<&Path> = pieces
        .iter()
        .map(|piece| piece.part.path.as_path())
        .collect();
    let all: Vec<(Of, Vec<Place>)> = places.into_iter().collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let each = all.len().div_ceil(threads).max(1);
    let sums = thread::scope(|scope| {
        let workers = all
            .chunks(each)
            .map(|chunk| scope.spawn(|| of_chunk(&paths, chunk)));
        let workers: Vec<_> = workers.collect();
        let joined = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect::<Result<Vec<_>, StoreError>>()
    })?;
    Ok(sums.into_iter().flatten().collect())
}

/// Each thread has its own connections.
fn of_chunk(paths: &[&Path], chunk: &[(Of, Vec<Place>)]) -> Result<Vec<HistogramNote>, StoreError> {
    let stores = paths.iter().map(|path| Store::open(path));
    let stores = stores.collect::<Result<Vec<Store>, StoreError>>()?;
    let mut sum = HistogramSum::default();
    let mut notes = Vec::with_capacity(chunk.len());
    for ((operation, kind, every_s, start_s), places) in chunk {
        for (index, row) in places {
            stores[*index].add_histogram(*row, &mut sum)?;
        }
        notes.push(HistogramNote {
            operation: operation.clone(),
            kind: *kind,
            every_s: *every_s,
            start_s: *start_s,
            nanoseconds: sum.take(),
        });
    }
    Ok(notes)
}

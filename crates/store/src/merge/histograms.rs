//! Adds the histograms of one trial, bucket by bucket.
//!
//! Purpose: exact sums, in a fraction of the time that unpacking takes: hours of one-second histograms of many shards are hundreds of
//! megabytes. Boundaries: decoding is in `record`.

use super::MergeError;
use super::piece::{Piece, shift_s};
use crate::{HistogramRow, Store, StoreError};
use record::{HistogramNote, HistogramSum, LatencyKind, TrialKey};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

/// What a histogram is of: operation, kind, length in seconds, first second since the common start.
type Of = (Option<String>, LatencyKind, u32, u32);
/// The place of a histogram: the shard's index, its row.
type HistogramPlace = (usize, i64);

/// The sums over all pieces, in the order of `Of`.
pub(super) fn added(pieces: &[Piece], key: &TrialKey) -> Result<Vec<HistogramNote>, MergeError> {
    let paths: Vec<&Path> = pieces
        .iter()
        .map(|piece| piece.part.path.as_path())
        .collect();
    let shifts: Vec<u32> = pieces.iter().map(|piece| shift_s(pieces, piece)).collect();
    let shifted: Vec<(usize, u32)> = shifts.into_iter().enumerate().collect();
    let found = in_threads(&shifted, |chunk| places(&paths, chunk, key))?;
    let mut all: BTreeMap<Of, Vec<HistogramPlace>> = BTreeMap::new();
    for (of, place) in found {
        all.entry(of).or_default().push(place);
    }
    let all: Vec<(Of, Vec<HistogramPlace>)> = all.into_iter().collect();
    Ok(in_threads(&all, |chunk| of_chunk(&paths, chunk))?)
}

/// Runs `work` on equal chunks of the items, one per core, and returns the results in order.
fn in_threads<I: Sync, T: Send>(
    items: &[I],
    work: impl Fn(&[I]) -> Result<Vec<T>, StoreError> + Sync,
) -> Result<Vec<T>, StoreError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let each = items.len().div_ceil(threads).max(1);
    let results = thread::scope(|scope| {
        let chunks = items.chunks(each);
        let workers: Vec<_> = chunks.map(|chunk| scope.spawn(|| work(chunk))).collect();
        let joined = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect::<Result<Vec<_>, StoreError>>()
    });
    Ok(results?.into_iter().flatten().collect())
}

/// The rows of the histograms of these shards. Their seconds are shifted to the common start.
fn places(
    paths: &[&Path],
    shifted: &[(usize, u32)],
    key: &TrialKey,
) -> Result<Vec<(Of, HistogramPlace)>, StoreError> {
    let mut places = Vec::new();
    for (index, shift) in shifted {
        let rows = Store::open(paths[*index])?.histogram_rows(key)?;
        let place = |row: HistogramRow| {
            let of = (row.operation, row.kind, row.every_s, row.start_s + shift);
            (of, (*index, row.id))
        };
        places.extend(rows.into_iter().map(place));
    }
    Ok(places)
}

/// The sums of a chunk. Each thread has its own connections.
fn of_chunk(
    paths: &[&Path],
    chunk: &[(Of, Vec<HistogramPlace>)],
) -> Result<Vec<HistogramNote>, StoreError> {
    let stores = paths.iter().map(|path| Store::open(path));
    let stores = stores.collect::<Result<Vec<Store>, StoreError>>()?;
    let held = stores.iter().map(Store::hold);
    let _held = held.collect::<Result<Vec<_>, StoreError>>()?;
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

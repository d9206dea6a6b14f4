//! Adds the loads of one trial.
//!
//! Purpose: what clients did is added second by second; what describes the server is taken from the first shard, which reads it for all.
//! Seconds are those of the server's clock since the common start. Boundaries: histograms are in `histograms`.

use super::piece::{Piece, shift_s};
use super::{MergeError, histograms};
use record::names::{LINK_RECEIVED, LINK_RECEIVED_PACKETS, LINK_SENT, LINK_SENT_PACKETS};
use record::{
    CARRIED, CARRIED_ERRORS, EffectNote, EngineNote, EngineStall, ErrorCount, HELD_MS, Loaded,
    Mode, OpenNote, RateRange, RowsNote, TrialKey, Unfinished, done_series,
};
use std::collections::BTreeMap;

/// Series that count clients and operations, each shard its own. One that a shard lacks is 0 there. Of pauses the longest one counts.
const ADDED: [&str; 11] = [
    "throughput",
    "errors",
    "retried",
    "unknown",
    "dropped",
    "queued",
    "running",
    "idle",
    CARRIED,
    CARRIED_ERRORS,
    HELD_MS,
];

/// Series of each shard's way to the server. A shard that lacks them was not looked at, so there is no sum.
const OF_LINKS: [&str; 4] = [
    LINK_RECEIVED,
    LINK_SENT,
    LINK_RECEIVED_PACKETS,
    LINK_SENT_PACKETS,
];

/// The load of all pieces, of which there is at least one.
pub(super) fn merged(pieces: &[Piece], key: &TrialKey) -> Result<Loaded, MergeError> {
    let first = &pieces[0];
    let loads = || pieces.iter().map(|piece| piece.load);
    let mut series = first.part.store.all_series(key)?;
    let mut node_series = series.split_off(&2);
    let mut series = series.remove(&1).unwrap_or_default();
    // The clients are the same whatever node a series is of.
    node_series
        .values_mut()
        .for_each(|of_node| of_node.retain(|name, _| !is_of_clients(name)));
    series.retain(|name, _| !is_of_clients(name));
    series.extend(added_series(pieces, key)?);
    let mut load = Loaded {
        mode: loads().skip(1).fold(first.load.mode.clone(), |sum, load| {
            added_mode(sum, &load.mode)
        }),
        warmup: first.load.warmup,
        started_ns: first.start.start_ns,
        elapsed_s: largest(loads().map(|load| load.elapsed_s)),
        operations: first.load.operations.clone(),
        standard: first.load.standard.clone(),
        histograms: histograms::added(pieces, key)?,
        series,
        node_series,
        errors: added_errors(pieces, key)?,
        counters: first.load.counters.clone(),
        engine: engine(pieces, key)?,
        open: added_open(pieces),
        summary: None,
    };
    load.summary = Some(stats::summarise(&load));
    Ok(load)
}

fn is_of_clients(name: &str) -> bool {
    ADDED.contains(&name) || OF_LINKS.contains(&name)
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

fn added_series(
    pieces: &[Piece],
    key: &TrialKey,
) -> Result<BTreeMap<String, Vec<Option<f64>>>, MergeError> {
    let done = pieces[0]
        .load
        .operations
        .iter()
        .map(|name| done_series(name));
    let names = ADDED.into_iter().chain(OF_LINKS).map(String::from);
    let names: Vec<String> = names.chain(done).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut sums: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut shards: BTreeMap<String, usize> = BTreeMap::new();
    for piece in pieces {
        let shift = shift_s(pieces, piece) as usize;
        for (name, values) in piece.part.store.series(key, &names)? {
            *shards.entry(name.clone()).or_default() += 1;
            let add: fn(f64, f64) -> f64 = match name.as_str() {
                HELD_MS => f64::max,
                _ => |sum, value| sum + value,
            };
            let sum = sums.entry(name).or_default();
            let length = sum.len().max(shift + values.len());
            // A shard that has ended does nothing more.
            sum.resize(length, Some(0.0));
            for (sum, value) in sum[shift..].iter_mut().zip(values) {
                *sum = sum.zip(value).map(|(sum, value)| add(sum, value));
            }
        }
    }
    sums.retain(|name, _| !OF_LINKS.contains(&name.as_str()) || shards[name] == pieces.len());
    Ok(sums)
}

fn added_errors(pieces: &[Piece], key: &TrialKey) -> Result<Vec<ErrorCount>, MergeError> {
    let mut sums = BTreeMap::new();
    for piece in pieces {
        let shift = shift_s(pieces, piece);
        for error in piece.part.store.errors(key)? {
            let what = (
                error.second + shift,
                error.kind,
                error.operation,
                error.code,
            );
            *sums.entry(what).or_default() += error.count;
        }
    }
    let error = |((second, kind, operation, code), count)| ErrorCount {
        second,
        kind,
        operation,
        code,
        count,
    };
    Ok(sums.into_iter().map(error).collect())
}

/// Shards of one experiment have one kind of load.
fn added_mode(mut sum: Mode, other: &Mode) -> Mode {
    match (&mut sum, other) {
        (Mode::Closed { clients, .. }, Mode::Closed { clients: more, .. }) => *clients += more,
        (
            Mode::Open {
                rate,
                workers,
                queue,
                range,
                ..
            },
            Mode::Open {
                rate: more_rate,
                workers: more_workers,
                queue: more_queue,
                range: more_range,
                ..
            },
        ) => {
            *rate += more_rate;
            *workers += more_workers;
            *queue += more_queue;
            *range = range.zip(*more_range).map(|(one, more)| RateRange {
                min: one.min + more.min,
                max: one.max + more.max,
            });
        }
        _ => {}
    }
    sum
}

/// CPU time, cores and reactors add up; lateness is that of the latest shard, because its percentiles cannot be merged.
fn engine(pieces: &[Piece], key: &TrialKey) -> Result<EngineNote, MergeError> {
    let notes = || pieces.iter().map(|piece| &piece.load.engine);
    let sum = |of: fn(&EngineNote) -> f64| notes().map(of).sum::<f64>();
    let latest = |of: fn(&EngineNote) -> Option<f64>| notes().filter_map(of).reduce(f64::max);
    let mut backends: Vec<&str> = notes().map(|note| note.backend.as_str()).collect();
    backends.dedup();
    let stopped = pieces.iter().find_map(|piece| {
        let why = piece.load.engine.stopped.as_ref()?;
        Some(format!("{}: {why}", piece.part.name()))
    });
    Ok(EngineNote {
        backend: backends.join(", "),
        reactors: notes().map(|note| note.reactors).sum(),
        cpu_user_s: sum(|note| note.cpu_user_s),
        cpu_system_s: sum(|note| note.cpu_system_s),
        cores: sum(|note| note.cores),
        open_s: largest(notes().map(|note| note.open_s)),
        lateness_us_p50: latest(|note| note.lateness_us_p50),
        lateness_us_p99: latest(|note| note.lateness_us_p99),
        lateness_us_max: latest(|note| note.lateness_us_max),
        ended_early: notes().map(|note| note.ended_early).sum(),
        stopped,
        until_s: notes().filter_map(|note| note.until_s).reduce(f64::max),
        unfinished: added_unfinished(pieces),
        effects: added_effects(pieces, key)?,
        rows: added_rows(pieces),
        shards: pieces.iter().map(|piece| piece.start.clone()).collect(),
        stalls: worst_stalls(pieces),
        // Shards cannot run in slices.
        slices: None,
    })
}

/// For each second the stall of the shard that stood still the longest: its operations are a part of all percentiles.
fn worst_stalls(pieces: &[Piece]) -> Vec<EngineStall> {
    let mut worst: BTreeMap<u32, EngineStall> = BTreeMap::new();
    for piece in pieces {
        let shift = shift_s(pieces, piece);
        for stall in &piece.load.engine.stalls {
            let second = stall.second + shift;
            let known = worst.entry(second).or_insert_with(|| EngineStall {
                second,
                ..stall.clone()
            });
            known.stood_s = known.stood_s.max(stall.stood_s);
            known.longest_s = known.longest_s.max(stall.longest_s);
        }
    }
    worst.into_values().collect()
}

fn added_unfinished(pieces: &[Piece]) -> Vec<Unfinished> {
    let engines = pieces.iter().map(|piece| &piece.load.engine);
    let all = engines.flat_map(|engine| &engine.unfinished);
    let add = |sum: &mut Unfinished, one: &Unfinished| {
        sum.done += one.done;
        sum.not_done += one.not_done;
    };
    stats::summed(all, |one| &one.operation, add)
}

/// A shard in which an operation always had its effect has no note of it, but has done it too.
fn added_effects(pieces: &[Piece], key: &TrialKey) -> Result<Vec<EffectNote>, MergeError> {
    let all = pieces.iter().flat_map(|piece| &piece.load.engine.effects);
    let add = |sum: &mut EffectNote, one: &EffectNote| {
        sum.done += one.done;
        sum.changed_nothing += one.changed_nothing;
        sum.found_nothing += one.found_nothing;
        sum.warned += one.warned;
    };
    let mut sums = stats::summed(all, |one| &one.operation, add);
    for sum in &mut sums {
        let done = done_series(&sum.operation);
        for piece in pieces {
            let mut notes = piece.load.engine.effects.iter();
            if notes.all(|one| one.operation != sum.operation) {
                let seconds = piece.part.store.series(key, &[done.as_str()])?;
                sum.done += seconds.values().flatten().flatten().sum::<f64>() as u64;
            }
        }
    }
    Ok(sums)
}

fn added_rows(pieces: &[Piece]) -> Vec<RowsNote> {
    let all = pieces.iter().flat_map(|piece| &piece.load.engine.rows);
    let add = |sum: &mut RowsNote, one: &RowsNote| {
        sum.done += one.done;
        sum.changed += one.changed;
        sum.found += one.found;
    };
    stats::summed(all, |one| &one.operation, add)
}

fn added_open(pieces: &[Piece]) -> Option<OpenNote> {
    let notes = pieces.iter().filter_map(|piece| piece.load.open.as_ref());
    notes.cloned().reduce(|sum, note| OpenNote {
        arrived: sum.arrived + note.arrived,
        started: sum.started + note.started,
        queued_at_end: sum.queued_at_end + note.queued_at_end,
        dropped: sum.dropped + note.dropped,
        held_s: sum.held_s.max(note.held_s),
    })
}

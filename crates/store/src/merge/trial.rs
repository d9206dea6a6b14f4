//! Merges one trial of all shards, and finds what is missing of it.
//!
//! Purpose: a merged trial is valid only if every shard began at the common start, recorded each second and ended with the others.
//! Boundaries: adding the loads is in `load`.

use super::piece::{Piece, on_server};
use super::{MergeError, ShardRecord, load, name};
use record::{Flag, FlagKind, Trial, TrialKey, TrialState};

/// How far a shard may begin after the common start, or by the server's clock away from it (s): a twentieth of a sample.
const LATE_S: f64 = 0.05;
/// How much earlier than the others a shard may end (s).
const SHORT_S: f64 = 1.0;

/// The trial of all shards.
pub(super) fn merged(parts: &[ShardRecord], key: &TrialKey) -> Result<Trial, MergeError> {
    let trials: Vec<(&ShardRecord, &Trial)> = parts
        .iter()
        .filter_map(|part| Some((part, part.trial(key)?)))
        .collect();
    let pieces: Vec<Piece> = trials
        .iter()
        .filter(|(_, trial)| trial.state != TrialState::Failed)
        .filter_map(|(part, trial)| {
            let load = trial.load.as_deref()?;
            let start = load.engine.shards.first()?;
            Some(Piece { part, load, start })
        })
        .collect();
    let mut problems = absent(parts, key)?;
    problems.extend(
        trials
            .iter()
            .filter_map(|(part, trial)| failed(part, trial)),
    );
    problems.extend(late(&pieces));
    problems.extend(short(&pieces));
    problems.extend(gaps(&pieces, key)?);
    // The first shard acts on the server and reads the server's counters for all.
    let base = pieces.first().map(|piece| piece.part.note.number);
    let base = trials
        .iter()
        .find(|(part, _)| Some(part.note.number) == base);
    let (_, base) = base.unwrap_or(&trials[0]);
    let mut trial = Trial {
        flags: flags(&trials),
        state: state(&trials, pieces.is_empty()),
        load: None,
        ..(*base).clone()
    };
    if let Some(first) = pieces.first() {
        trial.started_ns = on_server(base.started_ns, first.start);
        trial.ended_ns = on_server(base.ended_ns, first.start);
        for event in &mut trial.events {
            event.at_ns = on_server(event.at_ns, first.start);
            event.ended_ns = event.ended_ns.map(|ended| on_server(ended, first.start));
        }
        let load = load::merged(&pieces, key)?;
        if let Some(summary) = &load.summary {
            trial.flag_engine(&summary.engine);
        }
        trial.load = Some(Box::new(load));
    }
    for problem in problems {
        trial.invalidate(FlagKind::ShardIncomplete, problem);
    }
    Ok(trial)
}

/// The shards without a record of the trial.
fn absent(parts: &[ShardRecord], key: &TrialKey) -> Result<Vec<String>, MergeError> {
    let of = parts[0].note.of;
    let mut problems = Vec::new();
    for number in 1..=of {
        let Some(part) = parts.iter().find(|part| part.note.number == number) else {
            problems.push(format!(
                "{} is missing: its run was not given, so its load is not in the figures",
                name(number, of)
            ));
            continue;
        };
        if part.trial(key).is_some() {
            continue;
        }
        let live = part.store.live_of()?.filter(|live| live.key == *key);
        let cut = live.and_then(|live| live.seconds.last().map(|(second, _)| second + 1));
        problems.push(match cut {
            Some(seconds) => format!(
                "{} was cut short after {seconds} s: its process ended, and its load is not in the figures",
                part.name()
            ),
            None => format!(
                "{} has no record of this trial: its process ended before the load",
                part.name()
            ),
        });
    }
    Ok(problems)
}

fn failed(part: &ShardRecord, trial: &Trial) -> Option<String> {
    let why = || {
        let flag = trial.flagged(FlagKind::TrialFailed);
        flag.map_or("no load was recorded", |flag| flag.text.as_str())
    };
    let has_load = trial.load.is_some() && trial.state != TrialState::Failed;
    (!has_load && !trial.is_not_available()).then(|| format!("{} failed: {}", part.name(), why()))
}

/// The shards that did not begin at the common start.
fn late(pieces: &[Piece]) -> Vec<String> {
    let common_ns = pieces.first().map_or(0, |piece| piece.start.start_ns);
    let problem = |piece: &Piece| {
        let name = piece.part.name();
        if piece.start.start_ns != common_ns {
            return Some(format!(
                "{name} began at another common start than {}, so it is of another run",
                pieces[0].part.name()
            ));
        }
        let apart_s = (piece.started_ns() - common_ns) as f64 / 1e9;
        let late_s = apart_s.abs().max(piece.start.late_s);
        (late_s > LATE_S).then(|| {
            format!(
                "{name} began {:.0} ms away from the common start by the server's clock",
                late_s * 1e3
            )
        })
    };
    pieces.iter().filter_map(problem).collect()
}

/// The shards that ended before the others.
fn short(pieces: &[Piece]) -> Vec<String> {
    let until_s = |piece: &Piece| piece.load.driven_s();
    let longest_s = pieces.iter().map(until_s).fold(0.0, f64::max);
    let problem = |piece: &Piece| {
        (until_s(piece) + SHORT_S < longest_s).then(|| {
            let why = piece.load.engine.stopped.as_ref();
            format!(
                "{} was cut short after {:.1} s, the others after {longest_s:.1} s{}",
                piece.part.name(),
                until_s(piece),
                why.map(|why| format!(": {why}")).unwrap_or_default()
            )
        })
    };
    pieces.iter().filter_map(problem).collect()
}

/// The shards whose record lacks a second before their end.
fn gaps(pieces: &[Piece], key: &TrialKey) -> Result<Vec<String>, MergeError> {
    let mut problems = Vec::new();
    for piece in pieces {
        let series = piece.part.store.series(key, &["throughput"])?;
        let seconds = series.get("throughput").map_or(&[][..], Vec::as_slice);
        let is_missing = |second: &usize| seconds.get(*second).copied().flatten().is_none();
        let whole = piece.load.driven_s() as usize;
        problems.extend((0..whole).find(is_missing).map(|second| {
            let name = piece.part.name();
            format!("{name} has no record of second {second}, so the sums lack its load then")
        }));
    }
    Ok(problems)
}

fn state(trials: &[(&ShardRecord, &Trial)], has_no_load: bool) -> TrialState {
    let has = |state: TrialState| trials.iter().any(|(_, trial)| trial.state == state);
    match () {
        () if has(TrialState::Failed) && has_no_load => TrialState::Failed,
        () if has(TrialState::Invalid) || has(TrialState::Failed) => TrialState::Invalid,
        () => TrialState::Done,
    }
}

/// The flags of all shards. One that not all have is marked with the shards that have it.
fn flags(trials: &[(&ShardRecord, &Trial)]) -> Vec<Flag> {
    let numbered = trials.iter().flat_map(|(part, trial)| {
        let number = part.note.number;
        trial.flags.iter().map(move |flag| (flag, number))
    });
    let marked = |(flag, numbers): (&Flag, Vec<u32>)| {
        if numbers.len() == trials.len() {
            return flag.clone();
        }
        let word = record::for_count(numbers.len(), "shard", "shards");
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        Flag {
            kind: flag.kind.clone(),
            text: format!("{word} {}: {}", numbers.join(", "), flag.text),
        }
    };
    let found = stats::by_key(numbered).into_iter();
    found.map(marked).collect()
}

//! Timed loads as CSV: one row for each trial, or one for each second.

use super::{PRONY, key, key_heads, prony, record, state};
use crate::document::{Document, Recorded};
use ::record::{
    AuditNote, LatencyKind, Loaded, Mode, Offered, Percentile, RateRange, Summary, Trial,
};
use std::collections::BTreeSet;

/// A trial and its load. A trial that failed before its load ended has neither load nor summary.
struct Line<'r> {
    trial: &'r Trial,
    load: Option<&'r Loaded>,
    summary: Option<&'r Summary>,
}

/// The head of a column, and its value; none if the trial has none.
type Column = (&'static str, fn(&Line) -> Option<String>);

/// The columns before the percentiles.
const BEFORE: [Column; 15] = [
    ("block", |line| shown(line.trial.key.block)),
    ("state", |line| shown(state(line.trial.state))),
    ("loop", |line| shown(loop_name(line.load?))),
    ("load_clients", |line| shown(line.clients()?)),
    ("load_workers", |line| shown(line.open()?.workers)),
    ("load_rate", |line| shown(line.open()?.rate)),
    ("throughput", |line| shown(line.summary?.throughput?)),
    ("operations", |line| shown(line.summary?.operations)),
    ("retried", |line| shown(line.summary?.retried)),
    ("errors", |line| shown(line.summary?.errors)),
    ("offered", |line| shown(line.offered()?.offered)),
    ("completed", |line| shown(line.offered()?.completed)),
    ("dropped", |line| shown(line.offered()?.dropped)),
    ("queued_at_end", |line| shown(line.offered()?.queued_at_end)),
    ("stable", |line| {
        shown(u8::from(line.offered()?.unstable.is_none()))
    }),
];

/// The columns after the percentiles.
#[rustfmt::skip]
const AFTER: [Column; 22] = [
    ("from_s", |line| shown(line.summary?.steady.from_s)),
    ("until_s", |line| shown(line.summary?.steady.until_s)),
    ("shape", |line| shape(line.summary?)),
    ("stalls", |line| shown(line.summary?.stalls.len())),
    ("engine_cores", |line| Some(format!("{:.3}", line.summary?.engine.cores))),
    ("lateness_p99_us", |line| shown(line.load?.engine.lateness_us_p99?)),
    ("note", |line| shown(&line.trial.flags.first()?.text)),
    ("acknowledged", |line| shown(line.audit()?.acknowledged)),
    ("refused", |line| shown(line.audit()?.refused)),
    ("unknown", |line| shown(line.audit()?.unknown)),
    ("unknown_kept", |line| shown(line.audit()?.unknown_kept)),
    ("lost", |line| shown(line.audit()?.lost)),
    ("ghosts", |line| shown(line.audit()?.ghosts)),
    ("partly_applied", |line| shown(line.audit()?.partly_applied)),
    ("seen_but_lost", |line| shown(line.audit()?.seen_but_lost)),
    ("loss_window_s", |line| shown(line.audit()?.loss_window_s?)),
    ("violations", |line| shown(line.audit()?.violations.len())),
    ("failed_inputs", |line| shown(line.audit()?.failed_inputs().count())),
    ("uncertain", |line| line.summary.map(uncertain)),
    ("load_rate_min", |line| shown(line.open()?.range?.min)),
    ("load_rate_max", |line| shown(line.open()?.range?.max)),
    ("queued_at_start", |line| shown(line.offered()?.queued_at_start)),
];

struct Open {
    rate: f64,
    workers: u32,
    range: Option<RateRange>,
}

impl<'r> Line<'r> {
    fn from_recorded(recorded: &'r Recorded) -> Line<'r> {
        Line {
            trial: recorded.trial,
            load: recorded.trial.load.as_deref(),
            summary: recorded.summary.as_deref(),
        }
    }

    fn clients(&self) -> Option<u32> {
        match self.load?.mode {
            Mode::Closed { clients, .. } => Some(clients),
            Mode::Open { .. } => None,
        }
    }

    fn open(&self) -> Option<Open> {
        match self.load?.mode {
            Mode::Open {
                rate,
                workers,
                range,
                ..
            } => Some(Open {
                rate,
                workers,
                range,
            }),
            Mode::Closed { .. } => None,
        }
    }

    fn offered(&self) -> Option<&Offered> {
        self.summary?.offered.as_ref()
    }

    fn audit(&self) -> Option<&AuditNote> {
        self.trial.audit.as_ref()
    }

    fn percentiles(&self) -> impl Iterator<Item = Option<String>> {
        LatencyKind::NAMED.into_iter().flat_map(|(_, kind)| {
            let found = self.summary.and_then(|summary| summary.latency.of(kind));
            Percentile::ALL.map(|percentile| shown(found?.at(percentile)?))
        })
    }

    fn values(&self) -> Vec<String> {
        let before = BEFORE.iter().map(|(_, value)| value(self));
        let after = AFTER.iter().map(|(_, value)| value(self));
        let all = before.chain(self.percentiles()).chain(after);
        all.map(Option::unwrap_or_default).collect()
    }
}

/// Columns: `server`, one per factor, then `BEFORE`, the percentiles, `AFTER`, and `PRONY`. What a load does not have is empty.
pub(super) fn trials(document: &Document) -> String {
    let mut text = String::new();
    let percentiles = LatencyKind::NAMED
        .iter()
        .flat_map(|(kind, _)| Percentile::ALL.map(|percentile| percentile_head(kind, percentile)));
    let percentiles: Vec<String> = percentiles.collect();
    let heads = key_heads(document.run)
        .chain(BEFORE.map(|(head, _)| head))
        .chain(percentiles.iter().map(String::as_str))
        .chain(AFTER.map(|(head, _)| head));
    record(&mut text, heads.chain([PRONY]));
    for recorded in &document.trials {
        let own = Line::from_recorded(recorded).values();
        let own = own.iter().map(String::as_str);
        let key = key(document.run, recorded.trial);
        record(&mut text, key.chain(own).chain([prony(document.run)]));
    }
    text
}

fn percentile_head(kind: &str, percentile: Percentile) -> String {
    format!("{kind}_{}_ms", percentile.text())
}

/// One row for each second of each trial: `server`, one column per factor, `block`, `second`, `measured` (1 where the second
/// counts), then every series of the record by its name. Needs whole trials (`Store::trials_whole`).
pub fn samples(document: &Document) -> String {
    let loads = || {
        document.trials.iter().filter_map(|recorded| {
            let load = recorded.trial.load.as_deref()?;
            Some((recorded.trial, load, recorded.summary.as_deref()?))
        })
    };
    let names: BTreeSet<&str> = loads()
        .flat_map(|(_, load, _)| load.series.keys())
        .map(String::as_str)
        .collect();
    let mut text = String::new();
    let head = key_heads(document.run)
        .chain(["block", "second", "measured"])
        .chain(names.iter().copied());
    record(&mut text, head);
    for (trial, load, summary) in loads() {
        let measured = summary.steady.from_s as usize..summary.steady.until_s as usize;
        let seconds = load.series.values().map(Vec::len).max().unwrap_or(0);
        for second in 0..seconds {
            let values = names
                .iter()
                .map(|name| load.at(name, second).and_then(shown).unwrap_or_default());
            let own: Vec<String> = [
                trial.key.block.to_string(),
                second.to_string(),
                u8::from(measured.contains(&second)).to_string(),
            ]
            .into_iter()
            .chain(values)
            .collect();
            let key = key(document.run, trial);
            record(&mut text, key.chain(own.iter().map(String::as_str)));
        }
    }
    text
}

/// The columns whose percentiles are uncertain, with spaces between: `response_p99_ms response_p999_ms`.
fn uncertain(summary: &Summary) -> String {
    let named = LatencyKind::NAMED.iter().flat_map(|(name, kind)| {
        let found = summary.latency.of(*kind).into_iter();
        let uncertain = found.flat_map(|found| &found.uncertain);
        uncertain.map(move |percentile| percentile_head(name, *percentile))
    });
    named.collect::<Vec<_>>().join(" ")
}

fn loop_name(load: &Loaded) -> &'static str {
    match load.mode {
        Mode::Closed { .. } => "closed",
        Mode::Open { .. } => "open",
    }
}

fn shape(summary: &Summary) -> Option<String> {
    let shape = serde_json::to_value(summary.steady.shape).ok()?;
    shown(shape.as_str()?)
}

fn shown(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

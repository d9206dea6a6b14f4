//! Whether two rows measure the same thing, so that their values can be compared.
//!
//! Purpose: a larger load, or another table, is not a slower server. Boundaries: which rows belong together is decided in
//! [`super::across`] and [`super::contrast`]; other data and answers on equal loads are named in [`super::same_answers`].

use crate::values::cells::valid;
use record::load::Mode;
use record::number;
use record::run::Question;
use record::trial::{DatasetNote, LimitNote, Round, Trial};
use std::collections::BTreeSet;

/// Rates that differ by less are equal.
const RATE: f64 = 0.01;
/// What an open load with a full queue does, if it ends.
const STOPS: &str = "stop";
/// The end of a level of `rate` that is a share of the maximum, which each server has of its own.
const OF_MAX: &str = "of max";
/// Where a record lacks the exact number of rows: data whose sizes differ by more is not the same.
const SIZES: f64 = 2.0;
/// Loads of one run move their rows by less.
const MOVED: f64 = 1.02;
/// Nothing moves the rows between two runs.
const EQUAL: f64 = 1.0;
/// The limit that can be a share of the data, so that it differs with the size of the files.
const MEMORY: &str = "memory";
/// The end of the name of a link's limit, which belongs to a server's topology.
const OF_LINK: &str = "(Mbit/s)";

/// Why two rows of one run measure different things: a level can change load, workload and limits for one server alone. None if they can
/// be compared.
pub(crate) fn unlike_in_run(old: &[&Trial], new: &[&Trial]) -> Option<String> {
    let (one, other) = (valid(old).next()?, valid(new).next()?);
    let rate = other.key.level("rate");
    let own_max = rate.is_some_and(|rate| rate.ends_with(OF_MAX));
    unlike_kinds(one, other, own_max)
        .or_else(|| unlike_asked(&one.limits, &other.limits))
        .or_else(|| unlike_rows(one.dataset.as_ref()?, other.dataset.as_ref()?, MOVED))
}

/// Why the limits that the experiment sets differ. A limit of memory may be a share of the data, so it may differ as much as their sizes.
fn unlike_asked(old: &[LimitNote], new: &[LimitNote]) -> Option<String> {
    let asked = |limits: &[LimitNote], name: &str| {
        let mut limits = limits.iter();
        let found = limits.find(|limit| limit.name == name);
        found.map(|limit| limit.asked)
    };
    let words = |asked: Option<f64>| asked.map_or("none".to_string(), |asked| asked.to_string());
    let differ = |name: &str| {
        let (old, new) = (asked(old, name), asked(new, name));
        let are_alike = match (old, new) {
            (Some(old), Some(new)) if name == MEMORY => !are_far(old, new, SIZES),
            _ => old == new,
        };
        (!are_alike).then(|| format!("limit {name} {} against {}", words(old), words(new)))
    };
    let names = old.iter().chain(new).map(|limit| limit.name.as_str());
    let mut names = names.filter(|name| !name.ends_with(OF_LINK));
    names.find_map(differ)
}

/// `counted`: the factor by which numbers of rows may differ that were counted. An estimate differs from one look to the next.
fn unlike_rows(old: &DatasetNote, new: &DatasetNote, counted: f64) -> Option<String> {
    let most = match are_estimated(old, new) {
        true => SIZES,
        false => counted,
    };
    are_far(old.rows as f64, new.rows as f64, most).then(|| {
        let (old, new) = (number::grouped(old.rows), number::grouped(new.rows));
        format!("{old} rows against {new} rows")
    })
}

fn are_estimated(old: &DatasetNote, new: &DatasetNote) -> bool {
    old.rows_estimated || new.rows_estimated
}

/// Whether two sizes differ by more than this factor.
pub(super) fn are_far(old: f64, new: f64, factor: f64) -> bool {
    (new / old).ln().abs() > factor.ln()
}

/// Why two rows measure different things; None if they can be compared.
pub(crate) fn unlike(
    (old, old_trials): (&Question, &[&Trial]),
    (new, new_trials): (&Question, &[&Trial]),
) -> Option<String> {
    let [old_name, new_name] = [old, new].map(|one| &one.workload.name);
    if old_name != new_name {
        return Some(format!("{old_name} against {new_name}"));
    }
    let (one, other) = (valid(old_trials).next()?, valid(new_trials).next()?);
    let operations = || unlike_operations([old, new].map(|one| &one.workload.operations));
    unlike_kinds(one, other, false)
        .or_else(operations)
        .or_else(|| unlike_limits(one, other))
        .or_else(|| unlike_asked(&one.limits, &other.limits))
        .or_else(|| unlike_events(old_trials, new_trials))
        .or_else(|| unlike_data(one, other))
}

/// `own_max`: their rates are shares of a maximum that each server has of its own.
fn unlike_kinds(one: &Trial, other: &Trial, own_max: bool) -> Option<String> {
    match [one, other].map(|trial| trial.load.as_deref()) {
        [Some(old), Some(new)] => unlike_operations([&old.operations, &new.operations])
            .or_else(|| unlike_loads(&old.mode, &new.mode, own_max)),
        [None, None] => unlike_clients(one, other)
            .or_else(|| unlike_operations([&queries(one), &queries(other)])),
        [Some(_), None] => Some("a timed load against rounds of queries".to_string()),
        [None, Some(_)] => Some("rounds of queries against a timed load".to_string()),
    }
}

/// The names of the queries of all rounds.
fn queries(trial: &Trial) -> Vec<String> {
    let all = trial.rounds.iter().flat_map(|round| &round.queries);
    let names: BTreeSet<&String> = all.map(|query| &query.name).collect();
    names.into_iter().cloned().collect()
}

/// By their names. A question names those of its rounds alone, whatever a level makes of them.
fn unlike_operations(sides: [&Vec<String>; 2]) -> Option<String> {
    let [old, new] = sides.map(|names| names.join(", "));
    (old != new).then(|| format!("{old} against {new}"))
}

/// One was measured with the limits of its experiment, the other without them.
fn unlike_limits(old: &Trial, new: &Trial) -> Option<String> {
    let words = |trial: &Trial| match trial.is_unlimited() {
        true => "limits not applied (--no-limits)",
        false => "limits applied",
    };
    (old.is_unlimited() != new.is_unlimited())
        .then(|| format!("{} against {}", words(old), words(new)))
}

/// By their kinds: how often one repeats depends on the length of a round.
fn unlike_events(old: &[&Trial], new: &[&Trial]) -> Option<String> {
    let [old, new] = [old, new].map(|trials| {
        let events = valid(trials).flat_map(|trial| &trial.events);
        let kinds: BTreeSet<&str> = events.map(|event| event.kind.as_str()).collect();
        match kinds.is_empty() {
            true => "none".to_string(),
            false => Vec::from_iter(kinds).join(", "),
        }
    });
    (old != new).then(|| format!("events {old} against {new}"))
}

/// Loads are alike if all of it is equal; rates that were searched for, nearly. The length of a queue that stops the load when it is
/// full changes no figure.
fn unlike_loads(old: &Mode, new: &Mode, own_max: bool) -> Option<String> {
    let mut alike = new.clone();
    if let (
        Mode::Open {
            rate: old_rate,
            queue: old_queue,
            range: old_range,
            ..
        },
        Mode::Open {
            rate,
            queue,
            when_full,
            range,
            ..
        },
    ) = (old, &mut alike)
    {
        if own_max || are_near(*rate, *old_rate) {
            *rate = *old_rate;
        }
        let ends = range.zip(*old_range);
        let are_ends_near =
            ends.is_some_and(|(new, old)| are_near(new.min, old.min) && are_near(new.max, old.max));
        if own_max || are_ends_near {
            *range = *old_range;
        }
        // A queue of seconds has as many places as arrive in them.
        if own_max || *when_full == STOPS {
            *queue = *old_queue;
        }
    }
    (alike != *old).then(|| format!("{} against {}", load_words(old), load_words(new)))
}

fn are_near(rate: f64, old: f64) -> bool {
    rate == old || (rate / old).ln().abs() < RATE
}

fn load_words(mode: &Mode) -> String {
    match mode {
        Mode::Closed { clients, think_s } if *think_s > 0.0 => {
            format!("closed loop, clients {clients}, think time {think_s} s")
        }
        Mode::Closed { clients, .. } => format!("closed loop, clients {clients}"),
        Mode::Open {
            rate,
            arrivals,
            workers,
            queue,
            when_full,
            range,
        } => {
            let rate_of = |rate: f64| number::rate(rate, 1);
            let range = range.map_or(String::new(), |range| {
                format!(", {} to {}", rate_of(range.min), rate_of(range.max))
            });
            format!(
                "open loop, {} requests/s ({arrivals}{range}), workers {workers}, queue {} ({when_full})",
                rate_of(*rate),
                number::grouped(*queue)
            )
        }
    }
}

fn unlike_clients(old: &Trial, new: &Trial) -> Option<String> {
    let clients = |trial: &Trial| trial.rounds.iter().map(Round::clients).max();
    let (old, new) = (clients(old)?, clients(new)?);
    (old != new).then(|| format!("rounds of clients {old} against clients {new}"))
}

fn unlike_data(old: &Trial, new: &Trial) -> Option<String> {
    let bytes = |trial: &Trial| trial.data_bytes as f64;
    match (&old.dataset, &new.dataset) {
        (Some(old), Some(new)) => {
            let rows = unlike_rows(old, new, EQUAL)?;
            let about = match are_estimated(old, new) {
                true => "about ",
                false => "",
            };
            Some(format!("{about}{rows}"))
        }
        _ => {
            // Files of a load without a server are as large as the load requests.
            let most = match old.key.server {
                Some(_) => SIZES,
                None => EQUAL,
            };
            are_far(bytes(old), bytes(new), most).then(|| {
                format!(
                    "{} bytes of data against {}",
                    old.data_bytes, new.data_bytes
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::TrialKey;
    use record::event::{KILL, START};
    use record::trial::EventNote;
    use std::collections::BTreeMap;

    fn of_rows(rows: u64, rows_estimated: bool) -> Trial {
        let mut trial = Trial::unmeasured(TrialKey::default(), 0);
        trial.dataset = Some(DatasetNote {
            fingerprint: "schema-shop".into(),
            server: "mysql".into(),
            rows,
            rows_estimated,
            data_bytes: 1 << 20,
            method: "already there".into(),
            ..DatasetNote::default()
        });
        trial
    }

    #[test]
    fn counted_rows_are_equal_and_estimated_ones_are_near() {
        let (ten, eleven) = (of_rows(10, false), of_rows(11, false));
        assert_eq!(unlike_data(&ten, &ten), None);
        let says = unlike_data(&ten, &eleven).unwrap();
        assert_eq!(says, "10 rows against 11 rows");
        let (about, twice) = (of_rows(11, true), of_rows(21, true));
        assert_eq!(unlike_data(&ten, &about), None);
        let says = unlike_data(&ten, &twice).unwrap();
        assert_eq!(says, "about 10 rows against 21 rows");
    }

    #[test]
    fn files_are_compared_with_files_of_their_size_alone() {
        let of = |server: Option<&str>, data_bytes: u64| Trial {
            key: TrialKey {
                server: server.map(String::from),
                ..TrialKey::default()
            },
            data_bytes,
            ..Trial::unmeasured(TrialKey::default(), 0)
        };
        let unlike = |server, bytes| unlike_data(&of(server, 1000), &of(server, bytes));
        assert_eq!(unlike(None, 1000), None);
        let says = unlike(None, 1500);
        assert_eq!(says.as_deref(), Some("1000 bytes of data against 1500"));
        assert_eq!(unlike(Some("an older record"), 1500), None);
    }

    #[test]
    fn servers_of_one_run_with_other_limits_or_twice_the_rows_are_unlike() {
        let limited = |name: &str, asked: f64, rows: u64| Trial {
            limits: vec![LimitNote {
                name: name.into(),
                asked,
                measured: asked,
            }],
            ..of_rows(rows, false)
        };
        let unlike = |old: &Trial, new: &Trial| unlike_in_run(&[old], &[new]);
        let old = limited("read_iops", 400.0, 1000);
        assert_eq!(unlike(&old, &limited("read_iops", 400.0, 1010)), None);
        let says = unlike(&old, &limited("read_iops", 800.0, 1000));
        assert_eq!(says.as_deref(), Some("limit read_iops 400 against 800"));
        let says = unlike(&of_rows(1000, false), &old);
        assert_eq!(says.as_deref(), Some("limit read_iops none against 400"));
        let says = unlike(&old, &limited("read_iops", 400.0, 2000));
        assert_eq!(says.as_deref(), Some("1,000 rows against 2,000 rows"));
        // A third of the data, which needs less space on the other server.
        let (large, small) = (limited("memory", 9e8, 10), limited("memory", 6e8, 10));
        assert_eq!(unlike(&large, &small), None);
    }

    #[test]
    fn runs_with_other_events_are_unlike() {
        let with = |kinds: &[&str]| {
            let event = |kind: &&str| EventNote {
                at_ns: 0,
                ended_ns: None,
                kind: kind.to_string(),
                node: None,
                numbers: BTreeMap::new(),
                text: String::new(),
            };
            Trial {
                events: kinds.iter().map(event).collect(),
                ..of_rows(10, false)
            }
        };
        let (killed, without) = (with(&[KILL, START]), with(&[]));
        let twice = with(&[KILL, START, KILL, START]);
        assert_eq!(unlike_events(&[&killed], &[&without, &twice]), None);
        let says = unlike_events(&[&killed], &[&without]);
        assert_eq!(says.as_deref(), Some("events kill, start against none"));
    }

    #[test]
    fn shares_of_a_maximum_of_their_own_are_alike_and_numbers_of_workers_are_not() {
        let open = |rate: f64, workers: u32| Mode::Open {
            rate,
            arrivals: record::load::Arrivals::Uniform,
            workers,
            queue: 1000,
            when_full: "drop".into(),
            range: None,
        };
        assert_eq!(unlike_loads(&open(500.0, 8), &open(900.0, 8), true), None);
        let says = unlike_loads(&open(500.0, 8), &open(900.0, 8), false).unwrap();
        assert!(says.contains("500") && says.contains("900"), "{says}");
        assert!(unlike_loads(&open(500.0, 8), &open(500.0, 16), true).is_some());
    }
}

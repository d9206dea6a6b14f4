//! What is not the same in all runs that are compared: their environments, servers and effective settings.

use crate::build::trials::failures::{Other, OtherOf};
use crate::document::{Difference, DifferenceKind};
use crate::format;
use record::{Run, ServerIdentity, Trial, Warmup, listed};
use std::collections::{BTreeMap, BTreeSet};

/// Digits of a binary's hash that distinguish two builds.
const DIGITS: usize = 12;

/// The differences of the machines, then those of the servers.
pub(crate) fn of_environments(runs: &[Run]) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    for (place, run) in runs.iter().enumerate().skip(1) {
        let (ours, theirs) = (&runs[0].environment, &run.environment);
        let conditions = ours.conditions.differences(&theirs.conditions);
        for (what, ours, theirs) in ours.surroundings(theirs).into_iter().chain(conditions) {
            let known = found.iter().position(|known| known.what == what);
            let at = known.unwrap_or_else(|| {
                let values = vec![Some(ours); runs.len()];
                found.push(difference(DifferenceKind::Environment, &what, values));
                found.len() - 1
            });
            found[at].values[place] = Some(theirs);
        }
    }
    found.extend(of_servers(runs));
    found.extend(of_rules(runs));
    found
}

/// The name of the rules that made the figures.
const RULES: &str = "rules of the figures";
/// The memory of the machine (bytes).
const MEMORY: &str = "memory";
/// By which factor a number may differ. A kernel takes a little of the memory. Much longer loads find fuller logs and other pages in memory.
const TOLERATED: [(&str, f64); 2] = [(MEMORY, 1.1), (MEASURED, 2.1)];
/// What of the environments changes the figures of any server: the machine, and the rules.
const CONFOUNDING: [&str; 9] = [
    "machine",
    "cpu",
    "cores",
    MEMORY,
    "governor",
    "turbo",
    "file system",
    "niceness",
    RULES,
];
/// How trials were measured: in slices, in turns, or one after another.
const HOW: &str = "how trials were measured";
/// The warm-up of loads, and how long they were measured after it: the file says it, or the command line.
const WARM_UP: &str = "warm-up";
const MEASURED: &str = "measured time";
/// Times of loads that differ by less are not listed.
const TIMES: f64 = 1.25;
/// What of an experiment makes it another question, besides its workload.
const ASKED: [&str; 7] = [
    "event",
    HOW,
    WARM_UP,
    MEASURED,
    "protocol.preload",
    "protocol.series",
    "protocol.unit",
];
/// Parameters of arrivals: other ones can have the same mean, minimum and maximum. Of a trace it is the path.
const ARRIVALS: &str = ".arrivals.";
const TRACE: &str = ".trace";
/// Keys of a workload that say where its data comes from. The data itself is compared by its fingerprint.
const OF_DATA: [&str; 4] = ["accept_warnings", "dump", "load", "schema"];
/// The ends of those that say where a text comes from, which is recorded beside them.
const OF_TEXTS: [&str; 2] = [".file", ".folder"];

/// What of two runs is not the same, so that their ratios are not those of the servers alone.
pub(crate) struct Confounded {
    /// The number of the further run.
    pub(crate) run: usize,
    /// What should be the same: `machine and rules`, `workload`.
    pub(crate) same: &'static str,
    /// `run 2 differs from run 1 in cpu and cores, so the ratios are not those of the servers alone: measure both in one run`
    pub(crate) sentence: String,
}

/// The runs on another machine than the first one, with figures by other rules, or with other statements, events or ways to measure.
pub(crate) fn confounding(all: &[Difference]) -> Vec<Confounded> {
    let runs = all.iter().map(|one| one.values.len()).max().unwrap_or(0);
    let one = |(place, same): (usize, &'static str)| {
        let other = all.iter().filter(|one| should_be_same(one) == Some(same));
        let other = other.filter(|one| one.values[place] != one.values[0]);
        let other = other.filter(|one| !is_tolerated(one, place));
        let parts: Vec<String> = other.map(|one| one.what.clone()).collect();
        let (run, what) = (place + 1, listed(&parts));
        let sentence = format!(
            "run {run} differs from run 1 in {what}, so the ratios are not those of the servers alone: measure both in one run"
        );
        (!parts.is_empty()).then_some(Confounded {
            run,
            same,
            sentence,
        })
    };
    let each = (1..runs).flat_map(|place| [MACHINE, WORKLOAD].map(|same| (place, same)));
    each.filter_map(one).collect()
}

fn is_tolerated(one: &Difference, place: usize) -> bool {
    let number = |place: usize| {
        let value = one.values[place].as_ref()?;
        value.trim_end_matches(" s").parse::<f64>().ok()
    };
    let both = number(0).zip(number(place));
    TOLERATED.iter().any(|(what, most)| {
        let is_near = |(first, own): (f64, f64)| (own / first).ln().abs() <= most.ln();
        one.what == *what && both.is_some_and(is_near)
    })
}

const MACHINE: &str = "machine and rules";
/// Other statements, events or ways to measure are another question, even if the operations have the same names.
const WORKLOAD: &str = "workload";

/// What should be the same in all runs, if the difference is of that kind.
fn should_be_same(one: &Difference) -> Option<&'static str> {
    let what = one.what.as_str();
    let mut parts = what.split('.');
    match one.kind {
        DifferenceKind::Environment => CONFOUNDING.contains(&what).then_some(MACHINE),
        DifferenceKind::Experiment if parts.any(|part| part == "workload") => {
            let is_path = OF_TEXTS.iter().any(|end| what.ends_with(*end));
            let is_work = !is_path && parts.take(2).all(|part| !OF_DATA.contains(&part));
            is_work.then_some(WORKLOAD)
        }
        DifferenceKind::Experiment => {
            let is_of_arrivals = what.contains(ARRIVALS) && !what.ends_with(TRACE);
            (ASKED.contains(&what) || is_of_arrivals).then_some(WORKLOAD)
        }
        DifferenceKind::Data | DifferenceKind::Setting => None,
    }
}

/// The rules that made the figures of loads: those of a slim record cannot be made again.
fn of_rules(runs: &[Run]) -> Option<Difference> {
    let rules = |run: &Run| run.slim.as_ref().map_or(stats::RULES, |slim| slim.rules);
    let rules = runs.iter().map(|run| Some(rules(run).to_string()));
    differing(DifferenceKind::Environment, RULES, rules.collect())
}

/// None if all runs have the same.
fn differing(kind: DifferenceKind, what: &str, values: Vec<Option<String>>) -> Option<Difference> {
    let differs = values.iter().any(|value| *value != values[0]);
    differs.then(|| difference(kind, what, values))
}

fn difference(kind: DifferenceKind, what: &str, values: Vec<Option<String>>) -> Difference {
    Difference {
        kind,
        what: what.to_string(),
        values,
    }
}

fn is_known_of_all(found: &Difference) -> bool {
    found.values.iter().all(Option::is_some)
}

/// The servers by name. Where each run has one server, its name does not matter.
fn of_servers(runs: &[Run]) -> Vec<Difference> {
    let servers = || runs.iter().map(|run| &run.environment.servers);
    if servers().all(|servers| servers.len() == 1) {
        let only = servers().map(|servers| servers.values().next().map(identity));
        let only = differing(DifferenceKind::Environment, "server", only.collect());
        return only.into_iter().collect();
    }
    let names: BTreeSet<&String> = servers().flat_map(BTreeMap::keys).collect();
    let of_name = |name: &String| {
        let values = servers().map(|servers| servers.get(name).map(identity));
        let what = format!("server {name}");
        differing(DifferenceKind::Environment, &what, values.collect())
    };
    names.into_iter().filter_map(of_name).collect()
}

fn identity(server: &ServerIdentity) -> String {
    let digest: String = server.binary_sha256.chars().take(DIGITS).collect();
    if digest.is_empty() {
        format!("{}, {}", server.build, server.version)
    } else {
        format!("{}, {}, binary {digest}", server.build, server.version)
    }
}

/// The datasets of the trials, by their fingerprints with their rows; none for a run that does not name its data.
pub(crate) fn of_datasets(trials: &[Vec<Trial>]) -> Option<Difference> {
    let name = |trial: &Trial| {
        let note = trial.dataset.as_ref()?;
        let defined = note.definitions.iter();
        let defined: String = defined.map(|hash| format!(", definition {hash}")).collect();
        let rows = format::count(note.rows as f64);
        Some(format!("{}, {rows} rows{defined}", note.fingerprint))
    };
    of_trials(DifferenceKind::Data, "dataset", trials, name)
}

/// The collations of the text columns, which sort and compare at different costs; None where a record does not name them.
pub(crate) fn of_collations(trials: &[Vec<Trial>]) -> Option<Difference> {
    let names = |trial: &Trial| {
        let names = trial.dataset.as_ref()?.collations.join(", ");
        (!names.is_empty()).then_some(names)
    };
    of_trials(DifferenceKind::Data, "collations", trials, names).filter(is_known_of_all)
}

/// How the trials of the runs were measured, if not all in the same way.
pub(crate) fn of_slices(trials: &[Vec<Trial>]) -> Option<Difference> {
    let words = |trial: &Trial| {
        let shared = match trial.shares_server() {
            true => ", cells on one server",
            false => "",
        };
        Some(match trial.slices() {
            Some(slices) => format!("slices of {} s{shared}", slices.length_s),
            None if trial.took_turns() => format!("queries in turn{shared}"),
            None if trial.load.is_none() && trial.rounds.is_empty() => return None,
            None => "trials one after another".to_string(),
        })
    };
    of_trials(DifferenceKind::Experiment, HOW, trials, words)
}

/// How the loads of the runs differ in their times; empty where a run has none.
pub(crate) fn of_loads(trials: &[Vec<Trial>]) -> Vec<Difference> {
    let warm_up = |trial: &Trial| match trial.load.as_ref()?.warmup {
        Warmup::Seconds(seconds) => Some(format!("{seconds} s")),
        Warmup::Find => Some("find".to_string()),
    };
    let warm_up = of_trials(DifferenceKind::Experiment, WARM_UP, trials, warm_up);
    let warm_up = warm_up.filter(is_known_of_all).into_iter();
    warm_up.chain(of_measured_times(trials)).collect()
}

/// Of the longest loads. One that a full queue or an event ended is as short as its server made it.
fn of_measured_times(trials: &[Vec<Trial>]) -> Option<Difference> {
    let longest_s = |trials: &Vec<Trial>| {
        let loads = trials.iter().filter_map(|trial| trial.load.as_ref());
        let whole = loads.filter(|load| load.engine.stopped.is_none());
        let measured_s = whole.map(|load| load.driven_s() - load.warmup.known_s());
        measured_s.filter(|seconds| *seconds > 0.0).reduce(f64::max)
    };
    let all: Vec<f64> = trials.iter().map(longest_s).collect::<Option<_>>()?;
    let first = *all.first()?;
    let value = |seconds: f64| {
        let is_far = (seconds / first).ln().abs() > TIMES.ln();
        let shown = if is_far { seconds } else { first };
        Some(format!("{shown:.0} s"))
    };
    let values = all.into_iter().map(value).collect();
    differing(DifferenceKind::Experiment, MEASURED, values)
}

/// What the trials of each run have, each value once, if the runs differ in it; none for a run without such a trial.
fn of_trials(
    kind: DifferenceKind,
    what: &str,
    trials: &[Vec<Trial>],
    value: impl Fn(&Trial) -> Option<String>,
) -> Option<Difference> {
    let of_run = |trials: &Vec<Trial>| {
        let values: BTreeSet<String> = trials.iter().filter_map(&value).collect();
        (!values.is_empty()).then(|| joined(&values))
    };
    differing(kind, what, trials.iter().map(of_run).collect())
}

/// The differences of compared rows: their answers, and data that differ under one name. The sentence is the value of the further run.
pub(crate) fn of_rows(others: &[Other], runs: usize, known: &[Difference]) -> Vec<Difference> {
    let are_named = known.iter().any(|one| one.kind == DifferenceKind::Data);
    let one = |other: &Other| {
        let what = match other.of {
            OtherOf::Data if are_named => return None,
            OtherOf::Data => "data",
            OtherOf::Answers => "answers",
        };
        let value =
            |run: usize| (other.new == format!("run {run}")).then(|| other.sentence.clone());
        let values = (1..=runs).map(value).collect();
        Some(difference(DifferenceKind::Data, what, values))
    };
    others.iter().filter_map(one).collect()
}

/// The settings of the first nodes that differ, without folders and ports, and the number of settings that only some runs have.
pub(crate) fn of_settings(trials: &[Vec<Trial>]) -> (Vec<Difference>, usize) {
    let by_run: Vec<BTreeMap<&str, BTreeSet<&str>>> = trials.iter().map(|t| values(t)).collect();
    let names: BTreeSet<&str> = by_run.iter().flat_map(|run| run.keys().copied()).collect();
    let of_name = |name: &str| {
        let values = by_run.iter().map(|run| run.get(name).map(joined));
        differing(DifferenceKind::Setting, name, values.collect())
    };
    let found = names.into_iter().filter_map(of_name);
    let (everywhere, somewhere): (Vec<Difference>, Vec<Difference>) =
        found.partition(is_known_of_all);
    (everywhere, somewhere.len())
}

/// Each setting with its values over all trials.
fn values(trials: &[Trial]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in trials.iter().flat_map(|trial| &trial.settings) {
        if !explain::is_of_an_instance(name) {
            values.entry(name).or_default().insert(value);
        }
    }
    values
}

fn joined<T: AsRef<str>>(values: &BTreeSet<T>) -> String {
    let values: Vec<&str> = values.iter().map(T::as_ref).collect();
    values.join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::TrialKey;

    #[test]
    fn other_statements_under_the_same_names_are_another_workload() {
        let names = |what: &str| {
            let difference = Difference {
                kind: DifferenceKind::Experiment,
                what: what.to_string(),
                values: vec![Some("one".into()), Some("other".into())],
            };
            let found = confounding(&[difference]);
            found.iter().any(|one| {
                let is_named = one.sentence.contains(&format!("in {what}, so the ratios"));
                (one.run, one.same, is_named) == (2, "workload", true)
            })
        };
        for what in [
            "workload.sql.operations",
            "variant.new.workload.queries.text",
            "workload.sql.operation.load.statements",
            "event",
            "protocol.unit",
            "load.open.arrivals.bursts.every",
        ] {
            assert!(names(what), "{what}");
        }
        for what in [
            "workload.sql.dump",
            "workload.sql.load.orders",
            "workload.sql.queries.file",
            "load.open.arrivals.trace",
            "protocol.blocks",
            "settings.sync_binlog",
        ] {
            assert!(!names(what), "{what}");
        }
    }

    #[test]
    fn loads_with_another_warm_up_or_time_are_another_question_wherever_it_is_set() {
        let of = |warmup: Warmup, until_s: f64, stopped: Option<&str>| {
            let mut load = record::Loaded {
                warmup,
                ..record::Loaded::default()
            };
            load.engine.until_s = Some(until_s);
            load.engine.stopped = stopped.map(String::from);
            let mut trial = Trial::unmeasured(TrialKey::default(), 0);
            trial.load = Some(Box::new(load));
            vec![trial]
        };
        let named = |new: Vec<Trial>| -> Vec<String> {
            let old = of(Warmup::Seconds(10.0), 70.0, None);
            let found = of_loads(&[old, new]);
            let confounded = confounding(&found).into_iter();
            confounded.map(|one| one.sentence).collect()
        };
        let says = |what: &str| {
            format!(
                "run 2 differs from run 1 in {what}, so the ratios are not those of the servers alone: measure both in one run"
            )
        };
        assert!(named(of(Warmup::Seconds(10.0), 75.0, None)).is_empty());
        let twice = of_loads(&[
            of(Warmup::Seconds(0.0), 60.0, None),
            of(Warmup::Seconds(0.0), 120.0, None),
        ]);
        assert_eq!(twice.len(), 1, "it is shown");
        assert!(confounding(&twice).is_empty());
        let cold = named(of(Warmup::Seconds(0.0), 60.0, None));
        assert_eq!(cold, [says("warm-up")]);
        let short = named(of(Warmup::Seconds(10.0), 20.0, None));
        assert_eq!(short, [says("measured time")]);
        let both = named(of(Warmup::Find, 20.0, None));
        assert_eq!(both, [says("warm-up and measured time")]);
        let full = named(of(Warmup::Seconds(10.0), 20.0, Some("the queue was full")));
        assert!(full.is_empty());
        assert!(named(Vec::new()).is_empty(), "a run without loads");
    }

    #[test]
    fn collations_that_both_runs_name_are_compared() {
        let on = |collations: &[&str]| {
            let note = serde_json::json!({
                "fingerprint": "schema-shop", "server": "db", "rows": 4, "data_bytes": 16384, "load_s": null,
                "method": "already there", "collations": collations
            });
            let mut trial = Trial::unmeasured(TrialKey::default(), 0);
            trial.dataset = serde_json::from_value(note).ok();
            vec![trial]
        };
        let found = |new: &[&str]| of_collations(&[on(&["utf8mb4_bin"]), on(new)]);
        let values = found(&["latin1_bin"]).unwrap().values;
        assert_eq!(values[1].as_deref(), Some("latin1_bin"));
        assert!(found(&["utf8mb4_bin"]).is_none());
        assert!(found(&[]).is_none(), "a record of an older prony");
    }

    #[test]
    fn a_run_in_slices_was_measured_in_another_way() {
        let of = |length_s: Option<f64>| {
            let mut trial = Trial::unmeasured(TrialKey::default(), 0);
            let load = trial.load.insert(Box::default());
            load.engine.slices = length_s.and_then(|length_s| {
                let note = serde_json::json!({
                    "length_s": length_s, "count": 10, "servers": 2, "spanned_s": 6, "finishing_s_max": 0
                });
                serde_json::from_value(note).ok()
            });
            vec![trial]
        };
        let values = of_slices(&[of(Some(0.3)), of(None)]).unwrap().values;
        let expected = ["slices of 0.3 s", "trials one after another"];
        assert_eq!(values, expected.map(|words| Some(words.to_string())));
        assert!(of_slices(&[of(None), of(None)]).is_none());
    }
}

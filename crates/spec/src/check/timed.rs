//! Checks that the workload supports the requested load: rounds of queries, or a timed load.
//!
//! Purpose: no result of one client labelled as eight, and no key without effect. Boundaries: the caller knows the
//! workload; crate `load` drives it.

use super::traces;
use crate::experiment::place::{Late, Path, answer, changes, loads_of_levels, path};
use crate::experiment::{Experiment, FactorSpec, Patch, RoundKind, SHORTEST};
use crate::file::mistake::SpecError;
use crate::load::{LoadPatch, LoadSpec};
use std::time::Duration;

/// Whether a timed load is shorter than an experiment file may request without saying so.
pub(crate) fn is_short(time: Duration) -> bool {
    time < SHORTEST
}

/// Checks that a timed load is long enough, or short on purpose. What a budget chooses is long enough.
///
/// # Errors
/// A time under 20 s without `short = true`.
pub fn long_enough(experiment: &Experiment) -> Result<(), SpecError> {
    let protocol = &experiment.protocol;
    let is_chosen = (protocol.within).is_some_and(|within| within.chooses_time);
    let short = protocol
        .time
        .filter(|time| !protocol.short && !is_chosen && is_short(*time));
    let late = short.map(|time| Late {
        path: path(&["protocol", "time"]),
        says: format!(
            "a load of {} s is too short for an experiment: its seconds vary more than its trials",
            time.as_secs_f64()
        ),
        label: "under 20 s",
        help: "measure for at least 20 s, or write short = true in [protocol], with the reason in a comment".to_string(),
    });
    answer(experiment, late.into_iter().collect())
}

/// `has_driver`: the workload has operations for a timed load; otherwise it has rounds of queries.
///
/// # Errors
/// Lists every key that requests the other kind.
pub fn check(experiment: &Experiment, has_driver: bool) -> Result<(), SpecError> {
    let workload = &experiment.workload;
    let late = match (has_driver, experiment.protocol.is_timed()) {
        (true, true) => {
            let traces = traces::without_arrivals(experiment);
            [traces, further_rounds(experiment)].concat()
        }
        (true, false) => vec![Late {
            path: path(&["workload", workload]),
            says: format!(
                "the workload {workload} has no rounds of queries: it needs time in [protocol]"
            ),
            label: "a timed load",
            help: "write time = \"60s\" in [protocol]".to_string(),
        }],
        (false, true) => vec![Late {
            path: path(&["protocol", "time"]),
            says: format!(
                "the workload {workload} runs rounds of queries, whose duration cannot be set"
            ),
            label: "no timed load",
            help: "write rounds = [\"cold\", \"hot\", \"hot\"] instead of the time".to_string(),
        }],
        (false, false) => of_rounds(experiment),
    };
    answer(experiment, late)
}

/// The maximum number of clients of a round. Each has its own thread and connection.
const ROUND_CLIENTS_MAX: u32 = 1000;

/// Notes keys that do not apply to rounds of queries.
fn of_rounds(experiment: &Experiment) -> Vec<Late> {
    let clients = clients(experiment)
        .into_iter()
        .filter(|(_, clients)| *clients > ROUND_CLIENTS_MAX)
        .map(|(path, clients)| Late {
            path,
            says: format!(
                "{clients} clients exceed the maximum of {ROUND_CLIENTS_MAX} in a round of queries"
            ),
            label: "too many",
            help: "use fewer; a timed load can have more".to_string(),
        });
    let others = other_keys(experiment).into_iter().map(|path| Late {
        path,
        says:
            "clients in rounds of queries send the next query at once, without think time or rate"
                .to_string(),
        label: "belongs to a timed load",
        help: "remove it".to_string(),
    });
    let rounds = further_rounds(experiment);
    let profile = useless_profiles(experiment);
    clients.chain(others).chain(rounds).chain(profile).collect()
}

/// Notes rounds of levels that the protocol does not have, because the columns of tables are those of the protocol. A timed load has none.
fn further_rounds(experiment: &Experiment) -> Vec<Late> {
    let has = |kind: RoundKind, rounds: &[RoundKind]| {
        rounds.iter().filter(|round| **round == kind).count()
    };
    let all = &experiment.protocol.rounds;
    let exceeds = |rounds: &[RoundKind]| {
        let kinds = [RoundKind::Cold, RoundKind::Hot];
        kinds
            .iter()
            .any(|kind| has(*kind, rounds) > has(*kind, all))
    };
    let patches = experiment.factors.iter().flat_map(changes);
    let beyond = patches.filter(|(_, patch)| patch.rounds.as_deref().is_some_and(exceeds));
    let (says, help) = match experiment.protocol.is_timed() {
        true => (
            "a timed load has no rounds that a level could choose",
            "remove it",
        ),
        false => (
            "the level adds rounds that [protocol] does not have",
            "list all rounds in [protocol]; a level can only omit some of them",
        ),
    };
    beyond
        .map(|(at, _)| Late {
            path: [at, path(&["protocol", "rounds"])].concat(),
            says: says.to_string(),
            label: "not in the protocol",
            help: help.to_string(),
        })
        .collect()
}

/// Notes profiles without effect: only rounds with one client are profiled.
fn useless_profiles(experiment: &Experiment) -> Vec<Late> {
    let several = clients(experiment);
    if several.is_empty() || several.iter().any(|(_, clients)| *clients == 1) {
        return Vec::new();
    }
    let of_level = |(at, patch): (Path, &Patch)| {
        let profile = patch.observe.as_ref()?.profile.as_ref()?;
        (!profile.is_empty()).then_some(at)
    };
    let of_levels = experiment.factors.iter().flat_map(changes);
    let of_levels = of_levels.filter_map(of_level);
    let of_file = (!experiment.observe.profile.is_empty()).then(Path::new);
    let late = of_file.into_iter().chain(of_levels).map(|at| Late {
        path: [at, path(&["observe", "profile"])].concat(),
        says: "queries are profiled only in rounds with one client, but every round has several"
            .to_string(),
        label: "no effect",
        help: "remove it, or add 1 to clients".to_string(),
    });
    late.collect()
}

/// Every number of clients, with its path.
fn clients(experiment: &Experiment) -> Vec<(Path, u32)> {
    let at = path(&["load", "closed", "clients"]);
    let LoadSpec::Closed { clients, .. } = experiment.load else {
        return Vec::new();
    };
    let of_level = |(path, load): (Path, LoadPatch)| {
        Some(([path, vec!["clients".to_string()]].concat(), load.clients?))
    };
    let listed = |factor: &&FactorSpec| factor.name == "clients";
    match experiment.factors.iter().find(listed) {
        Some(factor) => factor
            .levels
            .iter()
            .filter_map(|level| level.patch.load.as_ref()?.clients)
            .map(|clients| (at.clone(), clients))
            .collect(),
        None => vec![(at, clients)],
    }
    .into_iter()
    .chain(loads_of_levels(experiment).into_iter().filter_map(of_level))
    .collect()
}

/// All keys of the load except the clients.
fn other_keys(experiment: &Experiment) -> Vec<Path> {
    let of_file = match &experiment.load {
        LoadSpec::Closed { think, .. } if think.is_zero() => None,
        LoadSpec::Closed { .. } => Some(path(&["load", "closed", "think"])),
        LoadSpec::Open(_) => Some(path(&["load", "open"])),
    };
    let of_levels = loads_of_levels(experiment)
        .into_iter()
        .filter_map(|(at, load)| {
            let others = LoadPatch {
                clients: None,
                ..load
            };
            (others != LoadPatch::default()).then_some(at)
        });
    of_file.into_iter().chain(of_levels).collect()
}

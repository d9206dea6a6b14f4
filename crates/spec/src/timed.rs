//! Whether a file asks its workload for what it can do: rounds of queries, or operations for a time.
//!
//! Goal: no figure of one client under the name of eight, and no key without effect. Non-goals: knowing the workload (the
//! caller says what it is), driving it.

use super::experiment::{
    BuildSpec, EventKind, EventTime, Experiment, LevelSpec, RoundKind, ServerSpec,
};
use super::load::{LoadPatch, LoadSpec};
use super::mistake::SpecError;
use super::place::{Late, Path, answer, path};
use super::served;
use super::unit;

/// `has_driver` says whether the workload has operations for the load engine; else it has rounds of queries.
///
/// # Errors
/// Every place that asks for the other kind.
pub fn check(experiment: &Experiment, has_driver: bool) -> Result<(), SpecError> {
    let workload = &experiment.workload;
    let late = match (has_driver, experiment.protocol.is_timed()) {
        (true, true) => [pauses_of_others(experiment), too_late(experiment)].concat(),
        (true, false) => vec![Late {
            path: path(&["workload", workload]),
            says: format!(
                "the workload {workload} has no rounds: a timed load needs [protocol] time"
            ),
            label: "a timed load",
            help: "write time = \"60s\" in [protocol]".to_string(),
        }],
        (false, true) => vec![Late {
            path: path(&["protocol", "time"]),
            says: format!(
                "the workload {workload} has rounds of queries, which take the time they take"
            ),
            label: "no timed load",
            help: "write rounds = [\"cold\", \"hot\", \"hot\"] instead of the time".to_string(),
        }],
        (false, false) => of_rounds(experiment),
    };
    answer(experiment, late)
}

/// An event that would never happen.
fn too_late(experiment: &Experiment) -> Vec<Late> {
    let driven = experiment.protocol.driven();
    let late = experiment
        .events
        .iter()
        .enumerate()
        .filter_map(|(index, event)| {
            let (key, first) = match event.when {
                EventTime::At(at) => ("at", at),
                EventTime::Every(every) => ("every", every),
            };
            (first >= driven).then(|| Late {
                path: path(&["event", &index.to_string(), key]),
                says: format!(
                    "the load is over after {}, before this event happens",
                    unit::duration_text(driven)
                ),
                label: "after the end",
                help:
                    "write an earlier time, or a longer one in [protocol]; the warm-up begins at 0s"
                        .to_string(),
            })
        });
    late.collect()
}

/// Only what prony started can be paused.
fn pauses_of_others(experiment: &Experiment) -> Vec<Late> {
    let pauses = experiment
        .events
        .iter()
        .enumerate()
        .filter(|(_, event)| matches!(event.kind, EventKind::Pause(_)));
    let of_others = pauses.filter_map(|(index, event)| {
        let is_meant = |server: &&ServerSpec| {
            let only = event.only.iter().find(|(factor, _)| factor == "server");
            only.is_none_or(|(_, names)| names.contains(&server.name))
        };
        let is_other = |server: &&ServerSpec| {
            matches!(server.build, BuildSpec::External(_) | BuildSpec::Sqlite)
        };
        let meant = experiment.servers.iter().filter(is_meant);
        let mut run = meant.flat_map(|server| served::of(experiment, server, None));
        let server = run.find(|server| is_other(&server))?;
        Some(Late {
            path: path(&["event", &index.to_string(), "pause"]),
            says: format!(
                "the server \"{}\" is no process that prony started, and cannot be paused",
                server.name
            ),
            label: "not a process of prony's",
            help: "name the others with only = { server = [...] }".to_string(),
        })
    });
    of_others.collect()
}

/// Each client of a round has a thread and a connection of its own.
const ROUND_CLIENTS_MAX: u32 = 1000;

/// Clients of rounds ask as soon as they were answered, and nothing but SQL happens beside them.
fn of_rounds(experiment: &Experiment) -> Vec<Late> {
    let clients = clients(experiment)
        .into_iter()
        .filter(|(_, clients)| *clients > ROUND_CLIENTS_MAX)
        .map(|(path, clients)| Late {
            path,
            says: format!("{clients} clients are more than the {ROUND_CLIENTS_MAX} that a round of queries can have"),
            label: "too many",
            help: "take fewer; a timed load can have more".to_string(),
        });
    let others = other_keys(experiment).into_iter().map(|path| Late {
        path,
        says: "the clients of rounds of queries ask as soon as they were answered".to_string(),
        label: "belongs to a timed load",
        help: "take it out".to_string(),
    });
    let events = experiment.events.iter().enumerate().filter_map(|(index, event)| {
        let kind = match event.kind {
            EventKind::Sql(_) => return None,
            EventKind::Dump => "dump",
            EventKind::Pause(_) => "pause",
        };
        Some(Late {
            path: path(&["event", &index.to_string(), kind]),
            says: format!("events of the kind \"{kind}\" happen beside a timed load, not in rounds of queries"),
            label: "belongs to a timed load",
            help: "write an event with sql = \"...\"".to_string(),
        })
    });
    let rounds = further_rounds(experiment);
    let profile = useless_profile(experiment);
    clients
        .chain(others)
        .chain(events)
        .chain(rounds)
        .chain(profile)
        .collect()
}

/// Rounds of levels that the protocol does not have: the tables' columns are those of the protocol.
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
    let levels = experiment
        .factors
        .iter()
        .flat_map(|factor| factor.levels.iter().map(|level| (&factor.name, level)));
    let patches = levels.flat_map(|(factor, level)| {
        let at = path(&["factor", factor, &level.name]);
        let on = level.on.iter().map({
            let at = at.clone();
            move |(server, patch)| ([at.clone(), path(&["on", server])].concat(), patch)
        });
        std::iter::once((at, &level.patch)).chain(on)
    });
    let beyond = patches.filter(|(_, patch)| patch.rounds.as_deref().is_some_and(exceeds));
    beyond
        .map(|(at, _)| Late {
            path: [at, path(&["protocol", "rounds"])].concat(),
            says: "these are rounds that [protocol] does not have".to_string(),
            label: "more than the protocol's",
            help: "write all rounds in [protocol], a level can leave some of them out".to_string(),
        })
        .collect()
}

/// A profile is of a round with one client.
fn useless_profile(experiment: &Experiment) -> Option<Late> {
    let several = clients(experiment);
    let is_useless = !experiment.observe.profile.is_empty()
        && !several.is_empty()
        && several.iter().all(|(_, clients)| *clients > 1);
    is_useless.then(|| Late {
        path: path(&["observe", "profile"]),
        says: "queries are profiled in rounds of one client, and every round has several"
            .to_string(),
        label: "without effect",
        help: "take it out, or let the clients begin at 1".to_string(),
    })
}

/// Every number of clients, with its place.
fn clients(experiment: &Experiment) -> Vec<(Path, u32)> {
    let at = path(&["load", "closed", "clients"]);
    let LoadSpec::Closed { clients, .. } = experiment.load else {
        return Vec::new();
    };
    let of_level = |(path, load): (Path, LoadPatch)| {
        Some(([path, vec!["clients".to_string()]].concat(), load.clients?))
    };
    let listed = |factor: &&super::FactorSpec| factor.name == "clients";
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

/// Everything of the load but the clients.
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

/// The load of every level that the file names itself, with its place.
fn loads_of_levels(experiment: &Experiment) -> Vec<(Path, LoadPatch)> {
    let own = experiment
        .factors
        .iter()
        .filter(|factor| !super::load::LOAD_FACTORS.contains(&factor.name.as_str()));
    own.flat_map(|factor| {
        factor
            .levels
            .iter()
            .flat_map(|level| loads_of_level(&factor.name, level))
    })
    .collect()
}

fn loads_of_level(factor: &str, level: &LevelSpec) -> Vec<(Path, LoadPatch)> {
    let at = path(&["factor", factor, &level.name]);
    let own = level
        .patch
        .load
        .iter()
        .map(|load| ([at.clone(), path(&["load"])].concat(), load.clone()));
    let replaced = level.on.iter().filter_map(|(server, patch)| {
        Some((
            [at.clone(), path(&["on", server, "load"])].concat(),
            patch.load.clone()?,
        ))
    });
    own.chain(replaced).collect()
}

//! Checks that an experiment can be measured in slices.
//!
//! Purpose: what a pause of a server would change is refused, with the place, the cause and the way out. Boundaries: `plan::groups`
//! chooses the cells of a group, crate `load` runs the slices.

mod of_time;

use crate::experiment::place::{Late, Path, answer, path, path_for};
use crate::experiment::{Experiment, Protocol, RoundKind, ServerSpec, SliceSpec, Unit, WarmupSpec};
use crate::file::mistake::SpecError;
use crate::load::PlannedLoad;
use crate::machine::host::HostPatch;
use crate::machine::limits::LimitsPatch;
use crate::plan::PlannedTrial;
use crate::server::build::BuildSpec;
use crate::text::setting::listed;
use of_time::{DIFFERING, NOWHERE, OfTime};
use record::{Finding, Slices, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Workloads whose clients can pause between any two operations.
const WORKLOADS: [&str; 2] = ["oltp", "sql"];
const OFF: &str = "or write slices = \"off\" in [protocol]";

/// Checks an experiment whose protocol has slices; `groups` are those of one block. Does nothing without slices.
///
/// # Errors
/// Lists everything that cannot be measured in slices.
pub fn check(experiment: &Experiment, groups: &[Vec<PlannedTrial>]) -> Result<(), SpecError> {
    let protocol = &experiment.protocol;
    if protocol.slices.is_none() {
        return Ok(());
    }
    let mut late = match protocol.slice_length() {
        Some(length) => of_timed(experiment, length),
        None => Vec::new(),
    };
    if !experiment.events.is_empty() {
        late.push(refused(
            path(&["event"]),
            "events are due by the clock, which runs on while a server is paused between its slices"
                .into(),
            "remove them".into(),
        ));
    }
    late.extend(of_groups(groups));
    late.extend(of_claims(experiment));
    for trial in groups.iter().flatten() {
        push_once(&mut late, of_trial(experiment, trial));
    }
    for group in groups {
        push_once(&mut late, of_group(experiment, group));
        push_once(&mut late, of_rounds(group));
    }
    answer(experiment, late)
}

fn refused(path: Path, says: String, way_out: String) -> Late {
    Late {
        path,
        says,
        label: "not in slices",
        help: format!("{way_out}, {OFF}"),
    }
}

/// Slices that would change nothing: a cell that takes turns with its control alone is compared with no other.
fn of_groups(groups: &[Vec<PlannedTrial>]) -> Option<Late> {
    let is_alone = |group: &Vec<PlannedTrial>| {
        let cells = group.iter().filter(|trial| !trial.key.is_control());
        cells.count() < 2
    };
    let nothing_joins = groups.iter().all(is_alone);
    nothing_joins.then(|| {
        refused(
            path(&["protocol", "slices"]),
            "slices would have no effect: nothing is compared at the same load, so no servers take turns".into(),
            "compare two servers, variants or settings".into(),
        )
    })
}

/// Trials of one cell have the same mistakes.
fn push_once(late: &mut Vec<Late>, found: Vec<Late>) {
    for one in found {
        if late.iter().all(|known| known.says != one.says) {
            late.push(one);
        }
    }
}

/// What cannot be in slices of a timed load.
fn of_timed(experiment: &Experiment, length: Duration) -> Vec<Late> {
    let mut late = of_protocol(&experiment.protocol, length);
    if !WORKLOADS.contains(&experiment.workload.as_str()) {
        late.push(refused(
            path(&["workload", &experiment.workload]),
            format!("the workload {} cannot run in slices", experiment.workload),
            format!("slices are for {}", WORKLOADS.join(" and ")),
        ));
    }
    late
}

/// What cannot be in rounds that take turns query by query.
fn of_queries(experiment: &Experiment, trial: &PlannedTrial) -> Vec<Late> {
    let mut late = Vec::new();
    let is_of_rounds = experiment.protocol.unit == Unit::Round;
    if is_of_rounds && trial.rounds.contains(&RoundKind::Cold) {
        late.push(refused(
            path(&["protocol", "rounds"]),
            "a cold round of all queries empties the page cache, also of servers whose hot rounds follow".into(),
            "write unit = \"query\", which makes each query cold in its own turn, or rounds = [\"hot\", \"hot\"]".into(),
        ));
    }
    if trial.load.clients() > 1 {
        late.push(refused(
            path(&["load", "closed", "clients"]),
            format!(
                "{} clients run their queries at the same time, and a turn is one query",
                trial.load.clients()
            ),
            "use clients = [1]".into(),
        ));
    }
    late
}

/// Servers in turn have their queries at the same times, so they have the same rounds.
fn of_rounds(group: &[PlannedTrial]) -> Vec<Late> {
    let other = |one: &&PlannedTrial| one.rounds != group[0].rounds;
    let late = group.iter().find(other).map(|other| {
        refused(
            path(&["protocol", "slices"]),
            format!(
                "{} and {} have different rounds, so they cannot take turns query by query",
                group[0].key.label(),
                other.key.label()
            ),
            "give them the same rounds".into(),
        )
    });
    late.into_iter().collect()
}

fn of_protocol(protocol: &Protocol, length: Duration) -> Vec<Late> {
    let at = |key: &str| path(&["protocol", key]);
    let mut late = Vec::new();
    if protocol.series {
        late.push(refused(
            at("series"),
            "a series runs its loads one after another on one server, and slices need a server for each cell".into(),
            "remove it".into(),
        ));
    }
    if protocol.warmup == WarmupSpec::Find {
        late.push(refused(
            at("warmup"),
            "in slices the warm-up must be known beforehand: servers warm up one after another, and then take turns".into(),
            "write a duration such as warmup = \"10s\"".into(),
        ));
    }
    let time = protocol.measured();
    if time < length * Slices::MIN {
        late.push(refused(
            at("time"),
            format!(
                "a measured time of {} s has fewer than {} slices of {} s",
                time.as_secs_f64(),
                Slices::MIN,
                length.as_secs_f64()
            ),
            "measure longer, or in shorter slices".into(),
        ));
    }
    late
}

/// Shapes and what else a claim says of the order of seconds.
fn of_claims(experiment: &Experiment) -> Vec<Late> {
    let of_finding = |finding: &Finding| match finding {
        Finding::PlanChanged | Finding::PlanHolds(_) => None,
        Finding::Stall => Some("stalls"),
        Finding::LevelShift => Some("a level shift"),
        Finding::Period => Some("periodic drops"),
        Finding::Steady => Some("a steady state"),
        _ => Some("what a single server does over its time"),
    };
    let claims = experiment.claims.iter().enumerate();
    let late = claims.filter_map(|(index, claim)| {
        let (key, what) = match &claim.subject {
            Subject::Ratio { value, .. } | Subject::Spread { value, .. } => {
                ("value", value.of_order()?)
            }
            Subject::Finds { finding, .. } => ("finds", of_finding(finding)?),
        };
        Some(refused(
            path(&["claim", &index.to_string(), key]),
            format!(
                "the claim \"{}\" is about {what}, which pauses would change",
                claim.says
            ),
            "test it in an experiment of its own".into(),
        ))
    });
    late.collect()
}

fn of_trial(experiment: &Experiment, trial: &PlannedTrial) -> Vec<Late> {
    let mut late = Vec::new();
    if matches!(trial.load, PlannedLoad::Open { .. }) {
        late.push(refused(
            path(&["load", "open"]),
            "the arrivals of an open loop do not wait while a server is paused".into(),
            "use [load.closed]".into(),
        ));
    }
    late.extend(trial.server.as_ref().and_then(of_server));
    let is_by_query = experiment.protocol.slices == Some(SliceSpec::Query);
    if is_by_query {
        late.extend(of_queries(experiment, trial));
    }
    if !is_by_query && trial.limits != LimitsPatch::default() {
        late.push(refused(
            path(&["limits"]),
            "limits are set per second of the clock, which runs on while a server is paused".into(),
            "remove [limits] and the limits of levels".into(),
        ));
    }
    if trial.host != HostPatch::default() {
        late.push(refused(
            path(&["host"]),
            "volumes of several servers at the same time are not supported".into(),
            "remove [host] and the volumes of levels".into(),
        ));
    }
    for (setting, value) in trial.settings.iter().chain(&trial.session) {
        let name = listed(setting);
        let known = NOWHERE
            .iter()
            .filter(|known| known.of.settings.contains(&name.as_str()) && known.may_end(value));
        late.extend(known.map(|known| {
            refused(
                place_of_setting(experiment, trial, setting),
                format!(
                    "{setting} = {value} does not go with slices: {} ({})",
                    known.of.why, known.of.read_in
                ),
                "remove it".into(),
            )
        }));
    }
    late
}

fn of_server(server: &ServerSpec) -> Option<Late> {
    let why = match server.build {
        _ if server.cluster.is_some() => {
            "has several nodes, which notice that one of them is paused"
        }
        BuildSpec::External(_) => "was not started by prony, which stops only its own servers",
        BuildSpec::Sqlite => "runs within prony, and only a process of its own can be paused",
        _ => return None,
    };
    Some(refused(
        path(&["server", &server.name]),
        format!("the server {} {why}", server.name),
        "use a single server that prony starts".into(),
    ))
}

/// The settings about time in which cells must not differ.
fn of_time() -> impl Iterator<Item = (&'static str, &'static OfTime)> {
    let names = |known: &'static OfTime| known.settings.iter().map(move |name| (*name, known));
    DIFFERING.iter().flat_map(names)
}

/// Settings about time in which the cells of a group differ.
fn of_group(experiment: &Experiment, group: &[PlannedTrial]) -> Vec<Late> {
    let value = |trial: &PlannedTrial, name: &str| {
        let mut settings = trial.settings.iter().chain(&trial.session);
        // Sessions have their own value where both are set.
        let found = settings.rfind(|(setting, _)| listed(setting) == name);
        found.map(|(_, value)| value.to_string())
    };
    let late = of_time().filter_map(|(name, known)| {
        let first = value(group.first()?, name);
        let other = group.iter().find(|trial| value(trial, name) != first)?;
        let has_it = |trial: &&PlannedTrial| value(trial, name).is_some();
        let holder = group.iter().rev().find(has_it).unwrap_or(other);
        Some(refused(
            place_of_setting(experiment, holder, name),
            format!(
                "{name} differs between {} and {}, and slices would change what it does: {} ({})",
                group[0].key.label(),
                other.key.label(),
                known.why,
                known.read_in
            ),
            "measure it with trials in turn".into(),
        ))
    });
    late.collect()
}

/// Of each of the servers that took turns, the settings about time in which they differ, as a sentence; empty if in none. `servers` have their
/// settings as they report them: versions have other defaults, which no file sets.
pub fn differing(servers: &[&BTreeMap<String, String>]) -> Vec<String> {
    let differs = |name: &str| {
        let values = servers.iter().filter_map(|one| one.get(name));
        values.collect::<BTreeSet<_>>().len() > 1
    };
    let found: Vec<_> = of_time().filter(|(name, _)| differs(name)).collect();
    let sentence = |server: &&BTreeMap<String, String>| {
        let own = found.iter().map(|(name, known)| {
            let value = server.get(*name).map_or("absent", String::as_str);
            format!("{name}, here {value} ({})", known.why)
        });
        format!(
            "the servers that took turns differ in settings about time, and their pauses change what these do: {}; compare them with slices = \"off\" too",
            own.collect::<Vec<_>>().join("; ")
        )
    };
    match found.is_empty() {
        true => Vec::new(),
        false => servers.iter().map(sentence).collect(),
    }
}

/// The key that sets a setting of a trial.
fn place_of_setting(experiment: &Experiment, trial: &PlannedTrial, name: &str) -> Path {
    path_for(experiment, &trial.key, &["settings", name], |patch| {
        let mut settings = patch.settings.iter().flatten();
        settings.any(|(setting, _)| listed(setting) == listed(name))
    })
}

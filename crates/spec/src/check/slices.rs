//! Checks that an experiment can be measured in slices.
//!
//! Purpose: what a pause of a server would change is refused, with the place, the cause and the way out. Boundaries: `plan::groups`
//! chooses the cells of a group, crate `load` runs the slices.

use crate::experiment::place::{Late, Path, answer, path, path_for};
use crate::experiment::{
    Experiment, Protocol, RoundKind, SLICES_MIN, ServerSpec, SliceSpec, Unit, WarmupSpec,
};
use crate::file::mistake::SpecError;
use crate::load::PlannedLoad;
use crate::machine::host::HostPatch;
use crate::machine::limits::LimitsPatch;
use crate::plan::PlannedTrial;
use crate::server::build::BuildSpec;
use crate::text::setting::plain;
use record::{Finding, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Workloads whose clients can pause between any two operations.
const WORKLOADS: [&str; 2] = ["oltp", "sql"];
const OFF: &str = "or write slices = \"off\" in [protocol]";

/// A setting whose effect depends on time that goes on while its server is paused, and why: from the manuals of MySQL 8.0 to 9.x and
/// MariaDB, "InnoDB Startup Options and System Variables", "Server System Variables", "Thread Pool", "Aria", and of MyRocks.
///
/// Times within a statement are not among them, such as `long_query_time`, `max_statement_time` and waits for locks: a slice ends when
/// its last operation has ended, so no statement spans a pause. Nor are delays of a commit and spins.
struct OfTime {
    name: &'static str,
    why: &'static str,
}

const fn of_time(name: &'static str, why: &'static str) -> OfTime {
    OfTime { name, why }
}

const PER_SECOND: &str =
    "the page cleaner works once a second, and its second is over at once after a pause";
const LOG_TIMER: &str = "the log is flushed once a second, which is overdue after each pause";
const MERGES: &str = "the change buffer is merged in the background once a second, and its second is over at once after a pause";
const KEYS: &str = "it works in the background, by the second";
const ROCKS: &str = "its bytes per second may be made up for after a pause";
const OPEN: &str = "a transaction that is open between two operations is idle during a pause, and the server ends it";
const IDLE: &str = "connections are idle during a pause, and the server closes them";

/// Where cells of a group differ in one of these, a pause may change the answer.
const DIFFERING: &[OfTime] = &[
    of_time("innodb_flush_log_at_trx_commit", LOG_TIMER),
    of_time("innodb_flush_log_at_timeout", LOG_TIMER),
    of_time(
        "innodb_old_blocks_time",
        "its milliseconds run on during a pause, so that more pages are old enough to become young",
    ),
    of_time("innodb_io_capacity", PER_SECOND),
    of_time("innodb_io_capacity_max", PER_SECOND),
    of_time("innodb_lru_scan_depth", PER_SECOND),
    of_time("innodb_adaptive_flushing", PER_SECOND),
    of_time("innodb_adaptive_flushing_lwm", PER_SECOND),
    of_time(
        "innodb_flushing_avg_loops",
        "it averages over the last seconds, pauses among them",
    ),
    of_time("innodb_flush_sync", PER_SECOND),
    of_time("innodb_max_dirty_pages_pct", PER_SECOND),
    of_time("innodb_max_dirty_pages_pct_lwm", PER_SECOND),
    of_time("innodb_change_buffering", MERGES),
    of_time("innodb_change_buffer_max_size", MERGES),
    of_time(
        "innodb_idle_flush_pct",
        "a paused server does nothing, so it counts as idle afterwards",
    ),
    of_time(
        "innodb_stats_auto_recalc",
        "statistics are computed in the background, at times of their own",
    ),
    of_time("innodb_encryption_threads", KEYS),
    of_time("innodb_encryption_rotation_iops", KEYS),
    of_time(
        "innodb_defragment_frequency",
        "it works so many times a second, and is due at once after a pause",
    ),
    of_time(
        "aria_checkpoint_interval",
        "its seconds run on during a pause",
    ),
    of_time(
        "aria_group_commit_interval",
        "the log is synced at this interval, which is over after each pause",
    ),
    of_time("flush_time", "its seconds run on during a pause"),
    of_time(
        "thread_pool_stall_limit",
        "a pause counts as a stall, so that the pool starts threads",
    ),
    of_time(
        "thread_pool_idle_timeout",
        "threads are idle during a pause, and the pool ends them",
    ),
    of_time("rocksdb_flush_log_at_trx_commit", LOG_TIMER),
    of_time("rocksdb_rate_limiter_bytes_per_sec", ROCKS),
    of_time("rocksdb_delayed_write_rate", ROCKS),
    of_time(
        "binlog_expire_logs_seconds",
        "binary logs grow older during a pause, and are deleted after it",
    ),
];

/// These are refused in any cell, unless they are off.
const NOWHERE: &[OfTime] = &[
    of_time(
        "event_scheduler",
        "its events are due by the clock, so that they run more often in each measured second, and at once after a pause",
    ),
    of_time("wait_timeout", IDLE),
    of_time("interactive_timeout", IDLE),
    of_time("idle_transaction_timeout", OPEN),
    of_time("idle_readonly_transaction_timeout", OPEN),
    of_time("idle_write_transaction_timeout", OPEN),
    of_time(
        "innodb_fatal_semaphore_wait_threshold",
        "a thread may wait for a latch during a pause, and the server ends itself if that took too long",
    ),
];

/// Checks an experiment whose protocol has slices; `groups` are those of one block. Does nothing without slices.
///
/// # Errors
/// Lists everything that cannot be measured in slices.
pub fn check(experiment: &Experiment, groups: &[Vec<PlannedTrial>]) -> Result<(), SpecError> {
    let protocol = &experiment.protocol;
    let mut late = match protocol.slices {
        None => return Ok(()),
        Some(SliceSpec::Time(length)) => of_timed(experiment, length),
        Some(SliceSpec::Query) => Vec::new(),
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

/// Slices that would change nothing.
fn of_groups(groups: &[Vec<PlannedTrial>]) -> Option<Late> {
    let nothing_joins = groups.iter().all(|group| group.len() < 2);
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
    let warmup = Duration::from_secs_f64(protocol.warmup_note().known_s());
    let time = protocol.driven().saturating_sub(warmup);
    if time < length * SLICES_MIN {
        late.push(refused(
            at("time"),
            format!(
                "a measured time of {} s has fewer than {SLICES_MIN} slices of {} s",
                time.as_secs_f64(),
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
            "ask it in an experiment of its own".into(),
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
        let known = |known: &&OfTime| known.name == plain(setting) && !value.is_off();
        let known = NOWHERE.iter().find(known);
        late.extend(known.map(|known| {
            refused(
                place_of_setting(experiment, trial, setting),
                format!("{setting} cannot be set with slices: {}", known.why),
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

/// Settings about time in which the cells of a group differ.
fn of_group(experiment: &Experiment, group: &[PlannedTrial]) -> Vec<Late> {
    let value = |trial: &PlannedTrial, name: &str| {
        let mut settings = trial.settings.iter().chain(&trial.session);
        let found = settings.find(|(setting, _)| plain(setting) == name);
        found.map(|(_, value)| value.to_string())
    };
    let late = DIFFERING.iter().filter_map(|known| {
        let first = value(group.first()?, known.name);
        let other = group
            .iter()
            .find(|trial| value(trial, known.name) != first)?;
        let has_it = |trial: &&PlannedTrial| value(trial, known.name).is_some();
        let holder = group.iter().rev().find(has_it).unwrap_or(other);
        Some(refused(
            place_of_setting(experiment, holder, known.name),
            format!(
                "{} differs between {} and {}, and slices would change what it does: {}",
                known.name,
                group[0].key.label(),
                other.key.label(),
                known.why
            ),
            "measure it with trials in turn".into(),
        ))
    });
    late.collect()
}

/// In which settings about time servers that took turns differ, as a sentence; None if in none. `servers` have their settings as they
/// report them: versions have other defaults, which no file sets.
pub fn differing(servers: &[&BTreeMap<String, String>]) -> Option<String> {
    let differs = |known: &&OfTime| {
        let values = servers.iter().filter_map(|one| one.get(known.name));
        values.collect::<BTreeSet<_>>().len() > 1
    };
    let found = DIFFERING.iter().filter(differs);
    let found: Vec<String> = found
        .map(|known| format!("{} ({})", known.name, known.why))
        .collect();
    (!found.is_empty()).then(|| {
        format!(
            "the servers that took turns differ in settings about time, and their pauses change what these do: {}; compare them with slices = \"off\" too",
            found.join("; ")
        )
    })
}

/// The key that sets a setting of a trial.
fn place_of_setting(experiment: &Experiment, trial: &PlannedTrial, name: &str) -> Path {
    path_for(experiment, &trial.key, &["settings", name], |patch| {
        let mut settings = patch.settings.iter().flatten();
        settings.any(|(setting, _)| plain(setting) == plain(name))
    })
}

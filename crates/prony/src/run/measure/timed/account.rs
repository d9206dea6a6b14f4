//! Records a load.
//!
//! Purpose: record everything that the statistics need, and flag what makes the figures unusable. Outside this module: judging them.

use super::concurrent::Observed;
use super::{Driving, Timed, effects, refused};
use crate::lock;
use crate::run::drive;
use crate::run::place::beats::Series;
use host::machine;
use load::{Backend, Driven, Ending, OwnStall, Second, Tally, Window};
use observe::{Gap, Sampled};
use record::load::THREADS;
use record::{
    Account, CARRIED, CARRIED_ERRORS, EngineNote, EngineStall, ErrorCount, ErrorKind, EventNote,
    FlagKind, HELD_MS, HistogramNote, LatencyKind, LiveSample, Loaded, Mode, OpenNote, Requirement,
    ShardStart, Slices, Standard, Summary, Trial, Unfinished, done_series,
};
use std::collections::BTreeMap;

/// Seconds between the end of an outage and the first sample after it: the rest of a second, the connection, and a whole second.
const NOTICED_WITHIN_S: f64 = 3.0;

/// Adds the load to its trial.
///
/// `explain`: what was said when an operation first failed with a code.
pub(super) fn enter(
    timed: &Timed,
    trial: &mut Trial,
    drive: Driving,
    observed: Observed,
    explain: &dyn Fn(u16) -> Option<String>,
) {
    let driven = &drive.driven;
    flag_failures(trial, driven);
    let effects = effects::noted(&drive.operations, &driven.tallies, &drive.effects);
    trial.flags.extend(effects::flags(&effects));
    observed.happened.enter(trial);
    let mode = drive::mode_of(
        &timed.share(),
        &timed.planned.load,
        timed.bench.protocol,
        timed.workload,
    );
    flag_outages(trial, &drive, &mode);
    flag_sampled(trial, &observed.sampled, driven);
    let foreign = foreign_clients(timed, &observed.sampled);
    trial.flag_each(FlagKind::ForeignClients, foreign);
    trial.flag_each(FlagKind::ClientsLink, observed.full_link);
    let mut load = Loaded {
        open: matches!(mode, Mode::Open { .. }).then(|| open_note(driven)),
        mode,
        warmup: timed.bench.protocol.warmup_note(),
        started_ns: driven.started_ns,
        elapsed_s: driven.elapsed.as_secs_f64(),
        errors: drive.recorded.errors,
        engine: EngineNote {
            shards: started(timed, driven),
            effects,
            rows: effects::rows(&drive.operations, &driven.tallies, &drive.effects),
            slices: drive.slices,
            ..engine(&drive.operations, driven)
        },
        histograms: drive.recorded.histograms,
        operations: drive.operations,
        standard: drive.standard,
        series: series(observed.sampled.series, drive.recorded.series),
        node_series: observed.further,
        counters: observed.sampled.counters,
        summary: None,
    };
    let cluster = timed.planned.server.as_ref().and_then(|own| own.cluster);
    let is_semi_sync = cluster.is_some_and(|cluster| cluster.semi_sync);
    let flag = effects::unacknowledged(is_semi_sync, &load.counters);
    trial.flags.extend(flag);
    load.summary = Some(summary(trial, &load, explain));
    trial.load = Some(Box::new(load));
}

/// Clients that had no session at the end, and a throughput that did not come back.
fn flag_outages(trial: &mut Trial, drive: &Driving, mode: &Mode) {
    let driven = &drive.driven;
    let end_ns = driven.started_ns + driven.until.as_nanos() as i64;
    refused::flag(trial, &driven.refused_to_end, (driven.started_ns, end_ns));
    let throughput = drive.recorded.series.get("throughput");
    let throughput = throughput.map_or(&[][..], Vec::as_slice);
    let missing = stats::add_recovered(&mut trial.events, throughput, driven.started_ns, mode);
    trial.flag_each(FlagKind::NotRecovered, missing);
}

/// What the sampler flags, and seconds without a status that no outage explains.
fn flag_sampled(trial: &mut Trial, sampled: &Sampled, driven: &Driven) {
    let down = down(&trial.events, driven.started_ns);
    let gap = unexplained(&sampled.gaps, &down, driven.until.as_secs_f64());
    let flags = sampled.flags.iter().cloned();
    for one in flags.chain(gap.map(|gap| gap.flag())) {
        trial.flag(one.kind, one.text);
    }
}

/// The series of the sampler and of the engine. One that is rarely in use is left out where it was not.
fn series(mut series: Series, recorded: Series) -> Series {
    series.extend(recorded);
    series.retain(|name, seconds| {
        let is_rare = [CARRIED, CARRIED_ERRORS, HELD_MS].contains(&name.as_str());
        !is_rare || seconds.iter().flatten().any(|value| *value > 0.0)
    });
    series
}

/// The summary of the load. Flags what it shows.
fn summary(trial: &mut Trial, load: &Loaded, explain: &dyn Fn(u16) -> Option<String>) -> Summary {
    let summary = stats::summarise(load);
    trial.flag_engine(&summary.engine);
    if let Some(text) = stats::too_long(load, &summary.accounts) {
        trial.invalidate(FlagKind::OperationTooLong, text);
    }
    trial.flag_each(FlagKind::WarmUpBacklog, stats::backlog(load, &summary));
    flag_failed_operations(trial, load, &summary.accounts, explain);
    flag_slices(trial, load.engine.slices.as_ref());
    summary
}

/// Of a server that prony did not start. The clients of other shards of the load are foreign to this one.
fn foreign_clients(timed: &Timed, sampled: &Sampled) -> Option<String> {
    let is_external = timed.planned.server.as_ref()?.build.is_external();
    let is_whole = timed.bench.meeting.is_none();
    (is_external && is_whole)
        .then(|| sampled.foreign_clients())
        .flatten()
}

/// From when to when the server was down, in seconds since the start of the load. The sampler reads the first node: if an event left it
/// down, it is so until another one has started it. Outages that follow each other at once are one.
fn down(events: &[EventNote], started_ns: i64) -> Vec<(f64, f64)> {
    let at_s = |ns: i64| (ns - started_ns) as f64 / 1e9;
    let of = |event: &EventNote| {
        let last = match event.node.is_none_or(|node| node == 1) {
            true => refused::started_by(event, events),
            false => Some(event),
        };
        let ended_ns = last.and_then(|last| last.ended_ns);
        (at_s(event.at_ns), ended_ns.map_or(f64::INFINITY, at_s))
    };
    let outages = events.iter().filter(|event| event.is_outage());
    let mut each: Vec<(f64, f64)> = outages.map(of).collect();
    each.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut down: Vec<(f64, f64)> = Vec::new();
    for (began_s, ended_s) in each {
        match down.last_mut() {
            Some(last) if began_s <= last.1 + NOTICED_WITHIN_S => last.1 = last.1.max(ended_s),
            _ => down.push((began_s, ended_s)),
        }
    }
    down
}

/// The seconds without a status in which the server was not down, from the first to the last of them. The sampler notices both ends of an
/// outage up to a second late.
fn unexplained(gaps: &[Gap], down: &[(f64, f64)], load_s: f64) -> Option<Gap> {
    let is_explained = |gap: &&Gap| {
        let until_s = gap.until_s.map_or(load_s, f64::from);
        down.iter().any(|(began_s, ended_s)| {
            *began_s <= f64::from(gap.from_s) + NOTICED_WITHIN_S
                && until_s <= ended_s + NOTICED_WITHIN_S
        })
    };
    let others = gaps.iter().filter(|gap| !is_explained(gap)).cloned();
    others.reduce(|first, last| Gap {
        until_s: last.until_s,
        ..first
    })
}

/// Operations that failed or did not end, with the first message of the most frequent error. Where most failed, the trial is invalid, unless
/// an event of the experiment made them fail.
fn flag_failed_operations(
    trial: &mut Trial,
    load: &Loaded,
    accounts: &[Account],
    explain: &dyn Fn(u16) -> Option<String>,
) {
    let spoiled = stats::spoiled(accounts);
    if spoiled.is_empty() {
        return;
    }
    let codes = stats::total(accounts).errors_by_code.into_iter();
    let most = codes.max_by_key(|(_, count)| *count);
    let said = most.and_then(|(code, _)| explain(code));
    let because = said.map(|said| format!(" ({said})")).unwrap_or_default();
    let is_meant = made_them_fail(&trial.events, load);
    match stats::mostly_failed(accounts).filter(|_| !is_meant) {
        Some(failed) => {
            trial.invalidate(FlagKind::OperationsFailed, failed + &because);
            trial.flag(FlagKind::OperationsFailed, spoiled.join("; "));
        }
        None => trial.flag(FlagKind::OperationsFailed, spoiled.join("; ") + &because),
    }
}

/// Whether an event can be why most operations failed: there was one, and most did not fail before it.
fn made_them_fail(events: &[EventNote], load: &Loaded) -> bool {
    let Some(first) = events.iter().find(|event| event.fails_operations()) else {
        return false;
    };
    let first_s = ((first.at_ns - load.started_ns) as f64 / 1e9).max(0.0) as usize;
    let before = |name: &str| -> f64 {
        let seconds = load.seconds(name).iter().take(first_s);
        let measured = seconds.skip(load.warmup.known_s().ceil() as usize);
        measured.flatten().sum()
    };
    before("errors") <= before("throughput")
}

/// Slices that were too short for their operations.
fn flag_slices(trial: &mut Trial, slices: Option<&Slices>) {
    match slices.and_then(stats::short_slices) {
        Some((text, true)) => trial.invalidate(FlagKind::SlicesShort, text),
        Some((text, false)) => trial.flag(FlagKind::SlicesShort, text),
        None => {}
    }
}

fn flag_failures(trial: &mut Trial, driven: &Driven) {
    if let Some((client, failure)) = driven.ended_early.first() {
        let count = driven.ended_early.len();
        trial.invalidate(
            FlagKind::ClientsLost,
            format!("{count} clients ended early, first client {client}: {failure}"),
        );
    }
    trial.flag_each(FlagKind::Stopped, driven.stopped.as_deref());
}

/// How this shard of the load began; empty for a whole load.
fn started(timed: &Timed, driven: &Driven) -> Vec<ShardStart> {
    let meeting = timed.bench.meeting.map(lock);
    let started = meeting.and_then(|meeting| meeting.started(driven.woken));
    started.into_iter().collect()
}

/// A series of the engine: its name and how to read its value.
type Column = (&'static str, fn(&Second) -> u64);

const COLUMNS: [Column; 11] = [
    ("throughput", |second| second.tally.done()),
    ("errors", |second| second.tally.not_done()),
    ("retried", |second| second.tally[Ending::Retried]),
    ("unknown", |second| second.tally[Ending::Unknown]),
    ("dropped", |second| second.dropped),
    (HELD_MS, |second| second.held.as_millis() as u64),
    ("queued", |second| second.queued),
    ("running", |second| u64::from(second.running)),
    ("idle", |second| u64::from(second.idle)),
    (CARRIED, |second| {
        second.carried.tallies.iter().map(Tally::done).sum()
    }),
    (CARRIED_ERRORS, |second| {
        second.carried.tallies.iter().map(Tally::not_done).sum()
    }),
];

/// Collects what the engine reports during the load. Histograms are packed at once, since hours of unpacked ones would take gigabytes.
#[derive(Default)]
pub(super) struct Recorder {
    /// Names of the operations, in the workload's order.
    operations: Vec<String>,
    /// The names of their own series.
    done_series: Vec<String>,
    measured_from_s: u32,
    /// The engine's series, one value per second.
    series: BTreeMap<String, Vec<Option<f64>>>,
    errors: Vec<ErrorCount>,
    /// Response times of all operations per second, and of each operation and kind per ten seconds.
    histograms: Vec<HistogramNote>,
}

impl Recorder {
    pub(super) fn of(operations: &[String], measured_from_s: u32) -> Recorder {
        Recorder {
            measured_from_s,
            operations: operations.to_vec(),
            done_series: operations.iter().map(|name| done_series(name)).collect(),
            ..Recorder::default()
        }
    }

    pub(super) fn second(&mut self, second: &Second) {
        for (name, of) in COLUMNS {
            let series = self.series.entry(name.to_string()).or_default();
            series.push(Some(of(second) as f64));
        }
        for (name, tally) in self.done_series.iter().zip(&second.tallies) {
            let series = self.series.entry(name.clone()).or_default();
            series.push(Some(tally.done() as f64));
        }
        let own = second.errors.iter();
        let own = own.map(|(fault, count)| (second.second, *fault, *count));
        let warmed_up_s = self.measured_from_s.saturating_sub(1);
        let carried = second.carried.errors.iter();
        let carried = carried.map(|(fault, count)| (warmed_up_s, *fault, *count));
        let errors = own.chain(carried).map(|(second, fault, count)| ErrorCount {
            second,
            kind: error_kind(fault.ending),
            operation: self.operations.get(usize::from(fault.operation)).cloned(),
            code: fault.code,
            count,
        });
        self.errors.extend(errors);
        self.histograms.push(HistogramNote {
            operation: None,
            kind: LatencyKind::Response,
            every_s: 1,
            start_s: second.second,
            nanoseconds: (&second.response).into(),
        });
    }

    /// Adds the histograms of all windows.
    pub(super) fn windows(&mut self, windows: Vec<HistogramNote>) {
        self.histograms.extend(windows);
    }
}

/// A workload's standard, with the names of its operations.
pub(super) fn standard(operations: &[String], standard: load::Standard) -> Option<Standard> {
    let named = operations.iter().zip(&standard.requirements);
    let requirements = named.map(|(operation, requirement)| Requirement {
        operation: operation.clone(),
        minimum_share: requirement.minimum_share,
        is_in_mix: requirement.is_in_mix,
        p90_limit_s: requirement.p90_limit_s,
    });
    Some(Standard {
        counted: operations.get(usize::from(standard.counted))?.clone(),
        per_minute: standard.per_minute.to_string(),
        requirements: requirements.collect(),
    })
}

/// The kind of error, or None if the operation succeeded.
fn error_kind(ending: Ending) -> Option<ErrorKind> {
    match ending {
        Ending::Done => None,
        Ending::Retried => Some(ErrorKind::Retried),
        Ending::Failed => Some(ErrorKind::Failed),
        Ending::Lost => Some(ErrorKind::Lost),
        Ending::Unknown => Some(ErrorKind::Unknown),
    }
}

fn errors_by_code(second: &Second) -> BTreeMap<u16, u64> {
    let mut counts = BTreeMap::new();
    for (fault, count) in &second.errors {
        *counts.entry(fault.code).or_default() += count;
    }
    counts
}

/// The histogram of ten seconds of an operation.
pub(super) fn of_window(operations: &[String], window: &Window) -> HistogramNote {
    HistogramNote {
        operation: operations.get(usize::from(window.operation)).cloned(),
        kind: match window.kind {
            load::LatencyKind::Response => LatencyKind::Response,
            load::LatencyKind::Wait => LatencyKind::Wait,
            load::LatencyKind::Service => LatencyKind::Service,
            load::LatencyKind::Failed => LatencyKind::Failed,
        },
        every_s: load::WINDOW_S,
        start_s: window.start_s,
        nanoseconds: (&window.nanoseconds).into(),
    }
}

/// The operations that were cut off by the end of the load, where there were any.
fn unfinished(operations: &[String], driven: &Driven) -> Vec<Unfinished> {
    let late = operations.iter().zip(&driven.late);
    let cut_off = late.filter(|(_, late)| late.ended() > 0);
    cut_off
        .map(|(operation, late)| Unfinished {
            operation: operation.clone(),
            done: late.done(),
            not_done: late.not_done(),
        })
        .collect()
}

fn engine(operations: &[String], driven: &Driven) -> EngineNote {
    let lateness_us = |quantile: f64| {
        let counted = !driven.lateness.is_empty();
        counted.then(|| driven.lateness.value_at_quantile(quantile) as f64 / 1e3)
    };
    EngineNote {
        backend: match driven.backend {
            Backend::Uring => "io_uring",
            Backend::Epoll => "epoll",
            Backend::Aio => "libaio",
            Backend::Blocking => THREADS,
        }
        .to_string(),
        reactors: driven.reactors as u32,
        cpu_user_s: driven.cpu_user_s,
        cpu_system_s: driven.cpu_system_s,
        cores: f64::from(machine::cores()),
        open_s: driven.open_s,
        lateness_us_p50: lateness_us(0.5),
        lateness_us_p99: lateness_us(0.99),
        lateness_us_max: lateness_us(1.0),
        ended_early: (driven.ended_early.len() + driven.refused_to_end.len()) as u32,
        stopped: driven.stopped.clone(),
        until_s: Some(driven.until.as_secs_f64()),
        unfinished: unfinished(operations, driven),
        stalls: driven.stalls.iter().map(engine_stall).collect(),
        ..EngineNote::default()
    }
}

fn engine_stall(stall: &OwnStall) -> EngineStall {
    EngineStall {
        second: stall.second,
        stood_s: stall.stood.as_secs_f64(),
        longest_s: stall.longest.as_secs_f64(),
    }
}

fn open_note(driven: &Driven) -> OpenNote {
    OpenNote {
        arrived: driven.arrived,
        started: driven.started,
        queued_at_end: driven.queued_at_end,
        dropped: driven.dropped,
        held_s: driven.held.as_secs_f64(),
    }
}

/// One second for live display.
pub(super) fn live(second: &Second, sampled: BTreeMap<String, f64>) -> LiveSample {
    let own = COLUMNS.map(|(name, of)| (name.to_string(), of(second) as f64));
    let latency = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)].map(|(name, quantile)| {
        let nanoseconds = second.response.value_at_quantile(quantile);
        (name.to_string(), nanoseconds as f64 / 1e6)
    });
    LiveSample {
        values: sampled.into_iter().chain(own).collect(),
        latency_ms: match second.response.is_empty() {
            true => BTreeMap::new(),
            false => latency.into(),
        },
        errors: errors_by_code(second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::measure::timed::refused::tests::event;
    use crate::run::measure::trial::blank;
    use record::TrialState;
    use record::event::{KILL, PAUSE, START, STOP};

    fn account(failed: u64) -> Vec<Account> {
        vec![Account {
            name: "update".into(),
            is_in_mix: true,
            starts: 100,
            ends: 100,
            done: 100 - failed,
            errors: failed,
            errors_by_code: BTreeMap::from([(1366, failed)]),
            ..Account::default()
        }]
    }

    /// A trial in which so many of 100 operations failed.
    fn flagged(failed: u64, event: Option<&str>) -> Trial {
        flagged_at(0, failed, event)
    }

    /// The same, with the event in this second of a load in whose first ten seconds as many operations failed.
    fn flagged_at(second: i64, failed: u64, event: Option<&str>) -> Trial {
        let each = |count: u64| vec![Some(count as f64); 10];
        let load = Loaded {
            series: BTreeMap::from([
                ("errors".to_string(), each(failed)),
                ("throughput".to_string(), each(100 - failed)),
            ]),
            ..Loaded::default()
        };
        let mut trial = blank();
        trial.events.extend(event.map(|kind| EventNote {
            at_ns: second * 1_000_000_000,
            ended_ns: None,
            kind: kind.into(),
            node: None,
            numbers: BTreeMap::new(),
            text: String::new(),
        }));
        let explain = |code| (code == 1366).then(|| "error 1366: no integer".to_string());
        flag_failed_operations(&mut trial, &load, &account(failed), &explain);
        trial
    }

    /// The first and the last second of the gaps of a load of 60 s that these outages do not explain.
    fn left(outages: &[EventNote], gaps: &[(u32, Option<u32>)]) -> Option<(u32, Option<u32>)> {
        let gap = |(from_s, until_s): &(u32, Option<u32>)| Gap {
            from_s: *from_s,
            until_s: *until_s,
            cause: String::new(),
        };
        let gaps: Vec<Gap> = gaps.iter().map(gap).collect();
        let down = down(outages, 0);
        unexplained(&gaps, &down, 60.0).map(|gap| (gap.from_s, gap.until_s))
    }

    #[test]
    fn each_gap_of_the_status_needs_an_outage_of_its_own() {
        let kills = [(10, 12), (50, 52)].map(|at| event(KILL, at, true));
        let known = [(9, Some(14)), (49, Some(54))];
        assert_eq!(left(&kills, &known), None);
        let hang = (25, Some(35));
        assert_eq!(left(&kills, &[known[0], hang, known[1]]), Some(hang));
        assert_eq!(left(&kills[..1], &[known[0], (40, None)]), Some((40, None)));
        assert_eq!(left(&[], &[known[0], hang]), Some((9, Some(35))));
    }

    #[test]
    fn a_server_that_is_left_down_is_so_until_it_is_started() {
        let stop = event(STOP, (10, 11), false);
        let start = event(START, (40, 42), true);
        let whole = [(10, Some(44))];
        assert_eq!(left(&[stop.clone(), start], &whole), None);
        assert_eq!(left(&[stop], &[(10, None)]), None);
        let at_the_end = event(KILL, (58, 70), true);
        assert_eq!(left(&[at_the_end], &[(58, None)]), None);
    }

    #[test]
    fn a_load_that_mostly_failed_is_invalid_and_says_what_the_server_said() {
        let trial = flagged(60, None);
        assert_eq!(trial.state, TrialState::Invalid);
        assert_eq!(
            trial.reason(),
            Some(
                "less than half of the operations were done: 60 of 100 failed (error 1366: no integer)"
            )
        );
        assert_eq!(trial.flags[1].text.matches("no integer").count(), 0);
    }

    #[test]
    fn an_event_that_stops_or_pauses_a_server_may_fail_most_operations() {
        for event in [KILL, PAUSE] {
            assert_eq!(flagged(60, Some(event)).state, TrialState::Done, "{event}");
        }
        assert_eq!(flagged(60, Some("sql")).state, TrialState::Invalid);
    }

    #[test]
    fn an_event_is_not_why_most_operations_failed_before_it() {
        assert_eq!(flagged_at(5, 60, Some(KILL)).state, TrialState::Invalid);
        assert_eq!(flagged_at(5, 50, Some(KILL)).state, TrialState::Done);
    }

    #[test]
    fn a_load_of_which_half_was_done_is_flagged_with_the_message() {
        let trial = flagged(50, None);
        assert_eq!(trial.state, TrialState::Done);
        let expected = "50 of 100 operations (50 %) failed, were lost or did not finish (error 1366: no integer)";
        assert_eq!(trial.flags[0].text, expected);
    }
}

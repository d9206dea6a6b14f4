//! Claims, tables and comparisons of timed loads whose figures are known.

use crate::common;
use crate::common::{judge, run, timed};
use hdrhistogram::Histogram;
use record::*;
use stats::{best_workers, loads, predictions, scaling, summarise};
use std::collections::BTreeMap;

mod resolution;
mod unserved;

type Levels<'l> = [(&'l str, &'l str)];

fn key(block: u32, levels: &Levels) -> TrialKey {
    TrialKey {
        block,
        server: Some("5.6".into()),
        levels: levels
            .iter()
            .map(|(f, l)| (f.to_string(), l.to_string()))
            .collect(),
        role: record::Role::Measured,
    }
}

fn seconds(of: impl Fn(usize) -> f64) -> Vec<Option<f64>> {
    (0..60).map(|second| Some(of(second))).collect()
}

/// A minute in closed loop at a throughput.
fn closed(block: u32, clients: u32, throughput: f64) -> Trial {
    let level = clients.to_string();
    let mut trial = timed(block);
    trial.key = key(block, &[("clients", &level)]);
    let load = trial.load.as_mut().unwrap();
    load.mode = Mode::Closed {
        clients,
        think_s: 0.0,
    };
    load.series = BTreeMap::from([("throughput".into(), seconds(|_| throughput))]);
    trial
}

/// A minute in open loop of 500 arrivals a second, each served in that many milliseconds, with a queue by second.
fn open(block: u32, workers: u32, ms: f64, queue: impl Fn(usize) -> f64) -> Trial {
    let level = workers.to_string();
    let mut trial = timed(block);
    trial.key = key(block, &[("workers", &level)]);
    let load = trial.load.as_mut().unwrap();
    load.mode = Mode::Open {
        rate: 500.0,
        arrivals: Arrivals::Poisson,
        workers,
        queue: 10_000,
        when_full: "stop".into(),
        range: None,
    };
    load.open = Some(OpenNote {
        arrived: 30_000,
        started: 30_000,
        queued_at_end: queue(59) as u64,
        dropped: 0,
        held_s: 0.0,
    });
    load.series = BTreeMap::from([
        ("throughput".into(), seconds(|_| 500.0)),
        ("queued".into(), seconds(queue)),
    ]);
    for note in &mut load.histograms {
        let mut nanoseconds = Histogram::<u64>::new(3).unwrap();
        let count = 500 * u64::from(note.every_s);
        nanoseconds.record_n((ms * 1e6) as u64, count).unwrap();
        note.nanoseconds = nanoseconds.into();
    }
    trial
}

fn cell(factor: &str, level: &str) -> Cell {
    Cell {
        levels: vec![(factor.into(), vec![level.into()])],
        ..Cell::default()
    }
}

fn judged(trials: &[Trial], subject: Subject) -> Judged {
    let mut question = run().question;
    question.claims = vec![Claim {
        says: "so".into(),
        subject,
        published: None,
    }];
    judge(&question, trials).remove(0)
}

fn ratio(value: Value, of: Cell, to: Cell, at_least: f64) -> Subject {
    Subject::Ratio {
        value,
        of,
        to,
        bound: Bound::AtLeast(at_least),
    }
}

/// P8: 5.1 falls from its peak at 16 clients, each block slower than the one before.
fn falling() -> Vec<Trial> {
    let block = |block: u32| {
        let slower = 1.0 - 0.05 * f64::from(block);
        [(1, 8000.0), (16, 52_065.0), (256, 6366.0)]
            .map(|(clients, throughput)| closed(block, clients, throughput * slower))
    };
    (0..3).flat_map(block).collect()
}

#[test]
fn a_claim_on_throughput_is_judged_over_blocks() {
    let found = judged(
        &falling(),
        ratio(
            Value::Throughput,
            cell("clients", "16"),
            cell("clients", "256"),
            4.0,
        ),
    );
    assert_eq!(found.verdict, Verdict::Reproduced);
    assert!((found.measured.unwrap() - 8.18).abs() < 0.01);
}

#[test]
fn a_claim_on_a_percentile_takes_the_merged_histograms() {
    let trials: Vec<Trial> = (0..3)
        .flat_map(|block| {
            [
                open(block, 16, 15.74, |_| 3.0),
                open(block, 64, 25.14, |_| 3.0),
            ]
        })
        .collect();
    let p99 = Value::Latency {
        kind: LatencyKind::Response,
        percentile: Percentile::P99,
    };
    let found = judged(
        &trials,
        ratio(p99, cell("workers", "64"), cell("workers", "16"), 1.3),
    );
    assert_eq!(found.verdict, Verdict::Reproduced);
    assert!((found.measured.unwrap() - 25.14 / 15.74).abs() < 0.01);
}

#[test]
fn a_counter_of_a_timed_load_is_per_operation() {
    // 25,000 rows by 250 operations a second and 50,000 by 500: as many an operation.
    let trials: Vec<Trial> = (0..3)
        .flat_map(|block| {
            let mut more = closed(block, 16, 500.0);
            let counters = &mut more.load.as_mut().unwrap().counters;
            counters.insert("Innodb_rows_updated".into(), 50_000);
            [closed(block, 1, 250.0), more]
        })
        .collect();
    let rows = Value::Counter("Innodb_rows_updated".into());
    let found = judged(
        &trials,
        ratio(rows, cell("clients", "16"), cell("clients", "1"), 1.0),
    );
    assert_eq!(found.measured, Some(1.0));
}

#[test]
fn values_of_the_wrong_kind_are_not_available_and_say_what_to_compare() {
    let found = judged(
        &falling(),
        ratio(
            Value::Elapsed,
            cell("clients", "1"),
            cell("clients", "16"),
            1.0,
        ),
    );
    assert_eq!(found.verdict, Verdict::NotAvailable);
    assert!(found.reason.unwrap().contains("compare its throughput"));
    let rounds = [common::done(0)];
    let any = || cell("variant", "small pool");
    let found = judged(&rounds, ratio(Value::Throughput, any(), any(), 1.0));
    assert!(found.reason.unwrap().contains("this trial has rounds"));
}

#[test]
fn a_percentile_of_an_unstable_load_is_not_available_and_says_why() {
    let trials = [
        open(0, 1, 2.0, |s| 412.0 * s as f64),
        open(0, 16, 2.0, |_| 0.0),
    ];
    let p99 = Value::Latency {
        kind: LatencyKind::Response,
        percentile: Percentile::P99,
    };
    let found = judged(
        &trials,
        ratio(p99, cell("workers", "1"), cell("workers", "16"), 1.0),
    );
    assert_eq!(found.verdict, Verdict::NotAvailable);
    assert!(
        found
            .reason
            .unwrap()
            .contains("the queue grows by 412 requests/s")
    );
}

#[test]
fn one_block_without_a_percentile_keeps_the_others_from_deciding() {
    let p99 = || Value::Latency {
        kind: LatencyKind::Response,
        percentile: Percentile::P99,
    };
    let slow = |third: Trial| {
        let mut trials: Vec<Trial> = (0..3).map(|b| open(b, 16, 15.74, |_| 3.0)).collect();
        trials.extend((0..2).map(|b| open(b, 64, 25.14, |_| 3.0)));
        trials.push(third);
        let sides = (cell("workers", "64"), cell("workers", "16"));
        judged(&trials, ratio(p99(), sides.0, sides.1, 1.3))
    };
    assert_eq!(
        slow(open(2, 64, 25.14, |_| 3.0)).verdict,
        Verdict::Reproduced
    );
    let unstable = slow(open(2, 64, 25.14, |s| 412.0 * s as f64));
    assert_eq!(unstable.verdict, Verdict::NotAvailable);
    let reason = unstable.reason.unwrap();
    assert!(
        reason.starts_with("server 5.6, workers 64, block 3: ")
            && reason.ends_with("the queue grows by 412 requests/s"),
        "{reason}"
    );
    let mut short = open(2, 64, 25.14, |_| 3.0);
    short.load.as_mut().unwrap().histograms.truncate(11);
    let short = slow(short);
    assert_eq!(short.verdict, Verdict::NotAvailable);
    let reason = short.reason.unwrap();
    assert!(
        reason.contains("fewer than 10 of 503 operations"),
        "{reason}"
    );
    let mut failed = open(2, 64, 25.14, |_| 3.0);
    failed.state = TrialState::Failed;
    assert_eq!(slow(failed).verdict, Verdict::Reproduced);
}

#[test]
fn a_block_in_which_nothing_was_done_keeps_the_others_from_deciding() {
    let mut trials = falling();
    trials[4] = closed(1, 16, 0.0);
    let sides = (cell("clients", "16"), cell("clients", "256"));
    let found = judged(&trials, ratio(Value::Throughput, sides.0, sides.1, 4.0));
    assert_eq!(found.verdict, Verdict::NotAvailable);
    assert_eq!(
        found.reason.unwrap(),
        "server 5.6, clients 16, block 2: the throughput is 0: no ratio"
    );
}

/// Its queue was full at 4.6 s of a warm-up of 10 s.
fn full_in_its_warm_up(block: u32) -> Trial {
    let mut trial = open(block, 1, 2.0, |s| 400.0 * (s + 1) as f64);
    let load = trial.load.as_mut().unwrap();
    load.elapsed_s = 4.6;
    load.engine.until_s = Some(4.6);
    load.engine.stopped = Some("the queue of 1800 was full at 4.6 s".into());
    trial.flags = vec![Flag {
        kind: "setting_adjusted".into(),
        text: "innodb_log_file_size was adjusted".into(),
    }];
    trial
}

#[test]
fn a_row_without_a_measured_part_says_so_and_why_the_load_ended() {
    let row = &loads(&run().question, &[full_in_its_warm_up(0)])[0];
    assert_eq!(
        row.missing.as_deref(),
        Some(
            "the load ended after 4 s, within its warm-up of 10 s: nothing is left to measure (the queue of 1800 was full at 4.6 s)"
        )
    );
}

#[test]
fn a_block_in_which_nothing_was_done_is_in_the_mean() {
    let trials = [
        closed(0, 8, 0.0),
        closed(1, 8, 1000.0),
        closed(2, 8, 1000.0),
    ];
    let row = &loads(&run().question, &trials)[0];
    let throughput = row.throughput.as_ref().unwrap();
    assert_eq!((throughput.mean, throughput.blocks), (0.0, 3));
    assert_eq!(
        (throughput.min, throughput.max, throughput.ci),
        (0.0, 1000.0, None)
    );
    let row = &loads(&run().question, &trials[..1])[0];
    assert_eq!(row.missing, None);
    assert_eq!(row.throughput.as_ref().unwrap().mean, 0.0);
}

fn finds(trials: &[Trial], finding: Finding, of: Cell) -> (Verdict, String) {
    let found = judged(trials, Subject::Finds { finding, of });
    (found.verdict, found.reason.unwrap())
}

#[test]
fn a_shape_in_every_trial_is_reproduced_and_in_half_of_them_inconclusive() {
    let growing = |block| open(block, 1, 2.0, |s| 412.0 * s as f64);
    let steady = |block| open(block, 16, 2.0, |_| 0.0);
    let trials = [growing(0), growing(1), steady(0), steady(1)];
    let (verdict, reason) = finds(&trials, Finding::Unstable, cell("workers", "1"));
    assert_eq!(verdict, Verdict::Reproduced);
    assert_eq!(
        reason,
        "in 2 of 2 trials (p 0.005): unstable: the queue grows by 412 requests/s"
    );
    let (verdict, _) = finds(&trials, Finding::Unstable, cell("workers", "16"));
    assert_eq!(verdict, Verdict::NotReproduced);
    let (verdict, reason) = finds(&trials, Finding::Unstable, Cell::default());
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(reason.starts_with("in 2 of 4 trials"), "{reason}");
}

#[test]
fn a_shape_that_does_not_hold_gives_the_trials_without_it_as_the_reason() {
    let stable = (1..6).map(|block| open(block, 16, 2.0, |_| 0.0));
    let growing = open(0, 16, 2.0, |s| 412.0 * s as f64);
    let trials: Vec<Trial> = std::iter::once(growing).chain(stable).collect();
    let (verdict, reason) = finds(&trials, Finding::Unstable, Cell::default());
    assert_eq!(verdict, Verdict::NotReproduced);
    assert_eq!(
        reason,
        "in 1 of 6 trials (p < 0.001): without it: stable: all requests were served; with it: unstable: the queue grows by 412 requests/s"
    );
}

#[test]
fn a_stable_load_that_left_requests_undone_does_not_say_that_all_were_served() {
    let left = |block| {
        let mut trial = open(block, 16, 2.0, |s| if s == 59 { 3.0 } else { 0.0 });
        let open = trial.load.as_mut().unwrap().open.as_mut();
        open.unwrap().dropped = 12;
        trial
    };
    let trials = [left(0), left(1), left(2)];
    let (verdict, reason) = finds(&trials, Finding::Unstable, Cell::default());
    assert_eq!(verdict, Verdict::NotReproduced);
    let says = "stable: of the requests 12 were dropped and 3 were waiting at the end";
    assert!(reason.contains(says), "{reason}");
}

#[test]
fn one_block_of_a_shape_is_no_verdict() {
    let trials = [open(0, 16, 2.0, |_| 0.0)];
    let (verdict, reason) = finds(&trials, Finding::Unstable, Cell::default());
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(
        reason.contains("single block: variance unknown, so no verdict"),
        "{reason}"
    );
}

#[test]
fn the_three_shapes_of_p4_are_found_and_named() {
    let shaped = |of: fn(usize) -> f64| -> Vec<Trial> {
        let trial = |block| {
            let mut trial = closed(block, 8, 1.0);
            let load = trial.load.as_mut().unwrap();
            let wobble = |s: usize| ((s * 7919 + block as usize) % 13) as f64;
            let values = (0..600)
                .map(|s| Some((of(s) - wobble(s)).max(0.0)))
                .collect();
            load.series.insert("throughput".into(), values);
            load.elapsed_s = 600.0;
            load.warmup = Warmup::Find;
            load.histograms.clear();
            load.summary = Some(summarise(load));
            trial
        };
        (0..2).map(trial).collect()
    };
    let shift = shaped(|s| if s < 250 { 3800.0 } else { 3000.0 });
    let drops = shaped(|s| if s % 20 == 3 { 870.0 } else { 1480.0 });
    let stalls = shaped(|s| if (200..225).contains(&s) { 0.0 } else { 3230.0 });
    let flat = shaped(|_| 3000.0);
    let reproduced = |trials: &[Trial], finding| {
        finds(trials, finding, Cell::default()).0 == Verdict::Reproduced
    };
    assert!(reproduced(&shift, Finding::LevelShift) && reproduced(&drops, Finding::Period));
    assert!(reproduced(&stalls, Finding::Stall) && reproduced(&flat, Finding::Steady));
    for finding in [Finding::LevelShift, Finding::Period, Finding::Stall] {
        assert!(!reproduced(&flat, finding.clone()), "{finding:?}");
    }
    for trials in [&shift, &drops, &stalls] {
        assert!(!reproduced(trials, Finding::Steady));
    }
}

#[test]
fn one_lost_transaction_in_any_trial_is_a_loss() {
    let trials = |lost: [u64; 2]| -> Vec<Trial> {
        let trial = |block: usize| Trial {
            audit: Some(AuditNote {
                acknowledged: 1_000,
                lost: lost[block],
                ..AuditNote::default()
            }),
            ..closed(block as u32, 8, 1000.0)
        };
        (0..2).map(trial).collect()
    };
    let verdict = |lost, finding| finds(&trials(lost), finding, Cell::default()).0;
    assert_eq!(verdict([0, 3], Finding::Losses), Verdict::Reproduced);
    assert_eq!(verdict([0, 3], Finding::NoLosses), Verdict::NotReproduced);
    assert_eq!(verdict([0, 0], Finding::Losses), Verdict::NotReproduced);
    assert_eq!(verdict([0, 0], Finding::NoLosses), Verdict::Reproduced);
    let counts = |lost, finding| finds(&trials(lost), finding, Cell::default()).1;
    assert_eq!(
        counts([2, 3], Finding::Losses),
        "in 2 of 2 trials: 5 of 2,000 acknowledged transactions lost"
    );
    let in_one = counts([0, 3], Finding::NoLosses);
    assert!(
        in_one.starts_with("in 1 of 2 trials: 3 of 2,000"),
        "{in_one}"
    );
    let mut in_part = trials([0, 0]);
    in_part[1].audit.as_mut().unwrap().partly_applied = 1;
    let (verdict, words) = finds(&in_part, Finding::NoLosses, Cell::default());
    assert_eq!(verdict, Verdict::NotReproduced);
    let expected = "0 of 2,000 acknowledged transactions lost, 1 there only in part";
    assert!(words.ends_with(expected), "{words}");
    let unaudited = [closed(0, 8, 1000.0), closed(1, 8, 1000.0)];
    let without = finds(&unaudited, Finding::NoLosses, Cell::default()).0;
    assert_eq!(without, Verdict::NotAvailable);
}

#[test]
fn the_table_has_a_row_for_each_cell_with_throughput_and_percentiles_over_blocks() {
    let trials: Vec<Trial> = (0..2).flat_map(|b| [open(b, 16, 15.74, |_| 3.0)]).collect();
    let rows = loads(&run().question, &trials);
    assert_eq!(rows.len(), 1);
    let throughput = rows[0].throughput.as_ref().unwrap();
    assert_eq!((throughput.mean.round(), throughput.blocks), (500.0, 2));
    let p99 = rows[0]
        .latency
        .of(LatencyKind::Response, Percentile::P99)
        .unwrap();
    assert!((p99.mean - 15.74).abs() < 0.02);
    // 25,000 operations have 25 above the p99.9.
    let uncertain = |percentile| {
        rows[0]
            .latency
            .is_uncertain(LatencyKind::Response, percentile)
    };
    assert!(uncertain(Percentile::P999) && !uncertain(Percentile::P99));
    assert!((rows[0].offered.as_ref().unwrap().mean - 500.0).abs() < 1e-6);
}

#[test]
fn one_unstable_block_takes_the_percentiles_of_its_row() {
    let trials = [
        open(0, 1, 2.0, |_| 0.0),
        open(1, 1, 2.0, |s| 412.0 * s as f64),
    ];
    let row = &loads(&run().question, &trials)[0];
    assert_eq!(row.latency.of(LatencyKind::Response, Percentile::P50), None);
    assert_eq!(row.unstable.len(), 1);
    assert_eq!(row.unstable[0].0, 1);
}

#[test]
fn clients_are_compared_with_one_client_block_by_block() {
    let found = &scaling(&run().question, &falling())[0];
    let factors: Vec<(u32, f64)> = (found.points.iter())
        .map(|point| (point.clients, point.factor.unwrap().0))
        .collect();
    assert_eq!(
        factors.iter().map(|f| f.0).collect::<Vec<_>>(),
        [1, 16, 256]
    );
    assert!((factors[1].1 - 52_065.0 / 8000.0).abs() < 1e-6);
    // Pairing takes the drift of the blocks away, so the interval is as wide as the rounding of the counts.
    let (low, high) = found.points[2].factor.unwrap().1.unwrap();
    assert!(low < high && high - low < 1e-3, "{low} to {high}");
}

#[test]
fn a_block_without_operations_has_no_scaling_factor() {
    let mut trials = falling();
    trials[1] = closed(0, 16, 0.0);
    let points = &scaling(&run().question, &trials)[0].points;
    let known: Vec<bool> = points.iter().map(|point| point.factor.is_some()).collect();
    assert_eq!(known, [true, false, true]);
}

#[test]
fn a_series_without_one_client_has_no_factors() {
    let trials: Vec<Trial> = falling()
        .into_iter()
        .filter(|t| t.key.level("clients") != Some("1"))
        .collect();
    let found = &scaling(&run().question, &trials)[0];
    assert!(
        found
            .points
            .iter()
            .all(|point| point.factor.is_none() && point.throughput.is_some())
    );
}

#[test]
fn the_best_number_of_workers_has_its_ties_and_excludes_unstable_ones() {
    // P7: 16 workers 15.74 ms, 32 16.75 (a tie: its blocks scatter), 64 25.14, 1 unstable.
    let trials: Vec<Trial> = (0..3u32)
        .flat_map(|b| {
            let scatter = [0.9, 1.0, 1.1][b as usize];
            [
                open(b, 1, 2.0, |s| 412.0 * s as f64),
                open(b, 16, 15.74, |_| 1.0),
                open(b, 32, 16.75 * scatter, |_| 1.0),
                open(b, 64, 25.14, |_| 1.0),
            ]
        })
        .collect();
    let found = &best_workers(&run().question, &trials)[0];
    assert_eq!((found.best, found.ties.as_slice()), (Some(16), &[32][..]));
    assert_eq!(found.unstable, [1]);
    assert_eq!(found.points.len(), 4);
}

#[test]
fn predictions_are_paired_with_the_measured_percentiles() {
    // One worker, 1 ms each, 500 a second: M/D/1 at 0.5 answers in 1.5 ms on average; measured is 3 ms at every percentile.
    let mut trial = open(0, 1, 1.0, |_| 0.0);
    for note in &mut trial.load.as_mut().unwrap().histograms {
        if note.kind == LatencyKind::Response {
            let mut nanoseconds = Histogram::<u64>::new(3).unwrap();
            nanoseconds.record_n(3_000_000, 500).unwrap();
            note.nanoseconds = nanoseconds.into();
        }
    }
    let found = &predictions(&run().question, &[trial], 7)[0];
    let model = found.blocks[0].predicted.as_ref().unwrap();
    assert!((model.utilisation - 0.5).abs() < 0.001);
    assert!((model.response.as_ref().unwrap().mean_ms - 1.5).abs() < 0.02);
    assert!((model.mean_ms.unwrap() - 1.5).abs() < 0.002);
    assert!(found.ratio(|response| response.p50_ms).unwrap().0 > 2.0);
}

//! How exactly the figures of loads are known, and what loads are too short to show.

use super::*;
use rand::{RngExt, SeedableRng};

#[test]
fn shapes_of_less_than_20_seconds_are_not_available() {
    let short = |block| {
        let mut trial = closed(block, 8, 1000.0);
        trial.load.as_mut().unwrap().elapsed_s = 25.0;
        trial
    };
    let trials = [short(0), short(1)];
    for finding in [Finding::Steady, Finding::LevelShift, Finding::Period] {
        let (verdict, reason) = finds(&trials, finding, Cell::default());
        assert_eq!(verdict, Verdict::NotAvailable);
        assert!(reason.contains("15 s are too short"), "{reason}");
    }
    let (verdict, _) = finds(&trials, Finding::Stall, Cell::default());
    assert_eq!(verdict, Verdict::NotReproduced);
}

/// A second without any of three operations is chance, so what was not seen may be there.
#[test]
fn a_load_of_few_operations_leaves_a_claim_on_stalls_undecided() {
    let verdict = |rate: f64| {
        let trials = [0, 1, 2].map(|block| closed(block, 8, rate));
        finds(&trials, Finding::Stall, Cell::default())
    };
    let (few, reason) = verdict(3.0);
    assert_eq!(few, Verdict::Inconclusive, "{reason}");
    assert!(reason.contains("too few to tell a stall"), "{reason}");
    assert_eq!(verdict(30.0).0, Verdict::NotReproduced);
}

/// Bursts of 40 s in every minute: the throughput falls with the arrivals.
#[test]
fn a_schedule_that_changes_its_rate_shows_no_shape_of_the_server() {
    let bursts = |block| {
        let mut trial = open(block, 16, 2.0, |_| 0.0);
        let load = trial.load.as_mut().unwrap();
        let of = |s: usize| if s < 40 { 500.0 } else { 100.0 };
        load.series.insert("throughput".into(), seconds(of));
        if let Mode::Open { range, .. } = &mut load.mode {
            *range = Some(RateRange {
                min: 100.0,
                max: 500.0,
            });
        }
        trial
    };
    let trials = [bursts(0), bursts(1)];
    for finding in [Finding::Steady, Finding::LevelShift, Finding::Period] {
        let (verdict, reason) = finds(&trials, finding, Cell::default());
        assert_eq!(verdict, Verdict::NotAvailable, "{reason}");
        assert!(reason.contains("changes its rate"), "{reason}");
    }
}

/// 24 s with a drop to a third every four seconds, and 30 s with one by 40 % every five: the period is beyond their sight.
#[test]
fn a_period_that_a_short_load_cannot_show_is_undecided_and_names_the_length_that_would_do() {
    for (length, every, drop) in [(24, 4, 0.33), (30, 5, 0.6)] {
        let dropping = |block| {
            let mut trial = closed(block, 2, 200.0);
            let load = trial.load.as_mut().unwrap();
            let of = |s: usize| if s % every == 2 { 200.0 * drop } else { 200.0 };
            load.series = BTreeMap::from([("throughput".into(), seconds(of))]);
            load.elapsed_s = length as f64;
            load.engine.until_s = Some(length as f64);
            load.warmup = Warmup::Seconds(0.0);
            trial
        };
        let trials = [dropping(0), dropping(1)];
        assert_ne!(
            finds(&trials, Finding::Steady, Cell::default()).0,
            Verdict::Reproduced
        );
        for finding in [Finding::Period, Finding::LevelShift] {
            let (verdict, reason) = finds(&trials, finding.clone(), Cell::default());
            assert_eq!(verdict, Verdict::Inconclusive, "{finding:?}: {reason}");
            assert!(reason.contains("too short to tell"), "{reason}");
            assert!(
                reason.contains(" would do for a change of a fifth"),
                "{reason}"
            );
        }
    }
}

#[test]
fn a_long_calm_load_has_no_period_and_no_level_shift_and_is_steady() {
    let calm = |block| {
        let random = Random {
            seconds: 90,
            scatter: 0.01,
            ..Random::of(block)
        };
        let mut trial = random.trial(|_| 1.0);
        trial.key.block = block as u32;
        trial
    };
    let trials = [calm(0), calm(1), calm(2)];
    for (finding, expected) in [
        (Finding::Period, Verdict::NotReproduced),
        (Finding::LevelShift, Verdict::NotReproduced),
        (Finding::Steady, Verdict::Reproduced),
    ] {
        let (verdict, reason) = finds(&trials, finding, Cell::default());
        assert_eq!(verdict, expected, "{reason}");
    }
}

/// Two seconds at one client, with operations of 0.45 s against 0.49 s, and of 0.49 s against 0.51 s. All blocks count alike.
#[test]
fn throughput_of_a_few_operations_is_known_to_one_operation() {
    let slow = |block: u32, server: &str, ms: f64| {
        let mut trial = closed(block, 1, 1.0);
        trial.key.server = Some(server.into());
        let load = trial.load.as_mut().unwrap();
        let counted =
            |s: usize| ((s + 1) as f64 * 1e3 / ms).floor() - (s as f64 * 1e3 / ms).floor();
        load.series = BTreeMap::from([("throughput".into(), seconds(counted))]);
        (load.elapsed_s, load.warmup) = (2.0, Warmup::Seconds(0.0));
        load.engine.until_s = Some(2.0);
        for note in &mut load.histograms {
            let mut nanoseconds = Histogram::<u64>::new(3).unwrap();
            nanoseconds.record((ms * 1e6) as u64).unwrap();
            note.nanoseconds = nanoseconds.into();
        }
        trial
    };
    for (old_ms, new_ms) in [(450.0, 490.0), (490.0, 510.0)] {
        let blocks =
            (0..3).flat_map(|block| [slow(block, "old", old_ms), slow(block, "new", new_ms)]);
        let trials: Vec<Trial> = blocks.collect();
        let throughput = ratio(
            Value::Throughput,
            cell("server", "new"),
            cell("server", "old"),
            0.98,
        );
        let found = judged(&trials, throughput);
        let (low, high) = found.ci.unwrap();
        assert!(
            low < old_ms / new_ms && old_ms / new_ms < high,
            "{low} to {high}"
        );
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert_eq!(found.direction, Some(Direction::Undecided));
        let reason = found.reason.unwrap();
        assert!(reason.contains("measure for longer"), "{reason}");
        let rows = loads(&run().question, &trials);
        let (low, high) = rows[0].throughput.as_ref().unwrap().ci.unwrap();
        assert!(high / low > 1.5, "{low} to {high}");
    }
}

/// One and two in every block: a single event more or less is a factor of two.
#[test]
fn counts_of_an_audit_and_of_a_recovery_are_known_to_one() {
    let counted = |block: u32, server: &str, count: u64| {
        let mut trial = closed(block, 8, 1000.0);
        trial.key.server = Some(server.into());
        trial.audit = Some(AuditNote {
            lost: count,
            ..AuditNote::default()
        });
        trial.events[0].numbers = BTreeMap::from([("undo_rows".to_string(), count as f64)]);
        trial
    };
    let trials: Vec<Trial> = (0..3)
        .flat_map(|block| [counted(block, "old", 1), counted(block, "new", 2)])
        .collect();
    for value in [
        Value::Audit(AuditFigure::Lost),
        Value::Recovery("undo_rows".into()),
    ] {
        let more = ratio(value, cell("server", "new"), cell("server", "old"), 1.2);
        let found = judged(&trials, more);
        let (low, high) = found.ci.unwrap();
        assert!(low < 1.0 && 2.0 < high, "{low} to {high}");
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert_eq!(found.direction, Some(Direction::Undecided));
    }
}

#[test]
fn a_loss_in_a_trial_that_is_invalid_counts_and_so_does_one_in_a_single_block() {
    let audited = |block: u32, lost: u64| Trial {
        audit: Some(AuditNote {
            acknowledged: 1_000,
            lost,
            ..AuditNote::default()
        }),
        ..closed(block, 8, 1000.0)
    };
    let mut lossy = audited(1, 7);
    lossy.invalidate(
        FlagKind::AuditFailed,
        "transactions that were acknowledged and are not in the tables: 7",
    );
    for trials in [vec![audited(0, 0), lossy.clone()], vec![lossy]] {
        let (verdict, words) = finds(&trials, Finding::NoLosses, Cell::default());
        assert_eq!(verdict, Verdict::NotReproduced, "{words}");
        assert!(words.contains("7 of "), "{words}");
        assert_eq!(
            finds(&trials, Finding::Losses, Cell::default()).0,
            Verdict::Reproduced
        );
    }
}

#[test]
fn an_audit_without_a_loss_is_no_evidence_without_a_crash_or_a_commit_or_where_rules_broke() {
    let audited = |block: u32| Trial {
        audit: Some(AuditNote {
            acknowledged: 1_000,
            ..AuditNote::default()
        }),
        ..closed(block, 8, 1000.0)
    };
    let missed = "the load ended before 90 s had passed, so this \"kill\" event never ran";
    let mut uncut = audited(1);
    uncut.flag(FlagKind::EventMissed, missed);
    let failed = "power_cut: the server cannot be stopped: a thread is still running";
    let mut running = audited(1);
    running.events[0].kind = "power_cut".into();
    running.events[0].text = failed.into();
    running.invalidate(FlagKind::EventFailed, failed);
    let mut broken = audited(1);
    let violation = "node 2: order 3001 of warehouse 1, district 1, has no lines";
    broken.audit.as_mut().unwrap().violations = vec![violation.to_string()];
    broken.invalidate(FlagKind::AuditFailed, violation);
    let mut refused = audited(1);
    refused.audit.as_mut().unwrap().acknowledged = 0;
    let none = "no transaction was acknowledged";
    for (untold, why) in [
        (uncut, missed),
        (running, failed),
        (broken, violation),
        (refused, none),
    ] {
        let trials = [audited(0), untold];
        for finding in [Finding::NoLosses, Finding::Losses] {
            let (verdict, words) = finds(&trials, finding, Cell::default());
            assert_eq!(verdict, Verdict::Inconclusive, "{words}");
            assert!(words.contains("1 more does not tell: "), "{words}");
            assert!(words.contains(why), "{words}");
        }
        let [mut kept, mut lossy] = trials;
        lossy.audit.as_mut().unwrap().lost = 1;
        kept.key.block = 2;
        let trials = [audited(0), kept, lossy];
        let (verdict, words) = finds(&trials, Finding::NoLosses, Cell::default());
        assert_eq!(verdict, Verdict::NotReproduced, "{words}");
    }
}

#[test]
fn a_shape_of_a_row_that_was_not_measured_is_not_available() {
    let mut trials: Vec<Trial> = (0..2)
        .flat_map(|block| [closed(block, 8, 1000.0), closed(block, 16, 1000.0)])
        .collect();
    let of = |trials: &[Trial]| finds(trials, Finding::Stall, Cell::default());
    assert_eq!(of(&trials).0, Verdict::NotReproduced);
    trials[1].invalidate(FlagKind::EngineLimit, "the machine was busy");
    let (verdict, words) = of(&trials);
    assert_eq!(verdict, Verdict::NotReproduced, "{words}");
    assert!(
        words.contains("1 of 4 trials failed or is invalid"),
        "{words}"
    );
    trials[3].invalidate(FlagKind::EngineLimit, "the machine was busy");
    let (verdict, words) = of(&trials);
    assert_eq!(verdict, Verdict::NotAvailable, "{words}");
    assert!(
        words.contains("clients 16: invalid: the machine"),
        "{words}"
    );
}

#[test]
fn a_stale_read_in_a_trial_that_is_invalid_counts() {
    let read = |block: u32, stale_s: u64| {
        let mut trial = common::with_summary(closed(block, 8, 1000.0));
        let load = trial.load.as_mut().unwrap();
        load.summary.as_mut().unwrap().stale_reads = Some(StaleReads {
            read_s: 50,
            stale_s,
            ..StaleReads::default()
        });
        trial
    };
    let mut stale = read(2, 7);
    stale.invalidate(FlagKind::EngineLimit, "the machine was busy");
    let trials = [read(0, 0), read(1, 0), stale];
    let verdict = |finding| finds(&trials, finding, Cell::default()).0;
    assert_eq!(verdict(Finding::NoStaleReads), Verdict::NotReproduced);
    assert_eq!(verdict(Finding::StaleReads), Verdict::Reproduced);
}

/// As the store reads a load for tables and claims, and as a slim record has it: the summary alone.
#[test]
fn a_node_that_was_hardly_read_leaves_stale_reads_undecided_without_the_seconds() {
    let hardly = |block: u32| {
        let mut trial = closed(block, 8, 1000.0);
        let load = trial.load.as_mut().unwrap();
        let ages = (0..60).map(|s| (20..24).contains(&s).then_some(0.0));
        let series = BTreeMap::from([(names::READ_AGE.to_string(), ages.collect())]);
        load.node_series.insert(2, series);
        load.summary = Some(summarise(load));
        load.series.clear();
        load.node_series.clear();
        load.histograms.clear();
        trial
    };
    let trials = [hardly(0), hardly(1)];
    for finding in [Finding::NoStaleReads, Finding::StaleReads] {
        let (verdict, words) = finds(&trials, finding, Cell::default());
        assert_eq!(verdict, Verdict::Inconclusive, "{words}");
        let why = "reads on node 2 have a known age in 4 of 50 seconds";
        assert!(words.contains(why), "{words}");
    }
}

/// A random load: its length, the scatter of its seconds around 1,000 ops/s, and what else is random in it.
struct Random {
    seconds: usize,
    scatter: f64,
    shares: Vec<f64>,
}

impl Random {
    fn of(seed: u64) -> Random {
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        let mut share = || random.random::<f64>();
        Random {
            seconds: 24 + (276.0 * share()) as usize,
            scatter: 0.002 + 0.08 * share(),
            shares: (0..1000).map(|_| share()).collect(),
        }
    }

    /// Between two values.
    fn between(&self, at: usize, least: f64, most: f64) -> f64 {
        least + (most - least) * self.shares[at]
    }

    fn trial(&self, level: impl Fn(usize) -> f64) -> Trial {
        let mut trial = closed(0, 8, 1000.0);
        let noise = |s: usize| {
            let (u, v) = (self.shares[100 + 2 * s], self.shares[101 + 2 * s]);
            (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        let load = trial.load.as_mut().unwrap();
        let values = (0..self.seconds).map(|s| Some(1000.0 * (level(s) + self.scatter * noise(s))));
        load.series = BTreeMap::from([("throughput".into(), values.collect())]);
        load.elapsed_s = self.seconds as f64;
        load.engine.until_s = Some(self.seconds as f64);
        load.warmup = Warmup::Seconds(0.0);
        load.histograms = Vec::new();
        load.summary = Some(summarise(load));
        trial
    }
}

/// What is said of a shape in so many random loads: that it is there, that it is not, and that they are too short to tell.
fn said(finding: &Finding, loads: u64, planted: impl Fn(&Random) -> Trial) -> [u64; 3] {
    let mut said = [0; 3];
    for seed in 0..loads {
        let trial = planted(&Random::of(seed));
        let mut again = trial.clone();
        again.key.block = 1;
        let (_, words) = finds(&[trial, again], finding.clone(), Cell::default());
        let place = match words {
            words if words.contains("to tell") => 2,
            words => usize::from(words.starts_with("in 0 of 2")),
        };
        said[place] += 1;
    }
    said
}

#[test]
fn a_planted_shape_of_a_fifth_or_more_is_hardly_ever_denied() {
    const LOADS: u64 = 150;
    // A drop of a second, anywhere between two whole seconds.
    let dropping = |random: &Random| {
        let every = random.between(0, 3.0, 10.0);
        let (phase, depth) = (random.between(1, 0.0, every), random.between(2, 0.2, 0.7));
        random.trial(|s| {
            let (from, until) = (s as f64, s as f64 + 1.0);
            let begins = phase + ((until - phase) / every).floor() * every;
            let lies_in = |begins: f64| (until.min(begins + 1.0) - from.max(begins)).max(0.0);
            1.0 - depth * (lies_in(begins) + lies_in(begins - every))
        })
    };
    let shifting = |random: &Random| {
        let at = random.between(0, 0.1, 1.0) * (random.seconds as f64 - 4.0);
        let to = 1.0 - random.between(1, 0.2, 0.5);
        random.trial(|s| if (s as f64) < at { 1.0 } else { to })
    };
    let trending = |random: &Random| {
        let whole = random.between(0, 0.2, 0.5);
        random.trial(|s| 1.0 - whole * s as f64 / random.seconds as f64)
    };
    let [steady, period, shift] = [Finding::Steady, Finding::Period, Finding::LevelShift];
    let denied = [
        said(&period, LOADS, dropping)[1],
        said(&shift, LOADS, shifting)[1],
        said(&steady, LOADS, dropping)[0],
        said(&steady, LOADS, shifting)[0],
        said(&steady, LOADS, trending)[0],
    ];
    assert!(
        denied.iter().all(|denied| denied * 20 <= LOADS),
        "{denied:?}"
    );
}

#[test]
fn a_calm_load_has_no_shape_or_is_too_short_to_tell() {
    let calm = |random: &Random| random.trial(|_| 1.0);
    let seen = [Finding::Period, Finding::LevelShift].map(|finding| said(&finding, 150, calm));
    let steady = said(&Finding::Steady, 150, calm);
    assert!(
        seen[0][0] + seen[1][0] + steady[1] <= 6,
        "{seen:?} {steady:?}"
    );
    // Most of these loads are long enough.
    assert!(steady[0] > 60, "{steady:?}");
}

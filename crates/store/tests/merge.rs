//! Merging the records of the shards of a load.

use crate::common;
use crate::common::timed;
use record::*;
use std::path::{Path, PathBuf};
use store::Store;
use store::merge::{MergeError, merge};

const SECOND_NS: i64 = 1_000_000_000;
/// The common start by the server's clock.
const START_NS: i64 = 1_000 * SECOND_NS;

fn note(number: u32, of: u32) -> ShardNote {
    ShardNote {
        number,
        of,
        run: format!("shard-{number}"),
        machine: format!("machine-{number}"),
        experiment: "e1".into(),
    }
}

fn run(note: ShardNote) -> Run {
    Run {
        id: note.run.clone(),
        sharing: Some(Sharing::Shard(note)),
        ..common::run()
    }
}

/// The trial of a shard whose machine's clock is so far behind the server's.
fn trial(number: u32, of: u32, behind_s: i64) -> Trial {
    let mut trial = timed(0);
    trial.started_ns = START_NS - (behind_s + 2) * SECOND_NS;
    let load = trial.load.as_mut().unwrap();
    load.started_ns = START_NS - behind_s * SECOND_NS;
    load.series
        .insert("throughput".into(), vec![Some(500.0); 60]);
    load.engine.until_s = Some(60.0);
    load.engine.stopped = None;
    load.summary = None;
    load.engine.shards = vec![ShardStart {
        number,
        of,
        clock_offset_s: behind_s as f64,
        round_trip_s: 0.000_2,
        start_ns: START_NS,
        late_s: 0.001,
    }];
    trial
}

fn write(folder: &Path, run: &Run, trial: Option<&Trial>) -> PathBuf {
    let path = folder.join(format!("{}.sqlite", run.id));
    let mut store = Store::create(&path, run).unwrap();
    trial.iter().for_each(|trial| store.save(trial).unwrap());
    path
}

/// Merges shards with these trials.
fn merged(trials: &[Option<Trial>]) -> (Run, Trial) {
    let folder = tempfile::tempdir().unwrap();
    let of = trials.len() as u32;
    let paths = (1..)
        .zip(trials)
        .map(|(number, trial)| write(folder.path(), &run(note(number, of)), trial.as_ref()));
    let paths: Vec<PathBuf> = paths.collect();
    of_paths(folder.path(), &paths).unwrap()
}

fn of_paths(folder: &Path, paths: &[PathBuf]) -> Result<(Run, Trial), MergeError> {
    let to = folder.join("merged.sqlite");
    merge(paths, &to, "merged")?;
    let store = Store::open(&to)?;
    Ok((store.run()?, store.trials_whole()?.remove(0)))
}

fn incomplete(trial: &Trial) -> String {
    let flags = trial
        .flags
        .iter()
        .filter(|flag| flag.kind == FlagKind::ShardIncomplete);
    flags
        .map(|flag| flag.text.as_str())
        .collect::<Vec<_>>()
        .join("; ")
}

fn unfit(result: Result<(Run, Trial), MergeError>) -> String {
    match result {
        Err(MergeError::Unfit(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn counts_are_added_and_percentiles_computed_from_the_sums() {
    let (run, trial) = merged(&[
        Some(trial_of(1, 3)),
        Some(trial_of(2, 3)),
        Some(trial_of(3, 3)),
    ]);
    let text = run.sharing.unwrap().text();
    assert_eq!(
        (run.id.as_str(), text.as_str()),
        ("merged", "merged from 3 shards")
    );
    assert_eq!(
        (trial.state, incomplete(&trial).as_str()),
        (TrialState::Done, "")
    );
    let one = timed(0).load.unwrap();
    let load = trial.load.unwrap();
    assert_eq!(
        load.mode,
        Mode::Closed {
            clients: 24,
            think_s: 0.0
        }
    );
    assert_eq!(load.seconds("throughput")[0], Some(1500.0));
    assert_eq!(
        load.seconds("server cpu"),
        one.seconds("server cpu"),
        "the first shard's"
    );
    assert_eq!(load.histograms.len(), one.histograms.len());
    for note in &load.histograms {
        let same = one.histograms.iter().find(|one| {
            (&one.operation, one.kind, one.every_s, one.start_s)
                == (&note.operation, note.kind, note.every_s, note.start_s)
        });
        let (sum, part) = (
            note.nanoseconds.unpack(),
            same.unwrap().nanoseconds.unpack(),
        );
        assert_eq!(sum.len(), 3 * part.len());
        assert_eq!(sum.value_at_quantile(0.99), part.value_at_quantile(0.99));
    }
    assert_eq!(load.errors[0].count, 3 * one.errors[0].count);
    assert_eq!(load.engine.shards.len(), 3);
    assert_eq!(load.engine.cores, 3.0 * one.engine.cores);
    let of_one = stats::summarise(&one);
    assert_eq!(
        load.summary.unwrap().throughput,
        of_one.throughput.map(|one| 3.0 * one)
    );
}

fn trial_of(number: u32, of: u32) -> Trial {
    trial(number, of, 0)
}

#[test]
fn clocks_that_differ_by_hours_are_laid_on_the_servers() {
    let (_, trial) = merged(&[Some(trial(1, 2, 3600)), Some(trial(2, 2, -3600))]);
    assert_eq!(
        (trial.state, incomplete(&trial).as_str()),
        (TrialState::Done, "")
    );
    assert_eq!(trial.started_ns, START_NS - 2 * SECOND_NS);
    let load = trial.load.unwrap();
    assert_eq!(
        (load.started_ns, load.seconds("throughput").len()),
        (START_NS, 60)
    );
}

/// A shard of two that has done 300 operations of one name, with this change.
fn with(number: u32, change: impl FnOnce(&mut Loaded, String)) -> Option<Trial> {
    let mut trial = trial_of(number, 2);
    let load = trial.load.as_mut().unwrap();
    let operation = load.operations[0].clone();
    let done = vec![Some(5.0); 60];
    load.series.insert(done_series(&operation), done);
    change(load, operation);
    Some(trial)
}

#[test]
fn operations_without_effect_are_a_share_of_those_of_all_shards() {
    let noticed = with(1, |load, operation| {
        load.engine.effects = vec![EffectNote {
            operation,
            done: 300,
            changed_nothing: 9,
            found_nothing: 0,
            warned: 0,
        }];
    });
    let (_, trial) = merged(&[noticed, with(2, |_, _| ())]);
    let load = trial.load.unwrap();
    let effects = &load.engine.effects;
    assert_eq!((effects[0].done, effects[0].changed_nothing), (600, 9));
}

#[test]
fn the_bytes_of_links_are_added_where_every_shard_has_counted_them() {
    let sent = |number| {
        with(number, |load, _| {
            let seconds = vec![Some(8.0); 60];
            load.series.insert(names::LINK_SENT.into(), seconds);
        })
    };
    let of = |second| {
        let (_, trial) = merged(&[sent(1), second]);
        trial.load.unwrap().series.get(names::LINK_SENT).cloned()
    };
    assert_eq!(of(sent(2)).unwrap()[0], Some(16.0));
    assert_eq!(of(with(2, |_, _| ())), None);
}

#[test]
fn a_flag_that_not_all_shards_have_names_its_shard() {
    let mut second = trial_of(2, 2);
    second.invalidate(FlagKind::CpuSteal, "2 % steal");
    let (_, trial) = merged(&[Some(trial_of(1, 2)), Some(second)]);
    assert_eq!(trial.state, TrialState::Invalid);
    assert!(
        trial
            .flags
            .iter()
            .any(|flag| flag.text == "shard 2: 2 % steal"),
        "{:?}",
        trial.flags
    );
}

#[test]
fn a_shard_that_is_missing_failed_late_or_short_makes_the_trial_invalid() {
    let (_, missing) = merged(&[Some(trial_of(1, 2)), None]);
    assert!(
        incomplete(&missing).contains("shard 2/2 has no record of this trial"),
        "{:?}",
        missing.flags
    );

    let mut without = Trial::unmeasured(timed(0).key, START_NS);
    without.state = TrialState::Failed;
    without.flag(
        FlagKind::TrialFailed,
        "the common start was missed by 3.0 ms",
    );
    let (_, failed) = merged(&[Some(trial_of(1, 2)), Some(without)]);
    assert!(
        incomplete(&failed).contains("shard 2/2 failed: the common start was missed"),
        "{:?}",
        failed.flags
    );

    let mut late = trial_of(2, 2);
    late.load.as_mut().unwrap().started_ns += 2 * SECOND_NS;
    let (_, late) = merged(&[Some(trial_of(1, 2)), Some(late)]);
    assert!(
        incomplete(&late).contains("shard 2/2 began 2000 ms away from the common start"),
        "{:?}",
        late.flags
    );
    let throughput = late.load.as_ref().unwrap().seconds("throughput").to_vec();
    assert_eq!(
        (throughput.len(), throughput[1], throughput[61]),
        (62, Some(500.0), Some(500.0))
    );

    let mut short = trial_of(2, 2);
    let engine = &mut short.load.as_mut().unwrap().engine;
    (engine.until_s, engine.stopped) = (
        Some(12.3),
        Some("the queue of 10 was full at 12.3 s".into()),
    );
    let (_, short) = merged(&[Some(trial_of(1, 2)), Some(short)]);
    assert!(incomplete(&short).contains("shard 2/2 was cut short after 12.3 s, the others after 60.0 s: the queue of 10 was full"), "{:?}", short.flags);

    for trial in [missing, failed, late, short] {
        assert_eq!(trial.state, TrialState::Invalid);
    }
}

#[test]
fn a_shard_may_begin_fifty_milliseconds_late() {
    for (late_s, says) in [
        (0.049, ""),
        (
            0.051,
            "shard 2/2 began 51 ms away from the common start by the server's clock",
        ),
    ] {
        let mut late = trial_of(2, 2);
        late.load.as_mut().unwrap().engine.shards[0].late_s = late_s;
        let (_, trial) = merged(&[Some(trial_of(1, 2)), Some(late)]);
        assert_eq!(incomplete(&trial), says);
    }
}

#[test]
fn a_missing_second_of_a_shard_makes_the_trial_invalid() {
    let without = |change: fn(&mut Vec<Option<f64>>)| {
        let mut second = trial_of(2, 2);
        let load = second.load.as_mut().unwrap();
        change(load.series.get_mut("throughput").unwrap());
        let (_, trial) = merged(&[Some(trial_of(1, 2)), Some(second)]);
        (trial.state, incomplete(&trial))
    };
    for (found, second) in [
        (without(|seconds| seconds[17] = None), 17),
        (without(|seconds| seconds.truncate(58)), 58),
    ] {
        let says =
            format!("shard 2/2 has no record of second {second}, so the sums lack its load then");
        assert_eq!(found, (TrialState::Invalid, says));
    }
}

#[test]
fn the_seconds_of_a_killed_shard_tell_how_far_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let first = write(folder.path(), &run(note(1, 2)), Some(&trial_of(1, 2)));
    let killed = write(folder.path(), &run(note(2, 2)), None);
    let mut store = Store::resume(&killed).unwrap();
    for second in 0..7 {
        store
            .live(&timed(0).key, second, &LiveSample::default())
            .unwrap();
    }
    drop(store);
    let (_, trial) = of_paths(folder.path(), &[first, killed]).unwrap();
    assert!(
        incomplete(&trial).contains("shard 2/2 was cut short after 7 s"),
        "{:?}",
        trial.flags
    );
}

#[test]
fn a_run_that_is_not_given_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let second = write(folder.path(), &run(note(2, 2)), Some(&trial_of(2, 2)));
    let (run, trial) = of_paths(folder.path(), &[second]).unwrap();
    assert_eq!(run.sharing.unwrap().text(), "merged from 1 of 2 shards");
    assert!(
        incomplete(&trial).contains("shard 1/2 is missing: its run was not given"),
        "{:?}",
        trial.flags
    );
}

#[test]
fn records_that_do_not_belong_together_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str, run: Run| {
        let run = Run {
            id: name.into(),
            ..run
        };
        write(folder.path(), &run, Some(&trial_of(1, 2)))
    };
    let first = named("first", run(note(1, 2)));
    let says = |other: &PathBuf| unfit(of_paths(folder.path(), &[first.clone(), other.clone()]));
    let other = ShardNote {
        experiment: "e2".into(),
        ..note(2, 2)
    };
    let text = says(&named("other", run(other)));
    assert!(
        text.contains("first (shard 1/2) and other (shard 2/2) are not of one run")
            && text.contains("hash e1 and e2"),
        "{text}"
    );
    let text = says(&named("size", run(note(2, 3))));
    assert!(text.contains("their numbers of shards differ"), "{text}");
    let text = says(&named(
        "seed",
        Run {
            seed: 1,
            ..run(note(2, 2))
        },
    ));
    assert!(text.contains("their seeds differ"), "{text}");
    let text = says(&named("twice", run(note(1, 2))));
    assert!(
        text.contains("shard 1/2 is given twice: first and twice"),
        "{text}"
    );
    let text = says(&named("whole", common::run()));
    assert!(text.contains("whole is not a shard of a load"), "{text}");
    let again = Run {
        sharing: Some(Sharing::Merged(vec![note(1, 2)])),
        ..common::run()
    };
    let text = says(&named("again", again));
    assert!(
        text.contains("again is merged from 1 of 2 shards already"),
        "{text}"
    );
    assert!(unfit(of_paths(folder.path(), &[])).contains("no run to merge"));
}

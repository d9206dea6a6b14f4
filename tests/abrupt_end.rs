//! SIGKILL at any moment of a run. The longest test, so its name is the first in the alphabet: tests start in that order.
//!
//! Tiers: default, all, long.

use crate::faults::experiment;
use crate::support::process::{ended, nothing_is_left, send, until};
use crate::support::random::Random;
use crate::support::{Bench, finished, has};
use record::TrialKey;
use rustix::process::Signal;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs that are killed beside each other: most of the time each of them waits for its server.
const RUNS: u64 = 4;
/// More trials than are finished between the kills.
const BLOCKS: usize = 12;
/// The longest time from a start to its kill.
const KILLED_WITHIN_MS: u64 = 2_500;

#[test]
fn ten_kills_lose_and_repeat_no_trial_and_leave_nothing_behind() {
    kills_lose_and_repeat_no_trial(20_261_121..20_261_123, 5);
}

/// The kills are spread over all steps of a small run: start-up, copying, starting, measuring, saving, stopping.
#[test]
#[cfg(tier_all)]
fn a_hundred_kills_lose_and_repeat_no_trial_and_leave_nothing_behind() {
    kills_lose_and_repeat_no_trial(20_261_121..20_261_121 + RUNS, 25);
}

#[test]
#[cfg(tier_long)]
fn hardening_two_hundred_kills_lose_and_repeat_no_trial() {
    for first in [20_261_123, 20_261_133] {
        kills_lose_and_repeat_no_trial(first..first + RUNS, 25);
    }
}

/// Runs with these seeds beside each other, each killed so often.
fn kills_lose_and_repeat_no_trial(seeds: Range<u64>, kills: usize) {
    if !has("mariadb") {
        return;
    }
    std::thread::scope(|scope| {
        for seed in seeds {
            scope.spawn(move || killed_again_and_again(Random(seed), kills));
        }
    });
}

fn killed_again_and_again(mut random: Random, kills: usize) {
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "mariadb");
    let first = bench.run(&["run", &file, "--blocks", "1"]);
    first.measured();
    let mut kept: Option<(PathBuf, usize)> = None;
    for kill in 1..=kills {
        let resume = kept.as_ref().map(|(run, _)| run.display().to_string());
        let running = match &resume {
            Some(run) => bench.start(&["run", "--resume", run]),
            None => bench.start(&["run", &file, "--blocks", &BLOCKS.to_string()]),
        };
        std::thread::sleep(Duration::from_millis(random.below(KILLED_WITHIN_MS)));
        if kill == kills && kept.is_none() {
            // On a busy machine all kills may have come too early.
            until("a stored run", || stored(&bench).is_some());
        }
        send(running.id(), Signal::KILL);
        ended(running);
        bench.wait_until_quiet();
        let left = bench.leftovers();
        assert!(left.iter().all(|path| is_empty_journal(path)), "{left:?}");
        if let Some((run, now)) = stored(&bench) {
            if let Some((_, before)) = kept.as_ref().filter(|(kept, _)| *kept == run) {
                assert!(
                    now.len() >= *before,
                    "a finished trial was lost: {before} before, {} now",
                    now.len()
                );
            }
            let mut distinct = now.clone();
            distinct.sort();
            distinct.dedup();
            assert_eq!(distinct.len(), now.len(), "a trial was repeated");
            kept = Some((run, now.len()));
        }
    }
    let (run, done) = kept.expect("a run that was started");
    let last = bench.run(&["run", "--resume", &run.display().to_string()]);
    last.measured();
    let measured = last.stderr.lines().filter(|line| line.starts_with('['));
    assert_eq!(measured.count(), BLOCKS - done, "{}", last.stderr);
    nothing_is_left(&bench);
}

/// The newest run but the first one, and its finished trials. None if it was killed before it was stored.
fn stored(bench: &Bench) -> Option<(PathBuf, Vec<TrialKey>)> {
    let run = bench.runs().get(1..)?.last()?.clone();
    let store = run.join("run.sqlite");
    let trials = store.is_file().then(|| finished(&store))?.ok()?;
    Some((run, trials))
}

/// Whether a journal has no lease: its prony process was killed before its guard started. The next start removes it.
fn is_empty_journal(path: &Path) -> bool {
    let is_journal = path.extension().is_some_and(|name| name == "journal");
    let lines = std::fs::read_to_string(path).unwrap_or_default();
    is_journal && lines.split_whitespace().count() <= 1
}

//! SIGKILL at any moment of a run. The longest test, so its name is the first in the alphabet: tests start in that order.

use crate::faults::experiment;
use crate::support::process::{ended, send};
use crate::support::{Bench, finished, has};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs that are killed beside each other: most of the time each of them waits for its server.
const RUNS: u64 = 4;
const KILLS: usize = 25;
/// More trials than are finished between the kills.
const BLOCKS: usize = 12;

/// The kills are spread over all steps of a small run: start-up, copying, starting, measuring, saving, stopping.
#[test]
fn a_hundred_kills_lose_and_repeat_no_trial_and_leave_nothing_behind() {
    if !has("mariadb") {
        return;
    }
    std::thread::scope(|scope| {
        for run in 0..RUNS {
            scope.spawn(move || kills_lose_and_repeat_no_trial(Moments(20_261_121 + run)));
        }
    });
}

fn kills_lose_and_repeat_no_trial(mut moment: Moments) {
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "mariadb");
    let first = bench.run(&["run", &file, "--blocks", "1"]);
    assert_eq!(first.status, 0, "it makes the snapshot: {}", first.stderr);
    let mut kept: Option<(PathBuf, usize)> = None;
    for _ in 0..KILLS {
        let resume = kept.as_ref().map(|(run, _)| run.display().to_string());
        let running = match &resume {
            Some(run) => bench.start(&["run", "--resume", run]),
            None => bench.start(&["run", &file, "--blocks", &BLOCKS.to_string()]),
        };
        std::thread::sleep(Duration::from_millis(moment.next_ms()));
        send(running.id(), Signal::KILL);
        ended(running);
        bench.wait_until_quiet();
        let left = bench.leftovers();
        assert!(left.iter().all(|path| is_empty_journal(path)), "{left:?}");
        let newest = bench.runs().pop();
        let newest = newest.filter(|run| run.join("run.sqlite").is_file());
        if let (Some(run), true) = (newest, bench.runs().len() > 1) {
            let Ok(now) = finished(&run.join("run.sqlite")) else {
                continue; // killed before the first trial was stored
            };
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
    assert_eq!(last.status, 0, "{}", last.stderr);
    let measured = last.stderr.lines().filter(|line| line.starts_with('['));
    assert_eq!(measured.count(), BLOCKS - done, "{}", last.stderr);
    bench.wait_until_quiet();
    assert_eq!(bench.leftovers(), Vec::<PathBuf>::new());
}

/// Whether a journal has no lease: its prony process was killed before its guard started. The next start removes it.
fn is_empty_journal(path: &Path) -> bool {
    let is_journal = path.extension().is_some_and(|name| name == "journal");
    let lines = std::fs::read_to_string(path).unwrap_or_default();
    is_journal && lines.split_whitespace().count() <= 1
}

/// Delays from 0 to 2.5 s, the same in every test run.
struct Moments(u64);

impl Moments {
    fn next_ms(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % 2_500
    }
}

//! Failures outside of prony: each gives one clear message, loses no finished trial and leaves nothing behind.

use crate::support::process::{ended, send, servers, until};
use crate::support::{Bench, has};
use rustix::process::Signal;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const EXPERIMENT: &str = r#"
title = "Many short trials"
question = "What is lost when something fails?"

[server.one]
build = "BUILD"

[workload.ssb]
scale = 0.01

[load.closed]
clients = [1]

[protocol]
rounds = ["hot", "hot"]
blocks = 4
control = false
"#;

fn experiment(bench: &Bench, build: &str) -> String {
    bench.experiment("many", &EXPERIMENT.replace("BUILD", build))
}

fn finished(bench: &Bench) -> usize {
    bench.runs().last().map_or(0, |run| {
        crate::support::finished(&run.join("run.sqlite")).map_or(0, |keys| keys.len())
    })
}

#[test]
fn ctrl_c_keeps_finished_trials_and_stops_the_server() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "mariadb");
    let running = bench.start(&["run", &file]);
    until("the first trial", || finished(&bench) >= 1);
    send(running.id(), Signal::INT);
    let interrupted = ended(running);
    assert_eq!(interrupted.status, 130, "{}", interrupted.stderr);
    assert!(
        interrupted.stderr.contains("--resume"),
        "{}",
        interrupted.stderr
    );
    bench.wait_until_quiet();
    assert_eq!(bench.leftovers(), Vec::<PathBuf>::new());
    let done = finished(&bench);
    let run = bench.runs()[0].display().to_string();
    let resumed = bench.run(&["run", "--resume", &run]);
    assert_eq!(resumed.status, 0, "{}", resumed.stderr);
    let measured = resumed
        .stderr
        .lines()
        .filter(|line| line.starts_with('['))
        .count();
    assert_eq!(
        (finished(&bench), measured),
        (4, 4 - done),
        "{}",
        resumed.stderr
    );
}

/// The kills are spread over all steps of a small run: start-up, copying, starting, measuring, saving, stopping.
#[test]
fn a_hundred_kills_lose_and_repeat_no_trial_and_leave_nothing_behind() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "mariadb");
    assert_eq!(
        bench.run(&["run", &file, "--blocks", "1"]).status,
        0,
        "the snapshot is made first"
    );
    let mut moment = Moments(20_261_121);
    let mut kept: Option<(PathBuf, usize)> = None;
    for _ in 0..100 {
        let resume = kept.as_ref().map(|(run, _)| run.display().to_string());
        let running = match &resume {
            Some(run) => bench.start(&["run", "--resume", run]),
            None => bench.start(&["run", &file, "--blocks", "40"]),
        };
        std::thread::sleep(Duration::from_millis(moment.next_ms()));
        send(running.id(), Signal::KILL);
        ended(running);
        bench.wait_until_quiet();
        let left = bench.leftovers();
        assert!(left.iter().all(|path| is_empty_journal(path)), "{left:?}");
        let newest = bench
            .runs()
            .pop()
            .filter(|run| run.join("run.sqlite").is_file());
        if let (Some(run), true) = (newest, bench.runs().len() > 1) {
            let Ok(now) = crate::support::finished(&run.join("run.sqlite")) else {
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
    let measured = last
        .stderr
        .lines()
        .filter(|line| line.starts_with('['))
        .count();
    assert_eq!(measured, 40 - done, "{}", last.stderr);
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

#[test]
fn a_server_that_dies_fails_its_trial_and_the_others_continue() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "mariadb");
    assert_eq!(
        bench.run(&["run", &file, "--blocks", "1"]).status,
        0,
        "the snapshot is made first"
    );
    let running = bench.start(&["run", &file, "--scale", "0.01"]);
    until("a server", || !servers(&bench).is_empty());
    for (pid, _) in servers(&bench) {
        send(pid, Signal::KILL);
    }
    let after = ended(running);
    assert_eq!(after.status, 3, "{}", after.stderr);
    assert!(after.stderr.contains("trial_failed"), "{}", after.stderr);
    assert_eq!(
        finished(&bench),
        3,
        "the other trials were measured: {}",
        after.stderr
    );
    let run = bench.runs().pop().unwrap().display().to_string();
    assert_eq!(
        bench.run(&["run", "--resume", &run]).status,
        0,
        "a failed trial is measured again"
    );
    assert_eq!(finished(&bench), 4);
}

#[test]
fn a_server_that_cannot_start_fails_its_trial_with_the_cause() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let text = EXPERIMENT
        .replace("BUILD", "mariadb")
        .replace("blocks = 4", "blocks = 1")
        + "\n[variant.fine]\n[variant.broken]\nsettings = { innodb_flush_method = \"nowhere\" }\n";
    let after = bench.run(&["run", &bench.experiment("broken", &text)]);
    assert_eq!(after.status, 3, "{}", after.stderr);
    let shown = bench.json(&bench.runs()[0]);
    let mut states: Vec<_> = shown["trials"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|trial| trial["state"].as_str())
        .collect();
    states.sort_unstable();
    assert_eq!(states, ["done", "failed"]);
    for part in ["innodb_flush_method", "the server's log is in logs/"] {
        assert!(after.stderr.contains(part), "{part}: {}", after.stderr);
    }
}

#[test]
fn two_concurrent_runs_share_the_cache_and_succeed() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let file = experiment(&bench, "mariadb");
    let both = [
        bench.start(&["run", &file, "--blocks", "2"]),
        bench.start(&["run", &file, "--blocks", "2"]),
    ];
    for one in both.map(ended) {
        assert_eq!(one.status, 0, "{}", one.stderr);
    }
    assert_eq!(bench.runs().len(), 2);
}

#[test]
fn an_unknown_setting_is_refused_before_any_load() {
    if !has("mysql@5.6.14") {
        return;
    }
    let bench = Bench::new();
    let text = EXPERIMENT.replace("BUILD", "mysql@5.6.14")
        + "\n[settings]\ninnodb_bufer_pool_size = \"64M\"\n";
    let refused = bench.run(&["run", &bench.experiment("misspelt", &text)]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("innodb_buffer_pool_size"),
        "{}",
        refused.stderr
    );
    assert!(
        !bench
            .home()
            .join("snapshots")
            .read_dir()
            .is_ok_and(|mut entries| entries.next().is_some()),
        "nothing was loaded"
    );
}

#[test]
fn a_pool_above_the_memory_is_refused_before_any_load() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let text = EXPERIMENT.replace("BUILD", "mariadb")
        + "\n[settings]\ninnodb_buffer_pool_size = \"40T\"\n";
    let refused = bench.run(&["run", &bench.experiment("huge", &text)]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("innodb_buffer_pool_size = 40T exceeds the machine's memory"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_refused_connection_gives_one_message_with_the_fix() {
    let bench = Bench::new();
    let refused = bench.run(&["run", &experiment(&bench, "mysql://root@127.0.0.1:1/")]);
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("127.0.0.1"), "{}", refused.stderr);
}

#[test]
fn a_missing_file_is_refused_with_a_suggestion() {
    let bench = Bench::new();
    let refused = bench.run(&["run", "quickstrat"]);
    assert_eq!(refused.status, 2);
    assert!(
        refused.stderr.contains("did you mean quickstart?"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_damaged_snapshot_gives_a_wrong_answer_and_an_invalid_trial() {
    let bench = Bench::new();
    let file = experiment(&bench, "sqlite");
    assert_eq!(bench.run(&["run", &file, "--blocks", "1"]).status, 0);
    let snapshot = std::fs::read_dir(bench.home().join("snapshots"))
        .unwrap()
        .flatten()
        .find(|entry| entry.path().is_dir())
        .unwrap();
    let data = std::fs::read_dir(snapshot.path().join("data"))
        .unwrap()
        .flatten()
        .next()
        .unwrap();
    let tampered = rusqlite::Connection::open(data.path()).unwrap();
    tampered
        .execute_batch("UPDATE lineorder SET lo_revenue = lo_revenue + 1, lo_discount = 2")
        .unwrap();
    drop(tampered);
    let after = bench.run(&["run", &file, "--blocks", "1"]);
    assert_eq!(after.status, 3, "{}", after.stderr);
    assert!(after.stderr.contains("wrong_answer"), "{}", after.stderr);
    let shown = bench.json(&bench.runs().pop().unwrap());
    assert_eq!(shown["valid"], false);
}

/// A small file system for the bench's snapshots. Only root can mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf, mebibytes: u64) -> Option<SmallDisk> {
        std::fs::create_dir_all(&at).unwrap();
        let size = format!("size={mebibytes}m");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&at)
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(SmallDisk(at));
        }
        crate::support::skip::skipped("only root can mount a small file system");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_disk_too_small_for_the_data_is_refused_before_the_load() {
    let bench = Bench::new();
    let Some(_disk) = SmallDisk::mount(bench.home().join("snapshots"), 8) else {
        return;
    };
    let refused = bench.run(&["run", &experiment(&bench, "sqlite")]);
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("not enough disk space"),
        "{}",
        refused.stderr
    );
}

/// Another program fills the disk during the load.
#[test]
fn a_disk_that_fills_during_a_load_gives_one_message_and_leaves_nothing() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let Some(_disk) = SmallDisk::mount(bench.home().join("snapshots"), 900) else {
        return;
    };
    let running = bench.start(&["run", &experiment(&bench, "mariadb"), "--scale", "0.1"]);
    until("the server that loads", || !servers(&bench).is_empty());
    let filler = bench.home().join("snapshots/filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while file.write_all(&[0; 1 << 20]).is_ok() {}
    drop(file);
    let failed = ended(running);
    assert_eq!(failed.status, 3, "{}", failed.stderr);
    let said = failed.stderr.to_lowercase();
    assert!(
        said.contains("space") || said.contains("full"),
        "{}",
        failed.stderr
    );
    bench.wait_until_quiet();
    assert_eq!(bench.leftovers(), Vec::<PathBuf>::new());
    std::fs::remove_file(&filler).unwrap();
    let again = bench.run(&[
        "run",
        &experiment(&bench, "mariadb"),
        "--scale",
        "0.01",
        "--blocks",
        "1",
    ]);
    assert_eq!(
        again.status, 0,
        "succeeds after space is freed: {}",
        again.stderr
    );
}

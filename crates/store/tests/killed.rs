//! A run that is killed, and its file where nothing can be written.
//!
//! The child is this very test program: the tests named `child_...` do their part only where the environment says so.

use crate::common::{place, run, trial};
use record::{Trial, TrialState};
use std::fs::{Permissions, set_permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use store::Store;

const FILE: &str = "RECORD_TEST_FILE";

/// Large enough that saving it takes most of the child's time.
fn large(block: u32) -> Trial {
    trial(block, TrialState::Done, 13, 100)
}

fn child(program: &Path, test: &str, file: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", test, "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped());
    command
}

#[test]
fn child_saves_until_it_is_killed() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else {
        return;
    };
    let mut store = Store::create(&path, &run()).unwrap();
    for block in 0.. {
        store.save(&large(block)).unwrap();
        println!("saved {block}");
    }
}

/// Kills the child while it saves the trial after `blocks` others; gives how many it said that it had saved.
fn killed_run(path: &Path, blocks: usize) {
    let own = std::env::current_exe().unwrap();
    let mut child = child(&own, "killed::child_saves_until_it_is_killed", path)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let saved = lines
        .map(Result::unwrap)
        .filter(|line| line.contains("saved"))
        .take(blocks)
        .count();
    assert_eq!(saved, blocks);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_run_keeps_its_finished_trials_whole() {
    for blocks in 1..8 {
        let (_folder, path) = place();
        killed_run(&path, blocks);
        let trials = Store::open(&path).unwrap().trials_whole().unwrap();
        assert!(trials.len() >= blocks, "{} of {blocks}", trials.len());
        assert!(
            trials
                .iter()
                .enumerate()
                .all(|(block, trial)| *trial == large(block as u32))
        );

        let mut resumed = Store::resume(&path).unwrap();
        assert_eq!(resumed.finished().unwrap().len(), trials.len());
        resumed.save(&large(trials.len() as u32)).unwrap();
        drop(resumed);
        assert_eq!(
            Store::open(&path).unwrap().trials().unwrap().len(),
            trials.len() + 1
        );
    }
}

#[test]
fn child_counts_trials() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else {
        return;
    };
    let folder = path.parent().unwrap();
    assert!(
        std::fs::write(folder.join("new"), "").is_err(),
        "the folder must not be writable here"
    );
    println!(
        "counted {}",
        Store::open(&path).unwrap().trials_whole().unwrap().len()
    );
}

/// Opens the file in a process that may read its folder and not write it; root may always, so it becomes nobody.
fn count_without_writing(folder: &Path, path: &Path) -> usize {
    let program = folder.join("reader");
    // By another process: a file that this one has open for writing could be inherited by the child of a test beside this
    // one, and a file that anybody has open for writing cannot be executed.
    let mut copy = Command::new("cp");
    copy.arg(std::env::current_exe().unwrap()).arg(&program);
    assert!(copy.status().unwrap().success());
    set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
    let mut child = child(&program, "killed::child_counts_trials", path);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        child.uid(65534);
    }
    let output = child.stderr(Stdio::piped()).output().unwrap();
    set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let counted = text
        .split("counted ")
        .nth(1)
        .unwrap_or_else(|| panic!("the reader failed: {text}"));
    counted.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_finished_run_opens_in_a_folder_that_cannot_be_written() {
    let (folder, path) = place();
    Store::create(&path, &run())
        .unwrap()
        .save(&large(0))
        .unwrap();
    assert_eq!(count_without_writing(folder.path(), &path), 1);
}

#[test]
fn a_killed_run_opens_in_a_folder_that_cannot_be_written() {
    for index_kept in [true, false] {
        let (folder, path) = place();
        killed_run(&path, 3);
        if !index_kept {
            std::fs::remove_file(path.with_extension("sqlite-shm")).unwrap();
        }
        assert!(count_without_writing(folder.path(), &path) >= 3);
    }
}

#[test]
fn a_running_run_opens_in_a_folder_that_cannot_be_written() {
    let (folder, path) = place();
    let mut store = Store::create(&path, &run()).unwrap();
    store.save(&large(0)).unwrap();
    assert_eq!(count_without_writing(folder.path(), &path), 1);
}

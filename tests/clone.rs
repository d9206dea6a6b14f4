//! What a stranger waits for before the first command: the clone is small.
//!
//! Tier: default.

use crate::support::root;
use crate::support::skip::skipped;
use std::path::PathBuf;
use std::process::Command;

/// A file of results, and all of them together.
const RESULT_BYTES_MAX: u64 = 200 * 1000;
const RESULTS_BYTES_MAX: u64 = 10_000_000;

/// All files of the tree in blocks of [`BLOCK_BYTES`]. What git downloads for them is less; `bench/results/build.md` has both.
const TREE_BYTES_MAX: u64 = 20_000_000;
const BLOCK_BYTES: u64 = 4096;

/// The tracked files below a folder of the repository and their sizes; None outside a git checkout.
fn tracked(folder: &str) -> Option<Vec<(PathBuf, u64)>> {
    let listed = Command::new("git")
        .current_dir(root())
        .args(["ls-files", "-z", folder])
        .output();
    let listed = listed.ok().filter(|output| output.status.success())?;
    let names = String::from_utf8(listed.stdout).unwrap();
    let files = names
        .split_terminator('\0')
        .map(|name| root().join(name))
        // One that is deleted and not committed has no size.
        .filter_map(|path| Some((path.clone(), path.symlink_metadata().ok()?.len())));
    Some(files.collect())
}

#[test]
fn every_kept_result_has_at_most_200_kb_and_all_have_10_mb() {
    let Some(results) = tracked("bench/results") else {
        return skipped("no git checkout");
    };
    let large = results
        .iter()
        .filter(|(_, bytes)| *bytes > RESULT_BYTES_MAX);
    let large: Vec<_> = large.collect();
    assert!(
        large.is_empty(),
        "{large:#?}\nkeep records as bench/results/README.md says"
    );
    let all: u64 = results.iter().map(|(_, bytes)| bytes).sum();
    assert!((100_000..RESULTS_BYTES_MAX).contains(&all), "{all} bytes");
}

#[test]
fn the_files_of_a_clone_take_less_than_20_mb() {
    let Some(files) = tracked(".") else {
        return skipped("no git checkout");
    };
    let blocks = files.iter().map(|(_, bytes)| bytes.div_ceil(BLOCK_BYTES));
    let all = blocks.sum::<u64>() * BLOCK_BYTES;
    assert!((1_000_000..TREE_BYTES_MAX).contains(&all), "{all} bytes");
}

#[test]
fn the_readme_leaves_the_history_out_of_the_clone() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains("git clone --depth 1 "));
}

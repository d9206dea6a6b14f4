//! Functions, files and folders that one can take in at a look.
//!
//! Tier: default.

use super::{crates, files, is_for_tests, only_exceptions, root, shown, text};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 600;
/// Without the file that is the folder's own module, and without tests.
const FOLDER_FILES_MAX: usize = 12;

/// The Rust files of the repository.
fn sources() -> Vec<PathBuf> {
    let mut all = files(&root().join("crates"), "rs");
    all.extend(files(&root().join("tests"), "rs"));
    all
}

/// The name of the function that begins in this line, and the line that ends it.
fn function(line: &str) -> Option<(&str, String)> {
    let code = line.trim_start();
    let head = &code[..code.find("fn ")?];
    let is_head = head.split_whitespace().all(|word| {
        ["const", "async", "unsafe", "extern", "\"C\""].contains(&word) || word.starts_with("pub")
    });
    let name = code[head.len() + 3..].split(['(', '<']).next()?;
    let indent = &line[..line.len() - code.len()];
    (is_head && !line.ends_with(['}', ';'])).then(|| (name, format!("{indent}}}")))
}

#[test]
fn functions_have_at_most_70_lines() {
    let mut found = BTreeSet::new();
    for file in sources() {
        let text = text(&file);
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some((name, end)) = function(line) else {
                continue;
            };
            let is_declared = format!("{})", end.trim_end_matches('}'));
            let is_end = |line: &&str| {
                **line == *end || (line.starts_with(&is_declared) && line.ends_with(';'))
            };
            let length = lines[at..].iter().position(is_end);
            if length.is_some_and(|length| length + 1 > FUNCTION_LINES_MAX) {
                found.insert(format!("{} {name}", shown(&file)));
            }
        }
    }
    only_exceptions(found, &LONG_FUNCTIONS, "split these functions");
}

#[test]
fn files_have_at_most_600_lines() {
    let is_long = |file: &PathBuf| text(file).lines().count() > FILE_LINES_MAX;
    let found = sources().into_iter().filter(is_long);
    let found = found.map(|file| shown(&file)).collect();
    only_exceptions(found, &[], "split these files");
}

#[test]
fn folders_have_at_most_a_dozen_files() {
    let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (_, src) in crates() {
        for file in files(&src, "rs") {
            let is_own = ["mod.rs", "lib.rs", "main.rs"].map(|name| file.ends_with(name));
            if !is_own.contains(&true) && !is_for_tests(&file) {
                *counts.entry(file.parent().unwrap().into()).or_default() += 1;
            }
        }
    }
    let found = counts.into_iter();
    let found = found.filter(|(_, count)| *count > FOLDER_FILES_MAX);
    let found = found.map(|(folder, _)| shown(&folder)).collect();
    only_exceptions(
        found,
        &FULL_FOLDERS,
        "give files that belong together a folder",
    );
}

const TABLE: &str = "a table of cases, or one made-up record";
const STORY: &str = "one story of a test, step by step";

const LONG_FUNCTIONS: [(&str, &str); 11] = [
    ("crates/prony/src/cli/gate/tests.rs path", TABLE),
    ("crates/report/tests/fixture/mod.rs troubled", TABLE),
    ("crates/report/tests/fixture/timed.rs load", TABLE),
    (
        "crates/report/tests/forms.rs json_keeps_the_contract",
        TABLE,
    ),
    ("crates/stats/tests/common/mod.rs trial", TABLE),
    ("crates/store/tests/property.rs trial", TABLE),
    (
        "crates/workload/src/sql/section/mod.rs a_mistake_names_its_key",
        TABLE,
    ),
    (
        "tests/real/tpcc.rs an_order_is_written_with_its_lines_and_its_number",
        STORY,
    ),
    ("tests/real/tpcc_planted.rs plants", TABLE),
    (
        "tests/shards.rs four_shards_are_together_the_whole_load",
        STORY,
    ),
    (
        "tests/shards.rs what_cannot_be_shared_is_refused_before_anything_is_connected",
        TABLE,
    ),
];

const FULL_FOLDERS: [(&str, &str); 1] = [("crates/prony/src/cli", "a file for each verb")];

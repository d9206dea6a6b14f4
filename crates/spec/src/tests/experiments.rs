//! Every file in `experiments/` is read and planned.

use super::{check_ssb, shown};
use crate::plan;
use crate::{Section, TargetKind};
use std::path::{Path, PathBuf};

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() || path.extension().is_some_and(|end| end == "toml"));
    entries
        .flat_map(|path| {
            if path.is_dir() {
                toml_files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

const QUERIES: [&str; 13] = [
    "Q1.1", "Q1.2", "Q1.3", "Q2.1", "Q2.2", "Q2.3", "Q3.1", "Q3.2", "Q3.3", "Q3.4", "Q4.1", "Q4.2",
    "Q4.3",
];

/// Other workloads test their own sections.
fn check(name: &str, section: &Section) -> Option<TargetKind> {
    match name {
        "ssb" => check_ssb(name, section),
        "fileio" => Some(TargetKind::Folder),
        _ => Some(TargetKind::Server),
    }
}

/// Of a workload in rounds; none of one that is timed.
fn queries(workload: &str) -> Vec<String> {
    match workload {
        "ssb" => QUERIES.map(String::from).to_vec(),
        "tpch" => (1..=22).map(|number| format!("Q{number}")).collect(),
        "sql" => vec!["by_region".to_string()],
        _ => Vec::new(),
    }
}

/// Reads a whole file, checks it as `prony check` does, and counts its trials.
fn trials(name: &str, source: &str) -> usize {
    let experiment = crate::parse(name, name, source, &check)
        .unwrap_or_else(|error| panic!("{}", shown(&error)));
    let queries = queries(&experiment.workload);
    let names: Vec<&str> = queries.iter().map(String::as_str).collect();
    if !queries.is_empty() {
        crate::queries::check(&experiment, &names)
            .unwrap_or_else(|error| panic!("{}", shown(&error)));
    }
    crate::timed::check(&experiment, queries.is_empty())
        .unwrap_or_else(|error| panic!("{}", shown(&error)));
    plan::expand(&experiment, 1).unwrap().len()
}

#[test]
fn every_experiment_in_the_tree_is_valid_and_says_why_it_exists() {
    let files = toml_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"));
    assert!(files.len() >= 5);
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        assert!(
            source.starts_with("# "),
            "{} begins with prose",
            file.display()
        );
        assert!(trials(&file.display().to_string(), &source) > 0);
    }
}

#[test]
fn the_complete_examples_of_the_documentation_are_valid() {
    let page = include_str!("../../../../docs/EXPERIMENTS.md");
    let blocks = page.split("```toml\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let complete = blocks.filter(|source| source.starts_with("title"));
    // The files that they name.
    let folder = tempfile::tempdir().unwrap();
    for name in ["shop.sql", "queries.sql"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let path = folder.path().join("x.toml").display().to_string();
    let planned: Vec<usize> = complete.map(|source| trials(&path, source)).collect();
    // Three of each are the control.
    assert_eq!(planned, [9, 12, 12]);
}

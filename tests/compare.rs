//! `prony compare`, `show --gate` and `list --runs` on kept records: no server is needed.

use crate::support::{Bench, Ended};
use std::path::{Path, PathBuf};

/// The quickstart, compressed: three claims, all of which hold.
const QUICKSTART: &str = "quickstart/run.sqlite.gz";
/// A closed loop with two client counts.
const LOADS: &str = "before/closed.sqlite";
const OPEN: &str = "before/open.sqlite";

fn kept(name: &str) -> String {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    results.join(name).display().to_string()
}

fn prony(words: &[&str]) -> Ended {
    Bench::new().run(words)
}

fn json(ended: &Ended) -> serde_json::Value {
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn a_compressed_record_is_shown_directly() {
    let shown = prony(&["show", &kept(QUICKSTART)]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.contains("3 of 3 claims hold"),
        "{}",
        shown.stdout
    );
}

#[test]
fn a_run_against_itself_differs_in_nothing_and_passes_the_gate() {
    let run = kept(LOADS);
    let compared = prony(&["compare", &run, &run, "--gate"]);
    assert_eq!(compared.status, 0, "{}", compared.stderr);
    assert!(
        compared.stdout.contains("are the same"),
        "{}",
        compared.stdout
    );
    assert!(compared.stdout.contains("unpaired"), "{}", compared.stdout);
    assert!(
        compared.stderr.contains("gate passed"),
        "{}",
        compared.stderr
    );
    let json = json(&prony(&["compare", &run, &run, "--format", "json"]));
    let gated = json["comparisons"].as_array().unwrap().iter();
    let gated: Vec<_> = gated.filter(|found| found["gated"] == true).collect();
    assert_eq!(gated.len(), 2);
    assert!(gated.iter().all(|found| found["ratio"] == 1.0));
}

#[test]
fn closed_and_open_loops_are_not_comparable_and_cannot_be_gated() {
    let runs = [kept(LOADS), kept(OPEN)];
    let shown = prony(&["compare", &runs[0], &runs[1]]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("Not compared"), "{}", shown.stdout);
    let gated = prony(&["compare", &runs[0], &runs[1], "--gate"]);
    assert_eq!(gated.status, 2);
    assert!(gated.stderr.contains("nothing to gate"), "{}", gated.stderr);
}

#[test]
fn a_gate_on_claims_passes_and_writes_its_files() {
    let bench = Bench::new();
    let run = kept(QUICKSTART);
    let words = [
        "show",
        &run,
        "--gate=strict",
        "--junit",
        "a.xml",
        "--summary",
        "a.md",
    ];
    let gated = bench.run(&words);
    assert_eq!(gated.status, 0, "{}", gated.stderr);
    let read = |name| std::fs::read_to_string(bench.folder.path().join(name)).unwrap();
    assert!(read("a.xml").contains("tests=\"3\" failures=\"0\""));
    assert!(read("a.md").contains("gate passed: 3 checks"));
}

#[test]
fn a_gate_without_a_second_server_is_refused_before_anything_is_measured() {
    let bench = ["bench", "oltp-point-select", "--gate"];
    let refused = prony(&bench);
    assert_eq!(refused.status, 2);
    assert!(
        refused.stderr.contains("--server old=BUILD"),
        "{}",
        refused.stderr
    );
}

/// A results folder with a kept record in a folder of its own.
fn with_run(bench: &Bench, name: &str) -> PathBuf {
    let folder = bench.results().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(kept(QUICKSTART), folder.join("run.sqlite.gz")).unwrap();
    folder
}

#[test]
fn runs_are_listed_and_the_latest_needs_no_name() {
    let bench = Bench::new();
    with_run(&bench, "quickstart-1");
    std::fs::create_dir_all(bench.results().join("broken")).unwrap();
    std::fs::write(bench.results().join("broken/run.sqlite"), "no record").unwrap();
    let listed = bench.line("list --runs");
    assert_eq!(listed.status, 0, "{}", listed.stderr);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert!(
        lines[0].starts_with("broken") && lines[0].contains("cannot be read"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("quickstart-1") && lines[1].contains("6 of 6 trials"),
        "{lines:?}"
    );
    let shown = bench.line("show @latest");
    assert_eq!(shown.status, 0, "{}", shown.stderr);
}

//! `prony compare`, `show --gate` and `list --runs` on kept records: no server is needed.
//!
//! Tier: default.

use crate::support::{Bench, Ended, in_a_line};
use std::path::{Path, PathBuf};

/// The quickstart, compressed: three claims, all of which hold.
const QUICKSTART: &str = "quickstart/run.sqlite.gz";
/// A closed loop with two client counts.
const LOADS: &str = "before/closed.sqlite.zst";
const OPEN: &str = "before/open.sqlite.zst";

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

/// The third claim's ratio is 1.00: its threshold is decided, its direction is not.
#[test]
fn a_claim_that_holds_is_not_called_undecided_beside_its_ratio() {
    let shown = prony(&["show", &kept(QUICKSTART)]).stdout;
    assert!(!shown.contains("undecided"), "{shown}");
    let json = json(&prony(&["show", &kept(QUICKSTART), "--format", "json"]));
    assert_eq!(json["claims"][2]["direction"], "undecided");
}

#[test]
fn a_pipe_gets_ascii_of_eighty_columns_or_as_many_as_columns_says() {
    let bench = Bench::new();
    let record = kept(QUICKSTART);
    let words = ["show", &record, "--verbose"];
    let widest = |columns: &str| {
        let shown = bench.prony(&words).env("COLUMNS", columns).output();
        let text = String::from_utf8(shown.unwrap().stdout).unwrap();
        assert!(text.is_ascii(), "{text}");
        let widest = text.lines().map(str::len).max().unwrap();
        assert!(text.contains("x slower") && !text.contains("**"), "{text}");
        widest
    };
    assert!((70..=80).contains(&widest("")));
    assert!((90..=120).contains(&widest("120")));
}

#[test]
fn the_first_screen_leaves_the_rest_to_verbose() {
    let record = kept(QUICKSTART);
    let shown = prony(&["show", &record]).stdout;
    let all = prony(&["show", &record, "--verbose"]).stdout;
    for part in ["Verdicts", "Rounds", "the same setup twice"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("With --verbose: "), "{shown}");
    assert!(all.contains("Datasets\n") && !shown.contains("Datasets\n"));
    assert!(shown.lines().count() <= 40, "{shown}");
}

#[test]
fn the_page_of_a_compressed_record_is_written_where_it_is_named() {
    let bench = Bench::new();
    let record = bench.folder.path().join("mine.sqlite.gz");
    std::fs::copy(kept(QUICKSTART), &record).unwrap();
    let record = record.display().to_string();
    let beside = bench.run(&["report", &record]);
    assert_eq!(beside.status, 0, "{}", beside.stderr);
    let page = bench.folder.path().join("mine.html");
    assert_eq!(beside.stdout.trim(), page.display().to_string());
    assert!(page.is_file());
    let named = bench.run(&["report", &record, "--out", "other.html"]);
    assert_eq!(named.status, 0, "{}", named.stderr);
    assert!(bench.folder.path().join("other.html").is_file());
}

#[test]
fn a_run_against_itself_differs_in_nothing_and_cannot_be_gated() {
    let run = kept(LOADS);
    let compared = prony(&["compare", &run, &run]);
    assert_eq!(compared.status, 0, "{}", compared.stderr);
    assert!(
        compared.stdout.contains("are the same"),
        "{}",
        compared.stdout
    );
    assert!(compared.stdout.contains("unpaired"), "{}", compared.stdout);
    let gated = prony(&["compare", &run, &run, "--gate"]);
    assert_eq!(gated.status, 2);
    let says = "is compared with itself";
    assert!(gated.stderr.contains(says), "{}", gated.stderr);
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

/// Of the quickstart, and not the prony that shows it.
const RECORDED_BY: &str = "c5c5bd1b1bad";

#[test]
fn every_form_names_the_prony_that_recorded_the_run() {
    let (bench, run) = (Bench::new(), kept(QUICKSTART));
    let files = ["--junit", "a.xml", "--summary", "a.md"];
    for format in ["table", "json", "csv", "markdown"] {
        let words = ["show", &run, "--format", format];
        let shown = bench.run(&[&words[..], &files].concat());
        assert!(shown.stdout.contains(RECORDED_BY), "{}", shown.stdout);
    }
    for file in ["a.xml", "a.md"] {
        let text = std::fs::read_to_string(bench.folder.path().join(file)).unwrap();
        assert!(text.contains(RECORDED_BY), "{text}");
    }
    for format in ["table", "json", "markdown"] {
        let shown = bench.run(&["compare", &run, &run, "--format", format]);
        let text = in_a_line(&shown.stdout);
        assert!(text.contains(RECORDED_BY), "{}", shown.stdout);
    }
}

#[test]
fn the_version_names_the_build() {
    let shown = prony(&["--version"]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    assert_eq!(
        shown.stdout.trim(),
        format!("prony {}", host::machine::VERSION)
    );
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

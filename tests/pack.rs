//! `prony pack`, and what the other verbs say of a slim record. No server is needed.
//!
//! Tier: default.

use crate::support::{Bench, Ended, in_a_line};
use std::path::Path;

/// A crash under TPC-C: a timed load with an audit, an event and two claims.
fn whole() -> String {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
    let record = bench.join("same_figures/records/crash.sqlite.zst");
    record.display().to_string()
}

/// A bench with `slim.sqlite.gz` in its folder.
fn packed() -> Bench {
    let bench = Bench::new();
    let packed = bench.run(&["pack", &whole(), "--slim", "--out", "slim.sqlite.gz"]);
    assert_eq!(packed.status, 0, "{}", packed.stderr);
    assert_eq!(packed.stdout, "slim.sqlite.gz\n");
    bench
}

fn refused(ended: &Ended, says: &str) {
    assert_eq!(ended.status, 2, "{}\n{}", ended.stdout, ended.stderr);
    let text = in_a_line(&ended.stderr);
    assert!(text.contains(says), "{text}");
}

fn json(ended: &Ended) -> serde_json::Value {
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn a_slim_record_shows_the_figures_and_verdicts_of_the_whole_one_and_its_label() {
    let bench = packed();
    let mut slim = json(&bench.line("show slim.sqlite.gz --format json"));
    let mut full = json(&bench.run(&["show", &whole(), "--format", "json"]));
    let label = slim.as_object_mut().unwrap().remove("slim").unwrap();
    assert_eq!(label["rules"], stats::RULES);
    assert_eq!(slim["trials"][0]["samples"], serde_json::json!([]));
    full["trials"][0]["samples"] = slim["trials"][0]["samples"].clone();
    assert_eq!(slim, full);
    let table = bench.line("show slim.sqlite.gz").stdout;
    assert!(table.contains("slim record"), "{table}");
    let csv = bench.line("show slim.sqlite.gz --format csv").stdout;
    assert_eq!(
        csv,
        bench.run(&["show", &whole(), "--format", "csv"]).stdout
    );
}

#[test]
fn a_slim_record_is_less_than_a_fifth_of_the_whole_one() {
    let bench = packed();
    let bytes = |path: &Path| path.metadata().unwrap().len();
    let slim = bytes(&bench.folder.path().join("slim.sqlite.gz"));
    assert!(5 * slim < bytes(Path::new(&whole())), "{slim}");
}

#[test]
fn what_needs_the_seconds_says_that_the_record_is_slim() {
    let bench = packed();
    refused(
        &bench.line("show slim.sqlite.gz --format samples"),
        "has no seconds to print; name the whole record",
    );
    let page = bench.line("report slim.sqlite.gz");
    assert_eq!(page.status, 0, "{}", page.stderr);
    let page = std::fs::read_to_string(bench.folder.path().join("slim.html")).unwrap();
    assert!(page.contains("What this slim record lacks"));
    for part in ["Second by second", "Latency distribution"] {
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn a_comparison_names_the_slim_run() {
    let bench = packed();
    let compared = bench.run(&["compare", "slim.sqlite.gz", &whole(), "--format", "json"]);
    let runs = json(&compared)["runs"].clone();
    assert_eq!(runs[0]["slim"]["rules"], stats::RULES);
    assert_eq!(runs[1].get("slim"), None);
}

#[test]
fn a_slim_record_is_not_resumed_and_not_merged() {
    let bench = packed();
    refused(
        &bench.line("merge slim.sqlite.gz slim.sqlite.gz"),
        "use the whole record",
    );
    let folder = bench.folder.path().join("run");
    std::fs::create_dir(&folder).unwrap();
    let plain = bench.run(&["pack", &whole(), "--slim", "--out", "run/run.sqlite"]);
    assert_eq!(plain.status, 0, "{}", plain.stderr);
    refused(&bench.line("run --resume run"), "use the whole record");
}

#[test]
fn nothing_is_overwritten_and_nothing_slim_is_packed_again() {
    let bench = packed();
    let again = bench.run(&["pack", &whole(), "--out", "slim.sqlite.gz"]);
    refused(&again, "slim.sqlite.gz exists; name another file");
    refused(&bench.line("pack slim.sqlite.gz --slim"), "is slim already");
    let odd = bench.run(&["pack", &whole(), "--out", "slim.zip"]);
    refused(&odd, "ends with .sqlite or .sqlite.gz");
}

#[test]
fn a_packed_record_without_slim_is_the_whole_one() {
    let bench = Bench::new();
    let packed = bench.run(&["pack", &whole()]);
    assert_eq!(packed.status, 0, "{}", packed.stderr);
    let name = packed.stdout.trim();
    assert!(
        name.starts_with("crash-") && name.ends_with(".sqlite.gz"),
        "{name}"
    );
    let samples = |record: &str| bench.run(&["show", record, "--format", "samples"]).stdout;
    assert_eq!(samples(name), samples(&whole()));
}

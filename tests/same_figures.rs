//! Records of earlier prony versions show the same figures in this one. `bench/same_figures` checks all records.
//!
//! Tier: default.

// This file uses only a part of the benchmark's code.
#[allow(dead_code)]
#[path = "../bench/same_figures/compare.rs"]
mod compare;
#[path = "../bench/same_figures/figures.rs"]
mod figures;
#[allow(dead_code)]
#[path = "../bench/same_figures/packed.rs"]
mod packed;
#[allow(dead_code)]
#[path = "../bench/same_figures/reference.rs"]
mod reference;

use compare::differences;
use figures::{rows_of_csv, rows_of_tables};
use packed::{pack, unpack};
use reference::Case;
use serde_json::{Value, json};
use std::path::Path;

/// One of each kind: a closed and an open load, rounds of one and of several engines, a crash, a cluster, files, a comparison and a merge.
const CASES: [&str; 9] = [
    "before-closed",
    "before-open",
    "p1-scale-1-own-plans",
    "p6-icp-page-cache",
    "whole-crash",
    "whole-cluster",
    "whole-files",
    "compare",
    "merge",
];

#[test]
fn figures_are_those_of_an_earlier_version() {
    let prony = Path::new(env!("CARGO_BIN_EXE_prony"));
    let all = Case::all();
    for name in CASES {
        let case = all.iter().find(|case| case.name == name).unwrap();
        let differences = case.differences(prony).unwrap();
        assert!(differences.is_empty(), "{name}: {differences:#?}");
    }
}

#[test]
fn every_case_has_a_reference() {
    let all = Case::all();
    let without = all.iter().filter(|case| !case.has_reference());
    let names: Vec<&String> = without.map(|case| &case.name).collect();
    assert!(!all.is_empty() && names.is_empty(), "{names:?}");
}

fn differing(before: Value, now: Value) -> Vec<String> {
    differences(&json!({ "json": before }), &json!({ "json": now }))
}

#[test]
fn a_changed_number_is_reported_with_its_path() {
    let found = differing(
        json!({ "trials": [{ "p99": 1.5 }] }),
        json!({ "trials": [{ "p99": 1.6 }] }),
    );
    assert_eq!(found, ["json.trials[0].p99: 1.5 is now 1.6"]);
}

#[test]
fn a_new_key_is_allowed_and_a_missing_one_is_not() {
    assert!(differing(json!({ "a": 1 }), json!({ "a": 1, "b": 2 })).is_empty());
    assert_eq!(
        differing(json!({ "a": 1 }), json!({})),
        ["json.a is missing"]
    );
}

#[test]
fn a_figure_that_becomes_null_differs() {
    assert_eq!(
        differing(json!([1.5]), json!([null])),
        ["json[0]: 1.5 is now null"]
    );
}

#[test]
fn a_sentence_may_change_but_not_disappear() {
    assert!(
        differing(
            json!({ "reason": "too few" }),
            json!({ "reason": "too short" })
        )
        .is_empty()
    );
    assert_eq!(
        differing(json!({ "reason": "x" }), json!({ "reason": null })).len(),
        1
    );
    assert_eq!(
        differing(json!({ "verdict": "x" }), json!({ "verdict": "y" })).len(),
        1
    );
}

#[test]
fn a_table_row_matches_if_rounded_or_under_another_heading() {
    let before = json!({ "tables": [{ "of": "server", "row": "5.6", "numbers": [103.51, 54.0] }] });
    let rounded =
        json!({ "tables": [{ "of": "cell", "row": "a", "numbers": [104.0, 54.0, 7.0] }] });
    let other = json!({ "tables": [{ "of": "server", "row": "5.6", "numbers": [54.0, 103.51] }] });
    assert!(differences(&before, &rounded).is_empty());
    assert_eq!(differences(&before, &other).len(), 1);
}

#[test]
fn cells_hold_numbers_with_thousands_intervals_and_footnotes() {
    let numbers = |cell: &str| {
        let rows = rows_of_tables(&format!("| a | b |\n| --- | ---: |\n| x | {cell} |"));
        rows[0]["numbers"].clone()
    };
    assert_eq!(numbers("\\[1\\] 25 339 ×/÷2.3"), json!([25_339.0, 2.3]));
    assert_eq!(numbers("28,693,421,170"), json!([28_693_421_170.0]));
    assert_eq!(numbers("1\u{a0}268\u{a0}±44%"), json!([1_268.0, 44.0]));
    assert_eq!(numbers("0.49 to 1.29"), json!([0.49, 1.29]));
    assert_eq!(numbers("-"), json!([]));
}

#[test]
fn rows_of_tables_have_labels_and_numbers() {
    let report = "text\n\n| server | hot |\n| --- | ---: |\n| 5.5 | 1.5 ±2% |\n| 5.6 | 2 |\n\n| a | b |\n| - | - |\n| x | 7 |";
    let expected = json!([
        { "of": "server", "row": "5.5", "numbers": [1.5, 2.0] },
        { "of": "server", "row": "5.6", "numbers": [2.0] },
        { "of": "a", "row": "x, 7", "numbers": [] },
    ]);
    assert_eq!(Value::from(rows_of_tables(report)), expected);
}

#[test]
fn quoted_cells_of_csv_hold_commas_and_quotes() {
    let rows = rows_of_csv("a,b\n1.5,\"x, \"\"y\"\"\"\n");
    assert_eq!(rows, [json!({ "a": 1.5, "b": "x, \"y\"" })]);
}

#[test]
fn unpacking_restores_what_was_packed() {
    let long = "a plan that is long enough to be kept once ".repeat(3);
    let value = json!({
        "trials": [
            { "n": 1, "plan": long, "rounds": [{ "a": 1, "b": null }, { "a": 2, "b": 0.1 }] },
            { "n": 2, "plan": long, "rounds": [] },
        ],
        "mixed": [{ "a": 1 }, { "b": 1 }, 3],
        "one": [{ "a": [] }],
    });
    let packed = pack(value.clone());
    assert_eq!(packed.to_string().matches("long enough").count(), 3);
    assert_eq!(unpack(packed), value);
}

//! Records of earlier versions of prony show the same figures in this one. All records: `bench/same_figures`.

// This file uses a part of what the benchmark target uses.
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

use reference::Record;
use std::path::Path;

/// One of each kind and schema: a closed and an open load, rounds of one and of several engines.
const RECORDS: [&str; 4] = [
    "before-closed",
    "before-open",
    "p1-scale-1-own-plans",
    "p6-icp-page-cache",
];

#[test]
fn records_of_earlier_versions_show_the_same_figures() {
    let prony = Path::new(env!("CARGO_BIN_EXE_prony"));
    let all = Record::all();
    for name in RECORDS {
        let record = all.iter().find(|record| record.name == name).unwrap();
        let before = record.reference().unwrap();
        let differences = compare::differences(&before, &figures::of(prony, &record.path));
        assert!(differences.is_empty(), "{name}: {differences:#?}");
    }
}

#[test]
fn every_record_has_a_reference() {
    let all = Record::all();
    let without = all.iter().filter(|record| record.reference().is_none());
    let names: Vec<&String> = without.map(|record| &record.name).collect();
    assert!(!all.is_empty() && names.is_empty(), "{names:?}");
}

//! Compares the figures that prony reports for the records in `bench/results/` with those of an earlier version.
//!
//! cargo bench -p prony --bench same_figures -- compare          prints "same" or the differences, per record
//! cargo bench -p prony --bench same_figures -- keep PRONY       writes missing references with the binary PRONY
//!
//! The exit status is 1 if a figure differs. A reference, `reference/NAME.gz`, is the output of `prony show` for a record as JSON,
//! CSV, samples and Markdown. New keys and columns are allowed, and wording is not compared (see `compare.rs`).

mod compare;
mod figures;
mod packed;
mod reference;

use reference::Record;
use std::path::Path;
use std::process::ExitCode;

/// Maximum number of differences printed per record.
const PRINTED: usize = 20;

fn main() -> ExitCode {
    // cargo adds --bench.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["compare"] => compare_all(Path::new(env!("CARGO_BIN_EXE_prony"))),
        ["keep", prony] => keep_missing(Path::new(prony)),
        _ => {
            eprintln!(
                "skipped: give `compare` or `keep PRONY`, see the top of bench/same_figures/main.rs"
            );
            ExitCode::SUCCESS
        }
    }
}

fn compare_all(prony: &Path) -> ExitCode {
    let differing = Record::all()
        .iter()
        .filter(|record| !is_same(prony, record))
        .count();
    println!("{differing} records differ");
    match differing {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn is_same(prony: &Path, record: &Record) -> bool {
    let Some(before) = record.reference() else {
        println!("differs  {}: no reference, run `keep` first", record.name);
        return false;
    };
    let differences = compare::differences(&before, &figures::of(prony, &record.path));
    if differences.is_empty() {
        println!(
            "same     {} ({} values)",
            record.name,
            compare::count(&before)
        );
        return true;
    }
    println!(
        "differs  {}: {} differences",
        record.name,
        differences.len()
    );
    for difference in differences.iter().take(PRINTED) {
        println!("         {difference}");
    }
    false
}

fn keep_missing(prony: &Path) -> ExitCode {
    for record in Record::all() {
        if !record.has_reference() {
            record.keep(figures::of(prony, &record.path));
            println!("kept     {}", record.name);
        }
    }
    ExitCode::SUCCESS
}

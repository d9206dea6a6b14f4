//! Compares the figures that prony reports with those of an earlier version: of records in `bench/results/`, of small whole records of
//! its own, of a comparison and of a merge.
//!
//! cargo bench -p prony --bench same_figures -- compare          prints "same" or the differences, per case
//! cargo bench -p prony --bench same_figures -- keep PRONY       writes missing references with the binary PRONY
//!
//! The exit status is 1 if a figure differs. A reference, `reference/NAME.zst`, is the output of `prony show` as JSON, CSV, samples
//! and Markdown, or that of `prony compare` as JSON and Markdown. New keys and columns are allowed, and wording is not compared (see `compare.rs`).
//! Of records that are kept in their slim form alone, the seconds are not compared.

mod compare;
mod figures;
mod packed;
mod reference;

use reference::Case;
use std::path::Path;
use std::process::ExitCode;

/// Maximum number of differences printed per case.
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
    let differing = Case::all()
        .iter()
        .filter(|case| !is_same(prony, case))
        .count();
    println!("{differing} cases differ");
    match differing {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn is_same(prony: &Path, case: &Case) -> bool {
    let (Some(before), Some(differences)) = (case.reference(), case.differences(prony)) else {
        println!("differs  {}: no reference, run `keep` first", case.name);
        return false;
    };
    if differences.is_empty() {
        let values = compare::count(&before);
        println!("same     {} ({values} values)", case.name);
        return true;
    }
    println!("differs  {}: {} differences", case.name, differences.len());
    for difference in differences.iter().take(PRINTED) {
        println!("         {difference}");
    }
    false
}

fn keep_missing(prony: &Path) -> ExitCode {
    for case in Case::all() {
        if !case.has_reference() {
            case.keep(figures::of(prony, &case.asked));
            println!("kept     {}", case.name);
        }
    }
    ExitCode::SUCCESS
}

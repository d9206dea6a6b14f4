//! `prony merge RUN RUN...`
//!
//! Purpose: one run of the records that the shards of a load have written. Outside this module: adding them up (`store::merge`).

use super::failure::{Failure, Status, print};
use super::{Results, gate, run, terminal};
use crate::run::Conducted;
use crate::run::results::folder::{self, RunFolder};
use std::path::PathBuf;
use store::Store;
use store::merge::{MergeError, merge};

/// The end of the name of a merged run.
const SUFFIX: &str = "merged";

#[derive(clap::Args)]
#[command(after_help = gate::EXIT)]
pub(super) struct Args {
    /// The runs of all shards: folders, names in the results folder, or kept records
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    detail: terminal::Detail,
    #[command(flatten)]
    gate: gate::Gating,
    #[command(flatten)]
    results: Results,
}

pub(super) fn run(args: &Args) -> Result<Status, Failure> {
    let results = &args.results.results;
    let records = args.runs.iter().map(|run| folder::record(results, run));
    let records = records.collect::<Result<Vec<PathBuf>, _>>()?;
    let first = Store::open(&records[0])?.run()?;
    let folder = RunFolder::create(results, &format!("{}-{SUFFIX}", first.question.name))?;
    if let Err(error) = merge(&records, &folder.store(), &folder.id()) {
        let path = folder.path.clone();
        drop(folder);
        // Nothing of it is of use.
        let _ = std::fs::remove_dir_all(path);
        return Err(match error {
            MergeError::Unfit(text) => Failure::usage(text),
            MergeError::Store(error) => error.into(),
        });
    }
    let conducted = Conducted::read(&folder, &Store::open(&folder.store())?)?;
    let document = conducted.document(report::Detail::Full, args.gate.tolerance);
    folder::write_aside(&folder.report(), &report::html(&document)).map_err(Failure::failed)?;
    let document = run::document(&conducted, &args.gate);
    run::print_result(&conducted, &document, args.detail);
    for trial in conducted.trials.iter().chain(&conducted.controls) {
        for problem in trial
            .flags
            .iter()
            .filter(|flag| flag.kind == record::FlagKind::ShardIncomplete)
        {
            print(&format!("{}: invalid: {}", trial.key, problem.text));
        }
    }
    run::status(&document, &args.gate)
}

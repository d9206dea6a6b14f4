//! `prony report RUN`

use super::Results;
use super::failure::{Failure, Status, print};
use crate::run::folder;
use record::Store;
use report::{Detail, Document};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The run's folder, its name in the results folder, or @latest
    run: String,
    #[command(flatten)]
    results: Results,
}

pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let folder = folder::find(&args.results.results, &args.run)?;
    let store = Store::open(&folder.join("run.sqlite"))?;
    let path = folder.join("report.html");
    let (run, trials) = (store.run()?, store.trials_whole()?);
    let controls = store.controls()?;
    let document = Document::with_control(&run, &trials, &controls, Detail::Full);
    std::fs::write(&path, report::html(&document))
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))?;
    print(&path.display().to_string());
    Ok(Status::Done)
}

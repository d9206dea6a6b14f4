//! `prony show RUN`

use super::failure::{Failure, Status, print};
use super::{Results, terminal};
use crate::run::folder;
use record::Store;

#[derive(clap::Args)]
pub struct Args {
    /// The run's folder, or its name in the results folder
    run: String,
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    #[command(flatten)]
    results: Results,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Table,
    Json,
    Csv,
    Markdown,
}

pub fn run(args: Args) -> Result<Status, Failure> {
    let path = folder::find(&args.results.results, &args.run)?.join("run.sqlite");
    let store = Store::open(&path)?;
    let run = store.run()?;
    let text = match args.format {
        Format::Table => report::terminal(
            &run,
            &store.trials()?,
            terminal::colour(),
            terminal::width(),
        ),
        Format::Json => report::json(&run, &store.trials_whole()?),
        Format::Csv => report::csv(&run, &store.trials_whole()?),
        Format::Markdown => report::markdown(&run, &store.trials()?),
    };
    print(&text);
    Ok(Status::Done)
}

//! `prony list`

use super::Results;
use super::embedded::EXPERIMENTS;
use super::failure::{Failure, Status, print};
use crate::run::results::folder::{self, Recorded};
use crate::screen;
use record::{Run, TrialState};
use store::{Store, StoreError};

/// Columns of an experiment's name, before its title.
const NAME_COLUMNS: usize = 32;

#[derive(clap::Args)]
pub(super) struct Args {
    /// List the recorded runs instead, the newest last
    #[arg(long)]
    runs: bool,
    #[command(flatten)]
    results: Results,
}

pub(super) fn run(args: &Args) -> Result<Status, Failure> {
    let (lines, below) = if args.runs {
        (runs(args), 4)
    } else {
        (experiments(), NAME_COLUMNS + 1)
    };
    let columns = screen::columns(std::io::stdout());
    print(&screen::wrap_below(&lines.join("\n"), columns, below));
    Ok(Status::Done)
}

fn experiments() -> Vec<String> {
    let line = |(name, text): &(&str, &str)| format!("{name:NAME_COLUMNS$} {}", title(text));
    EXPERIMENTS.iter().map(line).collect()
}

fn title(text: &str) -> String {
    let title = text
        .parse::<toml::Table>()
        .ok()
        .and_then(|table| Some(table.get("title")?.as_str()?.to_string()));
    title.unwrap_or_default()
}

fn runs(args: &Args) -> Vec<String> {
    let results = &args.results.results;
    let runs = folder::runs(results);
    if runs.is_empty() {
        vec![format!("no run in {}", results.display())]
    } else {
        runs.iter().map(line).collect()
    }
}

/// The folder's name, how far the run is, what it measures.
fn line(recorded: &Recorded) -> String {
    let name = recorded.folder.file_name().unwrap_or_default();
    let about = match &recorded.run {
        Ok(run) => progress(recorded, run).map(|done| format!("{done:24} {}", run.question.title)),
        Err(error) => Ok(format!("cannot be read: {error}")),
    };
    let about = about.unwrap_or_else(|error| format!("cannot be read: {error}"));
    format!("{:44} {about}", name.to_string_lossy())
}

/// `6 of 6 trials`, `5 of 6 trials, 1 invalid`
fn progress(recorded: &Recorded, run: &Run) -> Result<String, StoreError> {
    let states = Store::open(&recorded.record)?.states()?;
    let count = |state| states.iter().filter(|found| **found == state).count();
    let mut text = run.question.progress(count(TrialState::Done) as u64);
    for (state, word) in [
        (TrialState::Invalid, "invalid"),
        (TrialState::Failed, "failed"),
    ] {
        if count(state) > 0 {
            text.push_str(&format!(", {} {word}", count(state)));
        }
    }
    Ok(text)
}

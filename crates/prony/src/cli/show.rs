//! `prony show RUN`

use super::failure::{Failure, Status, print};
use super::gate::{self, When};
use super::{Results, terminal};
use crate::run::results::folder;
use record::Trial;
use report::{Detail, Document};
use store::Store;

#[derive(clap::Args)]
#[command(after_help = gate::EXIT)]
pub(super) struct Args {
    /// The run's folder, its name in the results folder, @latest, or a kept record (.sqlite, .sqlite.gz, .sqlite.zst)
    run: String,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    #[command(flatten)]
    detail: terminal::Detail,
    #[command(flatten)]
    gate: gate::Gating,
    #[command(flatten)]
    results: Results,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    Table,
    Json,
    Csv,
    /// CSV: a row per second of each timed load, a column per series
    Samples,
    Markdown,
}

pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let path = folder::record(&args.results.results, &args.run)?;
    let store = Store::open(&path)?;
    let run = store.run()?;
    args.gate.check(&run.question)?;
    if run.slim.is_some() && args.format == Format::Samples {
        return Err(Failure::usage(format!(
            "{}: a slim record has no seconds to print; name the whole record, or choose another --format",
            path.display()
        )));
    }
    let (trials, controls) = match args.format {
        Format::Table | Format::Markdown if !stats::needs_query_counters(&run.question) => (
            store.trials_with(&report::settings_shown())?,
            store.controls()?,
        ),
        _ => (store.trials_whole()?, store.controls_whole()?),
    };
    let trials = with_series(trials, &store)?;
    let controls = with_series(controls, &store)?;
    let tolerance = args.gate.tolerance;
    let document = Document::within(tolerance, &run, (&trials, &controls), Detail::Brief);
    print(&args.format.of(&document, args.detail));
    args.gate.of_run(&document, When::Earlier)
}

/// With the series that the tables of loads show, where the loads were read without any.
fn with_series(mut trials: Vec<Trial>, store: &Store) -> Result<Vec<Trial>, Failure> {
    for trial in &mut trials {
        let Some(load) = trial.load.as_mut().filter(|load| load.series.is_empty()) else {
            continue;
        };
        load.series = store.series(&trial.key, &report::SERIES_SHOWN)?;
    }
    Ok(trials)
}

impl Format {
    /// Renders the document. Its trials have to be complete, except for a table or Markdown whose claims compare no single queries.
    pub(super) fn of(self, document: &Document, detail: terminal::Detail) -> String {
        match self {
            Format::Table => {
                let screen = terminal::screen(detail);
                let prony = format!("prony: {}", document.run.environment.prony_version);
                format!(
                    "{}\n{}",
                    report::terminal(document, &screen),
                    report::lines(&[prony], &screen)
                )
            }
            Format::Json => report::json(document),
            Format::Csv => report::csv(document),
            Format::Samples => report::samples(document),
            Format::Markdown => report::markdown(document),
        }
    }
}

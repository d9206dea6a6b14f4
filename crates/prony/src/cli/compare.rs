//! `prony compare RUN RUN...`

use super::failure::{Failure, Status, print};
use super::{Results, gate, terminal};
use crate::run::folder;
use record::{Run, Trial};
use report::{Comparison, Difference, DifferenceKind};
use store::Store;

/// The same cells of different runs; further runs against the first one.
#[derive(clap::Args)]
#[command(after_help = gate::EXIT)]
pub(super) struct Args {
    /// Folders of runs, their names in the results folder, @latest, or kept records (.sqlite, .sqlite.gz, .sqlite.zst); the first
    /// one is the reference
    #[arg(value_name = "RUN", num_args = 2.., required = true)]
    runs: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    #[command(flatten)]
    gate: gate::Gating,
    #[command(flatten)]
    results: Results,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    Json,
    Markdown,
}

pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let read = |run: &String| read(&args.results, run);
    let runs: Vec<(Run, Vec<Trial>)> = args.runs.iter().map(read).collect::<Result<_, _>>()?;
    let experiments = experiments(&runs);
    let comparison = Comparison::of(runs, experiments, args.gate.tolerance);
    print(&match args.format {
        Format::Table => {
            let all = terminal::Detail { verbose: true };
            report::comparison_terminal(&comparison, &terminal::screen(all))
        }
        Format::Json => report::comparison_json(&comparison),
        Format::Markdown => report::comparison_markdown(&comparison),
    });
    args.gate.of_comparison(&comparison)
}

fn read(results: &Results, run: &str) -> Result<(Run, Vec<Trial>), Failure> {
    let store = Store::open(&folder::record(&results.results, run)?)?;
    Ok((store.run()?, store.trials_with_settings()?))
}

/// The keys of the experiment files that differ, and the command lines.
fn experiments(runs: &[(Run, Vec<Trial>)]) -> Vec<Difference> {
    let sources: Vec<&str> = runs
        .iter()
        .map(|(run, _)| run.experiment_toml.as_str())
        .collect();
    let keys = spec::differing_keys(&sources).into_iter();
    let lines = runs.iter().map(|(run, _)| Some(run.overrides.join(" ")));
    let lines: Vec<Option<String>> = lines.collect();
    let differ = lines.iter().any(|line| *line != lines[0]);
    let lines = differ.then(|| ("command line".to_string(), lines));
    let difference = |(what, values)| Difference {
        kind: DifferenceKind::Experiment,
        what,
        values,
    };
    keys.chain(lines).map(difference).collect()
}

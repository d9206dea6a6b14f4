//! `prony compare RUN RUN...`

use super::failure::{Failure, Status, print};
use super::{Results, gate, terminal};
use crate::run::results::folder;
use report::{Comparison, Difference, DifferenceKind, Measured};
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
    let runs: Vec<Measured> = args.runs.iter().map(read).collect::<Result<_, _>>()?;
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

fn read(results: &Results, run: &str) -> Result<Measured, Failure> {
    let store = Store::open(&folder::record(&results.results, run)?)?;
    Ok(Measured {
        run: store.run()?,
        trials: store.trials_with_settings()?,
        controls: store.controls()?,
    })
}

/// The keys of the experiment files that differ, and the command lines.
fn experiments(measured: &[Measured]) -> Vec<Difference> {
    let runs = || measured.iter().map(|one| &one.run);
    let sources: Vec<&str> = runs().map(|run| run.experiment_toml.as_str()).collect();
    let keys = spec::differing_keys(&sources).into_iter();
    let lines = runs().map(|run| Some(run.overrides.join(" ")));
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

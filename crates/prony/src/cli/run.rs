//! `prony run FILE|NAME`

use super::experiment::{self, Overrides};
use super::failure::{Failure, Status, print};
use super::gate::{self, When};
use super::shard::Sharing;
use super::{Allow, Results, terminal};
use crate::run::plan::budget;
use crate::run::results::folder;
use crate::run::shards::common_seed;
use crate::run::{Conducted, Progress, Request, conduct};
use host::Home;
use spec::plan::MatrixPart;
use spec::{Experiment, UNTIL_DECIDED_TIMES as TIMES};

use record::{Question, Run, TrialKey};
use report::{Detail, Document};
use store::{Store, StoreError};

#[derive(clap::Args)]
#[command(after_help = gate::EXIT)]
pub(super) struct Args {
    /// An experiment file, or a name that `prony list` shows
    #[arg(value_name = "FILE|NAME", required_unless_present = "resume")]
    experiment: Option<String>,
    #[command(flatten)]
    overrides: Overrides,
    #[command(flatten)]
    results: Results,
    /// Resume a run that was interrupted or killed (a name or @latest); finished trials are kept. A finished run is extended to --blocks N, or with
    /// --until-decided for the cells of undecided claims
    #[arg(long, value_name = "RUN", conflicts_with_all = ["scale", "size", "only", "server", "clients", "rate", "workers", "time", "warmup", "no_limits", "accept_warnings", "part", "shard", "seed"])]
    resume: Option<String>,
    /// Only this part of the trials, to spread them over several machines
    #[arg(long, value_name = "K/N", conflicts_with = "shard")]
    part: Option<MatrixPart>,
    /// Seed of the trial order, to repeat the order of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    detail: terminal::Detail,
    #[command(flatten)]
    gate: gate::Gating,
    #[command(flatten)]
    allow: Allow,
    /// Allow overwriting the block devices that the experiment names in [host]
    #[arg(long)]
    allow_device_write: bool,
    // Last, because its heading goes on to what follows.
    #[command(flatten)]
    sharing: Sharing,
}

pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let request = match &args.resume {
        Some(run) => resumed(&args, run)?,
        None => fresh(&args)?,
    };
    let experiment = &request.experiment;
    (args.gate).check_size(experiment.claims.len(), experiment.servers.len())?;
    let conducted = carry_out(&request)?;
    let document = document(&conducted, &args.gate);
    print_result(&conducted, &document, args.detail);
    status(&document, &args.gate)
}

/// Lets the budget of the experiment choose the time and the blocks, if it has one.
pub(super) fn plan(request: &mut Request) -> Result<(), Failure> {
    let home = Home::from_environment().map_err(Failure::usage)?;
    Ok(budget::spend(request, &home.work())?)
}

/// Executes the request and shows its progress on stderr.
pub(super) fn carry_out(request: &Request) -> Result<Conducted, Failure> {
    let home = Home::from_environment().map_err(Failure::usage)?;
    let leases = super::leases(&home)?;
    let progress = Progress::stderr();
    for sentence in spec::advice(&request.experiment) {
        progress.say(&format!("note: {sentence}"));
    }
    let outcome = conduct(request, &home, &leases, &progress);
    progress.end();
    Ok(outcome?)
}

pub(super) fn document<'c>(conducted: &'c Conducted, gate: &gate::Gating) -> Document<'c> {
    conducted.document(Detail::Brief, gate.tolerance)
}

/// Lines of a screen. What is longer has moved the answer, its first line, out of sight.
const SCREEN_LINES: usize = 24;

/// Prints the tables, the paths of the run and its report, the build of prony, and, again after a long text, how the servers compare.
pub(super) fn print_result(conducted: &Conducted, document: &Document, detail: terminal::Detail) {
    let screen = terminal::screen(detail);
    let text = report::terminal(document, &screen);
    let is_long = text.lines().count() > SCREEN_LINES;
    print(&text);
    print(&format!(
        "\nrun:    {}\nreport: {}\nprony:  {}",
        conducted.folder.display(),
        conducted.folder.join("report.html").display(),
        conducted.run.environment.prony_version
    ));
    let answer = report::answer(document);
    if is_long && !answer.is_empty() {
        print(&format!("\n{}", report::lines(&answer, &screen)));
    }
}

fn fresh(args: &Args) -> Result<Request, Failure> {
    let name = args.experiment.as_deref().unwrap_or_default();
    let experiment = experiment::load(name, &args.overrides)?;
    let seed = args.seed.unwrap_or_else(rand_seed);
    let mut request = Request {
        overrides: args.overrides.arguments(),
        part: args.part,
        shard: args.sharing.shards()?,
        allow_drop: args.allow.droppable(),
        allow_setup: args.allow.allow_setup,
        allow_device_write: args.allow_device_write,
        tolerance: args.gate.tolerance,
        ..Request::new(experiment, seed, args.results.results.clone())
    };
    // The parts of a matrix are dealt in its shuffled order, which has to be the same in all of them.
    if args.part.is_some() && args.seed.is_none() {
        request.seed = common_seed(&request);
    }
    plan(&mut request)?;
    Ok(request)
}

/// The request that resumes a run. run.sqlite alone is enough: it holds the experiment, the overrides, the seed and the part.
fn resumed(args: &Args, name: &str) -> Result<Request, Failure> {
    let path = folder::find(&args.results.results, name)?.join("run.sqlite");
    let store = Store::open(&path)?;
    let run: Run = store.run()?;
    if run.slim.is_some() {
        return Err(StoreError::Slim(path).into());
    }
    let overrides = Overrides::recorded(&run.overrides)?;
    let mut experiment =
        experiment::parse(&run.question.name, name, &run.experiment_toml, &overrides)?;
    if let Some(looks) = &run.question.looks {
        experiment.protocol.set_looks(looks.clone());
    }
    if let Some(given) = &args.experiment {
        let given = experiment::load(given, &overrides)?;
        if given.source != run.experiment_toml {
            return Err(Failure::usage(format!(
                "{name} was started from a different experiment text; leave out the file to resume with the recorded text, or start a new run"
            )));
        }
    }
    if args.overrides.blocks.is_some() || args.overrides.until_decided {
        experiment = with_further_blocks(experiment, &args.overrides, &run, &store.finished()?)?;
    }
    if let Some(sharing) = &run.sharing {
        return Err(Failure::usage(format!(
            "{name} is {}, and the other shards would not measure again with it; start all shards again",
            sharing.text()
        )));
    }
    let part = run
        .part
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(Failure::usage)?;
    Ok(Request {
        overrides: run.overrides,
        part,
        resume: Some(name.to_string()),
        allow_drop: args.allow.droppable(),
        allow_setup: args.allow.allow_setup,
        allow_device_write: args.allow_device_write,
        tolerance: args.gate.tolerance,
        ..Request::new(experiment, run.seed, args.results.results.clone())
    })
}

/// A finished run with a further look after more blocks: of all cells, or of those of undecided claims.
fn with_further_blocks(
    experiment: Experiment,
    overrides: &Overrides,
    run: &Run,
    finished: &[TrialKey],
) -> Result<Experiment, Failure> {
    let question = &run.question;
    if !is_finished(question, finished) {
        return Err(Failure::usage(format!(
            "{} is not finished, so it cannot get further blocks; resume it without --blocks and --until-decided first",
            run.id
        )));
    }
    let mut experiment = if overrides.until_decided {
        experiment.until_decided().map_err(Failure::usage)?
    } else {
        experiment
    };
    let measured = finished.iter().map(|key| key.block + 1).max().unwrap_or(0);
    let blocks = overrides.blocks.unwrap_or(TIMES * measured);
    if blocks <= measured {
        return Err(Failure::usage(format!(
            "--blocks {blocks} adds nothing: {} has {measured} blocks; give a larger number",
            run.id
        )));
    }
    let looks = question.looks();
    let further = looks.with_added(measured, blocks, overrides.until_decided);
    experiment.protocol.set_looks(further);
    Ok(experiment)
}

/// Whether a run has all its trials. Those of the control do not stand for missing ones.
fn is_finished(question: &Question, finished: &[TrialKey]) -> bool {
    let measured = finished.iter().filter(|key| !key.is_control());
    match &question.looks {
        Some(looks) => looks.ended.is_some(),
        None => measured.count() as u64 >= question.trials,
    }
}

/// A seed that differs from run to run. The record keeps it.
pub(super) fn rand_seed() -> u64 {
    (host::now_ns() as u64) ^ u64::from(std::process::id()).rotate_left(32)
}

/// The exit status of a run that was just measured.
pub(super) fn status(document: &Document, gate: &gate::Gating) -> Result<Status, Failure> {
    gate.of_run(document, When::Now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::WorkloadNote;

    #[test]
    fn trials_of_the_control_do_not_finish_a_run_that_lacks_others() {
        let source = "title = 't'\n[server.a]\nbuild = 'mariadb'\n[server.b]\nbuild = 'mariadb'\n[workload.ssb]\n[protocol]\nblocks = 2\n";
        let on_server = |_: &str, _: &spec::Section| Some(spec::TargetKind::Server);
        let experiment = spec::parse("t", "t.toml", source, &on_server).unwrap();
        let workload = WorkloadNote {
            name: "ssb".into(),
            summary: "s".into(),
            operations: Vec::new(),
        };
        let question = spec::question(&experiment, 4, workload);
        let planned = spec::plan::expand(&experiment, 1).unwrap().into_iter();
        let mut keys: Vec<TrialKey> = planned.map(|trial| trial.key).collect();
        assert_eq!(keys.len(), 4 + 2);
        assert!(is_finished(&question, &keys));
        let last = keys.iter().rposition(|key| !key.is_control());
        keys.remove(last.unwrap());
        assert!(!is_finished(&question, &keys));
    }
}

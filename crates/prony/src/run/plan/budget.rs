//! What a budget of time buys for a run in slices, and what the run will find.
//!
//! Purpose: choose the measured time and the blocks that the file leaves to `within`, and keep them as overrides, so that a resumed run has
//! the same. Outside this module: the formula (`stats::Budget`), and the runs whose noise is used (`history`).

use super::expected::Expected;
use super::history::{self, Shown};
use super::request::Request;
use crate::run::RunError;
use record::Looks;
use spec::plan::{self, PlannedTrial};
use spec::{Experiment, OverrideError, Within};
use stats::{Budget, SliceNoise, Spent};
use std::path::Path;

/// Chooses what the experiment leaves to its budget, and keeps what the run then sees. Does nothing without one.
///
/// # Errors
/// A budget that is too small, or that cannot plan what the command line asks for; a part of a run: its other parts could choose otherwise.
pub(crate) fn spend(request: &mut Request, work: &Path) -> Result<(), RunError> {
    let chooses = |within: &Within| within.chooses_time || within.chooses_blocks;
    let Some(within) = request.experiment.protocol.within.filter(chooses) else {
        return Ok(());
    };
    if let Some((says, help)) = request.experiment.protocol.refused_within() {
        return Err(RunError::Usage(format!("{says}; {help}")));
    }
    if request.part.is_some() {
        return Err(RunError::Usage(
            "--part: \"within\" could choose otherwise for each part; give --time and --blocks"
                .into(),
        ));
    }
    let block = block(request.plan()?.trials());
    let figures = Figures::of(request, &block, work, None)?;
    let budget = budget(request, &within, &figures, &block);
    let Some(spent) = budget.spend(&figures.noise) else {
        return Err(RunError::Usage(too_small(&budget, &within)));
    };
    apply(request, &within, &spent).map_err(|error| RunError::Usage(error.to_string()))?;
    // Earlier runs have many trials, so they are read once.
    request.sees = figures.sentence(&request.experiment, &block);
    Ok(())
}

/// Says what the run will see, or why that is unknown; None where it compares nothing. `own` is its name if it has begun: a run that is
/// resumed does not predict itself.
pub(crate) fn sees(
    request: &Request,
    trials: &[PlannedTrial],
    work: &Path,
    own: Option<&str>,
) -> Option<String> {
    if request.sees.is_some() {
        return request.sees.clone();
    }
    if request.experiment.protocol.slice_length().is_none() {
        return history::sentence(request, trials, work, own);
    }
    let block = block(trials.iter().cloned());
    let figures = Figures::of(request, &block, work, own).ok()?;
    figures.sentence(&request.experiment, &block)
}

/// The trials of the first block; `trials` are in the order of the plan.
fn block(trials: impl Iterator<Item = PlannedTrial>) -> Vec<PlannedTrial> {
    trials.take_while(|trial| trial.key.block == 0).collect()
}

fn budget(request: &Request, within: &Within, figures: &Figures, block: &[PlannedTrial]) -> Budget {
    let protocol = &request.experiment.protocol;
    Budget {
        within_s: within.budget.as_secs_f64(),
        trials: block.len() as u32,
        start_s: figures.start_s,
        second_s: figures.second_s,
        time_s: protocol.time.unwrap_or_default().as_secs_f64(),
        chooses_time: within.chooses_time,
        blocks: protocol.blocks,
        chooses_blocks: within.chooses_blocks,
        claims: plan::tested(&request.experiment, block),
    }
}

fn too_small(budget: &Budget, within: &Within) -> String {
    let each_s = budget.costs_s(1, budget.time_s) / f64::from(budget.trials);
    // Where the other one is given too, the budget has nothing to choose.
    let way_out = match (within.chooses_time, within.chooses_blocks) {
        (true, true) => "give a shorter \"time\" or fewer \"blocks\"",
        (true, false) => "give fewer \"blocks\"",
        (false, _) => "give a shorter \"time\"",
    };
    format!(
        "within: {:.0} s are too few for {} blocks of {} trials, which take {:.0} s each: {:.1} s beside the measured time, and {} s that are measured; \
         allow at least {:.0}s, compare fewer cells, or {way_out}",
        within.budget.as_secs_f64(),
        budget.blocks,
        budget.trials,
        each_s,
        each_s - budget.time_s,
        budget.time_s,
        budget.least_s().ceil()
    )
}

/// Keeps the choice in the experiment and in the overrides of the record.
fn apply(request: &mut Request, within: &Within, spent: &Spent) -> Result<(), OverrideError> {
    let mut experiment = request.experiment.clone();
    let mut keep = |flag: &str, value: &str| request.overrides.extend([flag.into(), value.into()]);
    if within.chooses_time {
        let time = format!("{}s", spent.time_s);
        experiment = experiment.with_time(&time)?;
        keep("--time", &time);
    }
    if within.chooses_blocks {
        experiment = experiment.with_blocks(spent.blocks)?;
        keep("--blocks", &spent.blocks.to_string());
    }
    request.experiment = experiment;
    Ok(())
}

/// The noise and the costs of a run in slices.
struct Figures {
    noise: SliceNoise,
    /// What a trial takes beside its slices (s).
    start_s: f64,
    /// What a measured second takes (s).
    second_s: f64,
    /// `by the noise of bench-20261126-090000 (24 degrees of freedom)`.
    whose: String,
}

impl Figures {
    /// What the run finds; None where a block compares nothing.
    fn sentence(&self, experiment: &Experiment, block: &[PlannedTrial]) -> Option<String> {
        let measured = block.iter().filter(|trial| !trial.key.is_control());
        if measured.count() < 2 {
            return None;
        }
        let protocol = &experiment.protocol;
        let (blocks, time_s) = (protocol.blocks, protocol.time?.as_secs_f64());
        let looks = protocol.looks.clone();
        let looks = looks.unwrap_or_else(|| Looks::fixed(blocks));
        let alpha = stats::level(&looks, blocks, plan::tested(experiment, block));
        let finds = self.noise.finds(time_s, blocks, alpha)?;
        Some(format!(
            "{blocks} blocks of {time_s} s find a difference in throughput of {} or more between servers that take turns, with 80 % probability, {}",
            stats::effect(finds),
            self.whose
        ))
    }

    /// Those of comparable runs; else the assumed noise, and expected costs. `own` is no comparable run.
    fn of(
        request: &Request,
        block: &[PlannedTrial],
        work: &Path,
        own: Option<&str>,
    ) -> Result<Figures, RunError> {
        let protocol = &request.experiment.protocol;
        let shown = history::in_slices(request, block, work, own)?;
        let warmup_s = protocol.warmup_note().known_s();
        let start_s = match &shown.figures {
            Some(figures) => figures.start_s + warmup_s,
            None => expected_start_s(request, block)?,
        };
        let second_s = shown.figures.map_or(1.0, |figures| figures.second_s);
        let measured = shown
            .figures
            .and_then(|figures| Some((figures, figures.noise()?)));
        let (noise, whose) = match measured {
            Some((figures, noise)) => {
                let (names, freedom) = (shown.names(), figures.freedom);
                let whose = format!("by the noise of {names} ({freedom:.0} degrees of freedom)");
                (noise, whose)
            }
            None => (SliceNoise::ASSUMED, assumed(&shown, request)),
        };
        Ok(Figures {
            noise,
            start_s,
            second_s,
            whose,
        })
    }
}

/// `if their ratio varies by 1.5 % from start to start and 1.2 % within 20 s. This noise is assumed: the folder results has no ...`
fn assumed(shown: &Shown, request: &Request) -> String {
    let noise = SliceNoise::ASSUMED;
    let why = match shown.figures {
        Some(_) => format!("the blocks of {} are too few to show it", shown.names()),
        None => format!(
            "the folder {} has no comparable run in slices on this machine",
            request.results.display()
        ),
    };
    format!(
        "if their ratio varies by {:.1} % from start to start and {:.1} % within 20 s. This noise is assumed: {why}",
        noise.starts.sqrt() * 100.0,
        (noise.second / 20.0).sqrt() * 100.0
    )
}

/// The mean time of a trial beside its measured time, before any was measured (s).
fn expected_start_s(request: &Request, block: &[PlannedTrial]) -> Result<f64, RunError> {
    let expected = Expected::of(request, block)?;
    let time_s = request
        .experiment
        .protocol
        .time
        .unwrap_or_default()
        .as_secs_f64();
    let all = block.iter().map(|trial| expected.trial_s(trial) - time_s);
    Ok(all.sum::<f64>() / block.len().max(1) as f64)
}

//! Brings a device to its steady state before a load on files, by the rule of SNIA (`stats::snia`).
//!
//! Purpose: write the files over as often as the experiment says, then repeat short rounds of the load until they are steady.
//! A steady state that is not reached is a result: it is recorded, and the load is measured all the same. Boundaries: a file on a shared
//! disk cannot be purged, and only its own span is written.

use super::{Timed, until_stopped};
use crate::run::drive;
use crate::run::place::AnyPlace;
use host::{disk, interrupt, storage};
use load::{Drive, Watch};
use record::{FlagKind, Trial};
use server::ServerError;
use stats::snia;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use workload::{Files, FilesError, Precondition, Target};

/// Does nothing if the workload asks for no preconditioning.
pub(crate) fn run(timed: &Timed, place: &AnyPlace, trial: &mut Trial) -> Result<(), ServerError> {
    let Some(files) = timed.workload.files() else {
        return Ok(());
    };
    let Some(rule) = files.precondition() else {
        return Ok(());
    };
    // The files of a continued series were written over by its first trial.
    let are_new = trial.data_bytes > 0;
    let target = place.target()?;
    let Target::Folder(folder) = &target else {
        return Ok(());
    };
    if are_new {
        write_over(timed, files, rule, folder)?;
    }
    // The steady state is that of the load within its limits. The files are made without them, as always.
    let within = place.enter_limits()?;
    let rounds = rounds(timed, rule.round, &target)?;
    drop(within);
    let text = text(files, rule, &rounds, folder);
    trial.flag(FlagKind::Preconditioned, text);
    Ok(())
}

fn write_over(
    timed: &Timed,
    files: &dyn Files,
    rule: Precondition,
    folder: &Path,
) -> Result<(), ServerError> {
    for pass in 1..rule.passes {
        let shown = |bytes| {
            let (done, all) = (disk::shown(bytes), disk::shown(files.bytes()));
            let (pass, passes) = (pass + 1, rule.passes);
            let line = format!("writing the files, pass {pass} of {passes}: {done} of {all}");
            timed.bench.progress.now(&line);
        };
        let written = files.overwrite(folder, pass, &shown, &interrupt::asked);
        written.map_err(|error: FilesError| ServerError::Unusable(error.to_string()))?;
    }
    Ok(())
}

/// The rounds of a preconditioning.
#[derive(Default)]
struct Rounds {
    /// Operations per second, by round.
    rates: Vec<f64>,
    /// Operations, by second of all rounds.
    seconds: Vec<f64>,
}

fn rounds(timed: &Timed, length: Duration, target: &Target) -> Result<Rounds, ServerError> {
    let mut rounds = Rounds::default();
    while !snia::is_over(&rounds.rates) && !interrupt::asked() {
        let number = rounds.rates.len() as u64 + 1;
        timed.bench.progress.now(&format!(
            "preconditioning: round {number} of at most {}",
            snia::ROUNDS_MAX
        ));
        // Each round goes to places of its own, and so does the load.
        let seed = timed.seed ^ (number << 32);
        round(timed, length, target, seed, &mut rounds)?;
    }
    Ok(rounds)
}

fn round(
    timed: &Timed,
    length: Duration,
    target: &Target,
    seed: u64,
    rounds: &mut Rounds,
) -> Result<(), ServerError> {
    let work = timed.workload.work(target, seed).ok_or_else(|| {
        ServerError::Unusable("the workload has no operations for a timed load".into())
    })?;
    let settings = Drive {
        time: length,
        warmup: Duration::ZERO,
        ..drive::planned(timed.planned, timed.bench.protocol, seed)
    };
    let (mut done, seconds) = (0, &mut rounds.seconds);
    let watch = Watch {
        second: &mut |second| {
            done += second.tally.done();
            if u64::from(second.second) < length.as_secs() {
                seconds.push(second.tally.done() as f64);
            }
        },
        ..Watch::default()
    };
    let stop = AtomicBool::new(false);
    let driven = until_stopped(&stop, |stop| work.driver.drive(&settings, stop, watch));
    let driven = driven.map_err(|error| ServerError::Unusable(error.to_string()))?;
    rounds
        .rates
        .push(done as f64 / driven.elapsed.as_secs_f64());
    Ok(())
}

/// What was done and what came of it.
fn text(files: &dyn Files, rule: Precondition, rounds: &Rounds, folder: &Path) -> String {
    let disk = storage::below(folder)
        .ok()
        .and_then(|below| below.disk?.bytes);
    let share = disk.map(|bytes| {
        let share = 100.0 * files.bytes() as f64 / bytes as f64;
        format!(", {share:.1} % of a disk that was not purged")
    });
    let times = match rule.passes {
        1 => "once".to_string(),
        passes => format!("{passes} times"),
    };
    let written = format!(
        "the files ({}{}) were written {times}",
        disk::shown(files.bytes()),
        share.unwrap_or_default()
    );
    let verdict = snia::sentence(&rounds.rates, rule.round.as_secs_f64());
    let difference = snia::difference(&rounds.rates, &rounds.seconds);
    [Some(written), Some(verdict), difference]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

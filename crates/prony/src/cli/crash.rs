//! `prony crash replay RUN`: tries every flush point of one recording of a disk.
//!
//! Purpose: for each flush, the disk as a power cut at that moment leaves it, a server started on it, and the workload's conditions.
//! Boundaries: what clients remember is not kept with a run, so a lost transaction shows only where it breaks a condition.

use super::Results;
use super::experiment::{self, Overrides};
use super::failure::{Failure, Status, print};
use crate::run::prepare::servers::Provided;
use crate::run::results::folder;
use crate::run::results::recording::Recording;
use crate::screen::say;
use host::volume::{Filesystem, Replay, Survive, Volume, flushes};
use host::{Home, Leases, clone, interrupt};
use record::{Run, Trial};
use server::{ServerError, StartRequest};
use spec::FilesystemSpec;
use spec::plan::{PlannedTrial, expand};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};
use store::Store;
use workload::tpcc::conditions::{self, When};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Start the server on the disk as it was at each flush of a recording ([host] volume with log = true)
    Replay(Args),
}

#[derive(clap::Args)]
pub(super) struct Args {
    /// The run's folder, its name in the results folder, or @latest
    run: String,
    /// Number of flush points, spread evenly over the recording. Default: all
    #[arg(long)]
    points: Option<usize>,
    /// What survives of the writes after the flush: none, all, prefix, subset or torn
    #[arg(long, default_value = "none", value_parser = survive)]
    survive: Survive,
    /// Seed of the choice at the first point; each point adds one
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    results: Results,
}

fn survive(name: &str) -> Result<Survive, String> {
    let names = || Survive::NAMED.map(|(known, _)| known).join(", ");
    Survive::named(name).ok_or_else(|| format!("choose one of {}", names()))
}

/// Prints a line for each flush point as it is done. The status says whether one failed.
pub(super) fn run(command: Command) -> Result<Status, Failure> {
    let Command::Replay(args) = command;
    interrupt::install().map_err(Failure::failed)?;
    let path = folder::find(&args.results.results, &args.run)?;
    let store = Store::open(&path.join("run.sqlite"))?;
    let recorded = Recorded::find(&store.run()?, &store.trials()?, &path)?;
    let replayed = Points::open(&recorded)?;
    let points = spread(recorded.flushes.len(), args.points);
    print(&format!(
        "{}: {} of {} flush points, survive = \"{}\"",
        recorded.planned.key,
        points.len(),
        recorded.flushes.len(),
        args.survive.name()
    ));
    print(" point   at (s)   seed   check (s)   result");
    let failed = replayed.all(&recorded, &points, &args)?;
    print(&format!("{failed} of {} points failed", points.len()));
    match failed {
        _ if interrupt::asked() => Ok(Status::Interrupted),
        0 => Ok(Status::Done),
        _ => Ok(Status::Failed),
    }
}

/// Flush points from 1 on: all of them, or as many, spread evenly and with the last one.
fn spread(flushes: usize, wanted: Option<usize>) -> Vec<usize> {
    let wanted = wanted.unwrap_or(flushes).clamp(1, flushes.max(1));
    let at = |n: usize| (n * flushes).div_ceil(wanted);
    (1..=wanted).map(at).filter(|point| *point > 0).collect()
}

/// The first trial of a run with a recording.
struct Recorded {
    planned: PlannedTrial,
    data_bytes: u64,
    files: Recording,
    flushes: Vec<Duration>,
    filesystem: Filesystem,
    /// None: the workload has no conditions, so only the start is tested.
    warehouses: Option<u32>,
}

impl Recorded {
    fn find(run: &Run, trials: &[Trial], folder: &Path) -> Result<Recorded, Failure> {
        let overrides = Overrides::recorded(&run.overrides)?;
        let experiment = experiment::parse(
            &run.question.name,
            &run.question.name,
            &run.experiment_toml,
            &overrides,
        )?;
        let logs = folder.join("logs");
        let planned = expand(&experiment, run.seed).map_err(Failure::usage)?;
        let recorded = trials.iter().find_map(|trial| {
            let files = Recording::of(&logs, &trial.key);
            let planned = planned.iter().find(|planned| planned.key == trial.key)?;
            let has_files = files.trace.exists() && files.image.exists();
            has_files.then(|| (planned.clone(), trial.data_bytes, files))
        });
        let (planned, data_bytes, files) = recorded.ok_or_else(|| {
            Failure::usage(format!(
                "{} has no recording of a disk; run it with volume = {{ kind = \"volatile\", log = true }} in [host]",
                folder.display()
            ))
        })?;
        let warehouses = planned
            .workload
            .get("scale")
            .and_then(toml::Value::as_integer);
        let filesystem = match planned.host.volume().map(|volume| volume.filesystem) {
            Some(FilesystemSpec::Xfs) => Filesystem::Xfs,
            _ => Filesystem::Ext4,
        };
        Ok(Recorded {
            flushes: flushes(&files.trace).map_err(unplayed(&files.trace))?,
            warehouses: (experiment.workload == "tpcc").then(|| warehouses.unwrap_or(1) as u32),
            planned,
            data_bytes,
            files,
            filesystem,
        })
    }
}

/// The message for a recording that cannot be read, or a copy of its image that cannot be written.
fn unplayed(file: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| {
        Failure::failed(format!(
            "cannot replay {}: {error}; free space on the disk of PRONY_HOME, or run the experiment again if the recording is damaged",
            file.display()
        ))
    }
}

/// What the points of a recording share.
struct Points {
    leases: Leases,
    server: Provided,
}

impl Points {
    fn open(recorded: &Recorded) -> Result<Points, Failure> {
        let home = Home::from_environment().map_err(Failure::usage)?;
        let leases = super::leases(&home)?;
        let spec = recorded.planned.server.as_ref();
        let spec = spec.ok_or_else(|| Failure::usage("the recorded trial has no server"))?;
        let provide = |build: &spec::BuildSpec| server::provider(build, &home, &leases, &say);
        let server = Provided::get(spec, &provide)?;
        Ok(Points { leases, server })
    }

    /// Tries the points. Returns how many failed.
    fn all(&self, recorded: &Recorded, points: &[usize], args: &Args) -> Result<usize, Failure> {
        let folder = self.leases.temporary("replay").map_err(Failure::failed)?;
        let image = folder.path().join("flushed.img");
        let files = &recorded.files;
        clone::sparse(&files.image, &image).map_err(unplayed(&image))?;
        let replay = Replay::open(&files.trace, &image);
        let mut replay = replay.map_err(unplayed(&files.trace))?;
        let mut failed = 0;
        for (n, point) in points.iter().enumerate() {
            if interrupt::asked() {
                break;
            }
            let seed = args.seed.wrapping_add(n as u64);
            replay.advance_to(*point).map_err(unplayed(&image))?;
            let place = self.leases.temporary("point").map_err(Failure::failed)?;
            let cut = place.path().join("cut.img");
            clone::sparse(&image, &cut)
                .and_then(|()| File::options().write(true).open(&cut))
                .and_then(|cut| replay.survivors_to(&cut, args.survive, seed))
                .map_err(unplayed(&cut))?;
            let began = Instant::now();
            let result = self.check(recorded, &cut, place.path());
            failed += usize::from(result.is_err());
            let at_s = recorded.flushes[point - 1].as_secs_f64();
            print(&format!(
                "{point:>6} {at_s:>8.3} {seed:>6} {:>11.2}   {}",
                began.elapsed().as_secs_f64(),
                result.err().unwrap_or_else(|| "ok".to_string())
            ));
        }
        Ok(failed)
    }

    /// Mounts the image, starts the server on it, and checks the conditions.
    fn check(&self, recorded: &Recorded, image: &Path, place: &Path) -> Result<(), String> {
        let folder = place.join("volume");
        let volume = Volume::of_image(recorded.filesystem, image, &folder, &self.leases);
        let volume = volume.map_err(|error| error.to_string())?;
        let server = self.server.instance(&place.join("instance"));
        let planned = &recorded.planned.settings;
        let started = server.first().start(&StartRequest {
            data_folder: volume.data().join("data"),
            settings: self.server.settings(planned, recorded.data_bytes),
            groups: Vec::new(),
        });
        let checked = started.and_then(|_| {
            let connect = || server.first().connect();
            violations(recorded.warehouses, &connect)
        });
        let killed = server.kill();
        let found = checked.map_err(|error| error.to_string())?;
        killed.map_err(|error| error.to_string())?;
        if found.is_empty() {
            Ok(())
        } else {
            Err(found.join("; "))
        }
    }
}

fn violations(
    warehouses: Option<u32>,
    connect: &(dyn Fn() -> Result<server::Session, ServerError> + Sync),
) -> Result<Vec<String>, ServerError> {
    let Some(warehouses) = warehouses else {
        return Ok(Vec::new());
    };
    let found = conditions::check(connect, workload::tpcc::SCHEMA, warehouses, When::Later)?;
    Ok(found.sentences())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_spread_evenly_and_end_with_the_last_flush() {
        assert_eq!(spread(4, None), [1, 2, 3, 4]);
        assert_eq!(spread(100, Some(4)), [25, 50, 75, 100]);
        assert_eq!(spread(10, Some(3)), [4, 7, 10]);
        assert_eq!(spread(2, Some(50)), [1, 2]);
        assert!(spread(0, Some(3)).is_empty());
    }

    #[test]
    fn a_recording_that_cannot_be_read_is_named_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone.trace");
        let failure = flushes(&gone).map_err(unplayed(&gone)).unwrap_err();
        let says = format!("{failure:?}");
        for part in ["gone.trace: No such file", "run the experiment again"] {
            assert!(says.contains(part), "{part}: {says}");
        }
    }

    #[test]
    fn an_unknown_mode_of_survival_is_refused_with_the_known_ones() {
        assert_eq!(survive("torn"), Ok(Survive::Torn));
        let says = survive("half").unwrap_err();
        assert_eq!(says, "choose one of none, all, prefix, subset, torn");
    }
}

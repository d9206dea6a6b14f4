//! Finds the source span of a part of a checked experiment.
//!
//! Purpose: mistakes found after parsing are shown at their line too.

use super::{Experiment, FactorSpec, Patch};
use crate::file::mistake::{Mistake, Notes, Span, SpecError};
use crate::file::read::{Section, same_key};
use crate::load::LoadPatch;
use record::{LoadFactor, TrialKey};
use toml::de::DeTable;

/// A path through the file: tables by key, lists by index.
pub(crate) type Path = Vec<String>;

pub(crate) fn path(steps: &[&str]) -> Path {
    steps.iter().map(|step| step.to_string()).collect()
}

/// The span of the last step of the path that exists in the file. `[variant.X]` and `[factor.variant.X]` are the same.
fn place(file: &Section, path: &Path) -> Span {
    let short = match path.as_slice() {
        [factor, variant, rest @ ..] if factor == "factor" && variant == "variant" => {
            Some([&["variant".to_string()], rest].concat())
        }
        _ => None,
    };
    let long = file.follow(path);
    match short {
        // A level may have either form: take the one whose last key matches.
        Some(short)
            if long
                .as_ref()
                .zip(path.last())
                .is_none_or(|(node, last)| !same_key(node.key, last)) =>
        {
            file.follow(&short).or(long).map_or(0..0, |node| node.at())
        }
        _ => long.map_or(0..0, |node| node.at()),
    }
}

/// A key of the file that levels can override, by which a trial requests what this machine cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requested {
    Volume,
    RedoVolume,
    Directory,
    Memory,
    Cpus,
}

impl Requested {
    fn steps(self) -> [&'static str; 2] {
        match self {
            Requested::Volume => ["host", "volume"],
            Requested::RedoVolume => ["host", "redo_volume"],
            Requested::Directory => ["host", "directory"],
            Requested::Memory => ["limits", "memory"],
            Requested::Cpus => ["limits", "cpus"],
        }
    }

    fn is_in(self, patch: &Patch) -> bool {
        let (host, limits) = (patch.host.as_ref(), patch.limits);
        match self {
            Requested::Volume => host.is_some_and(|host| host.volume.is_some()),
            Requested::RedoVolume => host.is_some_and(|host| host.redo_volume.is_some()),
            Requested::Directory => host.is_some_and(|host| host.directory.is_some()),
            Requested::Memory => limits.is_some_and(|limits| limits.memory.is_some()),
            Requested::Cpus => limits.is_some_and(|limits| limits.cpus.is_some()),
        }
    }

    /// The key that sets it for a trial.
    pub(crate) fn path(self, experiment: &Experiment, key: &TrialKey) -> Path {
        path_for(experiment, key, &self.steps(), |patch| self.is_in(patch))
    }

    /// The mistake of a trial at this key. `says` names the cause, `help` the way out.
    pub fn mistake(
        self,
        experiment: &Experiment,
        key: &TrialKey,
        says: String,
        help: String,
    ) -> SpecError {
        let late = Late {
            path: self.path(experiment, key),
            says,
            label: "not possible here",
            help,
        };
        error(experiment, vec![late])
    }
}

/// The key below these steps that counts for a trial: that of its last level with one, or the file's.
pub(crate) fn path_for(
    experiment: &Experiment,
    key: &TrialKey,
    steps: &[&str],
    is_in: impl Fn(&Patch) -> bool,
) -> Path {
    let below = |at: &[&str]| [path(at), path(steps)].concat();
    for factor in experiment.factors.iter().rev() {
        let chosen = key.level(&factor.name);
        let mut levels = factor.levels.iter();
        let Some(level) = levels.find(|level| Some(level.name.as_str()) == chosen) else {
            continue;
        };
        let at: [&str; 3] = ["factor", &factor.name, &level.name];
        let mut on = level.on.iter();
        let on = on.find(|(server, patch)| Some(server) == key.server.as_ref() && is_in(patch));
        if let Some((server, _)) = on {
            return below(&[&at[..], &["on", server.as_str()]].concat());
        }
        if is_in(&level.patch) {
            return below(&at);
        }
    }
    path(steps)
}

/// What the levels of a factor change, each with its place: for all servers, then for single ones.
pub(crate) fn changes(factor: &FactorSpec) -> impl Iterator<Item = (Path, &Patch)> {
    factor.levels.iter().flat_map(|level| {
        let at = ["factor", &factor.name, &level.name];
        let on = level.on.iter();
        let on = on.map(move |(server, patch)| (path(&[&at[..], &["on", server]].concat()), patch));
        std::iter::once((path(&at), &level.patch)).chain(on)
    })
}

/// The load of every level in the file, with its path.
pub(crate) fn loads_of_levels(experiment: &Experiment) -> Vec<(Path, LoadPatch)> {
    let own = experiment.factors.iter();
    let own = own.filter(|factor| LoadFactor::named(&factor.name).is_none());
    own.flat_map(changes)
        .filter_map(|(at, patch)| Some(([at, path(&["load"])].concat(), patch.load.clone()?)))
        .collect()
}

/// A mistake that is found after parsing.
#[derive(Clone)]
pub(crate) struct Late {
    pub path: Path,
    pub says: String,
    pub label: &'static str,
    pub help: String,
}

/// Returns an error with all mistakes, or Ok without any.
pub(crate) fn answer(experiment: &Experiment, found: Vec<Late>) -> Result<(), SpecError> {
    match found.is_empty() {
        true => Ok(()),
        false => Err(error(experiment, found)),
    }
}

fn error(experiment: &Experiment, found: Vec<Late>) -> SpecError {
    let tree = DeTable::parse(&experiment.source).ok();
    let notes = Notes::default();
    let file = tree
        .as_ref()
        .map(|tree| Section::file(&notes, tree.get_ref()));
    let at = |path: &Path| file.as_ref().map_or(0..0, |file| place(file, path));
    let mistakes = found
        .into_iter()
        .map(|late| Mistake::new(at(&late.path), late.says, late.label, late.help))
        .collect();
    SpecError::new(
        &format!("{}.toml", experiment.name),
        &experiment.source,
        mistakes,
    )
}

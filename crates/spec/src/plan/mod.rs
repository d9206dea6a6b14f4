//! Computes the next trial from the experiment, the seed and the finished trials.
//!
//! Purpose: one pure function for a fixed matrix, a search (`search`), a resumed run and a part of the matrix. Points (`matrix`) that
//! belong together form units (`units`), whose order is shuffled within each block (`order`). One cell is measured twice per block
//! (`control`). After a look at the claims some units go on (`going_on`). Finished trials are skipped.
//! Boundaries: `run` runs trials; this module never contacts a server.

pub mod estimate;
pub(crate) mod matrix;
mod part;
mod search;
mod trial;

mod control;
mod finished;
mod going_on;
mod groups;
mod laps;
mod order;
mod units;

#[cfg(test)]
mod tests;

pub use finished::Finished;
pub use going_on::Undecided;
pub use laps::{Lap, Laps, Length};
pub use part::{MatrixPart, PartError};
pub use trial::{PlannedTrial, SetByLevel};

use crate::{Experiment, LoadSpec, PlannedLoad, SearchSpec, ServerSpec};
use finished::Known;
use matrix::{Point, levels};
use record::{LoadFactor, Looks, Role, TrialKey};
use search::{Probe, Step};
use std::collections::{HashMap, HashSet};
use trial::Measured;
use units::Unit;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("the matrix has {trials} trials ({product}), more than the maximum of {max}: {cut}", max = matrix::TRIALS_MAX)]
    TooLarge {
        trials: u128,
        /// `2 server x 1000 size x ...`
        product: String,
        /// The fix.
        cut: String,
    },
    #[error(
        "the matrix is empty: every combination of levels is excluded by an \"only\"; remove one, or name more levels in it"
    )]
    Empty,
    #[error(
        "a part cannot decide which cells go on, because it has only some cells of a claim; give --blocks N with --part"
    )]
    PartUndecided,
}

impl PlanError {
    fn too_large(trials: u128, counts: Vec<(String, usize)>) -> PlanError {
        let several: Vec<String> = counts
            .iter()
            .filter(|(_, count)| *count > 1)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let largest = counts
            .iter()
            .max_by_key(|(_, count)| *count)
            .map_or("", |(name, _)| name);
        let cut = match largest {
            "blocks" => "use fewer blocks with --blocks N".to_string(),
            name => format!("reduce \"{name}\" first, in the file or with --only {name}=LEVEL"),
        };
        PlanError::TooLarge {
            trials,
            product: several.join(" x "),
            cut,
        }
    }
}

/// The execution order of an experiment's trials. It holds only places; trials are built on demand.
#[derive(Clone, Debug)]
pub struct Plan<'e> {
    experiment: &'e Experiment,
    looks: Looks,
    points: Vec<Point>,
    units: Vec<Unit>,
    /// In execution order. The places of a unit are adjacent.
    order: Vec<BlockPlace>,
}

/// A point in a block: one trial, or the trials of one search.
#[derive(Clone, Copy, Debug)]
struct BlockPlace {
    block: u32,
    point: usize,
    unit: usize,
    role: Role,
}

impl BlockPlace {
    /// Whether both are of one unit in one block.
    fn is_beside(&self, other: &BlockPlace) -> bool {
        (self.block, self.unit) == (other.block, other.unit)
    }
}

impl<'e> Plan<'e> {
    /// # Errors
    /// Fails if the matrix is too large, which is checked before expanding it, or empty.
    pub fn new(experiment: &'e Experiment, seed: u64) -> Result<Plan<'e>, PlanError> {
        Plan::of_part(experiment, seed, None)
    }

    /// The part of the plan assigned to a part; the whole plan without one.
    ///
    /// # Errors
    /// As for `new`.
    pub fn of_part(
        experiment: &'e Experiment,
        seed: u64,
        part: Option<MatrixPart>,
    ) -> Result<Plan<'e>, PlanError> {
        let fixed = || Looks::fixed(experiment.protocol.blocks);
        let looks = experiment.protocol.looks.clone().unwrap_or_else(fixed);
        let depends = looks.all().iter().any(|look| look.only_undecided);
        if depends && part.is_some() {
            return Err(PlanError::PartUndecided);
        }
        let points = matrix::points(experiment)?;
        let units = units::units(experiment, &points);
        if units.is_empty() {
            return Err(PlanError::Empty);
        }
        let mut order = Vec::new();
        let twin = control::twin(experiment, &points, &units);
        let orders = order::orders(units.len(), experiment.protocol.blocks, seed);
        for (block, shuffled) in (0..).zip(&orders) {
            let own = (shuffled.iter().enumerate())
                .filter(|(position, _)| part.is_none_or(|part| part.holds(*position)));
            let mut runs: Vec<Vec<BlockPlace>> = own
                .map(|(_, unit)| {
                    let members =
                        units::ordered(experiment, &points, &units[*unit], (block, *unit), seed);
                    let place = |point: &usize| BlockPlace {
                        block,
                        point: *point,
                        unit: *unit,
                        role: Role::Measured,
                    };
                    members.iter().map(place).collect()
                })
                .collect();
            // The control is compared with its twin of the same block, so it is measured on the same machine.
            let has_twin = |twin: &control::Twin| runs.iter().any(|run| run[0].unit == twin.unit);
            if let Some(twin) = twin.filter(has_twin) {
                let control = BlockPlace {
                    block,
                    point: twin.point,
                    unit: twin.unit,
                    role: Role::Control,
                };
                let group = (experiment.protocol.slices.is_some())
                    .then(|| runs.iter_mut().find(|run| run[0].unit == twin.unit));
                match group.flatten() {
                    // Servers are prepared and warmed up in this order, so the control has a drawn place in it.
                    Some(group) => group.insert(order::control(group.len(), block, seed), control),
                    None => {
                        runs.insert(order::control(runs.len(), block, seed), vec![control]);
                    }
                }
            }
            order.extend(runs.into_iter().flatten());
        }
        Ok(Plan {
            experiment,
            looks,
            points,
            units,
            order,
        })
    }

    /// The number of trials if every cell has all blocks. For a search it is only an upper bound; a search without contradictions needs
    /// far fewer.
    pub fn len(&self) -> usize {
        let probes = self.experiment.search();
        self.order.len() * probes.map_or(1, |search| search::probes_max(search.between))
    }

    /// Only a part can be empty.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// All trials in execution order, as far as they are known in advance: only the first trial of a search, and rate 0
    /// for shares of a maximum.
    pub fn trials(&self) -> impl Iterator<Item = PlannedTrial> {
        let measured = Measured {
            max: None,
            probed: self.experiment.search().map(|search| search.between.0),
        };
        let mut last: Option<TrialKey> = None;
        self.order.iter().map(move |place| {
            let mut trial = self.planned(place, measured);
            let last = last.replace(trial.key.clone());
            trial.continues = last.is_some_and(|last| self.is_in_series_with(place, &last));
            trial
        })
    }

    /// The first unfinished trial, with those that take turns with it in slices; none if all are finished. After each look only undecided
    /// claims go on, where the experiment says so. `finished` is in the order of measurement.
    pub fn next_unit(&self, finished: &[Finished], undecided: &Undecided) -> Vec<PlannedTrial> {
        let known = Known::new(finished);
        let mut open = self
            .blocks_going_on(finished, undecided)
            .flatten()
            .filter_map(|place| Some((place, self.open(place, finished, &known)?)));
        let Some((place, mut trial)) = open.next() else {
            return Vec::new();
        };
        let last = finished.last().filter(|last| last.server_is_up);
        trial.continues = last.is_some_and(|last| self.is_in_series_with(place, &last.key));
        if self.experiment.protocol.slices.is_none() {
            return vec![trial];
        }
        let others = open.take_while(|(other, _)| other.is_beside(place));
        std::iter::once(trial)
            .chain(others.map(|(_, other)| other))
            .collect()
    }

    /// The trials that take turns with each other in slices, once each; each trial by itself without slices.
    pub fn groups(&self) -> Vec<Vec<PlannedTrial>> {
        let planned = |place: &BlockPlace| self.planned(place, Measured::default());
        let groups = self.grouped();
        let groups = groups.map(|group| group.iter().map(planned).collect());
        groups.collect()
    }

    /// The most servers that exist at the same time: with slices those of the largest group, otherwise 1.
    pub fn servers_at_once(&self) -> u32 {
        let sizes = self.grouped().map(|group| group.len() as u32);
        sizes.max().unwrap_or(1)
    }

    /// The places of each group in the first block that has it: a part of the matrix has other groups in each block.
    fn grouped(&self) -> impl Iterator<Item = &[BlockPlace]> {
        let sliced = self.experiment.protocol.slices.is_some();
        let mut known = HashSet::new();
        let groups = (self.order).chunk_by(move |one, other| sliced && one.is_beside(other));
        groups.filter(move |group| {
            let places = group.iter();
            let further = places.filter(|place| known.insert((place.point, place.role)));
            further.count() > 0
        })
    }

    /// Each trial with the number of its group: those with the same number take turns in slices. Empty without slices.
    pub fn group_numbers(&self) -> HashMap<TrialKey, usize> {
        let is_sliced = self.experiment.protocol.slices.is_some();
        let groups = self.order.chunk_by(BlockPlace::is_beside);
        let groups = groups.filter(|_| is_sliced);
        let numbered = groups.enumerate();
        let numbered = numbered
            .flat_map(|(number, group)| group.iter().map(move |place| (self.key(place), number)));
        numbered.collect()
    }

    /// Whether any trial depends on the figures of another one: a search, or a rate that is a share of the maximum.
    pub fn needs_figures(&self) -> bool {
        self.experiment.search().is_some() || self.order.iter().any(|place| self.needs_max(place))
    }

    /// Trials that are skipped because the maximum that their rate refers to has no figure.
    pub fn lost(&self, finished: &[Finished]) -> Vec<TrialKey> {
        let known = Known::new(finished);
        let is_lost =
            |place: &&BlockPlace| self.needs_max(place) && self.max(place, &known) == Some(None);
        let lost = self.order.iter().filter(is_lost);
        lost.map(|place| self.key(place)).collect()
    }

    /// The next unfinished trial of a place.
    fn open(
        &self,
        place: &BlockPlace,
        finished: &[Finished],
        known: &Known,
    ) -> Option<PlannedTrial> {
        let measured = match self.experiment.search() {
            Some(search) => Measured {
                max: None,
                probed: Some(self.probe(search, place, finished)?),
            },
            None if known.get(&self.key(place)).is_some() => return None,
            None if self.has_missed_its_turns(place, known) => return None,
            None if self.needs_max(place) => Measured {
                max: Some(self.max(place, known)??),
                probed: None,
            },
            None => Measured::default(),
        };
        Some(self.planned(place, measured))
    }

    /// Whether it is a control whose group was measured without it: a run of one block has no control, and got further blocks. Measured
    /// alone, it would show the noise of trials one after another.
    fn has_missed_its_turns(&self, place: &BlockPlace, known: &Known) -> bool {
        let twin = BlockPlace {
            role: Role::Measured,
            ..*place
        };
        let is_sliced = self.experiment.protocol.slices.is_some();
        is_sliced && place.role == Role::Control && known.get(&self.key(&twin)).is_some()
    }

    /// The result of a search as a sentence, if this was its last trial; None if it continues.
    pub fn answer(&self, last: &TrialKey, finished: &[Finished]) -> Option<String> {
        let search = self.experiment.search()?;
        let place = self
            .order
            .iter()
            .find(|place| place.block == last.block && self.is_of(place, last))?;
        self.step(search, place, finished).sentence(search)
    }

    /// Whether a trial is of this place, in whatever block: a search adds the rate to the levels.
    fn is_of(&self, place: &BlockPlace, trial: &TrialKey) -> bool {
        let key = self.key(place);
        key.server == trial.server && trial.levels.starts_with(&key.levels)
    }

    /// The next rate of a search; None if it has ended.
    fn probe(&self, search: &SearchSpec, place: &BlockPlace, finished: &[Finished]) -> Option<f64> {
        match self.step(search, place, finished) {
            Step::Next(rate) => Some(rate),
            _ => None,
        }
    }

    fn step(&self, search: &SearchSpec, place: &BlockPlace, finished: &[Finished]) -> Step {
        let key = self.key(place);
        let probes: Vec<Probe> = finished
            .iter()
            .filter_map(|one| search::probe(search, &key, one))
            .collect();
        search::next(search.between, &probes)
    }

    fn needs_max(&self, place: &BlockPlace) -> bool {
        let load = trial::load(self.experiment, &self.points[place.point]);
        matches!(load, LoadSpec::Open(open) if open.rate.is_relative())
    }

    /// The maximum closed-loop throughput over all worker counts of the unit. Outer None: not all are measured yet; inner
    /// None: none of them has a figure.
    fn max(&self, place: &BlockPlace, known: &Known) -> Option<Option<f64>> {
        let unit = self.units[place.unit].iter();
        let measure_it =
            unit.filter(|point| matrix::is_max(self.experiment, &self.points[**point]));
        let tried: Option<Vec<&Finished>> = measure_it
            .map(|point| {
                known.get(&self.key(&BlockPlace {
                    point: *point,
                    role: Role::Measured,
                    ..*place
                }))
            })
            .collect();
        let usable = tried?.into_iter().filter(|one| one.is_usable);
        let throughputs = usable.filter_map(|one| one.throughput);
        Some(throughputs.max_by(f64::total_cmp))
    }

    fn is_in_series_with(&self, place: &BlockPlace, last: &TrialKey) -> bool {
        let point = &self.points[place.point];
        let of_load = |factor: &str| LoadFactor::named(factor).is_some();
        let others = last.levels.iter().filter(|(factor, _)| !of_load(factor));
        let own = levels(self.experiment, point).filter(|(factor, _)| !of_load(factor));
        self.experiment.protocol.series
            // The control starts its own server, as its twin does.
            && (place.role, last.role) == (Role::Measured, Role::Measured)
            && last.block == place.block
            && last.server.as_ref()
                == matrix::server(self.experiment, point).map(|server| &server.name)
            && own
                .map(|(_, level)| &level.name)
                .eq(others.map(|(_, level)| level))
    }

    fn key(&self, place: &BlockPlace) -> TrialKey {
        let point = &self.points[place.point];
        trial::key(self.experiment, point, (place.block, place.role), None)
    }

    fn planned(&self, place: &BlockPlace, measured: Measured) -> PlannedTrial {
        let point = &self.points[place.point];
        let at = (place.block, place.role);
        trial::planned(self.experiment, point, at, measured)
    }
}

/// How many tests share an error rate: those of the claims, or without claims those of further servers against the first. `block` has the
/// trials of one block.
pub fn tested(experiment: &Experiment, block: &[PlannedTrial]) -> usize {
    let claims = experiment.claims.iter();
    match claims.filter_map(|claim| claim.subject.value()).count() {
        0 => against_first(experiment, block),
        claims => claims,
    }
}

/// The tests of the cells of a block that the first server has too: of the throughput, and with think times also of the p99.
fn against_first(experiment: &Experiment, block: &[PlannedTrial]) -> usize {
    let first = experiment.servers.first().map(|server| &server.name);
    let is_of_first = |key: &TrialKey| key.server.as_ref() == first;
    let measured = || block.iter().filter(|trial| !trial.key.is_control());
    let has_it = |other: &TrialKey| {
        let mut keys = measured().map(|trial| &trial.key);
        keys.any(|key| is_of_first(key) && key.levels == other.levels)
    };
    let others = measured().filter(|trial| !is_of_first(&trial.key) && has_it(&trial.key));
    let tests = others.map(|trial| match trial.load {
        PlannedLoad::Closed { think, .. } if !think.is_zero() => 2,
        _ => 1,
    });
    tests.sum()
}

/// All trials of the matrix in execution order.
///
/// # Errors
/// Fails if the matrix is too large or empty.
pub fn expand(experiment: &Experiment, seed: u64) -> Result<Vec<PlannedTrial>, PlanError> {
    Ok(Plan::new(experiment, seed)?.trials().collect())
}

/// The servers that these trials run on or whose datasets they start from, without duplicates, in file order.
pub fn servers(experiment: &Experiment, trials: &[PlannedTrial]) -> Vec<ServerSpec> {
    let mut found: Vec<ServerSpec> = Vec::new();
    for own in &experiment.servers {
        let of_own = trials
            .iter()
            .filter(|trial| trial.key.server.as_ref() == Some(&own.name));
        let lends = experiment
            .servers
            .iter()
            .any(|other| other.dataset_from.as_ref() == Some(&own.name));
        let used = of_own.filter_map(|trial| trial.server.as_ref());
        for server in lends.then_some(own).into_iter().chain(used) {
            if !found.contains(server) {
                found.push(server.clone());
            }
        }
    }
    found
}

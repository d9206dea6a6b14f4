//! A trial as it is planned: every level chosen, every patch applied.

use super::matrix::{Point, agrees, levels};
use crate::spec::{
    EventSpec, Experiment, LoadSpec, Pairs, Patch, PlannedLoad, RateSpec, Setting, merge,
};
use record::TrialKey;

#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTrial {
    pub key: TrialKey,
    /// Server configuration, later patches winning; sizes relative to the data are still open.
    pub settings: Pairs<Setting>,
    pub session: Pairs<Setting>,
    /// The workload's section with the levels' keys laid over it.
    pub workload: toml::Table,
    pub load: PlannedLoad,
    pub events: Vec<EventSpec>,
}

/// Where a point stands in the matrix, in a block.
pub fn key(experiment: &Experiment, point: &Point, block: u32) -> TrialKey {
    let chosen = levels(experiment, point)
        .map(|(factor, level)| (factor.to_string(), level.name.clone()))
        .collect();
    TrialKey {
        block,
        server: experiment.servers[point.server].name.clone(),
        levels: chosen,
    }
}

/// The patches in order: the file's top level, the server, the levels in the file's order of factors.
pub fn planned(experiment: &Experiment, point: &Point, block: u32) -> PlannedTrial {
    let server = &experiment.servers[point.server];
    let mut trial = PlannedTrial {
        key: key(experiment, point, block),
        settings: Vec::new(),
        session: Vec::new(),
        workload: toml::Table::new(),
        load: load(experiment, point),
        events: experiment
            .events
            .iter()
            .filter(|event| agrees(experiment, point, &event.only))
            .cloned()
            .collect(),
    };
    trial.apply(&experiment.base, None);
    lay_over(&mut trial.settings, &server.settings);
    for (_, level) in levels(experiment, point) {
        let replaced = level
            .on
            .iter()
            .find(|(name, _)| *name == server.name)
            .map(|(_, patch)| patch);
        trial.apply(&level.patch, replaced);
    }
    trial
}

/// The file's load with the levels' laid over it.
fn load(experiment: &Experiment, point: &Point) -> PlannedLoad {
    let server = &experiment.servers[point.server].name;
    let patches = levels(experiment, point).filter_map(|(_, level)| {
        let replaced = level.on.iter().find(|(name, _)| name == server);
        replaced
            .and_then(|(_, patch)| patch.load.as_ref())
            .or(level.patch.load.as_ref())
    });
    let load = patches.fold(experiment.load.clone(), LoadSpec::patched);
    match load {
        LoadSpec::Closed { clients, think } => PlannedLoad::Closed { clients, think },
        LoadSpec::Open(open) => PlannedLoad::Open {
            rate: match open.rate {
                RateSpec::PerSecond(rate) => rate,
                _ => 0.0,
            },
            arrivals: open.arrivals,
            workers: open.workers,
            queue: open.queue,
            when_full: open.when_full,
        },
    }
}

impl PlannedTrial {
    /// `replaced` holds the sections that this server has instead of the patch's own.
    fn apply(&mut self, patch: &Patch, replaced: Option<&Patch>) {
        let empty = Patch::default();
        let replaced = replaced.unwrap_or(&empty);
        if let Some(settings) = replaced.settings.as_ref().or(patch.settings.as_ref()) {
            lay_over(&mut self.settings, settings);
        }
        if let Some(session) = replaced.session.as_ref().or(patch.session.as_ref()) {
            lay_over(&mut self.session, session);
        }
        if let Some(workload) = replaced.workload.as_ref().or(patch.workload.as_ref()) {
            self.workload = merge(&self.workload, workload);
        }
    }
}

/// A later value takes the place of an earlier one.
fn lay_over(base: &mut Pairs<Setting>, over: &Pairs<Setting>) {
    for (name, value) in over {
        match base.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value.clone(),
            None => base.push((name.clone(), value.clone())),
        }
    }
}

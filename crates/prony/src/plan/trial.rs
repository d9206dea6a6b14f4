//! A trial as it is planned: every level chosen, every patch applied.

use super::matrix::{Point, agrees, levels};
use crate::spec::{EventSpec, Experiment, LoadSpec, Pairs, Patch, Setting, merge};
use record::TrialKey;

#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTrial {
    pub key: TrialKey,
    /// Server configuration, later patches winning; sizes relative to the data are still open.
    pub settings: Pairs<Setting>,
    pub session: Pairs<Setting>,
    /// The workload's section with the levels' keys laid over it.
    pub workload: toml::Table,
    pub clients: u32,
    pub events: Vec<EventSpec>,
}

/// Where a point stands in the matrix, in a block.
pub fn key(experiment: &Experiment, point: &Point, block: u32) -> TrialKey {
    let mut chosen: Vec<(String, String)> = levels(experiment, point)
        .map(|(factor, level)| (factor.to_string(), level.name.clone()))
        .collect();
    let LoadSpec::Closed { clients } = &experiment.load;
    if clients.len() > 1 {
        chosen.push(("clients".to_string(), clients[point.clients].to_string()));
    }
    TrialKey {
        block,
        server: experiment.servers[point.server].name.clone(),
        levels: chosen,
    }
}

/// The patches in order: the file's top level, the server, the levels in the file's order of factors.
pub fn planned(experiment: &Experiment, point: &Point, block: u32) -> PlannedTrial {
    let LoadSpec::Closed { clients } = &experiment.load;
    let server = &experiment.servers[point.server];
    let mut trial = PlannedTrial {
        key: key(experiment, point, block),
        settings: Vec::new(),
        session: Vec::new(),
        workload: toml::Table::new(),
        clients: clients[point.clients],
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
        if let Some(clients) = replaced.clients.or(patch.clients) {
            self.clients = clients;
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

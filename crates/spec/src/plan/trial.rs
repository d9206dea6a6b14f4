//! A trial as it is planned: every level chosen, every patch applied.

use super::matrix::{Point, agrees, is_max, levels, server};
use crate::served;
use crate::{EventSpec, Experiment, LimitsPatch, Observe, Pairs, Patch, RoundKind, Setting, merge};
use crate::{LevelSpec, ServerSpec};
use crate::{LoadSpec, PlannedLoad, RateSpec};
use record::TrialKey;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTrial {
    pub key: TrialKey,
    /// Where it runs, with the build that the levels give it; its name then is its own. None: on a folder.
    pub server: Option<ServerSpec>,
    /// Server configuration, later patches winning; sizes relative to the data are still open.
    pub settings: Pairs<Setting>,
    pub session: Pairs<Setting>,
    /// The workload's section with the levels' keys laid over it.
    pub workload: toml::Table,
    pub load: PlannedLoad,
    pub limits: LimitsPatch,
    /// Empty for a timed load.
    pub rounds: Vec<RoundKind>,
    /// It goes on with the server that the trial before it in its series has started and left.
    pub continues: bool,
    pub events: Vec<EventSpec>,
    pub observe: Observe,
}

/// Where a point stands in the matrix, in a block. `probed` is the rate of a trial that searches for one.
pub(super) fn key(
    experiment: &Experiment,
    point: &Point,
    block: u32,
    probed: Option<f64>,
) -> TrialKey {
    let chosen = levels(experiment, point)
        .map(|(factor, level)| (factor.to_string(), level.name.clone()))
        .chain(probed.map(|rate| ("rate".to_string(), rate.to_string())))
        .collect();
    TrialKey {
        block,
        server: server(experiment, point).map(|server| server.name.clone()),
        levels: chosen,
    }
}

/// Rates that depend on what was measured before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// Operations a second.
    pub max: Option<f64>,
    /// The rate that a search wants to be probed.
    pub probed: Option<f64>,
}

/// The patches in order: the file's top level, the server, the levels in the file's order of factors.
pub(super) fn planned(
    experiment: &Experiment,
    point: &Point,
    block: u32,
    measured: Measured,
) -> PlannedTrial {
    let own = server(experiment, point);
    let all = || levels(experiment, point).map(|(_, level)| level);
    let mut trial = PlannedTrial {
        key: key(experiment, point, block, measured.probed),
        server: own.map(|own| served::with_levels(own, all())),
        settings: Vec::new(),
        session: Vec::new(),
        workload: toml::Table::new(),
        load: resolved(load(experiment, point), measured),
        limits: LimitsPatch::default(),
        rounds: experiment.protocol.rounds.clone(),
        continues: false,
        events: experiment
            .events
            .iter()
            // What the others are compared at must not hang on what is compared.
            .filter(|_| !is_max(experiment, point))
            .filter(|event| agrees(experiment, point, &event.only))
            .cloned()
            .collect(),
        observe: experiment.observe.clone(),
    };
    trial.apply(&experiment.base, None);
    if let Some(own) = own {
        lay_over(&mut trial.settings, &own.settings);
    }
    for level in all() {
        trial.apply(&level.patch, replaced(level, own));
    }
    trial
}

/// The sections that a level has for this server alone.
fn replaced<'e>(level: &'e LevelSpec, server: Option<&ServerSpec>) -> Option<&'e Patch> {
    let on = level.on.iter();
    let mut own = on.filter(|(name, _)| server.is_some_and(|server| server.name == *name));
    own.next().map(|(_, patch)| patch)
}

/// The file's load with the levels' laid over it.
pub(super) fn load(experiment: &Experiment, point: &Point) -> LoadSpec {
    let server = server(experiment, point);
    let patches = levels(experiment, point).filter_map(|(_, level)| {
        replaced(level, server)
            .and_then(|patch| patch.load.as_ref())
            .or(level.patch.load.as_ref())
    });
    patches.fold(experiment.load.clone(), LoadSpec::patched)
}

fn resolved(load: LoadSpec, measured: Measured) -> PlannedLoad {
    let open = match load {
        LoadSpec::Closed { clients, think } => return PlannedLoad::Closed { clients, think },
        LoadSpec::Open(open) => open,
    };
    let rate = match open.rate {
        // The maximum is what as many clients get as there are workers at most.
        RateSpec::Max => {
            return PlannedLoad::Closed {
                clients: open.workers,
                think: Duration::ZERO,
            };
        }
        RateSpec::PerSecond(rate) => rate,
        RateSpec::ShareOfMax(share) => share * measured.max.unwrap_or(0.0),
        RateSpec::Find(_) => measured.probed.unwrap_or(0.0),
    };
    PlannedLoad::Open {
        rate,
        arrivals: open.arrivals,
        workers: open.workers,
        queue: open.queue,
        when_full: open.when_full,
    }
}

impl PlannedTrial {
    /// The name of the server that it runs on; empty where it runs on a folder.
    pub fn server_name(&self) -> &str {
        let name = self.server.as_ref().map(|server| server.name.as_str());
        name.unwrap_or_default()
    }

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
        if let Some(limits) = replaced.limits.or(patch.limits) {
            self.limits = limits.over(self.limits);
        }
        if let Some(rounds) = replaced.rounds.as_ref().or(patch.rounds.as_ref()) {
            self.rounds = rounds.clone();
        }
        if let Some(workload) = replaced.workload.as_ref().or(patch.workload.as_ref()) {
            self.workload = merge(&self.workload, workload);
        }
        if let Some(observe) = replaced.observe.as_ref().or(patch.observe.as_ref()) {
            self.observe = std::mem::take(&mut self.observe).patched(observe);
        }
    }
}

/// A later value takes the place of an earlier one; the flags of `optimizer_switch` do so one by one.
fn lay_over(base: &mut Pairs<Setting>, over: &Pairs<Setting>) {
    for (name, value) in over {
        match base.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) if name == "optimizer_switch" => *known = switched(known, value),
            Some((_, known)) => *known = value.clone(),
            None => base.push((name.clone(), value.clone())),
        }
    }
}

/// `mrr=on` over `mrr=off,index_merge=off` is `index_merge=off,mrr=on`: a server takes each flag once.
fn switched(base: &Setting, over: &Setting) -> Setting {
    let (Setting::Literal(base), Setting::Literal(over)) = (base, over) else {
        return over.clone();
    };
    let name = |flag: &str| {
        flag.split('=')
            .next()
            .unwrap_or_default()
            .trim()
            .to_lowercase()
    };
    let kept = base
        .split(',')
        .filter(|flag| !over.split(',').any(|later| name(later) == name(flag)));
    // The word puts all flags back, whatever came before it.
    let kept: Vec<&str> = match over
        .split(',')
        .any(|flag| flag.trim().eq_ignore_ascii_case("default"))
    {
        true => Vec::new(),
        false => kept.collect(),
    };
    Setting::Literal([kept, vec![over.as_str()]].concat().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switched(base: &str, over: &str) -> String {
        let literal = |text: &str| Setting::Literal(text.to_string());
        match super::switched(&literal(base), &literal(over)) {
            Setting::Literal(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_of_the_optimizer_are_laid_over_each_other_one_by_one() {
        assert_eq!(
            switched("mrr=off,index_merge=off", "mrr=on,mrr_cost_based=off"),
            "index_merge=off,mrr=on,mrr_cost_based=off"
        );
        assert_eq!(switched("mrr=off", "default"), "default");
    }
}

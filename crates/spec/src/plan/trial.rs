//! A trial as it is planned: every level chosen, every patch applied.

use super::matrix::{Point, agrees, is_max, levels};
use crate::{EventSpec, Experiment, LimitsPatch, Observe, Pairs, Patch, RoundKind, Setting, merge};
use crate::{LoadSpec, PlannedLoad, RateSpec};
use record::TrialKey;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTrial {
    pub key: TrialKey,
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
pub fn key(experiment: &Experiment, point: &Point, block: u32, probed: Option<f64>) -> TrialKey {
    let chosen = levels(experiment, point)
        .map(|(factor, level)| (factor.to_string(), level.name.clone()))
        .chain(probed.map(|rate| ("rate".to_string(), rate.to_string())))
        .collect();
    TrialKey {
        block,
        server: Some(experiment.servers[point.server].name.clone()),
        levels: chosen,
    }
}

/// Rates that depend on what was measured before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Operations a second.
    pub max: Option<f64>,
    /// The rate that a search wants to be probed.
    pub probed: Option<f64>,
}

/// The patches in order: the file's top level, the server, the levels in the file's order of factors.
pub fn planned(
    experiment: &Experiment,
    point: &Point,
    block: u32,
    measured: Measured,
) -> PlannedTrial {
    let server = &experiment.servers[point.server];
    let mut trial = PlannedTrial {
        key: key(experiment, point, block, measured.probed),
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
pub fn load(experiment: &Experiment, point: &Point) -> LoadSpec {
    let server = &experiment.servers[point.server].name;
    let patches = levels(experiment, point).filter_map(|(_, level)| {
        let replaced = level.on.iter().find(|(name, _)| name == server);
        replaced
            .and_then(|(_, patch)| patch.load.as_ref())
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

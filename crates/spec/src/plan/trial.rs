//! A planned trial: all levels chosen, all patches applied.

use super::matrix::{Point, agrees, is_max, levels, server};
use crate::experiment::served;
use crate::{
    EventSpec, Experiment, HostPatch, LimitsPatch, Observe, Pairs, Patch, RoundKind, ServerSpec,
    Setting, listed, merge,
};
use crate::{LoadSpec, PlannedLoad, RateSpec};
use record::{Role, TrialKey};
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTrial {
    pub key: TrialKey,
    /// Its server; a level that changes the build also changes the name. None: it runs on a folder.
    pub server: Option<ServerSpec>,
    /// Server configuration; later patches win. Sizes relative to the data are not resolved yet.
    pub settings: Pairs<Setting>,
    /// Names of the settings that its levels set.
    pub set_by_levels: BTreeSet<String>,
    pub session: Pairs<Setting>,
    /// The section of the workload, merged with the keys of the levels.
    pub workload: toml::Table,
    pub load: PlannedLoad,
    pub limits: LimitsPatch,
    /// The limits that it would have without `--no-limits`.
    pub lifted: LimitsPatch,
    pub host: HostPatch,
    /// Empty for a timed load.
    pub rounds: Vec<RoundKind>,
    /// Whether it reuses the running server of the previous trial in its series.
    pub continues: bool,
    pub events: Vec<EventSpec>,
    pub observe: Observe,
}

/// What a level of a trial sets in `settings` or `session`.
#[derive(Clone, Copy, Debug)]
pub struct SetByLevel<'e> {
    pub factor: &'e str,
    pub level: &'e str,
    pub name: &'e str,
    pub value: &'e Setting,
}

/// The key of a trial: a point in a block, for a role. `probed` is the rate of a search probe.
pub(super) fn key(
    experiment: &Experiment,
    point: &Point,
    (block, role): (u32, Role),
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
        role,
    }
}

/// Rates that depend on earlier trials.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// Operations per second.
    pub max: Option<f64>,
    /// The rate to probe in a search.
    pub probed: Option<f64>,
}

/// Applies the patches in order: the top level of the file, the server, then the levels in file order of their factors.
pub(super) fn planned(
    experiment: &Experiment,
    point: &Point,
    place: (u32, Role),
    measured: Measured,
) -> PlannedTrial {
    let own = server(experiment, point);
    let own_name = own.map_or("", |own| own.name.as_str());
    let all = || levels(experiment, point).map(|(_, level)| level);
    let mut trial = PlannedTrial {
        key: key(experiment, point, place, measured.probed),
        server: own.map(|own| served::with_levels(own, all())),
        settings: Vec::new(),
        set_by_levels: BTreeSet::new(),
        session: Vec::new(),
        workload: toml::Table::new(),
        load: resolved(load(experiment, point), measured),
        limits: LimitsPatch::default(),
        lifted: LimitsPatch::default(),
        host: HostPatch::default(),
        rounds: experiment.protocol.rounds.clone(),
        continues: false,
        events: experiment
            .events
            .iter()
            // The maximum is a reference, so it must not depend on the compared levels.
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
        trial.apply(&level.patch, served::replaced(level, own_name));
        let settings = served::section_for(level, own_name, |patch| patch.settings.as_ref());
        let names = settings.into_iter().flatten();
        trial
            .set_by_levels
            .extend(names.map(|(name, _)| name.clone()));
    }
    if experiment.unlimited {
        trial.lifted = std::mem::take(&mut trial.limits);
    }
    trial
}

/// The load of the file, merged with those of the levels.
pub(super) fn load(experiment: &Experiment, point: &Point) -> LoadSpec {
    let server = server(experiment, point).map_or("", |server| server.name.as_str());
    let patches = levels(experiment, point)
        .filter_map(|(_, level)| served::section_for(level, server, |patch| patch.load.as_ref()));
    patches.fold(experiment.load.clone(), LoadSpec::patched)
}

fn resolved(load: LoadSpec, measured: Measured) -> PlannedLoad {
    let open = match load {
        LoadSpec::Closed { clients, think } => return PlannedLoad::Closed { clients, think },
        LoadSpec::Open(open) => open,
    };
    let rate = match open.rate {
        // The maximum is the throughput of as many clients as there are workers.
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
        queue: open.queue.operations(open.arrivals.highest(rate)),
        arrivals: open.arrivals,
        workers: open.workers,
        when_full: open.when_full,
    }
}

impl PlannedTrial {
    /// The name of its server; empty if it runs on a folder.
    pub fn server_name(&self) -> &str {
        let name = self.server.as_ref().map(|server| server.name.as_str());
        name.unwrap_or_default()
    }

    /// What its levels set in `settings` and `session`.
    pub fn set_by<'e>(&self, experiment: &'e Experiment) -> Vec<SetByLevel<'e>> {
        let server = self.key.server.as_deref().unwrap_or_default();
        let mut found = Vec::new();
        for factor in &experiment.factors {
            let chosen = self.key.level(&factor.name);
            let mut levels = factor.levels.iter();
            let Some(level) = levels.find(|level| chosen == Some(level.name.as_str())) else {
                continue;
            };
            let sections = [
                served::section_for(level, server, |patch| patch.settings.as_ref()),
                served::section_for(level, server, |patch| patch.session.as_ref()),
            ];
            let pairs = sections.into_iter().flatten().flatten();
            found.extend(pairs.map(|(name, value)| SetByLevel {
                factor: &factor.name,
                level: &level.name,
                name,
                value,
            }));
        }
        found
    }

    /// Applies a patch. The sections in `replaced` replace those of the patch.
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
        if let Some(host) = replaced.host.as_ref().or(patch.host.as_ref()) {
            self.host = host.clone().over(std::mem::take(&mut self.host));
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

/// Later values replace earlier ones, with or without `loose_`; the flags of `optimizer_switch` are merged one by one.
fn lay_over(base: &mut Pairs<Setting>, over: &Pairs<Setting>) {
    if base.is_empty() {
        base.clone_from(over);
        return;
    }
    for (name, value) in over {
        let own = listed(name);
        match base.iter_mut().find(|(known, _)| listed(known) == own) {
            Some((known, earlier)) => {
                known.clone_from(name);
                *earlier = match own.as_str() {
                    "optimizer_switch" => switched(earlier, value),
                    _ => value.clone(),
                };
            }
            None => base.push((name.clone(), value.clone())),
        }
    }
}

/// `mrr=on` over `mrr=off,index_merge=off` is `index_merge=off,mrr=on`: a server accepts each flag once.
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
    // `default` alone resets all earlier flags.
    let replaces = |later: &str, flag: &str| {
        later.trim().eq_ignore_ascii_case("default") || name(later) == name(flag)
    };
    let is_kept = |flag: &&str| !over.split(',').any(|later| replaces(later, flag));
    let kept = base.split(',').filter(is_kept);
    let all: Vec<&str> = kept.chain([over.as_str()]).collect();
    Setting::Literal(all.join(","))
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
    fn optimizer_flags_are_merged_one_by_one() {
        assert_eq!(
            switched("mrr=off,index_merge=off", "mrr=on,mrr_cost_based=off"),
            "index_merge=off,mrr=on,mrr_cost_based=off"
        );
        assert_eq!(switched("mrr=off", "default"), "default");
    }

    #[test]
    fn a_later_value_wins_over_the_same_setting_with_or_without_loose() {
        let pair = |name: &str, value: &str| {
            let value = Setting::Literal(value.to_string());
            (name.to_string(), value)
        };
        let mut settings = vec![pair("x", "1")];
        for later in [pair("loose_x", "2"), pair("x", "3")] {
            lay_over(&mut settings, &vec![later]);
        }
        assert_eq!(settings, [pair("x", "3")]);
    }
}

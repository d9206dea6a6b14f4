//! Settings of the file on a server that prony does not configure.
//!
//! Purpose: a setting that the server has anyway is met; the others are named before anything is loaded, and in each trial. Outside this
//! module: which claims depend on them (`stats`), and whether two spellings are one value (`server::unmet`).

use super::servers::Provided;
use crate::run::settings;
use record::{Flag, FlagKind};
use spec::Setting;
use spec::known::Known;
use spec::plan::PlannedTrial;
use std::collections::{BTreeMap, BTreeSet};

/// Global variables by their names.
type Variables = BTreeMap<String, String>;

/// A setting of the file whose value is not in force.
struct Unmet<'p> {
    name: &'p str,
    setting: &'p Setting,
    requested: String,
    /// `the server has 134217728`
    has: String,
}

fn unmet<'p>(planned: &'p PlannedTrial, in_force: &Variables, data_bytes: u64) -> Vec<Unmet<'p>> {
    let requested = settings::resolve(&planned.settings, data_bytes).into_iter();
    let settings = planned.settings.iter().zip(requested);
    let one = |((name, setting), (_, requested)): (&'p (String, Setting), (String, String))| {
        let has = match server::unmet(name, &requested, in_force)? {
            Some(effective) => format!("the server has {effective}"),
            None => "the server has no such variable".to_string(),
        };
        Some(Unmet {
            name,
            setting,
            requested,
            has,
        })
    };
    settings.filter_map(one).collect()
}

/// Flags of a trial whose server has other values in force than the file sets. What a level sets is part of the trial's name, so the
/// trial is not available; what the file sets for every trial is the same on both sides of most comparisons.
pub(crate) fn flags(planned: &PlannedTrial, in_force: &Variables, data_bytes: u64) -> Vec<Flag> {
    let flag = |unmet: Unmet| Flag {
        kind: match planned.set_by_levels.contains(unmet.name) {
            true => FlagKind::NotAvailable,
            false => FlagKind::SettingNotApplied,
        },
        text: format!(
            "{}: requested {}, {}, and prony does not configure it",
            unmet.name, unmet.requested, unmet.has
        ),
    };
    let unmet = unmet(planned, in_force, data_bytes);
    unmet.into_iter().map(flag).collect()
}

/// A sentence about each server that does not have what its trials request. `data_bytes` is the estimated size of a trial's data.
pub(crate) fn warnings(
    trials: &[PlannedTrial],
    known: &[Known],
    data_bytes: &dyn Fn(&PlannedTrial) -> u64,
) -> Vec<String> {
    let sentence = |known: &Known| {
        let in_force = known.in_force.as_ref()?;
        let own = trials.iter();
        let own = own.filter(|trial| trial.server_name() == known.server);
        let unmet = own.flat_map(|trial| unmet(trial, in_force, data_bytes(trial)));
        let unmet: BTreeSet<String> = unmet
            .map(|unmet| format!("{} = {} ({})", unmet.name, unmet.setting, unmet.has))
            .collect();
        (!unmet.is_empty()).then(|| {
            format!(
                "warning: server {}: prony does not configure it, and these settings are not in force: {}; claims on levels that set them, or against a server that has them, are not available",
                known.server,
                Vec::from_iter(unmet).join(", ")
            )
        })
    };
    known.iter().filter_map(sentence).collect()
}

/// The names of the servers without a setting that their trials request.
pub(crate) fn servers(
    trials: &[PlannedTrial],
    servers: &BTreeMap<String, Provided>,
    known: &[Known],
    data_bytes: &dyn Fn(&PlannedTrial) -> u64,
) -> BTreeSet<String> {
    let lacks = |trial: &&PlannedTrial| {
        let name = trial.server_name();
        let is_managed = servers.get(name).is_none_or(Provided::is_managed);
        let known = known.iter().find(|known| known.server == name);
        match known.and_then(|known| known.in_force.as_ref()) {
            Some(in_force) => !unmet(trial, in_force, data_bytes(trial)).is_empty(),
            None => !is_managed && !trial.settings.is_empty(),
        }
    };
    let lacking = trials.iter().filter(lacks);
    lacking
        .map(|trial| trial.server_name().to_string())
        .collect()
}

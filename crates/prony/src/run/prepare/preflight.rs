//! Checks settings before any data is loaded: unknown settings, and pools that exceed this machine's memory.
//!
//! Purpose: report a mistake in seconds, at its place in the file, instead of after an hour. The known settings are read once per
//! server: from the help text of a build, or over a connection to an external server. Outside this module: checks of the file alone
//! (`spec`).

use super::servers::Provided;
use crate::run::RunError;
use spec::known::{Known, SettingKind, Wanted};
use spec::plan::PlannedTrial;
use spec::{Experiment, LoadSpec, ServerSpec, Setting, settings, without_loose};
use workload::{Pausing, Workload};

/// Reads which settings this server knows.
pub(crate) fn known_settings(server: &Provided) -> Result<Known, RunError> {
    Ok(Known {
        server: server.spec.name.clone(),
        ..server.provider.known()?
    })
}

/// Checks every buffer pool of this server against the machine's memory. `data_bytes` is the largest of its datasets: estimated before
/// the load, measured after it.
pub(crate) fn fits(
    experiment: &Experiment,
    server: &Provided,
    data_bytes: u64,
    memory_bytes: u64,
) -> Result<(), RunError> {
    if !server.is_managed() {
        return Ok(());
    }
    let name = &server.spec.name;
    Ok(settings::impossible(
        experiment,
        name,
        data_bytes,
        memory_bytes,
    )?)
}

/// Checks that the clients of this load can pause as their workload says.
///
/// # Errors
/// Requests arrive at a rate, and wait for no client that pauses.
pub(crate) fn can_pause(workload: &dyn Workload, load: &LoadSpec) -> Result<(), RunError> {
    let is_open = matches!(load, LoadSpec::Open(_));
    match workload.pauses().filter(|_| is_open) {
        None => Ok(()),
        Some(Pausing { key, .. }) => Err(RunError::Usage(format!(
            "{key} in [workload] lets clients pause around their operations, but with [load.open] requests arrive at a rate and no client would pause; write [load.closed], or remove {key}"
        ))),
    }
}

/// Why this trial cannot be measured: the settings or hints that its server lacks. None if it lacks nothing.
pub(crate) fn lacking(trial: &PlannedTrial, known: &[Known]) -> Option<String> {
    let server = trial.server_name();
    let known = known.iter().find(|known| known.server == server)?;
    let lacks = known.lacks(&trial.settings, &trial.session);
    let mut lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
    let hints = trial.workload.get("hints").and_then(toml::Value::as_table);
    if hints.is_some_and(|hints| !hints.is_empty()) && !known.takes_hints {
        lacks.push("optimizer hints, which it reads as comments".to_string());
    }
    if !lacks.is_empty() {
        return Some(format!(
            "server {server} does not know {}",
            lacks.join(", nor ")
        ));
    }
    ignored(trial, known).map(|name| {
        format!(
            "server {server} does not know {name} and ignores it: the level would not be in force"
        )
    })
}

/// The first loose setting of its levels that the server ignores. Which settings plugins have is known only once they are loaded.
fn ignored<'t>(trial: &'t PlannedTrial, known: &Known) -> Option<&'t String> {
    let is_cluster = |server: &ServerSpec| server.cluster.is_some();
    let loads_plugins = |(name, _): &(String, Setting)| name.starts_with("plugin_load");
    if !known.takes(SettingKind::Settings)
        || trial.server.as_ref().is_some_and(is_cluster)
        || trial.settings.iter().any(loads_plugins)
    {
        return None;
    }
    trial.set_by_levels.iter().find(|name| {
        let own = without_loose(name).map(|own| Wanted::Variable(own.to_string()));
        own.is_some_and(|own| !known.knows(&own, SettingKind::Settings))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::read_on_server;
    use std::collections::BTreeSet;

    /// Why trials with these levels cannot be measured on a server with two settings.
    fn reasons(levels: &str) -> Vec<String> {
        let source = format!(
            "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.ssb]\n\
             [protocol]\nblocks = 1\ncontrol = false\n{levels}"
        );
        let experiment = read_on_server(&source);
        let variables = ["innodb_old_blocks_time", "plugin_load_add"];
        let known = [Known {
            server: "a".into(),
            variables: BTreeSet::from(variables.map(String::from)),
            takes_settings: true,
            ..Known::default()
        }];
        let trials = spec::plan::expand(&experiment, 1).unwrap();
        let reasons = trials.iter().filter_map(|trial| lacking(trial, &known));
        reasons.collect()
    }

    #[test]
    fn a_level_whose_loose_setting_the_server_ignores_is_not_available() {
        let found = reasons(
            "[factor.f.typo]\nsettings = { loose_innodb_old_block_time = 0 }\n\
             [factor.f.right]\nsettings = { loose_innodb_old_blocks_time = 0 }\n",
        );
        assert_eq!(found.len(), 1, "{found:?}");
        let says = "server a does not know loose_innodb_old_block_time and ignores it";
        assert!(found[0].starts_with(says), "{found:?}");
    }

    #[test]
    fn clients_that_pause_are_refused_where_requests_arrive_at_a_rate() {
        let refused = |waits: &str, load: &str| {
            let source = format!(
                "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.tpcc]\n\
                 {load}\n[protocol]\ntime = '60s'\n"
            );
            let experiment = read_on_server(&source);
            let section = format!("waits = '{waits}'").parse().unwrap();
            let tpcc = workload::open("tpcc", &section).unwrap();
            let checked = can_pause(tpcc.as_ref(), &experiment.load);
            checked.err().map(|error| error.to_string())
        };
        let (open, closed) = ("[load.open]\nrate = [100]", "[load.closed]\nclients = [8]");
        let says = refused("standard", open).unwrap();
        let begins = "waits = \"standard\" in [workload] lets clients pause";
        assert!(says.starts_with(begins), "{says}");
        assert_eq!(refused("standard", closed), None);
        assert_eq!(refused("none", open), None);
    }

    #[test]
    fn a_loose_setting_of_every_trial_or_of_a_plugin_may_be_unknown() {
        assert_eq!(reasons("[settings]\nloose_of_tomorrow = 1\n"), [""; 0]);
        let of_plugin = "[settings]\nplugin_load_add = 'ha_rocksdb.so'\n\
            [factor.f.x]\nsettings = { loose_rocksdb_a = 1 }\n[factor.f.y]\n";
        assert_eq!(reasons(of_plugin), [""; 0]);
    }
}

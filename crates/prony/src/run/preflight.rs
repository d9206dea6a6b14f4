//! Before anything is loaded: settings that a server does not know, and settings that this machine cannot hold.
//!
//! Goal: an answer in seconds instead of a failure after an hour. Non-goal: what the file itself can tell (`spec`).

use super::servers::Provided;
use super::settings::{bytes, plain, resolve};
use super::RunError;
use crate::host::Leases;
use crate::plan::PlannedTrial;
use std::collections::BTreeMap;

/// One thing that cannot be, with the trial's server and the setting it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    pub server: String,
    pub setting: String,
    pub says: String,
}

/// Every setting of every planned trial against the builds themselves and against the machine.
/// `data_bytes` by server name: measured where the data is loaded, estimated before.
pub fn check(
    trials: &[PlannedTrial],
    servers: &BTreeMap<String, Provided>,
    leases: &Leases,
    data_bytes: &dyn Fn(&PlannedTrial) -> u64,
    memory_bytes: u64,
) -> Result<Vec<Impossible>, RunError> {
    let mut found = Vec::new();
    for (name, server) in servers {
        let Some(distribution) = &server.distribution else { continue };
        let known = distribution.known_settings(leases)?;
        for trial in trials.iter().filter(|trial| trial.key.server == *name) {
            let settings = resolve(&trial.settings, data_bytes(trial));
            found.extend(unknown(name, &settings, &|setting| known.contains(setting), &known.names(), &server.identity.build));
            found.extend(too_large(name, &settings, memory_bytes));
        }
    }
    found.sort_by(|a, b| (&a.server, &a.setting, &a.says).cmp(&(&b.server, &b.setting, &b.says)));
    found.dedup();
    Ok(found)
}

fn unknown(server: &str, settings: &[(String, String)], known: &dyn Fn(&str) -> bool, names: &[String], build: &str) -> Vec<Impossible> {
    settings
        .iter()
        .filter(|(name, _)| !known(&plain(name)))
        .map(|(name, _)| {
            let near = crate::spec::nearest(&plain(name), names.iter().map(String::as_str));
            let hint = near.map(|near| format!("; the nearest it knows is {near}")).unwrap_or_default();
            Impossible { server: server.into(), setting: name.clone(), says: format!("{build} does not know the setting {name}{hint}") }
        })
        .collect()
}

fn too_large(server: &str, settings: &[(String, String)], memory_bytes: u64) -> Option<Impossible> {
    let (name, value) = settings.iter().find(|(name, _)| plain(name) == "innodb_buffer_pool_size")?;
    let wanted = bytes(value)?;
    (wanted > memory_bytes).then(|| Impossible {
        server: server.into(),
        setting: name.clone(),
        says: format!(
            "a pool of {:.1} GiB does not fit into this machine's memory of {:.1} GiB; make it smaller, or the data with --scale",
            wanted as f64 / (1u64 << 30) as f64,
            memory_bytes as f64 / (1u64 << 30) as f64
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_setting_is_named_with_the_nearest_one() {
        let settings = [("innodb_bufer_pool_size".to_string(), "1".to_string())];
        let names = ["innodb_buffer_pool_size".to_string()];
        let found = unknown("5.6", &settings, &|name| names.iter().any(|known| known == name), &names, "mysql@5.6.14");
        assert_eq!(found[0].says, "mysql@5.6.14 does not know the setting innodb_bufer_pool_size; the nearest it knows is innodb_buffer_pool_size");
    }

    #[test]
    fn a_pool_beyond_the_memory_is_impossible() {
        let settings = [("innodb_buffer_pool_size".to_string(), "64G".to_string())];
        assert!(too_large("5.6", &settings, 24 << 30).unwrap().says.starts_with("a pool of 64.0 GiB"));
        assert_eq!(too_large("5.6", &settings, 128 << 30), None);
    }
}

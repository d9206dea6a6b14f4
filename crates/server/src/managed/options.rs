//! The command-line options of a managed server, in addition to those of its build.
//!
//! In order: defaults that the experiment may override, the experiment's settings, and the options that only prony sets.
//! Whether the server knows a setting is checked elsewhere (`known_settings`).

use crate::ServerError;
use crate::builds::option;
use crate::managed::place::InstanceFolder;
use spec::confined::Unconfined;
use std::ffi::OsString;
use std::path::Path;

/// Defaults that an experiment may override. With `loose`, a server that does not know an option only warns.
const DEFAULTS: [&str; 6] = [
    // Data is loaded with LOAD DATA LOCAL INFILE.
    "--local-infile=1",
    // A buffer pool restored from the last run's page list would make a cold round warm.
    "--loose-innodb-buffer-pool-load-at-startup=OFF",
    "--loose-innodb-buffer-pool-dump-at-shutdown=OFF",
    // A slow shutdown purges, merges and writes everything. After a fast one, the next start does that in the background
    // and reads pages into the pool of a cold round. A slow shutdown also lets a newer server start on the folder.
    "--loose-innodb-fast-shutdown=0",
    // Events of a dump would run during the measurement. MySQL runs them by default since 8.0.
    "--loose-event-scheduler=OFF",
    // What a setup sets with SET PERSIST lies in the data folder. MySQL would set it in each trial, after all options.
    "--loose-persisted-globals-load=OFF",
];

/// All options for a start, in command-line order.
pub(super) fn all(
    place: &InstanceFolder,
    data_folder: &Path,
    port: u16,
    settings: &[(String, String)],
) -> Result<Vec<OsString>, ServerError> {
    let mut options: Vec<OsString> = DEFAULTS.map(OsString::from).to_vec();
    // Statements write files only here.
    options.push(option("--secure-file-priv=", &place.files()));
    for (name, value) in settings {
        options.push(from_experiment(name, value)?);
    }
    options.extend([
        option("--datadir=", data_folder),
        option("--tmpdir=", &place.temporary()),
        option("--socket=", place.socket()),
        option("--pid-file=", &place.pid_file()),
        option("--init-file=", &place.init_file()),
        format!("--port={port}").into(),
        "--bind-address=127.0.0.1".into(),
    ]);
    Ok(options)
}

fn from_experiment(name: &str, value: &str) -> Result<OsString, ServerError> {
    match Unconfined::from_setting(name, value) {
        // prony places the redo log itself; `spec` refuses paths of an experiment.
        None | Some(Unconfined::Outside(_)) => {}
        Some(refused) => return Err(ServerError::Unusable(refused.says(name))),
    }
    Ok(format!("--{name}={value}").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::{Home, Leases};

    fn options(settings: &[(&str, &str)]) -> Result<Vec<String>, ServerError> {
        let home = tempfile::tempdir().unwrap();
        let leases = Leases::open(&Home::at(home.path()).unwrap()).unwrap();
        let place = InstanceFolder::make(&home.path().join("i"), &leases).unwrap();
        let settings: Vec<_> = settings
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let all = all(&place, Path::new("/d"), 20_001, &settings)?;
        Ok(all
            .into_iter()
            .map(|option| option.into_string().unwrap())
            .collect())
    }

    #[test]
    fn the_experiment_overrides_defaults_but_not_reserved_options() {
        let all = options(&[("innodb_fast_shutdown", "1")]).unwrap();
        let at = |option: &str| all.iter().position(|other| other == option).unwrap();
        assert!(at("--loose-innodb-fast-shutdown=0") < at("--innodb_fast_shutdown=1"));
        assert!(at("--innodb_fast_shutdown=1") < at("--datadir=/d"));
        assert!(at("--port=20001") < at("--bind-address=127.0.0.1"));
        let files = all
            .iter()
            .find_map(|option| option.strip_prefix("--secure-file-priv="));
        assert!(files.unwrap().ends_with("/files"));
    }

    #[test]
    fn what_a_setup_has_persisted_is_not_set_in_trials() {
        let all = options(&[]).unwrap();
        let off = "--loose-persisted-globals-load=OFF";
        assert!(all.iter().any(|option| option == off), "{all:?}");
    }

    #[test]
    fn a_reserved_setting_is_rejected() {
        let message = options(&[("bind-address", "0.0.0.0")])
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("\"bind-address\" is reserved"),
            "{message}"
        );
    }
}

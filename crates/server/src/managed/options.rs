//! The options that a managed server is started with, beside those of its build.
//!
//! Goal: defaults that the experiment may change, the experiment's settings, and what is prony's own choice, in this order
//! of the command line. Non-goal: whether the server knows them (`known_settings`).

use crate::ServerError;
use crate::managed::place::Place;
use spec::known::plain;
use std::ffi::OsString;
use std::path::Path;

/// What an experiment may change. `loose`: an older server that does not know one warns and goes on.
const DEFAULTS: [&str; 4] = [
    // LOAD DATA LOCAL INFILE is how data comes in.
    "--local-infile=1",
    // A pool that is filled from the last run's list of pages would make a cold round warm.
    "--loose-innodb-buffer-pool-load-at-startup=OFF",
    "--loose-innodb-buffer-pool-dump-at-shutdown=OFF",
    // Everything is purged, merged and written before the stop: with a faster one the next start does it in the background,
    // and reads pages into the pool of a round that is to be cold. It also lets a newer server start on the folder.
    "--loose-innodb-fast-shutdown=0",
];

/// Settings that are prony's own choice: whoever gives one is refused.
const OWN: [&str; 11] = [
    "datadir",
    "tmpdir",
    "socket",
    "port",
    "pid_file",
    "bind_address",
    "init_file",
    "user",
    "log_error",
    "basedir",
    "skip_networking",
];

/// All options of a start.
pub fn all(
    place: &Place,
    data_folder: &Path,
    port: u16,
    settings: &[(String, String)],
) -> Result<Vec<OsString>, ServerError> {
    let mut options: Vec<OsString> = DEFAULTS.map(OsString::from).to_vec();
    for (name, value) in settings {
        options.push(from_experiment(name, value)?);
    }
    let with_path = |option: &str, path: &Path| {
        let mut whole = OsString::from(option);
        whole.push(path);
        whole
    };
    options.extend([
        with_path("--datadir=", data_folder),
        with_path("--tmpdir=", &place.temporary()),
        with_path("--socket=", place.socket()),
        with_path("--pid-file=", &place.pid_file()),
        with_path("--init-file=", &place.first_statements()),
        format!("--port={port}").into(),
        "--bind-address=127.0.0.1".into(),
    ]);
    Ok(options)
}

fn from_experiment(name: &str, value: &str) -> Result<OsString, ServerError> {
    let canonical = plain(name);
    if OWN.contains(&canonical.as_str()) {
        let says = format!(
            "the setting `{name}` is prony's own choice for a managed server: leave it out"
        );
        return Err(ServerError::Unusable(says));
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
        let place = Place::make(&home.path().join("i"), &leases).unwrap();
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
    fn the_experiment_overrides_defaults_and_not_prony() {
        let all = options(&[("innodb_fast_shutdown", "1")]).unwrap();
        let at = |option: &str| all.iter().position(|other| other == option).unwrap();
        assert!(at("--loose-innodb-fast-shutdown=0") < at("--innodb_fast_shutdown=1"));
        assert!(at("--innodb_fast_shutdown=1") < at("--datadir=/d"));
        assert!(at("--port=20001") < at("--bind-address=127.0.0.1"));
    }

    #[test]
    fn a_setting_that_is_pronys_own_is_refused() {
        let says = options(&[("bind-address", "0.0.0.0")])
            .unwrap_err()
            .to_string();
        assert!(
            says.contains("`bind-address` is prony's own choice"),
            "{says}"
        );
    }
}

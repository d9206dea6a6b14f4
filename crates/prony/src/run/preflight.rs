//! Before anything is loaded: settings that a server does not know, and settings that this machine cannot hold.
//!
//! Goal: an answer in seconds, at its place in the file, instead of a failure after an hour. Non-goal: what the file
//! itself can tell (`spec`).

use super::RunError;
use super::servers::Provided;
use crate::host::Leases;
use crate::spec::{Experiment, settings};

/// Every setting that can come to this server, against the build itself and against the machine. `data_bytes`: the
/// largest of its datasets, estimated before it is loaded and measured afterwards.
pub fn check(
    experiment: &Experiment,
    server: &Provided,
    leases: &Leases,
    data_bytes: u64,
    memory_bytes: u64,
) -> Result<(), RunError> {
    let Some(distribution) = &server.distribution else {
        return Ok(());
    };
    let known = distribution.known_settings(leases)?;
    let names: Vec<String> = known.names().map(str::to_string).collect();
    settings::unknown_settings(
        experiment,
        &server.spec.name,
        &|name| known.knows(name),
        &names,
    )?;
    Ok(settings::impossible(
        experiment,
        &server.spec.name,
        data_bytes,
        memory_bytes,
    )?)
}

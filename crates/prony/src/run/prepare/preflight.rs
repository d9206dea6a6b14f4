//! Checks settings before any data is loaded: unknown settings, and pools that exceed this machine's memory.
//!
//! Purpose: report a mistake in seconds, at its place in the file, instead of after an hour. The known settings are read once per
//! server: from the help text of a build, or over a connection to an external server. Outside this module: checks of the file alone
//! (`spec`).

use super::servers::Provided;
use crate::run::RunError;
use spec::known::Known;
use spec::plan::PlannedTrial;
use spec::{Experiment, settings};

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
    (!lacks.is_empty()).then(|| format!("server {server} does not know {}", lacks.join(", nor ")))
}

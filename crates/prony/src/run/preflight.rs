//! Before anything is loaded: settings that a server does not know, and settings that this machine cannot hold.
//!
//! Goal: an answer in seconds, at its place in the file, instead of a failure after an hour. Each server is asked once: a
//! build by its own help, an external server over a connection. Non-goal: what the file itself can tell (`spec`).

use super::RunError;
use super::servers::Provided;
use spec::known::Known;
use spec::plan::PlannedTrial;
use spec::{Experiment, settings};

/// What this server knows.
pub fn ask(server: &Provided) -> Result<Known, RunError> {
    Ok(Known {
        server: server.spec.name.clone(),
        ..server.provider.known()?
    })
}

/// Every pool that can come to this server against the machine. `data_bytes`: the largest of its datasets, estimated
/// before it is loaded and measured afterwards.
pub fn fits(
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

/// Why this trial is not measured, where its server lacks something that it would set.
pub fn lacking(trial: &PlannedTrial, known: &[Known]) -> Option<String> {
    let server = trial.server_name();
    let known = known.iter().find(|known| known.server == server)?;
    let lacks = known.lacks(&trial.settings, &trial.session);
    let mut lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
    let hints = trial.workload.get("hints").and_then(toml::Value::as_table);
    if hints.is_some_and(|hints| !hints.is_empty()) && !known.takes_hints {
        lacks.push("optimizer hints, which are a comment to it".to_string());
    }
    (!lacks.is_empty()).then(|| format!("server {server} does not know {}", lacks.join(", nor ")))
}

//! The servers of an experiment, each ready to be started.
//!
//! Purpose: a provider with what the protocol adds to it. Outside this module: where builds come from (`server::provider`),
//! which settings a trial has (`settings`).

use super::{RunError, settings};
use record::ServerIdentity;
use server::{Provider, Server, ServerError};
use spec::{BuildSpec, ServerSpec};
use std::path::Path;

/// Gets the server that a build or a DSN names.
pub type Provide<'a> = dyn Fn(&BuildSpec) -> Result<Box<dyn Provider>, ServerError> + 'a;

/// A server of the experiment. Each start-up of a trial gets a new instance of it.
pub struct Provided {
    pub spec: ServerSpec,
    pub provider: Box<dyn Provider>,
    /// What the protocol sets in every trial, as far as this server knows it.
    pub baseline: Vec<(String, String)>,
}

impl Provided {
    pub fn get(spec: &ServerSpec, provide: &Provide) -> Result<Provided, RunError> {
        let provider = provide(&spec.build)?;
        let baseline = baseline(provider.as_ref())?;
        Ok(Provided {
            spec: spec.clone(),
            provider,
            baseline,
        })
    }

    pub fn identity(&self) -> &ServerIdentity {
        self.provider.identity()
    }

    /// prony starts and configures it.
    pub fn is_managed(&self) -> bool {
        self.provider.abilities().settings
    }

    /// A new instance with the folder for its socket, log and temporary files.
    pub fn instance(&self, folder: &Path) -> Server {
        self.provider.server(folder)
    }

    /// What a snapshot's name depends on: the same binary, the same data files.
    pub fn key(&self) -> String {
        let identity = self.identity();
        let binary = identity.binary_sha256.get(..12).unwrap_or("");
        let name = format!("{}-{}-{binary}", identity.build, identity.version);
        let is_safe = |c: char| c.is_ascii_alphanumeric() || ".-_@".contains(c);
        name.chars()
            .map(|c| if is_safe(c) { c } else { '_' })
            .collect()
    }
}

fn baseline(provider: &dyn Provider) -> Result<Vec<(String, String)>, RunError> {
    let Some(known) = provider.settings()? else {
        return Ok(Vec::new());
    };
    let all = settings::BASELINE
        .iter()
        .filter(|(name, _)| known.knows(name));
    Ok(all
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect())
}

//! The servers of an experiment, each ready to be started.
//!
//! Purpose: a provider with what the protocol adds to it. Outside this module: where builds come from (`server::provider`),
//! which settings a trial has (`settings`).

use crate::run::plan::Provide;
use crate::run::{RunError, settings};
use record::ServerIdentity;
use server::{Provider, Server, ServerError};
use spec::plan::PlannedTrial;
use spec::{Pairs, ServerSpec, Setting, listed};
use std::path::Path;

/// A server of the experiment. Each start-up of a trial gets a new instance of it.
pub(crate) struct Provided {
    pub spec: ServerSpec,
    pub provider: Box<dyn Provider>,
    /// The settings that the protocol applies in every trial, if this server knows them.
    pub baseline: Vec<(String, String)>,
}

impl Provided {
    pub(crate) fn get(spec: &ServerSpec, provide: &Provide) -> Result<Provided, RunError> {
        let provider = provide(&spec.build)?;
        let baseline = baseline(provider.as_ref())?;
        Ok(Provided {
            spec: spec.clone(),
            provider,
            baseline,
        })
    }

    pub(crate) fn identity(&self) -> &ServerIdentity {
        self.provider.identity()
    }

    /// Whether prony starts and configures this server.
    pub(crate) fn is_managed(&self) -> bool {
        self.provider.abilities().settings
    }

    /// A new instance of one node. `folder` holds its socket, log and temporary files.
    pub(crate) fn instance(&self, folder: &Path) -> Server {
        self.provider.server(folder)
    }

    /// A new instance as a trial needs it, whose nodes form what its server says.
    ///
    /// # Errors
    /// This machine or this build cannot form the cluster.
    pub(crate) fn instance_of(
        &self,
        planned: &PlannedTrial,
        folder: &Path,
    ) -> Result<Server, ServerError> {
        let own = planned.server.as_ref();
        match own.and_then(|own| own.cluster.as_ref()) {
            Some(cluster) => self.provider.cluster(cluster, folder),
            None => Ok(self.instance(folder)),
        }
    }

    /// The settings (name, value) for its command line: the planned ones, and those of the protocol that they do not set.
    pub(crate) fn settings(
        &self,
        planned: &Pairs<Setting>,
        data_bytes: u64,
    ) -> Vec<(String, String)> {
        let mut all = settings::resolve(planned, data_bytes);
        let given: Vec<String> = all.iter().map(|(name, _)| listed(name)).collect();
        let baseline = self.baseline.iter();
        all.extend(baseline.filter(|(name, _)| !given.contains(name)).cloned());
        all
    }

    /// The part of a snapshot's name that identifies the server: the same binary makes the same data files.
    pub(crate) fn key(&self) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::read_on_server;
    use server::FakeProvider;

    #[test]
    fn a_loose_setting_replaces_that_of_the_protocol() {
        let source = "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.ssb]\n\
                      [protocol]\nblocks = 1\ncontrol = false\n";
        let experiment = read_on_server(source);
        let owned = |(name, value): (&str, &str)| (name.to_string(), value.to_string());
        let server = Provided {
            spec: experiment.servers[0].clone(),
            provider: Box::new(FakeProvider::silent()),
            baseline: settings::BASELINE.map(owned).to_vec(),
        };
        let name = "loose_query_cache_type".to_string();
        let found = server.settings(&vec![(name, Setting::Literal("1".into()))], 0);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["loose_query_cache_type", "query_cache_size"]);
    }
}

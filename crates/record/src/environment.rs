//! Where a run took place. Two runs whose environments differ are never mixed silently.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    pub prony_version: String,
    pub machine: String,
    pub cpu: String,
    pub cores: u32,
    pub memory_bytes: u64,
    pub kernel: String,
    /// The distribution's own name.
    pub system: String,
    /// File system type and device below the work folder: `ext4 on /dev/vda`.
    pub file_system: String,
    /// By server name.
    pub servers: BTreeMap<String, ServerIdentity>,
}

/// How a server identifies itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerIdentity {
    /// As in the experiment file; an address without its password.
    pub build: String,
    /// As the server reports it.
    pub version: String,
    /// `version_comment`, compile machine and the like.
    pub comment: String,
    /// SHA-256 of the server's binary, empty for an external server.
    pub binary_sha256: String,
}

impl Environment {
    /// The differences that forbid mixing results, one line each: (what, ours, theirs). Empty when alike.
    pub fn differences(&self, other: &Environment) -> Vec<(String, String, String)> {
        let mut found = self.surroundings(other);
        for (name, ours) in &self.servers {
            let theirs = other.servers.get(name).map(describe);
            let ours = describe(ours);
            if let Some(theirs) = theirs.filter(|theirs| *theirs != ours) {
                found.push((format!("server {name}"), ours, theirs));
            }
        }
        found
    }

    /// The same without the servers.
    pub fn surroundings(&self, other: &Environment) -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        let mut compare = |what: &str, ours: String, theirs: String| {
            if ours != theirs {
                found.push((what.to_string(), ours, theirs));
            }
        };
        compare(
            "prony",
            self.prony_version.clone(),
            other.prony_version.clone(),
        );
        compare("machine", self.machine.clone(), other.machine.clone());
        compare("cpu", self.cpu.clone(), other.cpu.clone());
        compare("cores", self.cores.to_string(), other.cores.to_string());
        compare(
            "memory",
            self.memory_bytes.to_string(),
            other.memory_bytes.to_string(),
        );
        compare("kernel", self.kernel.clone(), other.kernel.clone());
        compare(
            "file system",
            self.file_system.clone(),
            other.file_system.clone(),
        );
        found
    }
}

fn describe(server: &ServerIdentity) -> String {
    format!(
        "{} {} {}",
        server.build, server.version, server.binary_sha256
    )
}

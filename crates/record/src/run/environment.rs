//! Where a run took place. Two runs whose environments differ are never mixed silently.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    /// What decides the machine's speed, at the start of the run.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The servers by name.
    pub servers: BTreeMap<String, ServerIdentity>,
    /// Names of the servers for which the experiment has settings that could not be applied, because prony does not configure
    /// them. None in older records.
    #[serde(default)]
    pub unconfigured: BTreeSet<String>,
}

/// Settings and state of a machine that change its speed. None if the kernel does not show it, and in older records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    /// `performance`; of CPUs that differ, `performance,powersave`.
    pub governor: Option<String>,
    /// `on`, `off`
    pub turbo: Option<String>,
    /// `always`, `madvise`, `never`
    pub transparent_huge_pages: Option<String>,
    pub clocksource: Option<String>,
    /// The scheduler of the disk below the work folder: `mq-deadline`.
    pub io_scheduler: Option<String>,
    /// `KVM`, or `none`.
    pub hypervisor: Option<String>,
    /// Runnable processes, the mean of the last minute.
    pub load_at_start: Option<f64>,
    /// The niceness of prony and its servers.
    pub nice: Option<i32>,
}

impl Conditions {
    /// What differs where both records have it: (what, ours, theirs). The load at the start always differs, so it is left out.
    pub fn differences(&self, other: &Conditions) -> Vec<(String, String, String)> {
        let facts = |of: &Conditions| {
            [
                ("governor", of.governor.clone()),
                ("turbo", of.turbo.clone()),
                ("transparent huge pages", of.transparent_huge_pages.clone()),
                ("clock source", of.clocksource.clone()),
                ("I/O scheduler", of.io_scheduler.clone()),
                ("hypervisor", of.hypervisor.clone()),
            ]
        };
        differing(facts(self), facts(other))
    }
}

/// What two records both have, and differs: (what, ours, theirs).
fn differing<const N: usize>(
    ours: [(&str, Option<String>); N],
    theirs: [(&str, Option<String>); N],
) -> Vec<(String, String, String)> {
    let pairs = ours.into_iter().zip(theirs);
    let known = pairs.filter_map(|((what, ours), (_, theirs))| Some((what, ours?, theirs?)));
    let differing = known.filter(|(_, ours, theirs)| ours != theirs);
    differing
        .map(|(what, ours, theirs)| (what.to_string(), ours, theirs))
        .collect()
}

/// How a server identifies itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerIdentity {
    /// The build as in the experiment file; an address without its password.
    pub build: String,
    /// The version as the server reports it.
    pub version: String,
    /// `version_comment`, compile machine and the like.
    pub comment: String,
    /// SHA-256 of the server's binary, empty for an external server.
    pub binary_sha256: String,
}

impl Environment {
    /// The differences that forbid mixing results, one line each: (what, ours, theirs). Builds of one release of
    /// prony may be mixed.
    pub fn differences(&self, other: &Environment) -> Vec<(String, String, String)> {
        let mut found = self.surroundings(other);
        let release = |version: &str| version.split(' ').next().map(String::from);
        found.retain(|(what, ours, theirs)| what != "prony" || release(ours) != release(theirs));
        found.extend(self.conditions.differences(&other.conditions));
        for (name, ours, theirs) in self.other_servers(other) {
            found.push((format!("server {name}"), describe(ours), describe(theirs)));
        }
        found
    }

    /// The differences of the machines alone.
    pub fn surroundings(&self, other: &Environment) -> Vec<(String, String, String)> {
        let facts = |of: &Environment| {
            [
                ("prony", Some(of.prony_version.clone())),
                ("machine", Some(of.machine.clone())),
                ("cpu", Some(of.cpu.clone())),
                ("cores", Some(of.cores.to_string())),
                ("memory", Some(of.memory_bytes.to_string())),
                ("kernel", Some(of.kernel.clone())),
                ("file system", Some(of.file_system.clone())),
                // A run keeps its niceness; an older record does not have it.
                ("niceness", of.conditions.nice.map(|nice| nice.to_string())),
            ]
        };
        differing(facts(self), facts(other))
    }

    /// Whether a server of both is another build: another version, or another binary of the same version.
    pub fn has_other_servers(&self, other: &Environment) -> bool {
        self.other_servers(other).next().is_some()
    }

    fn other_servers<'e>(
        &'e self,
        other: &'e Environment,
    ) -> impl Iterator<Item = (&'e str, &'e ServerIdentity, &'e ServerIdentity)> {
        self.servers.iter().filter_map(|(name, ours)| {
            let theirs = other.servers.get(name)?;
            (describe(ours) != describe(theirs)).then_some((name.as_str(), ours, theirs))
        })
    }
}

/// The digits of a binary's SHA-256 that are enough to tell builds apart.
const DIGITS: usize = 12;

/// `old 5.6.14 (Community Server, binary 9f86d081884c)`
fn describe(server: &ServerIdentity) -> String {
    let digits = server.binary_sha256.get(..DIGITS).unwrap_or_default();
    let binary = (!digits.is_empty()).then(|| format!("binary {digits}"));
    let details: Vec<&str> = [Some(server.comment.as_str()), binary.as_deref()]
        .into_iter()
        .flatten()
        .filter(|detail| !detail.is_empty())
        .collect();
    format!(
        "{} {} ({})",
        server.build,
        server.version,
        details.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(version: &str, comment: &str, binary_sha256: &str) -> Environment {
        let mariadb = ServerIdentity {
            build: "mariadb".into(),
            version: version.into(),
            comment: comment.into(),
            binary_sha256: binary_sha256.into(),
        };
        Environment {
            prony_version: String::new(),
            machine: String::new(),
            cpu: String::new(),
            cores: 2,
            memory_bytes: 1,
            kernel: String::new(),
            system: String::new(),
            file_system: String::new(),
            conditions: Conditions::default(),
            servers: [("mariadb".to_string(), mariadb)].into(),
            unconfigured: BTreeSet::new(),
        }
    }

    #[test]
    fn an_upgraded_server_is_another_environment() {
        let before = with("10.11.11", "10.11.11-MariaDB-0+deb12u1", &"a".repeat(64));
        let after = with("10.11.18", "10.11.18-MariaDB-0+deb12u1", &"b".repeat(64));
        assert!(before.differences(&before).is_empty() && !before.has_other_servers(&before));
        assert!(before.has_other_servers(&after));
        let (what, was, is) = before.differences(&after).remove(0);
        assert_eq!(what, "server mariadb");
        assert_eq!(
            was,
            "mariadb 10.11.11 (10.11.11-MariaDB-0+deb12u1, binary aaaaaaaaaaaa)"
        );
        assert!(is.starts_with("mariadb 10.11.18 ("), "{is}");
    }

    #[test]
    fn a_machine_at_another_pace_is_another_environment() {
        let at = |governor: Option<&str>, load_at_start: f64| Environment {
            conditions: Conditions {
                governor: governor.map(String::from),
                load_at_start: Some(load_at_start),
                ..Conditions::default()
            },
            ..with("10.11.18", "", "")
        };
        let before = at(Some("performance"), 0.1);
        let (what, was, is) = before.differences(&at(Some("powersave"), 0.1)).remove(0);
        let found = [what, was, is];
        assert_eq!(found, ["governor", "performance", "powersave"]);
        let busier = at(Some("performance"), 1.5);
        assert!(before.differences(&busier).is_empty());
        assert!(before.differences(&at(None, 0.1)).is_empty());
    }

    #[test]
    fn a_rebuilt_package_of_the_same_version_is_another_build() {
        let before = with("10.11.18", "10.11.18-MariaDB-0+deb12u1", &"a".repeat(64));
        let after = with("10.11.18", "10.11.18-MariaDB-0+deb12u2", &"a".repeat(64));
        assert!(before.has_other_servers(&after));
        let rebuilt = with("10.11.18", "10.11.18-MariaDB-0+deb12u1", &"b".repeat(64));
        assert_eq!(before.differences(&rebuilt).len(), 1);
    }

    #[test]
    fn builds_of_one_release_may_be_mixed_and_are_told_apart() {
        let build = |prony: &str| Environment {
            prony_version: prony.into(),
            ..with("10.11.18", "", "")
        };
        let (one, other) = (build("0.1.0 (aaa)"), build("0.1.0 (bbb)"));
        assert!(one.differences(&other).is_empty());
        assert_eq!(one.surroundings(&other).len(), 1);
        assert_eq!(one.differences(&build("0.2.0 (aaa)")).len(), 1);
    }
}

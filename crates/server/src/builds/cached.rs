//! A build in the cache: its record, and whether its files are still those of the record.

use super::catalogue::{self, Source};
use super::manifest::{Entry, Manifest};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

const FORMAT: u32 = 1;
const RECORD: &str = "build.json";
pub(super) const ROOT: &str = "root";

/// A build in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub name: String,
    /// Where its files come from: the Maven artifact, or the Debian packages with their versions.
    pub origin: Vec<String>,
    /// Size of its files.
    pub bytes: u64,
}

/// The content of `build.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    format: u32,
    build: String,
    origin: Vec<String>,
    /// The hash of the artifact that it was unpacked from; None for packages.
    artifact_sha256: Option<String>,
    pub(super) manifest: Manifest,
}

/// How thoroughly a cached build is verified before it is used.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Depth {
    /// The sizes of all files, and the checksum of the server binary.
    Quick,
    /// The checksums of all files.
    Full,
}

/// Why a cached build cannot be used.
pub(super) enum Unfit {
    Missing,
    Damaged(String),
}

/// Whether the files of the folder are those of its record, and the record is of this source.
pub(super) fn check(folder: &Path, source: &Source, depth: Depth) -> Result<(), Unfit> {
    if !folder.exists() {
        return Err(Unfit::Missing);
    }
    let record = read(folder).map_err(|error| Unfit::Damaged(format!("{RECORD}: {error}")))?;
    if record.artifact_sha256.as_deref() != source.sha256() {
        let other = "it was unpacked from another artifact than the catalogue's";
        return Err(Unfit::Damaged(other.into()));
    }
    let is_server = |path: &Path| {
        let executed = ["mysqld", "mariadbd", catalogue::GALERA_LIBRARY];
        path.file_name()
            .is_some_and(|name| executed.iter().any(|file| name == *file))
    };
    match record.manifest.difference(&folder.join(ROOT), &|path| {
        depth == Depth::Full || is_server(path)
    }) {
        None => Ok(()),
        Some(how) => Err(Unfit::Damaged(how)),
    }
}

impl Record {
    pub(super) fn new(
        build: &str,
        origin: Vec<String>,
        source: &Source,
        manifest: Manifest,
    ) -> Record {
        Record {
            format: FORMAT,
            build: build.to_string(),
            origin,
            artifact_sha256: source.sha256().map(String::from),
            manifest,
        }
    }

    pub(super) fn held(self) -> Held {
        let bytes = |entry: &Entry| {
            if let Entry::File { bytes, .. } = entry {
                *bytes
            } else {
                0
            }
        };
        Held {
            bytes: self.manifest.files.values().map(bytes).sum(),
            name: self.build,
            origin: self.origin,
        }
    }
}

pub(super) fn read(folder: &Path) -> io::Result<Record> {
    let record: Record = serde_json::from_slice(&fs::read(folder.join(RECORD))?)?;
    if record.format == FORMAT {
        Ok(record)
    } else {
        Err(io::Error::other("written by another version of prony"))
    }
}

pub(super) fn write(folder: &Path, record: &Record) -> io::Result<()> {
    fs::write(folder.join(RECORD), serde_json::to_vec(record)?)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::path::PathBuf;

    /// Creates a cached build as `create` does, with a shell script as the server.
    pub(crate) fn add_build(builds: &Path, name: &str) -> PathBuf {
        let folder = builds.join(name);
        let server = folder.join("root/bin/mysqld");
        fs::create_dir_all(server.parent().unwrap()).unwrap();
        write_server(&server);
        let manifest = Manifest::read(&folder.join(ROOT)).unwrap();
        let record = Record::new(name, vec!["a test".into()], &source_of(name), manifest);
        write(&folder, &record).unwrap();
        folder
    }

    fn source_of(name: &str) -> Source {
        catalogue::source(name).unwrap()
    }

    fn quick(folder: &Path) -> Result<(), Unfit> {
        check(folder, &source_of("mysql@5.6.14"), Depth::Quick)
    }

    #[test]
    fn a_build_of_another_artifact_is_not_used() {
        let builds = tempfile::tempdir().unwrap();
        let folder = add_build(builds.path(), "mysql@5.6.14");
        assert!(quick(&folder).is_ok());
        let mut record = read(&folder).unwrap();
        for other in [None, Some("0".repeat(64))] {
            record.artifact_sha256 = other;
            write(&folder, &record).unwrap();
            assert!(
                matches!(quick(&folder), Err(Unfit::Damaged(how)) if how.contains("another artifact"))
            );
        }
    }

    pub(crate) fn write_server(file: &Path) {
        use std::os::unix::fs::PermissionsExt;
        fs::write(
            file,
            "#!/bin/sh\necho 'mysqld  Ver 5.6.14 for test (MySQL)'\n",
        )
        .unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_changed_server_binary_is_damage_and_a_lost_folder_is_missing() {
        let builds = tempfile::tempdir().unwrap();
        let folder = add_build(builds.path(), "mysql@5.6.14");
        fs::write(
            folder.join("root/bin/mysqld"),
            "#!/bin/sh\necho 'mysqld  Ver 6.6.14 for test (MySQL)'\n",
        )
        .unwrap();
        assert!(
            matches!(quick(&folder), Err(Unfit::Damaged(how)) if how == "the contents of bin/mysqld have changed")
        );
        fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(quick(&folder), Err(Unfit::Missing)));
    }

    #[test]
    fn a_truncated_build_record_is_damage() {
        let builds = tempfile::tempdir().unwrap();
        let folder = add_build(builds.path(), "mysql@5.6.14");
        fs::write(folder.join(RECORD), "{\"format\":").unwrap();
        assert!(matches!(quick(&folder), Err(Unfit::Damaged(_))));
    }
}

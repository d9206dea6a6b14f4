//! The manifest of a cached build: every file with its size and SHA-256.
//!
//! It detects a damaged build before it is measured. It does not protect against an attacker who can write to the cache.

use crate::sha256::Sha256;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The files and links of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The files by their path relative to the folder.
    pub files: BTreeMap<PathBuf, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    File { bytes: u64, sha256: String },
    Link { to: PathBuf },
}

impl Manifest {
    /// Reads and hashes every file below the folder.
    pub(super) fn read(folder: &Path) -> io::Result<Manifest> {
        let mut manifest = Manifest::default();
        manifest.add(folder, Path::new(""))?;
        Ok(manifest)
    }

    fn add(&mut self, root: &Path, below: &Path) -> io::Result<()> {
        for entry in fs::read_dir(root.join(below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.add(root, &path)?;
            } else if kind.is_symlink() {
                self.files.insert(
                    path,
                    Entry::Link {
                        to: fs::read_link(entry.path())?,
                    },
                );
            } else {
                let bytes = entry.metadata()?.len();
                self.files.insert(
                    path,
                    Entry::File {
                        bytes,
                        sha256: sha256(&entry.path())?,
                    },
                );
            }
        }
        Ok(())
    }

    /// Describes the first difference between the folder and the manifest; None if they agree. Compares the checksums of the
    /// files that `read` selects, and only the sizes of the others.
    pub(super) fn difference(&self, folder: &Path, read: &dyn Fn(&Path) -> bool) -> Option<String> {
        self.files.iter().find_map(|(path, entry)| {
            let here = folder.join(path);
            match entry {
                Entry::Link { to } => (fs::read_link(&here).ok().as_ref() != Some(to))
                    .then(|| format!("the link {} is missing or points elsewhere", path.display())),
                Entry::File {
                    bytes,
                    sha256: expected,
                } => match fs::symlink_metadata(&here) {
                    Err(error) => Some(format!("{}: {error}", path.display())),
                    Ok(found) if found.len() != *bytes => Some(format!(
                        "{} has {} bytes, expected {bytes}",
                        path.display(),
                        found.len()
                    )),
                    Ok(_) if !read(path) => None,
                    Ok(_) => match sha256(&here) {
                        Ok(found) if found == *expected => None,
                        Ok(_) => Some(format!("the contents of {} have changed", path.display())),
                        Err(error) => Some(format!("{}: {error}", path.display())),
                    },
                },
            }
        })
    }

    /// The checksum of a file; None if it is a link or not in the manifest.
    pub(super) fn sha256_of(&self, path: &Path) -> Option<&str> {
        match self.files.get(path)? {
            Entry::File { sha256, .. } => Some(sha256),
            Entry::Link { .. } => None,
        }
    }
}

/// The SHA-256 of a file's contents, in hexadecimal.
pub(super) fn sha256(file: &Path) -> io::Result<String> {
    sha256_of(&mut File::open(file)?)
}

/// The SHA-256 of what is left to read, in hexadecimal.
pub(super) fn sha256_of(file: &mut impl Read) -> io::Result<String> {
    Ok(Sha256::of_rest(file)?.hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Manifest) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("bin/mysqld"), "abc").unwrap();
        std::os::unix::fs::symlink("mysqld", folder.path().join("bin/server")).unwrap();
        let manifest = Manifest::read(folder.path()).unwrap();
        (folder, manifest)
    }

    #[test]
    fn an_untouched_folder_has_no_difference() {
        let (folder, manifest) = folder();
        assert_eq!(manifest.difference(folder.path(), &|_| true), None);
        // The SHA-256 of "abc" is the example of FIPS 180-2.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(manifest.sha256_of(Path::new("bin/mysqld")), Some(expected));
    }

    #[test]
    fn a_changed_byte_is_found_only_when_the_contents_are_read() {
        let (folder, manifest) = folder();
        fs::write(folder.path().join("bin/mysqld"), "abd").unwrap();
        assert_eq!(manifest.difference(folder.path(), &|_| false), None);
        assert_eq!(
            manifest.difference(folder.path(), &|_| true).as_deref(),
            Some("the contents of bin/mysqld have changed")
        );
    }

    #[test]
    fn a_short_or_missing_file_and_a_lost_link_are_named() {
        let (folder, manifest) = folder();
        fs::write(folder.path().join("bin/mysqld"), "a").unwrap();
        assert_eq!(
            manifest.difference(folder.path(), &|_| false).as_deref(),
            Some("bin/mysqld has 1 bytes, expected 3")
        );
        fs::write(folder.path().join("bin/mysqld"), "abc").unwrap();
        fs::remove_file(folder.path().join("bin/server")).unwrap();
        assert_eq!(
            manifest.difference(folder.path(), &|_| false).as_deref(),
            Some("the link bin/server is missing or points elsewhere")
        );
    }
}

//! PRONY_HOME: the one folder outside the results that prony writes to.
//!
//! Goal: its four rooms exist and can be written to, or a message says which cannot and what to do. Non-goals: what
//! lies in them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The cache folder of the user: servers, snapshots, work in progress, leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error(
        "no folder for servers and snapshots: neither PRONY_HOME nor XDG_CACHE_HOME nor HOME is set; set PRONY_HOME to a folder with a few GB free"
    )]
    Nowhere,
    #[error("PRONY_HOME is {0:?}, which is not an absolute path; name the folder from the root on")]
    Relative(PathBuf),
    #[error(
        "cannot write to {folder}: {cause}; set PRONY_HOME to a folder of your own with a few GB free"
    )]
    Unusable { folder: PathBuf, cause: io::Error },
}

impl Home {
    /// PRONY_HOME, or `prony` in the user's cache folder (XDG_CACHE_HOME, or `~/.cache`).
    pub fn from_environment() -> Result<Home, HomeError> {
        Home::at(choose(&|name| std::env::var_os(name))?)
    }

    /// The home in a given folder, which is made where it is missing.
    pub fn at(root: impl Into<PathBuf>) -> Result<Home, HomeError> {
        let home = Home { root: root.into() };
        for folder in [home.builds(), home.snapshots(), home.work(), home.leases()] {
            make_writable(&folder).map_err(|cause| HomeError::Unusable { folder, cause })?;
        }
        Ok(home)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Servers, one folder a build.
    pub fn builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// Loaded data folders that trials start from.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// What lives no longer than a prony: instances, clones, temporary folders.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Journals of what a prony has made (see `leases`).
    pub fn leases(&self) -> PathBuf {
        self.root.join("leases")
    }
}

fn choose(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, HomeError> {
    let given = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(root) = given("PRONY_HOME") {
        return if root.is_absolute() {
            Ok(root)
        } else {
            Err(HomeError::Relative(root))
        };
    }
    // The XDG specification has a relative XDG_CACHE_HOME ignored.
    let cache = given("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let cache = cache.or_else(|| given("HOME").map(|home| home.join(".cache")));
    Ok(cache.ok_or(HomeError::Nowhere)?.join("prony"))
}

fn make_writable(folder: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    std::fs::create_dir_all(folder)?;
    Ok(access(
        folder,
        Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> Result<PathBuf, HomeError> {
        choose(&|name| {
            variables
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_home_is_what_prony_home_says_and_otherwise_in_the_users_cache() {
        assert_eq!(
            chosen(&[("PRONY_HOME", "/p"), ("HOME", "/h")]).unwrap(),
            Path::new("/p")
        );
        assert_eq!(
            chosen(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]).unwrap(),
            Path::new("/c/prony")
        );
        assert_eq!(
            chosen(&[("PRONY_HOME", ""), ("HOME", "/h")]).unwrap(),
            Path::new("/h/.cache/prony")
        );
    }

    #[test]
    fn without_any_folder_the_message_says_what_to_set() {
        assert!(
            chosen(&[])
                .unwrap_err()
                .to_string()
                .contains("set PRONY_HOME")
        );
        assert!(
            chosen(&[("PRONY_HOME", "here")])
                .unwrap_err()
                .to_string()
                .contains("\"here\"")
        );
    }

    #[test]
    fn a_home_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let says = Home::at(&file).unwrap_err().to_string();
        assert!(
            says.contains("cannot write to") && says.contains("file/builds"),
            "{says}"
        );
    }

    #[test]
    fn a_fresh_home_has_its_rooms() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("a/b")).unwrap();
        assert!(
            home.builds().is_dir()
                && home.snapshots().is_dir()
                && home.work().is_dir()
                && home.leases().is_dir()
        );
    }
}

//! PRONY_HOME: the only folder besides the results folder that prony writes to.
//!
//! It creates the four subfolders and checks that this user, and no other, can write to them. Their contents belong to other
//! modules.

use crate::exposed::Exposed;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The user's cache folder: builds, snapshots, temporary work, leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// Why there is no usable home.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error(
        "no folder for builds and snapshots: PRONY_HOME, XDG_CACHE_HOME and HOME are all unset; set PRONY_HOME to a folder with a few GB free"
    )]
    Nowhere,
    #[error("PRONY_HOME is {0:?}, which is not an absolute path; set it to an absolute path")]
    Relative(PathBuf),
    #[error(
        "cannot write to {folder}: {cause}; set PRONY_HOME to a folder of your own with a few GB free"
    )]
    Unusable { folder: PathBuf, cause: io::Error },
    #[error(
        "{folder} {how}: prony deletes and runs files in it; {way_out}", folder = folder.display(), way_out = way_out(folder, *how)
    )]
    Exposed { folder: PathBuf, how: Exposed },
}

fn way_out(folder: &Path, how: Exposed) -> String {
    const OWN: &str = "set PRONY_HOME to a new folder, which prony creates";
    match how {
        Exposed::Foreign { .. } => OWN.to_string(),
        Exposed::Writable { .. } => {
            format!("run chmod go-w {}, or {OWN}", folder.display())
        }
    }
}

impl Home {
    /// PRONY_HOME, or `prony` in the user's cache folder (XDG_CACHE_HOME, or `~/.cache`).
    pub fn from_environment() -> Result<Home, HomeError> {
        Home::at(choose(&|name| std::env::var_os(name))?)
    }

    /// The home in a given folder, which is created if it is missing.
    pub fn at(root: impl Into<PathBuf>) -> Result<Home, HomeError> {
        let home = Home { root: root.into() };
        let [builds, snapshots, work] = home.made_in();
        for folder in [builds, snapshots, work, home.leases(), home.root.clone()] {
            let about = make_writable(&folder).and_then(|()| fs::metadata(&folder));
            match about.map(|about| Exposed::from_metadata(&about)) {
                Err(cause) => return Err(HomeError::Unusable { folder, cause }),
                Ok(Some(how)) => return Err(HomeError::Exposed { folder, how }),
                Ok(None) => {}
            }
        }
        Ok(home)
    }

    /// The home that a journal belongs to.
    pub(crate) fn of_journal(journal: &Path) -> Option<Home> {
        let root = journal.parent()?.parent()?.to_path_buf();
        Some(Home { root })
    }

    /// The folders in which prony makes and removes things.
    pub(crate) fn made_in(&self) -> [PathBuf; 3] {
        [self.builds(), self.snapshots(), self.work()]
    }

    /// The home folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Downloaded server builds, one folder each.
    pub fn builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// Snapshots: loaded data folders that trials start from.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// Temporary work that ends with the prony process: instances, clones, temporary folders.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Journals of what each prony process has created (see `Leases`).
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
    // The XDG specification says to ignore a relative XDG_CACHE_HOME.
    let cache = given("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let cache = cache.or_else(|| given("HOME").map(|home| home.join(".cache")));
    Ok(cache.ok_or(HomeError::Nowhere)?.join("prony"))
}

/// Whatever the umask, a new folder can be changed by this user alone.
fn make_writable(folder: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)?;
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
    fn the_home_is_prony_home_or_else_in_the_users_cache() {
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
    fn the_error_for_an_unset_home_says_what_to_set() {
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
    fn the_error_for_an_unwritable_home_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let message = Home::at(&file).unwrap_err().to_string();
        assert!(
            message.contains("cannot write to") && message.contains("file/builds"),
            "{message}"
        );
    }

    #[test]
    fn a_home_that_other_users_can_change_is_refused_with_the_way_out() {
        use std::os::unix::fs::PermissionsExt;
        for below in ["", "leases", "builds"] {
            let folder = tempfile::tempdir().unwrap();
            let home = Home::at(folder.path()).unwrap();
            let exposed = home.root().join(below);
            fs::set_permissions(&exposed, fs::Permissions::from_mode(0o777)).unwrap();
            let message = Home::at(folder.path()).unwrap_err().to_string();
            assert!(
                message.contains("can be changed by other users (mode 0777)")
                    && message.contains("run chmod go-w"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_home_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give a folder away");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
        let message = Home::at(folder.path()).unwrap_err().to_string();
        let says = "belongs to user 65534, but prony runs as user 0";
        assert!(message.contains(says), "{message}");
    }

    #[test]
    fn a_new_home_has_its_subfolders() {
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

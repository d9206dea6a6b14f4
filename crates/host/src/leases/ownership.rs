//! Decides whether a prony can have made what its journal names, so that a planted line deletes nothing.
//!
//! Below the home's own folders that is anything. Elsewhere (`[host] directory`, a short folder for sockets) it is a folder whose
//! name carries the tag of the journal, which no other folder has. A control group has a name of prony's, and the kernel removes
//! only empty ones.

use super::kind::LeaseKind;
use crate::Home;
use crate::storage::device;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Digits of a mark that names carry.
const TAG_DIGITS: usize = 8;
/// Random digits after the tag.
pub(crate) const RANDOM_DIGITS: usize = 8;
/// How the names of folders and groups outside the home begin.
const PREFIX: &str = "prony-";

/// The tag of a journal's mark; None if prony did not make the mark.
pub(crate) fn tag(mark: &str) -> Option<&str> {
    let is_mark = mark.len() == 32 && mark.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_mark.then(|| &mark[..TAG_DIGITS])
}

/// What one journal may release.
pub(crate) struct Own {
    /// The home's folders, without links.
    roots: Vec<PathBuf>,
    tag: Option<String>,
}

impl Own {
    pub(crate) fn of(journal: &Path, mark: Option<&str>) -> Own {
        let home = Home::of_journal(journal);
        let folders = home.iter().flat_map(Home::made_in);
        Own {
            roots: folders
                .filter_map(|folder| fs::canonicalize(folder).ok())
                .collect(),
            tag: mark.and_then(tag).map(str::to_string),
        }
    }

    /// # Errors
    /// The journal's prony cannot have made what is at this path.
    pub(crate) fn permits(&self, kind: LeaseKind, path: &Path) -> io::Result<()> {
        let is_gone = || {
            let about = fs::symlink_metadata(path);
            about.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let is_own = match kind {
            LeaseKind::Group => is_group(path),
            LeaseKind::Mount
            | LeaseKind::Loop
            | LeaseKind::Disk
            | LeaseKind::Namespace
            | LeaseKind::Folder => self.holds(path),
        };
        if is_own || is_gone() {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "its journal names {}, which prony did not make; check it, remove it yourself if it is of no use, and delete the journal",
            path.display()
        )))
    }

    fn holds(&self, path: &Path) -> bool {
        let Some(path) = resolved(path) else {
            return false;
        };
        let below_home = |root: &PathBuf| path.starts_with(root) && path != *root;
        let carries_tag = |part: Component| self.is_tagged(&part.as_os_str().to_string_lossy());
        self.roots.iter().any(below_home) || path.components().any(carries_tag)
    }

    /// `prony-trial-TAG01234567`
    fn is_tagged(&self, name: &str) -> bool {
        let Some(tag) = &self.tag else {
            return false;
        };
        let end = name.rsplit('-').next().unwrap_or_default();
        name.starts_with(PREFIX)
            && end.len() == TAG_DIGITS + RANDOM_DIGITS
            && end.starts_with(tag.as_str())
    }
}

/// An absolute path without links in the folders above it. None if it has `..`.
fn resolved(path: &Path) -> Option<PathBuf> {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    if goes_up || !path.is_absolute() {
        return None;
    }
    let (parent, name) = (path.parent()?, path.file_name()?);
    match fs::canonicalize(parent) {
        Ok(real) => Some(real.join(name)),
        // A dead FUSE file system or a missing folder, which leads nowhere else.
        Err(_) => Some(resolved(parent)?.join(name)),
    }
}

fn is_group(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let on_cgroup = |parent: &Path| {
        let mount = device::below(parent);
        mount.is_ok_and(|mount| mount.kind == "cgroup" || mount.kind == "cgroup2")
    };
    name.starts_with(PREFIX) && path.parent().is_some_and(on_cgroup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const MARK: &str = "0123456789abcdef0123456789abcdef";

    struct Fixture {
        place: tempfile::TempDir,
        own: Own,
    }

    fn fixture() -> Fixture {
        let place = tempfile::tempdir().unwrap();
        let home = Home::at(place.path().join("home")).unwrap();
        let own = Own::of(&home.leases().join("1-2.journal"), Some(MARK));
        Fixture { place, own }
    }

    impl Fixture {
        /// Whether a folder at this place, which is created, may be removed.
        fn may_remove(&self, below: &str) -> bool {
            let path = self.place.path().join(below);
            fs::create_dir_all(&path).unwrap();
            self.own.permits(LeaseKind::Folder, &path).is_ok()
        }
    }

    #[test]
    fn folders_below_the_homes_own_folders_may_be_removed() {
        let fixture = fixture();
        for own in ["work/trial-1", "builds/.partial-x", "snapshots/a/b"] {
            assert!(fixture.may_remove(&format!("home/{own}")), "{own}");
        }
    }

    #[test]
    fn the_home_its_folders_and_everything_elsewhere_stay() {
        let fixture = fixture();
        for other in [
            "home",
            "home/work",
            "home/leases",
            "home/leases/x",
            "precious",
            "home/work/../../precious",
            "prony-trial-1",
            "prony-trial-89abcdef01234567",
            "precious-0123456701234567",
        ] {
            assert!(!fixture.may_remove(other), "{other}");
        }
        assert!(
            fixture
                .own
                .permits(LeaseKind::Mount, Path::new("/"))
                .is_err()
        );
    }

    #[test]
    fn a_folder_elsewhere_with_the_journals_tag_may_be_removed() {
        let fixture = fixture();
        assert!(fixture.may_remove("disk/prony-trial-0123456701234567"));
        assert!(fixture.may_remove("disk/prony-trial-0123456701234567/volume"));
    }

    #[test]
    fn a_link_within_the_home_leads_nowhere_else() {
        let fixture = fixture();
        let link = fixture.place.path().join("home/work/link");
        fs::create_dir(fixture.place.path().join("precious")).unwrap();
        symlink(fixture.place.path().join("precious"), link).unwrap();
        assert!(!fixture.may_remove("home/work/link/below"));
    }

    #[test]
    fn only_control_groups_with_pronys_name_may_be_removed() {
        let fixture = fixture();
        let folder = fixture.place.path().join("prony-0a1b2c");
        fs::create_dir(&folder).unwrap();
        assert!(fixture.own.permits(LeaseKind::Group, &folder).is_err());
        let system = Path::new("/sys/fs/cgroup");
        if is_group(&system.join("prony-0a1b2c")) {
            assert!(!is_group(&system.join("system.slice")));
        }
    }

    #[test]
    fn a_mark_that_prony_does_not_write_has_no_tag() {
        assert_eq!(tag(MARK), Some("01234567"));
        assert_eq!(tag("m"), None);
        assert_eq!(tag(&"x".repeat(32)), None);
    }
}

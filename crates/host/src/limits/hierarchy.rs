//! Finds the machine's control group hierarchies: for each controller, the folder in which prony can create a group.
//!
//! It prefers cgroup v2 if that has the controller, and falls back to cgroup v1 (cgroups(7)). It creates nothing and does not
//! check permissions.

use crate::storage::device::Mount;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A resource controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Io,
    Memory,
    Cpu,
}

/// The cgroup version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

impl Controller {
    /// The controller's name in this cgroup version.
    pub(super) fn name(self, version: Version) -> &'static str {
        match (self, version) {
            (Controller::Io, Version::V1) => "blkio",
            (Controller::Io, Version::V2) => "io",
            (Controller::Memory, _) => "memory",
            (Controller::Cpu, _) => "cpu",
        }
    }
}

/// A folder in which groups with the controller can be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parent {
    pub version: Version,
    pub folder: PathBuf,
}

/// The contents of `/proc/self/mountinfo` and `/proc/self/cgroup`.
pub(super) struct Hierarchies {
    mounts: String,
    own: String,
}

impl Hierarchies {
    /// Reads those of this process.
    pub(super) fn of_this_machine() -> io::Result<Hierarchies> {
        Ok(Hierarchies {
            mounts: fs::read_to_string("/proc/self/mountinfo")?,
            own: fs::read_to_string("/proc/self/cgroup")?,
        })
    }

    /// The parent folder for a controller; None if neither version has it.
    pub(super) fn parent(&self, controller: Controller) -> Option<Parent> {
        self.version_2(controller)
            .or_else(|| self.version_1(controller))
    }

    /// The file through which this process returns to its own group of the hierarchy that this parent belongs to.
    pub(super) fn own(&self, parent: &Parent) -> PathBuf {
        let folder = match parent.version {
            Version::V1 => parent.folder.clone(),
            // Its line has no controllers.
            Version::V2 => self
                .own_path("")
                .map(|path| parent.folder.join(path))
                .filter(|folder| folder.is_dir())
                .unwrap_or(parent.folder.clone()),
        };
        folder.join("cgroup.procs")
    }

    /// The root of cgroup v2: a group that contains processes, as prony's own does, cannot have groups below it.
    fn version_2(&self, controller: Controller) -> Option<Parent> {
        let name = controller.name(Version::V2);
        let has = |folder: &Path| {
            let controllers = fs::read_to_string(folder.join("cgroup.controllers"));
            controllers.is_ok_and(|names| names.split_whitespace().any(|one| one == name))
        };
        let mut mounts = self.of_kind("cgroup2").map(|mount| mount.point);
        let folder = mounts.find(|folder| has(folder))?;
        Some(Parent {
            version: Version::V2,
            folder,
        })
    }

    /// prony's own cgroup v1 group, so that limits on prony also apply to its servers.
    fn version_1(&self, controller: Controller) -> Option<Parent> {
        let name = controller.name(Version::V1);
        let mount = self
            .of_kind("cgroup")
            .find(|mount| mount.has_option(name))?;
        let below = self.own_path(name).map(|path| mount.point.join(path));
        Some(Parent {
            version: Version::V1,
            // In a container the path may exist only outside of it.
            folder: below
                .filter(|folder| folder.is_dir())
                .unwrap_or(mount.point),
        })
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = Mount> {
        let mounts = self.mounts.lines().filter_map(Mount::parse);
        mounts.filter(move |mount| mount.kind == kind)
    }

    /// The path in a line such as `7:blkio:/user.slice`, without the leading slash.
    fn own_path(&self, controller: &str) -> Option<&str> {
        self.own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let is_it = fields.next()?.split(',').any(|name| name == controller);
            fields
                .next()
                .filter(|_| is_it)
                .map(|path| path.trim_start_matches('/'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with both versions mounted, where v2 has the given controllers.
    fn machine(folder: &Path, version_2: &str) -> Hierarchies {
        for name in ["unified", "blkio/service", "memory"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("unified/cgroup.controllers"), version_2).unwrap();
        let at = folder.display();
        Hierarchies {
            mounts: format!(
                "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n\
                 30 22 0:26 / {at}/blkio rw - cgroup cgroup rw,blkio\n\
                 31 22 0:27 / {at}/memory rw - cgroup cgroup rw,memory\n\
                 32 22 0:28 / {at}/unified rw - cgroup2 cgroup2 rw\n"
            ),
            own: "7:blkio:/service\n4:memory:/elsewhere\n0::/\n".to_string(),
        }
    }

    #[test]
    fn cgroup_v2_is_preferred_if_it_has_the_controller() {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine(folder.path(), "cpu io\n");
        let io = machine.parent(Controller::Io).unwrap();
        assert_eq!(
            (io.version, io.folder),
            (Version::V2, folder.path().join("unified"))
        );
        let memory = machine.parent(Controller::Memory).unwrap();
        assert_eq!(memory.version, Version::V1);
    }

    #[test]
    fn a_v1_group_is_created_below_pronys_own_group_if_that_is_visible() {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine(folder.path(), "hugetlb\n");
        let parent = |controller| machine.parent(controller).unwrap().folder;
        assert_eq!(parent(Controller::Io), folder.path().join("blkio/service"));
        assert_eq!(parent(Controller::Memory), folder.path().join("memory"));
    }

    #[test]
    fn a_controller_missing_in_both_versions_has_no_parent() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            machine(folder.path(), "hugetlb\n").parent(Controller::Cpu),
            None
        );
    }
}

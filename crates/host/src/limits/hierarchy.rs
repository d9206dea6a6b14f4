//! Where this machine's control groups are: for each controller the folder in which a group of our own can be made.
//!
//! Goal: cgroup v2 where it has the controller, cgroup v1 otherwise (cgroups(7)). Non-goals: making groups, the right to.

use crate::device::Mount;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    Io,
    Memory,
    Cpu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

impl Controller {
    /// As this version of control groups spells it.
    pub fn name(self, version: Version) -> &'static str {
        match (self, version) {
            (Controller::Io, Version::V1) => "blkio",
            (Controller::Io, Version::V2) => "io",
            (Controller::Memory, _) => "memory",
            (Controller::Cpu, _) => "cpu",
        }
    }
}

/// A folder in which groups with this controller can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    pub version: Version,
    pub folder: PathBuf,
}

/// `mounts` is `/proc/self/mountinfo`, `own` is `/proc/self/cgroup`.
pub struct Hierarchies {
    mounts: String,
    own: String,
}

impl Hierarchies {
    pub fn of_this_machine() -> io::Result<Hierarchies> {
        Ok(Hierarchies {
            mounts: fs::read_to_string("/proc/self/mountinfo")?,
            own: fs::read_to_string("/proc/self/cgroup")?,
        })
    }

    /// None where neither version has the controller.
    pub fn parent(&self, controller: Controller) -> Option<Parent> {
        self.version_2(controller)
            .or_else(|| self.version_1(controller))
    }

    /// At the root: a group that holds processes, as our own one does, cannot have groups below it.
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

    /// Below our own group, so that what holds for prony holds for its servers too.
    fn version_1(&self, controller: Controller) -> Option<Parent> {
        let name = controller.name(Version::V1);
        let mount = self
            .of_kind("cgroup")
            .find(|mount| mount.has_option(name))?;
        let below = self.own_path(name).map(|path| mount.point.join(path));
        Some(Parent {
            version: Version::V1,
            // In a container its own path may name what only the machine outside can see.
            folder: below
                .filter(|folder| folder.is_dir())
                .unwrap_or(mount.point),
        })
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = Mount> {
        let mounts = self.mounts.lines().filter_map(Mount::parse);
        mounts.filter(move |mount| mount.kind == kind)
    }

    /// `7:blkio:/user.slice`, without the slash.
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

    /// Both versions mounted, as on this kind of machine; v2 has the controllers that are named.
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
    fn version_2_is_taken_where_it_has_the_controller() {
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
    fn a_group_of_version_1_lies_below_our_own_where_that_can_be_seen() {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine(folder.path(), "hugetlb\n");
        let parent = |controller| machine.parent(controller).unwrap().folder;
        assert_eq!(parent(Controller::Io), folder.path().join("blkio/service"));
        assert_eq!(parent(Controller::Memory), folder.path().join("memory"));
    }

    #[test]
    fn a_controller_that_neither_version_has_is_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            machine(folder.path(), "hugetlb\n").parent(Controller::Cpu),
            None
        );
    }
}

//! Creates a control group with limits that can change, and lets a process join it.
//!
//! The process joins before exec, so the limits cover every request of the server. Whether the limits work is measured
//! elsewhere (see `verify`).

use super::hierarchy::{Controller, Hierarchies, Parent, Version};
use super::{LimitError, Limits};
use crate::storage::device;
use crate::{Lease, Leases};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kernel's default period for CPU quotas.
const CPU_PERIOD_US: u64 = 100_000;

/// A control group; for cgroup v1, one group per controller. It is removed when this value is dropped or prony ends.
pub struct Group {
    folders: Vec<(Parent, Lease)>,
    controllers: Vec<(Controller, Parent)>,
    /// The block devices that its disk limits apply to.
    devices: Vec<String>,
    /// Every file that was written, with its content right afterwards.
    in_force: Vec<(PathBuf, String)>,
}

impl Group {
    /// Creates a group with these limits. Disk limits apply to the device below `data`.
    ///
    /// # Errors
    /// The machine lacks a controller or device, or this user lacks the permission.
    pub fn make(limits: &Limits, data: &Path, leases: &Leases) -> Result<Group, LimitError> {
        Group::make_changeable(limits, &[], data, leases)
    }

    /// Creates a group with limits that can change to each of `later` ([`Group::change`]).
    ///
    /// # Errors
    /// As for [`Group::make`].
    pub fn make_changeable(
        limits: &Limits,
        later: &[Limits],
        data: &Path,
        leases: &Leases,
    ) -> Result<Group, LimitError> {
        let machine = Hierarchies::of_this_machine()
            .map_err(|error| LimitError::NoGroup(error.to_string()))?;
        let mut group = Group {
            folders: Vec::new(),
            controllers: Vec::new(),
            devices: Vec::new(),
            in_force: Vec::new(),
        };
        let all: Vec<&Limits> = std::iter::once(limits).chain(later).collect();
        for (controller, limits_shown) in needed(&all) {
            let parent = machine.parent(controller).ok_or(LimitError::NoController {
                limits: limits_shown,
                version_2: controller.name(Version::V2),
                version_1: controller.name(Version::V1),
            })?;
            group.make_folder(&parent, leases)?;
            if parent.version == Version::V2 {
                let enable = format!("+{}", controller.name(Version::V2));
                let enabled = parent.folder.join("cgroup.subtree_control");
                write(&enabled, &enable)?;
                // The kernel attributes writeback to a group only if both controllers are enabled; without the memory controller
                // the other limits still work. They stay enabled afterwards: that limits nothing by itself, and another prony
                // process may be using them.
                let _ = write(&enabled, "+memory");
            }
            if controller == Controller::Io {
                group.devices.push(whole_device(data)?);
            }
            group.controllers.push((controller, parent));
        }
        group.apply(limits, Unset::Unchanged)?;
        Ok(group)
    }

    /// Replaces all limits. Those that are not given are lifted.
    ///
    /// # Errors
    /// The kernel refuses a limit, or the group was made for none of this kind.
    pub fn change(&mut self, limits: &Limits) -> Result<(), LimitError> {
        let has = |wanted: &Controller| self.controllers.iter().any(|(own, _)| own == wanted);
        match needed(&[limits]).into_iter().find(|(one, _)| !has(one)) {
            Some((_, limits_shown)) => Err(LimitError::NotForeseen(limits_shown)),
            None => self.apply(limits, Unset::Lifted),
        }
    }

    fn apply(&mut self, limits: &Limits, unset: Unset) -> Result<(), LimitError> {
        for (controller, parent) in self.controllers.clone() {
            let Some(folder) = self.folder_below(&parent) else {
                continue;
            };
            for (file, value) in lines(limits, controller, parent.version, &self.devices, unset) {
                // A kernel without swap accounting has no such file.
                if SWAP.contains(&file) && !folder.join(file).exists() {
                    continue;
                }
                self.set(folder.join(file), &value)?;
            }
        }
        Ok(())
    }

    /// Applies the group's disk limits to the device below another folder too: each device is limited by itself. Does nothing if the
    /// group has no disk limits.
    ///
    /// # Errors
    /// The folder has no block device, or the kernel refuses the limit.
    pub fn limit_also(&mut self, limits: &Limits, folder: &Path) -> Result<(), LimitError> {
        let is_io = |(controller, _): &(Controller, Parent)| *controller == Controller::Io;
        if !self.controllers.iter().any(is_io) {
            return Ok(());
        }
        self.devices.push(whole_device(folder)?);
        self.apply(limits, Unset::Unchanged)
    }

    /// Moves this process with all its threads into the group, until the returned value is dropped. For a load that prony itself
    /// generates. What it had allocated before does not count as the group's memory.
    ///
    /// # Errors
    /// The kernel refuses the move.
    pub fn enter(&self) -> Result<Entered, LimitError> {
        let machine = Hierarchies::of_this_machine()
            .map_err(|error| LimitError::NoGroup(error.to_string()))?;
        let parents = self.folders.iter().map(|(parent, _)| parent);
        let entered = Entered {
            back: parents.map(|parent| machine.own(parent)).collect(),
        };
        self.joins().iter().try_for_each(|file| write(file, "0"))?;
        Ok(entered)
    }

    /// The files through which a process joins the group.
    pub fn joins(&self) -> Vec<PathBuf> {
        let file = |(_, lease): &(Parent, Lease)| lease.path().join("cgroup.procs");
        self.folders.iter().map(file).collect()
    }

    fn set(&mut self, file: PathBuf, value: &str) -> Result<(), LimitError> {
        write(&file, value)?;
        let content = fs::read_to_string(&file).unwrap_or_default();
        // A file of disk limits has a line for each device.
        self.in_force.retain(|(known, _)| *known != file);
        self.in_force.push((file, content));
        Ok(())
    }

    /// Removes the disk limits, because a killed server ends only after its last requests. If that fails, it just ends later.
    pub fn lift_disk(&self) {
        for (file, content) in &self.in_force {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let none = match &*name {
                "io.max" => DISK_FILES.map(|(_, key)| format!("{key}=max")).join(" "),
                name if name.starts_with("blkio.") => "0".to_owned(),
                _ => continue,
            };
            let devices = content.lines().filter_map(|line| line.split(' ').next());
            for device in devices {
                let _ = fs::write(file, format!("{device} {none}"));
            }
        }
    }

    /// The file of a limit that has changed since it was set: the system's cgroup manager may disable a controller.
    pub fn lost(&self) -> Option<&Path> {
        let changed = |(file, content): &&(PathBuf, String)| {
            fs::read_to_string(file).is_ok_and(|now| now != *content) || !file.exists()
        };
        self.in_force
            .iter()
            .find(changed)
            .map(|(file, _)| file.as_path())
    }

    /// The memory limit in force, in bytes: the smallest one of the group and of those above it, as of a container. None if the group does not
    /// report its own.
    pub fn memory_bytes(&self) -> Option<u64> {
        let folders = self.folders.iter();
        let mut folders = folders.map(|(_, lease)| lease.path());
        smallest_memory(folders.find(|folder| memory(folder).is_some())?)
    }

    /// How many processes of the group the kernel's OOM killer has killed.
    pub fn killed_for_memory(&self) -> u64 {
        // (v1 name, v2 name)
        let files = ["memory.oom_control", "memory.events"];
        let text = self.folders.iter().find_map(|(_, lease)| {
            let mut paths = files.iter().map(|file| lease.path().join(file));
            paths.find_map(|path| fs::read_to_string(path).ok())
        });
        let count = |text: String| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("oom_kill "))?;
            line.trim().parse().ok()
        };
        text.and_then(count).unwrap_or(0)
    }

    fn folder_below(&self, parent: &Parent) -> Option<PathBuf> {
        let own = self.folders.iter().find(|(known, _)| known == parent);
        own.map(|(_, lease)| lease.path().to_path_buf())
    }

    /// Creates the group's folder below a parent if it does not exist yet.
    fn make_folder(&mut self, parent: &Parent, leases: &Leases) -> Result<(), LimitError> {
        if self.folder_below(parent).is_none() {
            let lease = leases.control_group(&parent.folder);
            let lease = lease.map_err(|error| LimitError::NoGroup(error.to_string()))?;
            self.folders.push((parent.clone(), lease));
        }
        Ok(())
    }
}

/// The files of the memory limit (v1 name, v2 name).
const MEMORY: [&str; 2] = ["memory.limit_in_bytes", "memory.max"];

/// The limit of the group in this folder; None without one.
fn memory(folder: &Path) -> Option<u64> {
    MEMORY.iter().find_map(|file| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        text.trim().parse().ok()
    })
}

/// The smallest limit of this group and of those above it.
fn smallest_memory(group: &Path) -> Option<u64> {
    group.ancestors().filter_map(memory).min()
}

/// This process within a group, until it is dropped.
#[must_use = "the process leaves the group when this is dropped"]
pub struct Entered {
    /// The files through which it returns to its own groups.
    back: Vec<PathBuf>,
}

impl Drop for Entered {
    /// A process that cannot leave keeps the group until it ends; then the guard removes it.
    fn drop(&mut self) {
        for file in &self.back {
            let _ = write(file, "0");
        }
    }
}

/// What happens to a limit without a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unset {
    Unchanged,
    Lifted,
}

/// The controllers that any of these limits need, each with a description of the limits.
fn needed(limits: &[&Limits]) -> Vec<(Controller, &'static str)> {
    let any = |has: fn(&Limits) -> bool| limits.iter().any(|one| has(one));
    let all = [
        (
            any(|one| one.disk_limits().iter().any(Option::is_some)),
            Controller::Io,
            "disk limits",
        ),
        (
            any(|one| one.memory_bytes.is_some()),
            Controller::Memory,
            "memory limits",
        ),
        (any(|one| one.cpus.is_some()), Controller::Cpu, "CPU limits"),
    ];
    let needed = all.into_iter().filter(|(is_needed, ..)| *is_needed);
    needed
        .map(|(_, controller, shown)| (controller, shown))
        .collect()
}

/// The (file, value) pairs to write, as defined in the kernel's
/// Documentation/admin-guide/cgroup-v1/blkio-controller.rst, memory.rst, scheduler/sched-bwc.rst and cgroup-v2.rst.
fn lines(
    limits: &Limits,
    controller: Controller,
    version: Version,
    devices: &[String],
    unset: Unset,
) -> Vec<(&'static str, String)> {
    let stays = |is_set: bool| !is_set && unset == Unset::Unchanged;
    match controller {
        Controller::Io => devices
            .iter()
            .flat_map(|device| disk_lines(limits, version, device, unset))
            .collect(),
        Controller::Memory if stays(limits.memory_bytes.is_some()) => Vec::new(),
        Controller::Memory => memory_lines(limits.memory_bytes, version),
        Controller::Cpu if stays(limits.cpus.is_some()) => Vec::new(),
        Controller::Cpu => cpu_lines(limits.cpus, version),
    }
}

fn cpu_lines(cpus: Option<f64>, version: Version) -> Vec<(&'static str, String)> {
    let quota_us = cpus.map(|cpus| ((cpus * CPU_PERIOD_US as f64) as u64).to_string());
    match version {
        Version::V1 => vec![
            ("cpu.cfs_period_us", CPU_PERIOD_US.to_string()),
            ("cpu.cfs_quota_us", quota_us.unwrap_or("-1".into())),
        ],
        Version::V2 => {
            let quota_us = quota_us.unwrap_or("max".into());
            vec![("cpu.max", format!("{quota_us} {CPU_PERIOD_US}"))]
        }
    }
}

/// The files of swap, which some kernels lack.
const SWAP: [&str; 2] = ["memory.memsw.limit_in_bytes", "memory.swap.max"];

/// Without swap: a server whose buffer pool is swapped out would be measured at disk speed. In version 1 the limit of memory with swap is
/// never below that of memory, so it is lifted first.
fn memory_lines(bytes: Option<u64>, version: Version) -> Vec<(&'static str, String)> {
    match version {
        Version::V1 => {
            let bytes = bytes.map_or("-1".into(), |bytes| bytes.to_string());
            vec![
                (SWAP[0], "-1".into()),
                ("memory.limit_in_bytes", bytes.clone()),
                (SWAP[0], bytes),
            ]
        }
        Version::V2 => {
            let swap = if bytes.is_some() { "0" } else { "max" };
            let bytes = bytes.map_or("max".into(), |bytes| bytes.to_string());
            vec![("memory.max", bytes), (SWAP[1], swap.into())]
        }
    }
}

/// In the order of `Limits::disk_limits`: (v1 file, key in v2's io.max).
const DISK_FILES: [(&str, &str); 4] = [
    ("blkio.throttle.read_iops_device", "riops"),
    ("blkio.throttle.write_iops_device", "wiops"),
    ("blkio.throttle.read_bps_device", "rbps"),
    ("blkio.throttle.write_bps_device", "wbps"),
];

fn disk_lines(
    limits: &Limits,
    version: Version,
    device: &str,
    unset: Unset,
) -> Vec<(&'static str, String)> {
    let none = match version {
        Version::V1 => "0",
        Version::V2 => "max",
    };
    let value = |limit: Option<u64>| match (limit, unset) {
        (Some(limit), _) => Some(limit.to_string()),
        (None, Unset::Lifted) => Some(none.to_string()),
        (None, Unset::Unchanged) => None,
    };
    let given = DISK_FILES
        .iter()
        .zip(limits.disk_limits())
        .filter_map(|(names, limit)| Some((names, value(limit)?)));
    match version {
        Version::V1 => given
            .map(|((file, _), limit)| (*file, format!("{device} {limit}")))
            .collect(),
        Version::V2 => {
            let keys: Vec<String> = given
                .map(|((_, key), limit)| format!("{key}={limit}"))
                .collect();
            if keys.is_empty() {
                Vec::new()
            } else {
                vec![("io.max", format!("{device} {}", keys.join(" ")))]
            }
        }
    }
}

/// The device number, such as `254:0`. The kernel limits whole devices, not partitions.
fn whole_device(data: &Path) -> Result<String, LimitError> {
    let none = |cause| LimitError::NoDevice {
        folder: data.to_path_buf(),
        cause,
    };
    let mount = device::below(data).map_err(none)?;
    mount.whole_device().map_err(none)
}

fn write(file: &Path, value: &str) -> Result<(), LimitError> {
    // Do not create it: if the file is missing, the kernel does not support the limit.
    let opened = OpenOptions::new().write(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|cause| LimitError::Refused {
        file: file.to_path_buf(),
        value: value.to_string(),
        help: help(&cause),
        cause,
    })
}

fn help(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => {
            "limits require root (cgroups): run prony as root, or run the experiment without them (--no-limits)"
        }
        io::ErrorKind::NotFound => "this kernel does not support the limit: remove it",
        io::ErrorKind::ResourceBusy => {
            "the parent group contains processes itself, as in some containers: run prony outside the container, or remove the limits"
        }
        _ => "remove the limit, or use another value",
    }
}

/// Makes the command's process join the groups between fork and exec.
///
/// # Errors
/// A group no longer exists. The spawn itself fails if a group rejects the process.
pub fn join(command: &mut Command, groups: &[PathBuf]) -> io::Result<()> {
    // Without a hook the standard library spawns instead of forking: the child holds this process's files open for a shorter time.
    if groups.is_empty() {
        return Ok(());
    }
    let opened = groups
        .iter()
        .map(|file| OpenOptions::new().write(true).open(file));
    let files = opened.collect::<io::Result<Vec<_>>>()?;
    let join_all = move || files.iter().try_for_each(|mut file| file.write_all(b"0"));
    // SAFETY: between fork and exec it only calls write(2) on open descriptors, and allocates nothing.
    unsafe { command.pre_exec(join_all) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Limits = Limits {
        read_iops: Some(400),
        write_iops: None,
        read_bandwidth: Some(1 << 20),
        write_bandwidth: None,
        memory_bytes: None,
        cpus: None,
    };

    #[test]
    fn the_smallest_memory_limit_of_the_groups_above_is_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let container = folder.path().join("container");
        let own = container.join("prony");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("memory.max"), "8192\n").unwrap();
        fs::write(container.join("memory.max"), "4096\n").unwrap();
        assert_eq!(smallest_memory(&own), Some(4096));
        fs::write(container.join("memory.max"), "max\n").unwrap();
        assert_eq!(smallest_memory(&own), Some(8192));
    }

    #[test]
    fn cgroup_v1_has_a_file_for_each_limit() {
        assert_eq!(
            disk_lines(&SLOW, Version::V1, "254:0", Unset::Unchanged),
            [
                ("blkio.throttle.read_iops_device", "254:0 400".to_string()),
                (
                    "blkio.throttle.read_bps_device",
                    "254:0 1048576".to_string()
                )
            ]
        );
    }

    #[test]
    fn cgroup_v2_has_one_line_per_device() {
        assert_eq!(
            disk_lines(&SLOW, Version::V2, "254:0", Unset::Unchanged),
            [("io.max", "254:0 riops=400 rbps=1048576".to_string())]
        );
    }

    #[test]
    fn half_a_cpu_is_half_of_each_period() {
        let half = Limits {
            cpus: Some(0.5),
            ..Limits::default()
        };
        let lines = |version| lines(&half, Controller::Cpu, version, &[], Unset::Unchanged);
        assert_eq!(
            lines(Version::V2),
            [("cpu.max", "50000 100000".to_string())]
        );
        assert_eq!(
            lines(Version::V1)[1],
            ("cpu.cfs_quota_us", "50000".to_string())
        );
    }

    #[test]
    fn only_the_controllers_of_given_limits_are_needed() {
        let of = |limits: &[&Limits]| -> Vec<_> {
            needed(limits).into_iter().map(|(one, _)| one).collect()
        };
        assert_eq!(of(&[&SLOW]), [Controller::Io]);
        assert_eq!(of(&[&Limits::default()]), []);
        let later = Limits {
            memory_bytes: Some(1 << 30),
            ..Limits::default()
        };
        assert_eq!(of(&[&SLOW, &later]), [Controller::Io, Controller::Memory]);
    }

    #[test]
    fn a_group_that_was_made_for_other_limits_does_not_change_to_these_in_silence() {
        let mut group = Group {
            folders: Vec::new(),
            controllers: Vec::new(),
            devices: Vec::new(),
            in_force: Vec::new(),
        };
        assert!(group.change(&Limits::default()).is_ok());
        let error = group.change(&SLOW).unwrap_err().to_string();
        assert!(error.contains("made without disk limits"), "{error}");
    }

    #[test]
    fn a_change_lifts_the_limits_that_it_does_not_name() {
        let lifted = disk_lines(&SLOW, Version::V1, "254:0", Unset::Lifted);
        let none = ("blkio.throttle.write_iops_device", "254:0 0".to_string());
        assert!(lifted.len() == 4 && lifted.contains(&none), "{lifted:?}");
        let lifted = disk_lines(&SLOW, Version::V2, "254:0", Unset::Lifted);
        let line = "254:0 riops=400 wiops=max rbps=1048576 wbps=max";
        assert_eq!(lifted, [("io.max", line.to_string())]);
        let others = |controller| {
            let of = |unset| lines(&SLOW, controller, Version::V2, &[], unset);
            (of(Unset::Unchanged), of(Unset::Lifted))
        };
        let (unchanged, lifted) = others(Controller::Memory);
        assert!(unchanged.is_empty());
        assert_eq!(lifted[0], ("memory.max", "max".to_string()));
        let (unchanged, lifted) = others(Controller::Cpu);
        assert!(unchanged.is_empty());
        assert_eq!(lifted, [("cpu.max", "max 100000".to_string())]);
    }
}

//! `[host]`: where the data and the redo log of a managed server lie, or the files of a workload without a server.
//!
//! Purpose: the keys and what goes together. Boundaries: `host::volume` makes volumes and checks that the machine can.

use crate::file::read::{NONE, Node, Section};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `[host]` or a level changes. The outer None means "unchanged", the inner one "no volume".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostPatch {
    pub volume: Option<Option<VolumeSpec>>,
    /// For the redo log alone; never volatile.
    pub redo_volume: Option<Option<VolumeSpec>>,
    /// A folder that is there already: prony makes one of its own in it. For workloads without a server.
    pub directory: Option<PathBuf>,
}

/// A file system of its own for the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    pub filesystem: FilesystemSpec,
    /// As for mount(8), separated by commas; empty: those of the file system.
    pub mount_options: String,
    pub disk: DiskSpec,
}

/// What the file system of a volume lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskSpec {
    /// A loop device over a new file.
    Loop,
    /// A block device, which is overwritten.
    Device(PathBuf),
    Volatile(VolatileSpec),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilesystemSpec {
    #[default]
    Ext4,
    Xfs,
}

/// A disk that loses what was not flushed when its power is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolatileSpec {
    /// It acknowledges flushes and forgets them.
    pub lies: bool,
    /// Its writes and flushes are kept with the run.
    pub log: bool,
    /// How long each flush takes at least.
    pub slow_flush: Duration,
}

const EXAMPLE: &str = "host = { volume = { kind = \"volatile\" } }";
const VOLUME: &str = "volume = { kind = \"volatile\", filesystem = \"ext4\" }";
const KINDS: [&str; 3] = ["loop", "device", "volatile"];
const FILESYSTEMS: [(&str, FilesystemSpec); 2] =
    [("ext4", FilesystemSpec::Ext4), ("xfs", FilesystemSpec::Xfs)];
/// The key that only a device has.
const DEVICE: &str = "device";
/// The keys that only a volatile volume has.
const OF_VOLATILE: [&str; 3] = ["lie", "log", "slow_flush"];

/// Reads `[host]` or the `host` of a level.
pub(crate) fn host(node: &Node) -> Option<HostPatch> {
    let section = node.section(EXAMPLE)?;
    section.allow("host", &["volume", "redo_volume", "directory"]);
    let redo_volume = section.read_or_none("redo_volume", volume);
    refuse_volatile_redo(&section, &redo_volume);
    Some(HostPatch {
        volume: section.read_or_none("volume", volume),
        redo_volume,
        directory: section
            .read("directory", |node| node.words("directory = \"/mnt/disk\""))
            .map(PathBuf::from),
    })
}

/// A power cut takes away one disk, so the redo log cannot be on another one.
fn refuse_volatile_redo(section: &Section, redo_volume: &Option<Option<VolumeSpec>>) {
    if redo_volume.iter().flatten().any(VolumeSpec::is_volatile)
        && let Some(node) = section.get("redo_volume")
    {
        node.note(
            "the volume of the redo log cannot be volatile, since a power cut takes away one disk",
            "volatile",
            "write redo_volume = { kind = \"loop\" }",
        );
    }
}

fn volume(node: &Node) -> Option<VolumeSpec> {
    let section = &node.section(VOLUME)?;
    let of_all = ["kind", "filesystem", "mount_options", DEVICE];
    section.allow("volume", &[of_all.as_slice(), &OF_VOLATILE].concat());
    let kind = section.require("volume", "kind", "kind = \"volatile\"")?;
    let filesystem = section.get_or("filesystem", FilesystemSpec::default(), filesystem);
    let mount_options = section.get_or("mount_options", String::new(), mount_options);
    let disk = match kind.text("kind = \"volatile\"")? {
        "volatile" => {
            refuse_keys_of(section, &[DEVICE], "device");
            volatile(section).map(DiskSpec::Volatile)
        }
        "loop" => {
            refuse_keys_of(section, &OF_VOLATILE, "volatile");
            refuse_keys_of(section, &[DEVICE], "device");
            Some(DiskSpec::Loop)
        }
        "device" => {
            refuse_keys_of(section, &OF_VOLATILE, "volatile");
            device(section).map(DiskSpec::Device)
        }
        other => {
            let notes = section.notes;
            notes.unknown(kind.at(), "the kind of volume", other, &KINDS);
            return None;
        }
    };
    Some(VolumeSpec {
        filesystem: filesystem?,
        mount_options: mount_options?,
        disk: disk?,
    })
}

/// Options that would make the volume useless for a measurement.
const REFUSED_OPTIONS: [&str; 4] = ["ro", "remount", "bind", "loop"];

fn mount_options(node: &Node) -> Option<String> {
    let example = "mount_options = \"dioread_nolock,noatime\"";
    let text = node.words(example)?;
    let mut options = text.split(',').map(str::trim);
    let wrong = options.find(|option| {
        option.is_empty() || option.contains(' ') || REFUSED_OPTIONS.contains(option)
    });
    match wrong {
        None => Some(text.split(',').map(str::trim).collect::<Vec<_>>().join(",")),
        Some(wrong) => {
            let says = format!("\"{wrong}\" is not a mount option that a volume can have");
            node.note(says, "not an option", format!("write {example}"));
            None
        }
    }
}

fn device(section: &Section) -> Option<PathBuf> {
    let example = "device = \"/dev/sdb\"";
    let node = section.require("volume", DEVICE, example)?;
    let path = PathBuf::from(node.words(example)?);
    if !path.starts_with("/dev") {
        let says = format!("{} is not below /dev", path.display());
        node.note(says, "not a device", format!("write {example}"));
        return None;
    }
    Some(path)
}

fn filesystem(node: &Node) -> Option<FilesystemSpec> {
    node.one_of("the file system", "filesystem = \"ext4\"", &FILESYSTEMS)
}

fn volatile(section: &Section) -> Option<VolatileSpec> {
    let lies = section.get_or("lie", false, lie);
    let log = section.get_or("log", false, |node| node.truth("log = true"));
    let slow_flush = section.get_or("slow_flush", Duration::ZERO, |node| {
        node.duration("slow_flush = \"5ms\"")
    });
    Some(VolatileSpec {
        lies: lies?,
        log: log?,
        slow_flush: slow_flush?,
    })
}

fn lie(node: &Node) -> Option<bool> {
    let lies = [("flush", true), (NONE, false)];
    node.one_of("the lie", "lie = \"flush\"", &lies)
}

/// Notes each of these keys, which only the volumes of another kind have.
fn refuse_keys_of(section: &Section, keys: &[&str], kind: &str) {
    for node in keys.iter().filter_map(|key| section.get(key)) {
        let says = format!(
            "\"{}\" is for volumes of the kind \"{kind}\" only",
            node.key
        );
        node.note(says, "not on this kind", format!("write kind = \"{kind}\""));
    }
}

impl VolumeSpec {
    /// The disk that loses what was not flushed; None for the others.
    pub fn volatile(&self) -> Option<&VolatileSpec> {
        match &self.disk {
            DiskSpec::Volatile(volatile) => Some(volatile),
            DiskSpec::Loop | DiskSpec::Device(_) => None,
        }
    }

    pub fn is_volatile(&self) -> bool {
        self.volatile().is_some()
    }

    /// The block device that it overwrites.
    pub fn device(&self) -> Option<&Path> {
        match &self.disk {
            DiskSpec::Device(device) => Some(device),
            DiskSpec::Loop | DiskSpec::Volatile(_) => None,
        }
    }
}

impl HostPatch {
    /// Overrides an earlier patch, key by key.
    pub fn over(self, earlier: HostPatch) -> HostPatch {
        HostPatch {
            volume: self.volume.or(earlier.volume),
            redo_volume: self.redo_volume.or(earlier.redo_volume),
            directory: self.directory.or(earlier.directory),
        }
    }

    /// The volume in force.
    pub fn volume(&self) -> Option<&VolumeSpec> {
        self.volume.as_ref()?.as_ref()
    }

    /// The folder in which a workload without a server gets its own.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The volume of the redo log in force.
    pub fn redo_volume(&self) -> Option<&VolumeSpec> {
        self.redo_volume.as_ref()?.as_ref()
    }
}

//! The storage below a folder: the file system with its mount options, and the disk below, as the kernel describes them.
//!
//! Purpose: a figure of a disk means little without its cache, its scheduler and the options of its file system. Nothing here needs
//! root, and nothing is written. What the kernel does not tell is None.

pub mod clone;
pub mod cold;
pub(crate) mod device;
pub mod disk;
pub mod extents;
pub mod facts;
pub(crate) mod loops;

use device::Mount;
use rustix::fs::{AtFlags, CWD, Statx, StatxFlags};
use std::fs;
use std::path::{Path, PathBuf};

/// The file system of a folder, and its disk.
#[derive(Clone, Debug)]
pub struct Storage {
    pub mount: Mount,
    pub free_bytes: Option<u64>,
    /// None: the file system has no single disk (tmpfs, overlay, network file systems).
    pub disk: Option<Disk>,
}

/// A block device, without its partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// `vda`, `nvme0n1`, `dm-0`.
    pub name: String,
    pub model: Option<String>,
    pub kind: DiskKind,
    pub bytes: Option<u64>,
    pub write_cache: Option<WriteCache>,
    /// The one in use, such as `mq-deadline`.
    pub scheduler: Option<String>,
    /// Requests that the queue holds.
    pub requests: Option<u64>,
    pub logical_block_bytes: Option<u64>,
    pub physical_block_bytes: Option<u64>,
}

impl Disk {
    /// Requests that all its hardware queues hold; more wait in the block layer. None: not known, or the device passes requests on
    /// without a queue (device mapper, RAID).
    pub fn requests_max(&self) -> Option<u64> {
        let queues = fs::read_dir(Path::new("/sys/block").join(&self.name).join("mq"));
        Some(self.requests? * queues.ok()?.count() as u64)
    }
}

/// What a disk is, as far as the kernel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskKind {
    Rotating,
    /// Without moving parts: a SATA or NVMe SSD.
    Solid,
    /// Made by a hypervisor, which decides what a flush does.
    Virtual,
    /// Made of other devices (device mapper, RAID, loop).
    Stacked,
    /// In memory.
    Memory,
}

impl DiskKind {
    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            DiskKind::Rotating => "rotating disk",
            DiskKind::Solid => "solid-state disk",
            DiskKind::Virtual => "virtual disk",
            DiskKind::Stacked => "made of other devices",
            DiskKind::Memory => "in memory",
        }
    }
}

/// What the device says of its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteCache {
    /// A volatile cache: the kernel flushes it for an fsync.
    Back,
    /// No volatile cache: an fsync sends no flush to the device.
    Through,
}

impl WriteCache {
    /// The kernel's word for it.
    pub fn text(self) -> &'static str {
        match self {
            WriteCache::Back => "write back",
            WriteCache::Through => "write through",
        }
    }
}

/// The sizes of writes that a file system promises never to tear (STATX_WRITE_ATOMIC), in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicWrites {
    pub unit_min_bytes: u64,
    pub unit_max_bytes: u64,
}

/// The storage below a folder.
///
/// # Errors
/// One sentence: the file system of the folder is unknown.
pub fn below(folder: &Path) -> Result<Storage, String> {
    let mount = device::below(folder)?;
    let disk = mount.whole_device().ok().or_else(|| by_name(&mount.source));
    Ok(Storage {
        free_bytes: disk::free(folder).ok(),
        disk: disk.and_then(|number| disk_of(&Path::new("/sys/dev/block").join(number))),
        mount,
    })
}

/// The device's number by its name: btrfs gives its files other numbers.
fn by_name(source: &str) -> Option<String> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let about = fs::metadata(source).ok()?;
    let number = about.rdev();
    let text = format!(
        "{}:{}",
        rustix::fs::major(number),
        rustix::fs::minor(number)
    );
    about.file_type().is_block_device().then_some(text)
}

/// Reads a device's folder below /sys.
fn disk_of(folder: &Path) -> Option<Disk> {
    let folder = fs::canonicalize(folder).ok()?;
    // A partition is in the folder of its disk.
    let folder = if folder.join("partition").exists() {
        folder.parent()?.to_path_buf()
    } else {
        folder
    };
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let queue = |file: &str| line(&folder.join("queue").join(file));
    let number = |text: Option<String>| text?.parse::<u64>().ok();
    let model = model(&folder);
    let rotates = queue("rotational").as_deref() == Some("1");
    Some(Disk {
        kind: kind(&name, model.as_deref().unwrap_or_default(), rotates),
        bytes: number(line(&folder.join("size"))).map(|sectors| sectors * 512),
        write_cache: queue("write_cache").and_then(|text| write_cache(&text)),
        scheduler: queue("scheduler").map(|text| marked(&text).unwrap_or(&text).to_string()),
        requests: number(queue("nr_requests")),
        logical_block_bytes: number(queue("logical_block_size")),
        physical_block_bytes: number(queue("physical_block_size")),
        name,
        model,
    })
}

fn model(folder: &Path) -> Option<String> {
    let of = |file: &str| line(&folder.join("device").join(file));
    let words = [of("vendor"), of("model")].into_iter().flatten();
    // virtio has only the number of its vendor.
    let words: Vec<String> = words.filter(|word| !word.starts_with("0x")).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// What hypervisors call the disks that they make.
const VIRTUAL_MODELS: [&str; 9] = [
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual",
    "Msft",
    "Microsoft NVMe Direct Disk",
    "Amazon Elastic Block Store",
    "PersistentDisk",
    "nvme_card-pd",
];

/// A hypervisor's disk may claim to rotate, so its name decides first.
fn kind(name: &str, model: &str, rotates: bool) -> DiskKind {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if begins(&["dm-", "md", "loop", "drbd", "bcache", "nbd", "rbd"]) {
        DiskKind::Stacked
    } else if begins(&["ram", "zram", "pmem"]) {
        DiskKind::Memory
    } else if begins(&["vd", "xvd"]) || VIRTUAL_MODELS.iter().any(|known| model.contains(known)) {
        DiskKind::Virtual
    } else if rotates {
        DiskKind::Rotating
    } else {
        DiskKind::Solid
    }
}

fn write_cache(text: &str) -> Option<WriteCache> {
    let known = [WriteCache::Back, WriteCache::Through];
    known.into_iter().find(|cache| cache.text() == text)
}

/// Parses `none [mq-deadline] kyber`, as the kernel marks the one in use.
pub(crate) fn marked(choices: &str) -> Option<&str> {
    let (_, rest) = choices.split_once('[')?;
    rest.split_once(']').map(|(marked, _)| marked)
}

fn line(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

/// The writes of a file that are never torn. None if the kernel (before 6.11) or the file system promises nothing.
pub fn atomic_writes(file: &Path) -> Option<AtomicWrites> {
    let about = about(file, WRITE_ATOMIC)?;
    let unit_max_bytes = u64::from(about.stx_atomic_write_unit_max);
    (unit_max_bytes > 0).then(|| AtomicWrites {
        unit_min_bytes: about.stx_atomic_write_unit_min.into(),
        unit_max_bytes,
    })
}

/// The alignment in bytes that direct I/O needs of offsets. None: not known, or the file has no direct I/O.
pub fn direct_alignment(file: &Path) -> Option<u64> {
    let about = about(file, StatxFlags::DIOALIGN)?;
    Some(about.stx_dio_offset_align.into()).filter(|bytes| *bytes > 0)
}

/// STATX_WRITE_ATOMIC of linux/stat.h.
const WRITE_ATOMIC: StatxFlags = StatxFlags::from_bits_retain(0x0001_0000);

/// None if the kernel does not know these fields.
fn about(file: &Path, mask: StatxFlags) -> Option<Statx> {
    let path: PathBuf = file.into();
    let about = rustix::fs::statx(CWD, path, AtFlags::empty(), mask).ok()?;
    StatxFlags::from_bits_retain(about.stx_mask)
        .contains(mask)
        .then_some(about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_disk_says_more_than_its_claim_to_rotate() {
        for (name, model, rotates, expected) in [
            ("vda", "", true, DiskKind::Virtual),
            ("sda", "QEMU HARDDISK", true, DiskKind::Virtual),
            (
                "nvme1n1",
                "Amazon Elastic Block Store",
                false,
                DiskKind::Virtual,
            ),
            ("sda", "ATA ST4000DM004", true, DiskKind::Rotating),
            ("sdb", "ATA INTEL SSDSC2BA40", false, DiskKind::Solid),
            ("nvme0n1", "Samsung SSD 980 PRO 1TB", false, DiskKind::Solid),
            ("dm-0", "", false, DiskKind::Stacked),
            ("md127", "", true, DiskKind::Stacked),
            ("zram0", "", false, DiskKind::Memory),
        ] {
            assert_eq!(kind(name, model, rotates), expected, "{name} {model}");
        }
    }

    /// A device's folder as the kernel lays it out.
    #[test]
    fn a_device_is_described_from_its_folder_also_by_a_partition() {
        let sys = tempfile::tempdir().unwrap();
        let disk = sys.path().join("sda");
        for (file, text) in [
            ("size", "2048\n"),
            ("queue/rotational", "1\n"),
            ("queue/write_cache", "write back\n"),
            ("queue/scheduler", "none [mq-deadline] kyber bfq \n"),
            ("queue/nr_requests", "256\n"),
            ("queue/logical_block_size", "512\n"),
            ("queue/physical_block_size", "4096\n"),
            ("device/vendor", "ATA     \n"),
            ("device/model", "ST4000DM004\n"),
            ("sda1/partition", "1\n"),
        ] {
            let path = disk.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let expected = Disk {
            name: "sda".into(),
            model: Some("ATA ST4000DM004".into()),
            kind: DiskKind::Rotating,
            bytes: Some(1 << 20),
            write_cache: Some(WriteCache::Back),
            scheduler: Some("mq-deadline".into()),
            requests: Some(256),
            logical_block_bytes: Some(512),
            physical_block_bytes: Some(4096),
        };
        assert_eq!(disk_of(&disk).as_ref(), Some(&expected));
        assert_eq!(disk_of(&disk.join("sda1")), Some(expected));
        assert_eq!(disk_of(&sys.path().join("sdb")), None);
    }

    #[test]
    fn the_file_system_of_the_sources_has_options_and_free_space() {
        let here = below(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(here.free_bytes.is_some_and(|bytes| bytes > 0));
        assert!(here.mount.all_options().split(',').any(|one| one == "rw"));
    }

    #[test]
    fn a_file_system_in_memory_has_no_disk_and_no_untorn_writes() {
        let shm = below(Path::new("/dev/shm")).ok();
        let Some(shm) = shm.filter(|shm| shm.mount.kind == "tmpfs") else {
            eprintln!("skipped: /dev/shm is no tmpfs");
            return;
        };
        assert_eq!(shm.disk, None);
        let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        assert_eq!(atomic_writes(file.path()), None);
    }
}

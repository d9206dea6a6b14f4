//! The storage below files, in words for the record: the file system with its mount options, the disk with its queue, and the limits of
//! dirty pages.
//!
//! Two disks whose facts differ are not the same disk. Boundaries: `storage` reads the kernel. What it does not show is left out.

use super::{Storage, device, disk, loops};
use crate::storage;
use record::names::LIES_ON;
use std::collections::BTreeMap;
use std::path::Path;

/// Names and values. Those of the disk below a loop device begin with `below the loop device: `.
pub fn below(folder: &Path) -> BTreeMap<String, String> {
    let Ok(storage) = storage::below(folder) else {
        return BTreeMap::new();
    };
    let mut facts = of(&storage);
    let lies_on = file_system(folder);
    facts.extend(lies_on.map(|lies_on| (LIES_ON.to_string(), lies_on)));
    facts.extend(dirty_limits(Path::new("/proc/sys/vm")));
    let image = storage
        .disk
        .as_ref()
        .and_then(|disk| loops::backing_file(&disk.name));
    if let Some(below) = image.and_then(|image| storage::below(&image).ok()) {
        let below = of(&below).into_iter();
        facts.extend(below.map(|(name, value)| (format!("below the loop device: {name}"), value)));
    }
    facts
}

/// Type and device of the file system of a folder: `ext4 on /dev/vda`, `xfs on a loop device over ext4 on /dev/vda`. None if it cannot be
/// found.
pub fn file_system(folder: &Path) -> Option<String> {
    let mount = device::below(folder).ok()?;
    let name = mount.source.strip_prefix("/dev/");
    let image = name.and_then(loops::backing_file);
    let Some(image) = image.filter(|_| name.is_some_and(|name| name.starts_with("loop"))) else {
        return Some(format!("{} on {}", mount.kind, mount.source));
    };
    let below = image.parent().and_then(file_system);
    let below = below.map_or(String::new(), |below| format!(" over {below}"));
    Some(format!("{} on a loop device{below}", mount.kind))
}

/// When the kernel begins to write dirty pages, and when it makes writers wait: until then, buffered writes run at memory speed.
/// Of a share (%) and a number of bytes, the one that is not in use is 0 and left out.
fn dirty_limits(folder: &Path) -> BTreeMap<String, String> {
    let limits = [
        "dirty_background_ratio",
        "dirty_background_bytes",
        "dirty_ratio",
        "dirty_bytes",
    ];
    let value = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let known = limits.iter().filter_map(|name| Some((name, value(name)?)));
    known
        .map(|(name, value)| (format!("vm.{name}"), value.trim().to_string()))
        .filter(|(_, value)| value != "0")
        .collect()
}

/// Rounds to two significant digits: the free space changes with every record.
fn rounded(bytes: u64) -> u64 {
    let step = 10u64.pow(bytes.max(1).ilog10().saturating_sub(1));
    bytes / step * step
}

fn of(storage: &Storage) -> BTreeMap<String, String> {
    let text = |value: &Option<u64>| value.map(|value| value.to_string());
    let disk = storage.disk.as_ref();
    let facts = [
        ("file system", Some(storage.mount.kind.clone())),
        ("mount options", Some(storage.mount.all_options())),
        (
            "free space",
            storage.free_bytes.map(|bytes| disk::shown(rounded(bytes))),
        ),
        ("device model", disk.and_then(|disk| disk.model.clone())),
        ("device kind", disk.map(|disk| disk.kind.text().to_string())),
        ("scheduler", disk.and_then(|disk| disk.scheduler.clone())),
        ("nr_requests", disk.and_then(|disk| text(&disk.requests))),
        (
            "write cache",
            disk.and_then(|disk| Some(disk.write_cache?.text().to_string())),
        ),
        (
            "logical block bytes",
            disk.and_then(|disk| text(&disk.logical_block_bytes)),
        ),
        // Only a vendor's tool can purge a device, and a file never can.
        (
            "state of the device",
            disk.map(|_| "not purged".to_string()),
        ),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_string(), value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Disk, DiskKind};

    #[test]
    fn what_the_kernel_does_not_show_is_left_out() {
        let mut storage = storage::below(Path::new("/")).unwrap();
        storage.free_bytes = Some(2_000_000_000);
        storage.disk = Some(Disk {
            name: "sda".into(),
            model: Some("ATA INTEL SSDSC2CW24".into()),
            kind: DiskKind::Solid,
            bytes: None,
            write_cache: None,
            scheduler: Some("none".into()),
            requests: Some(256),
            logical_block_bytes: None,
            physical_block_bytes: None,
        });
        let facts = of(&storage);
        let of = |name: &str| facts.get(name).map(String::as_str);
        assert_eq!(of("free space"), Some("2.0 GB"));
        assert_eq!(of("device model"), Some("ATA INTEL SSDSC2CW24"));
        assert_eq!(
            (of("scheduler"), of("nr_requests")),
            (Some("none"), Some("256"))
        );
        assert_eq!(of("state of the device"), Some("not purged"));
        assert_eq!((of("write cache"), of("logical block bytes")), (None, None));
    }

    #[test]
    fn of_each_limit_of_dirty_pages_the_one_in_use_is_recorded() {
        let sys = tempfile::tempdir().unwrap();
        for (file, value) in [
            ("dirty_background_ratio", "0\n"),
            ("dirty_background_bytes", "67108864\n"),
            ("dirty_ratio", "20\n"),
            ("dirty_bytes", "0\n"),
        ] {
            std::fs::write(sys.path().join(file), value).unwrap();
        }
        let of = |name: &str, value: &str| (name.to_string(), value.to_string());
        let in_use = [
            of("vm.dirty_background_bytes", "67108864"),
            of("vm.dirty_ratio", "20"),
        ];
        assert_eq!(dirty_limits(sys.path()), in_use.into());
        assert!(dirty_limits(&sys.path().join("absent")).is_empty());
    }

    #[test]
    fn free_space_has_two_digits() {
        assert_eq!(
            [71_234_567_890, 99, 5].map(rounded),
            [71_000_000_000, 99, 5]
        );
    }

    #[test]
    fn the_file_system_of_every_folder_is_named_with_its_options() {
        let facts = below(Path::new("/"));
        assert!(facts.contains_key("file system"), "{facts:?}");
        assert!(facts["mount options"].starts_with("rw"), "{facts:?}");
    }
}

//! Makes sure that nothing uses a block device before a file system is made on it.
//!
//! The kernel alone knows every use: an exclusive open fails while the device, or a part of it, is mounted, swapped to, or below another
//! device (mdadm, LVM, dm-crypt). What is mounted is named, since that is the common case. Boundaries: whether the user allows the
//! overwriting is decided by the caller.

use super::VolumeError;
use crate::storage::device;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// # Errors
/// It is not a block device, or something uses it or a part of it.
pub(super) fn check(device: &Path) -> Result<(), VolumeError> {
    why_not(device).map_or(Ok(()), |why| {
        Err(VolumeError::InUse {
            device: device.to_path_buf(),
            why,
        })
    })
}

/// Why it cannot be overwritten.
fn why_not(path: &Path) -> Option<String> {
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) => return Some(format!("{error}; name another device")),
    };
    if !about.file_type().is_block_device() {
        return Some("it is not a block device; name one, such as /dev/sdb".into());
    }
    let number = device_number(about.rdev());
    let mounts = match device::mounts() {
        Ok(mounts) => mounts,
        Err(error) => return Some(format!("the mounted file systems are unknown: {error}")),
    };
    let parts = with_parts(&number);
    let mounted = mounts.iter().find(|mount| parts.contains(&mount.number));
    if let Some(mount) = mounted {
        let point = mount.point.display();
        return Some(format!(
            "it, or a part of it, is mounted on {point}; unmount it if its content can be lost"
        ));
    }
    let opened = File::options()
        .read(true)
        .custom_flags(libc::O_EXCL)
        .open(path);
    match opened {
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Some(
            "it, or a part of it, is in use (swap, RAID, LVM or encryption); release it if its content can be lost".into(),
        ),
        Err(error) => Some(format!("{error}; name another device")),
    }
}

fn device_number(device: u64) -> String {
    format!("{}:{}", libc::major(device), libc::minor(device))
}

/// The device itself and its partitions.
fn with_parts(number: &str) -> Vec<String> {
    let own = Path::new("/sys/dev/block").join(number);
    let entries = fs::read_dir(&own).into_iter().flatten().flatten();
    let parts = entries.filter_map(|entry| {
        let folder = entry.path();
        let is_part = folder.join("partition").exists();
        is_part.then(|| fs::read_to_string(folder.join("dev")).ok())?
    });
    let parts = parts.map(|number| number.trim().to_string());
    std::iter::once(number.to_string()).chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "mine").unwrap();
        for path in [
            &file,
            Path::new("/dev/null"),
            Path::new("/dev/nothing-here"),
        ] {
            let says = check(path).unwrap_err().to_string();
            assert!(says.contains("name "), "{says}");
        }
        assert_eq!(fs::read_to_string(file).unwrap(), "mine");
    }

    #[test]
    fn the_disk_below_the_root_is_not_overwritten() {
        let root = device::below(Path::new("/")).unwrap();
        let source = Path::new(&root.source);
        if !source.exists() || !fs::metadata(source).unwrap().file_type().is_block_device() {
            eprintln!("skipped: the root lies on no block device");
            return;
        }
        let says = check(source).unwrap_err().to_string();
        assert!(says.contains("is mounted on /"), "{says}");
    }
}

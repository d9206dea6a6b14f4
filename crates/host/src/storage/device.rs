//! Finds the file system and the block device below a path, and reads the device's I/O counts.
//!
//! File systems without a single block device (network file systems, overlay, btrfs) have no counts.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of all block devices, by their numbers.
const DEVICES: &str = "/sys/dev/block";

/// A mounted file system: a line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub point: PathBuf,
    /// The file system type, such as `ext4`.
    pub kind: String,
    /// The device, such as `/dev/vda1`, or a name if there is no device (`tmpfs`).
    pub source: String,
    /// The device number, such as `254:1`.
    pub(crate) number: String,
    /// The options of this mount, such as `rw,relatime`.
    pub(crate) flags: String,
    /// The file system's own options, such as `rw,blkio`.
    pub(crate) options: String,
}

/// The mounted file system that contains a path.
pub fn below(path: &Path) -> Result<Mount, String> {
    let unknown = |error: std::io::Error| {
        format!("cannot find the file system of {}: {error}", path.display())
    };
    let path = path.canonicalize().map_err(unknown)?;
    choose(mounts().map_err(unknown)?, &path)
        .ok_or_else(|| format!("{} is on no mounted file system", path.display()))
}

/// All mounted file systems visible to this process.
pub(crate) fn mounts() -> std::io::Result<Vec<Mount>> {
    Ok(parsed(&fs::read_to_string("/proc/self/mountinfo")?))
}

fn parsed(table: &str) -> Vec<Mount> {
    table.lines().filter_map(Mount::parse).collect()
}

/// The mount with the longest matching mount point; of several on the same point the last one, which hides the others.
fn choose(mounts: Vec<Mount>, path: &Path) -> Option<Mount> {
    let above = mounts
        .into_iter()
        .filter(|mount| path.starts_with(&mount.point));
    above.max_by_key(|mount| mount.point.components().count())
}

impl Mount {
    /// Parses `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`, where a dash ends the optional fields.
    pub fn parse(line: &str) -> Option<Mount> {
        let (about, system) = line.split_once(" - ")?;
        let about: Vec<&str> = about.split(' ').collect();
        let mut system = system.split(' ');
        Some(Mount {
            point: PathBuf::from(unescape(about.get(4)?)),
            kind: system.next()?.to_string(),
            source: unescape(system.next()?),
            number: about.get(2)?.to_string(),
            flags: about.get(5)?.to_string(),
            options: system.next().unwrap_or_default().to_string(),
        })
    }

    /// Whether the file system has this option; in cgroup v1 the options include the controllers.
    pub(crate) fn has_option(&self, option: &str) -> bool {
        self.options.split(',').any(|one| one == option)
    }

    /// Its options and the file system's own, each once: `rw,noatime,discard`.
    pub fn all_options(&self) -> String {
        let mut all: Vec<&str> = self.flags.split(',').collect();
        for option in self.options.split(',') {
            if !option.is_empty() && !all.contains(&option) {
                all.push(option);
            }
        }
        all.join(",")
    }

    /// The number of the whole device, such as `254:0`; for a partition, that of its disk.
    pub(crate) fn whole_device(&self) -> Result<String, String> {
        self.whole_device_in(Path::new(DEVICES))
    }

    fn whole_device_in(&self, devices: &Path) -> Result<String, String> {
        self.has_device()?;
        let own = devices.join(&self.number);
        if !own.join("partition").exists() {
            return Ok(self.number.clone());
        }
        let file = own.join("../dev");
        let number = fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        Ok(number.trim().to_string())
    }

    /// Fails for major number 0, which means no single block device (overlay, tmpfs, NFS, btrfs).
    fn has_device(&self) -> Result<(), String> {
        if self.number.starts_with("0:") {
            Err(format!(
                "{} has no block device whose reads can be counted",
                self.kind
            ))
        } else {
            Ok(())
        }
    }

    /// Bytes read from the device since boot.
    pub fn read_bytes(&self) -> Result<u64, String> {
        Ok(self.counts()?.read_bytes)
    }

    /// Bytes that the device has read and written since boot, for all processes. None: no single device, or it does not count
    /// (`queue/iostats`).
    pub fn moved_bytes(&self) -> Option<u64> {
        let switch = format!("{DEVICES}/{}/queue/iostats", self.whole_device().ok()?);
        let is_counted = fs::read_to_string(switch).is_ok_and(|text| text.trim() == "1");
        let counts = self.counts().ok()?;
        let bytes = counts.read_bytes + counts.written_bytes;
        (is_counted && bytes > 0).then_some(bytes)
    }

    /// The device's I/O counts since boot, as in its line of `/proc/diskstats`. The flushes are those of the whole disk: the kernel does not
    /// count them for partitions (Documentation/admin-guide/iostats.rst, field 16).
    pub fn counts(&self) -> Result<DeviceCounts, String> {
        self.counts_in(Path::new(DEVICES))
    }

    fn counts_in(&self, devices: &Path) -> Result<DeviceCounts, String> {
        let disk = self.whole_device_in(devices)?;
        if is_switched_off(&devices.join(&disk)) {
            return Err(format!(
                "the disk of {} does not count its I/O (its queue/iostats is 0)",
                self.source
            ));
        }
        let own = counts_of(devices, &self.number)?;
        if disk == self.number {
            return Ok(own);
        }
        let DeviceCounts {
            flushes, flush_ms, ..
        } = counts_of(devices, &disk)?;
        Ok(DeviceCounts {
            flushes,
            flush_ms,
            ..own
        })
    }
}

/// Whether the counts of a disk stand still. Disks that are made of others (device mapper, RAID) may count whatever their switch says.
fn is_switched_off(disk: &Path) -> bool {
    let switch = fs::read_to_string(disk.join("queue/iostats"));
    let below = fs::read_dir(disk.join("slaves"));
    let is_stacked = below.is_ok_and(|mut below| below.next().is_some());
    switch.is_ok_and(|text| text.trim() == "0") && !is_stacked
}

fn counts_of(devices: &Path, number: &str) -> Result<DeviceCounts, String> {
    let file = devices.join(number).join("stat");
    let shown = file.display();
    let text =
        fs::read_to_string(&file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    DeviceCounts::parse(&text).ok_or_else(|| format!("{shown} has an unexpected format: {text}"))
}

/// The I/O counts of a block device since boot, and its queue now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCounts {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Time with at least one request in flight, in milliseconds.
    pub busy_ms: u64,
    /// Requests in flight now.
    pub in_flight: u64,
    /// Time that reads took, of all together, in milliseconds.
    pub read_ms: u64,
    /// Flushes of the device's cache and the time that they took; None before Linux 5.5.
    pub flushes: Option<u64>,
    pub flush_ms: Option<u64>,
}

impl DeviceCounts {
    /// Parses the format of Documentation/block/stat.rst: reads, merges, sectors, ms; the same for writes; in flight, ms busy,
    /// ms queued; the four of discards; flushes, ms. A sector is 512 bytes.
    fn parse(stat: &str) -> Option<DeviceCounts> {
        let fields: Vec<u64> = stat
            .split_whitespace()
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        let [
            reads,
            _,
            read_sectors,
            read_ms,
            writes,
            _,
            written_sectors,
            _,
            in_flight,
            busy_ms,
            ..,
        ] = fields[..]
        else {
            return None;
        };
        Some(DeviceCounts {
            reads,
            read_bytes: read_sectors.checked_mul(512)?,
            writes,
            written_bytes: written_sectors.checked_mul(512)?,
            busy_ms,
            in_flight,
            read_ms,
            flushes: fields.get(15).copied(),
            flush_ms: fields.get(16).copied(),
        })
    }
}

/// Decodes octal escapes, such as `\040` for a space.
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok())
        {
            Some(byte) => {
                text.push(char::from(byte));
                text.push_str(&part[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n\
                          30 22 0:25 / /tmp rw - tmpfs tmpfs rw\n\
                          31 22 8:16 / /data\\040disk rw master:3 propagate_from:2 - xfs /dev/sdb rw\n";

    #[test]
    fn the_longest_matching_mount_point_is_chosen() {
        let kind = |path: &str| choose(parsed(MOUNTS), Path::new(path)).unwrap().kind;
        assert_eq!(
            ["/var/x", "/tmp/y", "/tmpfile", "/data disk/z"].map(kind),
            ["ext4", "tmpfs", "ext4", "xfs"]
        );
    }

    #[test]
    fn the_options_of_a_mount_and_of_its_file_system_are_listed_once() {
        let line = "36 35 98:0 / /data rw,noatime shared:1 - ext4 /dev/sda rw,discard,nobarrier";
        let options = Mount::parse(line).unwrap().all_options();
        assert_eq!(options, "rw,noatime,discard,nobarrier");
    }

    #[test]
    fn the_error_for_a_file_system_without_a_device_names_its_type() {
        let message = choose(parsed(MOUNTS), Path::new("/tmp"))
            .unwrap()
            .read_bytes()
            .unwrap_err();
        assert_eq!(
            message,
            "tmpfs has no block device whose reads can be counted"
        );
        assert!(below(Path::new("/proc")).unwrap().read_bytes().is_err());
    }

    /// A disk with a partition, as the kernel lays them out, with its zeros for the flushes of a partition; and the mounted partition.
    fn partition() -> (tempfile::TempDir, Mount) {
        let sys = tempfile::tempdir().unwrap();
        let partition = sys.path().join("sda/sda1");
        fs::create_dir_all(&partition).unwrap();
        fs::write(partition.join("partition"), "1\n").unwrap();
        let of_partition = "1 0 8 1 2 0 16 1 0 1 1 0 0 0 0 0 0\n";
        fs::write(partition.join("stat"), of_partition).unwrap();
        fs::write(sys.path().join("sda/dev"), "8:0\n").unwrap();
        let of_disk = "9 0 72 9 9 0 72 9 0 9 9 0 0 0 0 886 22\n";
        fs::write(sys.path().join("sda/stat"), of_disk).unwrap();
        for (number, folder) in [("8:0", "sda"), ("8:1", "sda/sda1")] {
            std::os::unix::fs::symlink(folder, sys.path().join(number)).unwrap();
        }
        let mount = Mount::parse("36 35 8:1 / /data rw - ext4 /dev/sda1 rw").unwrap();
        (sys, mount)
    }

    #[test]
    fn the_flushes_below_a_partition_are_those_of_its_disk() {
        let (sys, mount) = partition();
        let counts = mount.counts_in(sys.path()).unwrap();
        assert_eq!((counts.reads, counts.writes), (1, 2));
        assert_eq!((counts.flushes, counts.flush_ms), (Some(886), Some(22)));
    }

    #[test]
    fn a_disk_whose_statistics_are_off_has_no_counts() {
        let (sys, mount) = partition();
        let disk = sys.path().join("sda");
        fs::create_dir(disk.join("queue")).unwrap();
        for (switch, counts) in [("1\n", true), ("0\n", false)] {
            fs::write(disk.join("queue/iostats"), switch).unwrap();
            assert_eq!(mount.counts_in(sys.path()).is_ok(), counts, "{switch}");
        }
        fs::create_dir_all(disk.join("slaves/sdb")).unwrap();
        assert!(mount.counts_in(sys.path()).is_ok(), "device mapper");
    }

    #[test]
    fn the_kernels_block_stat_format_is_parsed() {
        let text = "   30540     6004  2722738    22627    27074    83034 37238680   442349        3    14888   470522    10790       46  3211000     5523      886       22\n";
        let expected = DeviceCounts {
            reads: 30540,
            read_bytes: 2_722_738 * 512,
            writes: 27074,
            written_bytes: 37_238_680 * 512,
            busy_ms: 14888,
            in_flight: 3,
            read_ms: 22627,
            flushes: Some(886),
            flush_ms: Some(22),
        };
        assert_eq!(DeviceCounts::parse(text), Some(expected));
        assert_eq!(DeviceCounts::parse("1 2 3"), None);
    }
}

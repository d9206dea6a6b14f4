//! Tests of volumes with the real kernel: file systems on loop devices and on disks that forget.
//!
//! They require root, loop devices and FUSE.
//!
//! Tiers: default, all.

use crate::support::{can_cut, can_have, can_mount, skip, volatile};
use host::volume::{Filesystem, Replay, Survive, Volume, VolumeError, VolumeOptions, flushes};
use host::{Home, Lease, LeaseError, Leases};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BYTES: u64 = 512 << 20;
const HOME: &str = "PRONY_TEST_VOLUME_HOME";

fn prony() -> PathBuf {
    env!("CARGO_BIN_EXE_prony").into()
}

fn leases(home: &Path) -> Leases {
    Leases::open_with(&Home::at(home).unwrap(), Some(&prony())).unwrap()
}

fn is_in_mounts(folder: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.contains(folder.to_str().unwrap())
}

/// The files below the loop devices of the machine.
fn backing_files() -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap();
    let files = devices.map(|device| device.unwrap().path().join("loop/backing_file"));
    files.flat_map(fs::read_to_string).collect()
}

fn has_loop_device(folder: &Path) -> bool {
    let folder = folder.to_str().unwrap();
    backing_files().iter().any(|file| file.contains(folder))
}

fn write_synced(path: &Path, text: &str) {
    let mut file = File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.sync_all().unwrap();
}

fn within(limit: Duration, is_so: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// A home of the test's own with its leases, and a leased folder in it. They are released from the last to the first.
fn place() -> (tempfile::TempDir, Leases, Lease) {
    let home = tempfile::tempdir().unwrap();
    let leases = leases(home.path());
    let folder = leases.temporary("test").unwrap();
    (home, leases, folder)
}

/// A volatile volume in a leased folder, with one file from before.
fn made(options: VolumeOptions, folder: &Path, leases: &Leases) -> Volume {
    let fill = |root: &Path| fs::write(root.join("before"), "old").map_err(|e| e.to_string());
    Volume::make(options, BYTES, &folder.join("volume"), leases, fill).unwrap()
}

#[test]
fn an_unsynced_write_is_gone_after_the_cut_and_a_synced_one_is_there() {
    for filesystem in [Filesystem::Ext4, Filesystem::Xfs] {
        if !can_have(&volatile(filesystem)) {
            return;
        }
        let (_home, leases, folder) = place();
        let mut volume = made(volatile(filesystem), folder.path(), &leases);
        let data = volume.data();
        assert_eq!(fs::read_to_string(data.join("before")).unwrap(), "old");
        write_synced(&data.join("synced"), "kept");
        // The directory entry is flushed with it: the journal is one sequence.
        File::open(&data).unwrap().sync_all().unwrap();
        let is_lost = |seed: u64| {
            let unsynced = data.join(format!("unsynced-{seed}"));
            fs::write(&unsynced, "lost").unwrap();
            volume.freeze().unwrap();
            assert!(
                File::create(data.join("late"))
                    .and_then(|file| file.sync_all())
                    .is_err()
            );
            volume.cut(Survive::None, seed).unwrap();
            assert_eq!(fs::read_to_string(data.join("before")).unwrap(), "old");
            assert_eq!(fs::read_to_string(data.join("synced")).unwrap(), "kept");
            assert!(!data.join("late").exists());
            !unsynced.exists()
        };
        // Another prony may sync the whole machine before the cut. Not each time.
        assert!((1..=3).any(is_lost));
        // And it is an ordinary disk again.
        write_synced(&data.join("again"), "new");
        let stats = volume.stats().unwrap();
        assert!(stats.flushes > 0 && stats.writes > 0, "{stats:?}");
    }
}

#[test]
fn every_mode_leaves_a_file_system_that_mounts_with_what_was_synced() {
    if !can_cut() {
        return;
    }
    let (_home, leases, folder) = place();
    let mut volume = made(volatile(Filesystem::Ext4), folder.path(), &leases);
    for (seed, (name, mode)) in Survive::NAMED.into_iter().enumerate() {
        let data = volume.data();
        write_synced(&data.join(name), name);
        File::open(&data).unwrap().sync_all().unwrap();
        // Blocks that the kernel has written and nobody has flushed.
        let direct = fs::write(data.join("loose"), vec![7; 4 << 20]);
        direct.unwrap();
        volume.freeze().unwrap();
        let cut = volume.cut(mode, seed as u64);
        if mode == Survive::Torn && cut.as_ref().is_err_and(has_torn_superblock) {
            return;
        }
        cut.unwrap();
        assert_eq!(fs::read_to_string(volume.data().join(name)).unwrap(), name);
    }
}

/// The superblocks of ext4 and of its journal have two sectors and one checksum. If one is just being written, a disk may tear it, and
/// ext4 then refuses to mount it (EBADMSG).
fn has_torn_superblock(error: &VolumeError) -> bool {
    matches!(error, VolumeError::Lease(LeaseError::Mount { cause, .. }) if cause.raw_os_error() == Some(74))
}

/// A device is found by the file below it, of which the kernel no longer knows the whole path once the disk is unmounted.
#[test]
fn a_disk_that_cannot_be_mounted_after_the_cut_leaves_no_loop_device() {
    if !can_cut() {
        return;
    }
    let (_home, leases, folder) = place();
    let mut volume = made(volatile(Filesystem::Ext4), folder.path(), &leases);
    volume.freeze().unwrap();
    let image = folder.path().join("volume/image");
    let image = File::options().write(true).open(image).unwrap();
    image.write_all_at(&[0; 1 << 16], 0).unwrap();
    let says = volume.cut(Survive::None, 1).unwrap_err().to_string();
    assert!(says.contains("cannot mount ext4"), "{says}");
    assert!(!is_in_mounts(folder.path()) && !has_loop_device(folder.path()));
    assert!(!backing_files().iter().any(|file| file.trim() == "/disk"));
}

#[test]
fn a_lying_disk_loses_what_was_synced() {
    let mut options = volatile(Filesystem::Ext4);
    options.volatile.as_mut().unwrap().lies = true;
    if !can_have(&options) {
        return;
    }
    let (_home, leases, folder) = place();
    let mut volume = made(options, folder.path(), &leases);
    write_synced(&volume.data().join("synced"), "lost");
    volume.freeze().unwrap();
    volume.cut(Survive::None, 1).unwrap();
    assert!(!volume.data().join("synced").exists());
    assert!(volume.data().join("before").exists());
}

#[test]
fn a_recording_shows_the_disk_at_each_flush() {
    let (_home, leases, folder) = place();
    let recording = folder.path().join("trace");
    let mut options = volatile(Filesystem::Ext4);
    options.volatile.as_mut().unwrap().recording = Some(recording.clone());
    if !can_have(&options) {
        return;
    }
    let volume = made(options, folder.path(), &leases);
    for n in 0..3 {
        write_synced(&volume.data().join(format!("file-{n}")), "synced");
    }
    let image = volume.recorded_from().unwrap();
    drop(volume);
    let points = flushes(&recording).unwrap().len();
    assert!(points >= 3, "{points}");
    let mut replay = Replay::open(&recording, &image).unwrap();
    let mut seen = Vec::new();
    for point in 0..=points {
        replay.advance_to(point).unwrap();
        let copy = folder.path().join(format!("image-{point}"));
        host::clone::sparse(&image, &copy).unwrap();
        let place = folder.path().join(format!("mounted-{point}"));
        let volume = Volume::of_image(Filesystem::Ext4, &copy, &place, &leases).unwrap();
        let files = fs::read_dir(volume.data()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        seen.push(names.filter(|name| name.starts_with("file-")).count());
    }
    assert_eq!((seen[0], seen[points]), (0, 3));
    assert!(seen.is_sorted(), "{seen:?}");
}

#[test]
fn a_dead_daemon_fails_requests_and_blocks_nothing() {
    if !can_cut() {
        return;
    }
    let (_home, leases, folder) = place();
    let mut volume = made(volatile(Filesystem::Ext4), folder.path(), &leases);
    let point = volume.data();
    assert_eq!(volume.broken(), None);
    let mut file = File::create(point.join("file")).unwrap();
    file.write_all(&[1; 1 << 16]).unwrap();
    let daemon = volume.daemon_pid().unwrap();
    Command::new("kill")
        .args(["-9", &daemon.to_string()])
        .status()
        .unwrap();
    assert!(within(Duration::from_secs(600), || file
        .sync_all()
        .is_err()));
    drop(file);
    let says = volume.freeze().unwrap_err().to_string();
    assert!(
        says.contains("the process of the volatile disk ended, signal: 9"),
        "{says}"
    );
    assert!(volume.broken().unwrap().contains("signal: 9"));
    drop(volume);
    assert!(!is_in_mounts(folder.path()) && !has_loop_device(folder.path()));
}

#[test]
fn a_plain_volume_has_no_power_to_cut() {
    if !can_mount() {
        return;
    }
    let (_home, leases, folder) = place();
    let mut volume = made(VolumeOptions::default(), folder.path(), &leases);
    assert!(matches!(volume.freeze(), Err(VolumeError::NotVolatile)));
    write_synced(&volume.data().join("file"), "text");
    drop(volume);
    assert!(!is_in_mounts(folder.path()) && !has_loop_device(folder.path()));
}

/// The name of the next test.
const WRITES: &str = "volume::a_volume_in_use_is_unmounted_when_its_writer_ends";

/// Where another test starts it in a process of its own, it writes until that process is killed.
#[test]
fn a_volume_in_use_is_unmounted_when_its_writer_ends() {
    if !can_cut() {
        return;
    }
    let own = tempfile::tempdir().unwrap();
    let is_killed_in = std::env::var_os(HOME).map(PathBuf::from);
    let leases = leases(is_killed_in.as_deref().unwrap_or(own.path()));
    let folder = leases.temporary("test").unwrap();
    let volume = made(volatile(Filesystem::Ext4), folder.path(), &leases);
    let mut writer = leases.command("sh");
    let script = "while :; do dd if=/dev/zero of=file bs=64k count=16 conv=fsync 2>/dev/null; done";
    let mut writer = writer
        .args(["-c", script])
        .current_dir(volume.data())
        .spawn()
        .unwrap();
    println!("\nholds {}", folder.path().display());
    if is_killed_in.is_none() {
        std::thread::sleep(Duration::from_millis(300));
        writer.kill().unwrap();
    }
    writer.wait().unwrap();
    drop(volume);
    assert!(!is_in_mounts(folder.path()) && !has_loop_device(folder.path()));
}

#[test]
fn a_killed_prony_leaves_nothing_mounted() {
    if !can_cut() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", WRITES, "--nocapture"])
        .env(HOME, home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("holds ")).unwrap();
    let folder = PathBuf::from(&line["holds ".len()..]);
    assert!(is_in_mounts(&folder) && has_loop_device(&folder));
    std::thread::sleep(Duration::from_millis(300));
    process.kill().unwrap();
    process.wait().unwrap();
    let is_clean = || !folder.exists() && !is_in_mounts(&folder) && !has_loop_device(&folder);
    assert!(within(Duration::from_secs(600), is_clean));
}

fn empty(_: &Path) -> Result<(), String> {
    Ok(())
}

/// The options in the kernel's table of the file system that is mounted there.
fn options_in_force(point: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let at = point.to_str().unwrap();
    let line = mounts.lines().find(|line| line.contains(at)).unwrap();
    line.split(' ').nth(3).unwrap().to_string()
}

#[test]
fn mount_options_are_in_force_and_an_unknown_one_is_refused_by_name() {
    let options = |mount_options: &str| VolumeOptions {
        mount_options: mount_options.into(),
        ..VolumeOptions::default()
    };
    if !can_have(&options("")) {
        return;
    }
    let (_home, leases, folder) = place();
    let at = |name: &str| folder.path().join(name);
    let volume = Volume::make(
        options("nodiscard,noatime,data=writeback"),
        BYTES,
        &at("a"),
        &leases,
        empty,
    );
    let in_force = options_in_force(&volume.unwrap().data());
    for option in ["noatime", "data=writeback"] {
        assert!(in_force.split(',').any(|one| one == option), "{in_force}");
    }
    let refused = Volume::make(options("no_such_option"), BYTES, &at("b"), &leases, empty);
    let says = refused.err().unwrap().to_string();
    assert!(
        says.contains("mount_options = \"no_such_option\""),
        "{says}"
    );
    assert!(!has_loop_device(&at("b")), "its loop device is free again");
}

#[test]
#[cfg(tier_all)]
fn an_image_that_is_written_first_has_all_its_blocks() {
    use std::os::unix::fs::MetadataExt;
    for filesystem in [Filesystem::Ext4, Filesystem::Xfs] {
        let options = VolumeOptions {
            filesystem,
            is_written: true,
            ..VolumeOptions::default()
        };
        if !can_have(&options) {
            return;
        }
        let (_home, leases, folder) = place();
        let _volume =
            Volume::make(options, BYTES, &folder.path().join("v"), &leases, empty).unwrap();
        let image = fs::metadata(folder.path().join("v/image")).unwrap();
        assert!(
            image.blocks() * 512 >= BYTES,
            "{filesystem:?}: {}",
            image.blocks()
        );
    }
}

/// A loop device of its own, detached at the end of the test.
struct Device(PathBuf);

impl Device {
    /// None, with a message, without losetup.
    fn over(image: &Path) -> Option<Device> {
        File::create(image).unwrap().set_len(BYTES).unwrap();
        let made = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(image)
            .output();
        match made {
            Ok(made) if made.status.success() => {
                let path = String::from_utf8(made.stdout).unwrap();
                Some(Device(path.trim().into()))
            }
            other => {
                skip::skipped(&format!("losetup: {other:?}"));
                None
            }
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

#[test]
fn a_block_device_is_overwritten_unless_it_is_mounted() {
    if !can_mount() {
        return;
    }
    let (home, leases, folder) = place();
    let Some(device) = Device::over(&home.path().join("disk")) else {
        return;
    };
    let options = VolumeOptions {
        filesystem: Filesystem::Ext4,
        device: Some(device.0.clone()),
        ..VolumeOptions::default()
    };
    let first = Volume::make(options.clone(), 0, &folder.path().join("a"), &leases, empty).unwrap();
    write_synced(&first.data().join("mine"), "kept");
    let second = Volume::make(options.clone(), 0, &folder.path().join("b"), &leases, empty);
    let says = second.err().unwrap().to_string();
    assert!(says.contains("is mounted on"), "{says}");
    assert_eq!(
        fs::read_to_string(first.data().join("mine")).unwrap(),
        "kept"
    );
    drop(first);
    assert!(!is_in_mounts(folder.path()));
    host::volume::check(&options).unwrap();
}

//! Disks that fail: a full file system, a device that ends, a device with large blocks. They need root.
//!
//! Each is mounted in a mount namespace of the test's thread, which takes its mounts along when it ends.

use super::*;
use rustix::fs::{Mode, OFlags};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::process::Command;

/// Runs a test in a mount namespace of its own, or skips it.
fn as_root(test: impl FnOnce() + Send + 'static) {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: mounting needs root");
        return;
    }
    let ran = std::thread::spawn(|| {
        // SAFETY: only the mounts and the current folder are unshared, and no other thread relies on this one's.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.unwrap();
        run("mount", &["--make-rprivate", "/"]);
        test();
    });
    ran.join().unwrap();
}

fn run(program: &str, arguments: &[&str]) -> String {
    let ended = Command::new(program).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{program} {arguments:?}: {error}");
    String::from_utf8(ended.stdout).unwrap().trim().to_string()
}

/// A loop device on a file of so many bytes.
struct Device {
    name: String,
    backing: tempfile::NamedTempFile,
}

impl Device {
    fn new(bytes: u64, sector_bytes: u32) -> Device {
        let backing = tempfile::NamedTempFile::new().unwrap();
        backing.as_file().set_len(bytes).unwrap();
        let sectors = sector_bytes.to_string();
        let path = backing.path().to_str().unwrap();
        let name = run("losetup", &["-f", "--show", "-b", &sectors, path]);
        Device { name, backing }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // A device in use is detached when its last user closes it.
        let _ = Command::new("losetup").args(["-d", &self.name]).status();
    }
}

#[test]
fn a_disk_that_fills_fails_the_writes_with_their_place_and_the_cause() {
    as_root(|| {
        for engine in engines() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().to_str().unwrap();
            run("mount", &["-t", "tmpfs", "-o", "size=256k", "tmpfs", path]);
            // A file with holes, as on a disk that promises more than it has.
            let file = folder.path().join("file-0");
            fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
            if rustix::fs::open(&file, OFlags::DIRECT, Mode::empty()).is_err() {
                eprintln!("skipped: tmpfs has no direct I/O before Linux 6.6");
                return;
            }
            let workload = workload(&format!("{engine}pattern = \"sequential-write\""));
            let (driven, note) = drive_in(&folder, workload.as_ref(), 4 * TIME);
            assert!(driven.tallies[0].done() > 0, "{engine}");
            assert!(driven.tallies[0][Ending::Failed] > 0, "{engine}");
            let violation = &note.unwrap().violations[0];
            let says = "the first write that failed, of 4096 bytes at offset ";
            assert!(violation.starts_with(says), "{engine}: {violation}");
            let says = "file-0: No space left on device (os error 28)";
            assert!(violation.ends_with(says), "{engine}: {violation}");
            run("umount", &["-l", path]);
        }
    });
}

#[test]
fn an_error_of_the_device_fails_its_operations_with_their_place_and_the_others_go_on() {
    as_root(|| {
        for engine in engines() {
            let device = Device::new(1 << 20, 512);
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("file-0");
            fs::write(&file, "").unwrap();
            run("mount", &["--bind", &device.name, file.to_str().unwrap()]);
            device.backing.as_file().set_len(512 << 10).unwrap();
            let workload = workload(&format!("{engine}pattern = \"random-read\""));
            let (driven, note) = drive_in(&folder, workload.as_ref(), 4 * TIME);
            assert!(driven.tallies[0].done() > 0, "{engine}");
            assert!(driven.tallies[0][Ending::Failed] > 0, "{engine}");
            let violation = &note.unwrap().violations[0];
            let says = "file-0: Input/output error (os error 5)";
            assert!(violation.ends_with(says), "{engine}: {violation}");
            let offset = violation.split("at offset ").nth(1).unwrap();
            let offset = offset.split(',').next().unwrap();
            let offset: u64 = offset.parse().unwrap();
            assert!(offset >= 512 << 10, "{engine}: {violation}");
            run("umount", &["-l", file.to_str().unwrap()]);
        }
    });
}

#[test]
fn operations_smaller_than_the_blocks_of_direct_io_are_refused_before_the_files_are_written() {
    as_root(|| {
        let device = Device::new(64 << 20, 4_096);
        run("mkfs.ext4", &["-q", &device.name]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        run("mount", &[&device.name, path]);
        let inside = folder.path().join("files");
        fs::create_dir(&inside).unwrap();
        let text = "io_size = \"512\"\nsize = \"1M\"";
        let workload: Arc<dyn Workload> = spec::read_text(text, read).unwrap();
        let error = make(workload.files().unwrap(), &inside).unwrap_err();
        let says = "needs operations in multiples of 4096 bytes; write io_size = \"4K\", or direct = false";
        assert!(error.ends_with(says), "{error}");
        assert_eq!(fs::metadata(inside.join("file-0")).unwrap().len(), 0);
        run("umount", &["-l", path]);
    });
}

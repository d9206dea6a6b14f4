//! Loop devices: a file as a block device (loop(4)).
//!
//! A device is known by the file below it, which is in the journal before there is a device: its number may belong to
//! another program a moment later.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

// include/uapi/linux/loop.h
const LOOP_CLR_FD: libc::c_ulong = 0x4C01;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// What a new device's control file is called.
pub(crate) const CONTROL: &str = "/dev/loop-control";

/// What databases that use O_DIRECT on their log expect of a disk, in bytes.
const LOGICAL_BLOCK_BYTES: u32 = 512;

/// How long a detached device may stay in use: udev looks at new devices.
const DETACHED_WITHIN: Duration = Duration::from_secs(10);

/// How often the race for a free device may be lost.
const ATTEMPTS: usize = 64;

/// `struct loop_info64`.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// Attaches a file to a free device, with direct I/O where the kernel has it ([`is_buffered`]). Returns the device.
pub(crate) fn attach(file: &Path) -> io::Result<PathBuf> {
    let below = File::options().read(true).write(true).open(file)?;
    let control = File::options().read(true).write(true).open(CONTROL)?;
    for _ in 0..ATTEMPTS {
        // SAFETY: a request without an argument.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let device = File::options().read(true).write(true).open(&path)?;
        match configure(&device, &below) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            done => return done.map(|()| path),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

fn configure(device: &File, below: &File) -> io::Result<()> {
    // SAFETY: integers and arrays of integers, for which zero is a value.
    let mut config: Config = unsafe { std::mem::zeroed() };
    config.fd = below.as_raw_fd() as u32;
    config.block_size = LOGICAL_BLOCK_BYTES;
    config.info.flags = LO_FLAGS_DIRECT_IO;
    // SAFETY: the structure that the request reads, alive until it returns.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &raw const config) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The devices over this file.
pub(crate) fn devices_over(file: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/sys/block")? {
        let name = entry?.file_name();
        if backing_file(&name).is_some_and(|below| below == file) {
            found.push(Path::new("/dev").join(name));
        }
    }
    Ok(found)
}

/// The file of a loop device, by the device's name (`loop0`). None for other and for detached devices.
pub(crate) fn backing_file(name: impl AsRef<Path>) -> Option<PathBuf> {
    let file = Path::new("/sys/block").join(name).join("loop/backing_file");
    let below = fs::read(file).ok()?;
    let below = below.strip_suffix(b"\n").unwrap_or(&below);
    // The kernel marks removed files.
    let below = below.strip_suffix(b" (deleted)").unwrap_or(below);
    Some(OsStr::from_bytes(below).into())
}

/// Whether the device reads and writes its file through the page cache. The kernel does so in silence where direct I/O to the file needs
/// larger blocks than [`LOGICAL_BLOCK_BYTES`], or its file system has none (drivers/block/loop.c, `lo_can_use_dio`).
pub(crate) fn is_buffered(device: &Path) -> bool {
    is_buffered_in(Path::new("/sys/block"), device)
}

fn is_buffered_in(devices: &Path, device: &Path) -> bool {
    let name = device.file_name().unwrap_or_default();
    let is_direct = fs::read_to_string(devices.join(name).join("loop/dio"));
    is_direct.is_ok_and(|text| text.trim() == "0")
}

/// Detaches every device from the file, and waits until that is done. Does nothing without a device.
pub(crate) fn detach(file: &Path) -> io::Result<()> {
    let began = Instant::now();
    loop {
        let devices = devices_over(file)?;
        if devices.is_empty() {
            return Ok(());
        }
        if began.elapsed() > DETACHED_WITHIN {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        devices.iter().try_for_each(|device| clear(device))?;
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Detaches a device now, or at its last close if it is in use.
fn clear(device: &Path) -> io::Result<()> {
    let device = File::options().read(true).open(device)?;
    // SAFETY: a request without an argument.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CLR_FD as _) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            // Detached meanwhile.
            error if error.raw_os_error() == Some(libc::ENXIO) => Ok(()),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_kernels_sizes() {
        assert_eq!((size_of::<Info>(), size_of::<Config>()), (232, 304));
    }

    #[test]
    fn a_device_whose_direct_io_the_kernel_gave_up_is_buffered() {
        let sys = tempfile::tempdir().unwrap();
        let is_buffered = || is_buffered_in(sys.path(), Path::new("/dev/loop7"));
        assert!(!is_buffered(), "the kernel does not say");
        let folder = sys.path().join("loop7/loop");
        fs::create_dir_all(&folder).unwrap();
        for (text, expected) in [("1\n", false), ("0\n", true)] {
            fs::write(folder.join("dio"), text).unwrap();
            assert_eq!(is_buffered(), expected, "{text}");
        }
    }

    #[test]
    fn a_file_without_a_device_is_detached_already() {
        let folder = tempfile::tempdir().unwrap();
        detach(&folder.path().join("nothing")).unwrap();
    }
}

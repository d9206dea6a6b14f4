//! A separate file system for a data directory: on a loop device over an image, on a block device of the user, or on a disk that forgets.
//!
//! ```text
//! ext4 or xfs -> /dev/loopN -> image                                            (loop)
//! ext4 or xfs -> block device                                                   (device)
//! ext4 or xfs -> /dev/loopN -> FUSE file "disk" -> `prony disk` -> image        (volatile)
//! ```
//!
//! The volatile disk keeps writes in memory until the file system flushes them, as the cache of a real disk does. A power cut
//! leaves the image with what was flushed and with what the mode and seed let survive. Every layer is a lease.
//! No kernel module and no libfuse. Boundaries: it knows nothing of servers; the caller stops them before a cut.

mod cache;
mod daemon;
mod fuse;
mod image;
mod survive;
mod trace;
mod unused;

pub use daemon::{DiskOptions, DiskStats, VERB, serve};
pub use survive::Survive;
pub use trace::{Replay, flushes};

use crate::leases::kind::LeaseKind;
use crate::process::attached;
use crate::storage::{clone, device, loops};
use crate::{Lease, LeaseError, Leases};
use daemon::Daemon;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// What a volume is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeOptions {
    pub filesystem: Filesystem,
    /// Options as for mount(8), separated by commas, in addition to those that every volume has.
    pub mount_options: String,
    /// None: a loop device over an image.
    pub device: Option<PathBuf>,
    /// None: a plain disk. Not with a device.
    pub volatile: Option<DiskOptions>,
    /// Whether every byte of the image is written first. Otherwise it is sparse, and the first write to each of its blocks also allocates
    /// space in the file system below.
    pub is_written: bool,
}

/// The file system of a volume, with its defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filesystem {
    #[default]
    Ext4,
    Xfs,
}

impl Filesystem {
    /// Its name, as the kernel and mkfs write it.
    pub fn name(self) -> &'static str {
        match self {
            Filesystem::Ext4 => "ext4",
            Filesystem::Xfs => "xfs",
        }
    }

    /// The package with its mkfs.
    fn package(self) -> &'static str {
        match self {
            Filesystem::Ext4 => "e2fsprogs",
            Filesystem::Xfs => "xfsprogs",
        }
    }

    fn mkfs_arguments(self, keeps_blocks: bool) -> &'static [&'static str] {
        match (self, keeps_blocks) {
            (Filesystem::Ext4, false) => &["-q", "-F", "-m", "0"],
            (Filesystem::Ext4, true) => &["-q", "-F", "-m", "0", "-E", "nodiscard"],
            (Filesystem::Xfs, false) => &["-q", "-f"],
            (Filesystem::Xfs, true) => &["-q", "-f", "-K"],
        }
    }

    fn mount_options(self) -> &'static str {
        match self {
            // No thread that initialises tables during the measurement.
            Filesystem::Ext4 => "noinit_itable",
            // The disk after a cut has the same UUID as the one before.
            Filesystem::Xfs => "nouuid",
        }
    }

    /// The smallest volume, in bytes: xfs refuses less than 300 MB, and ext4 gets a small journal.
    fn bytes_min(self) -> u64 {
        512 << 20
    }
}

/// Why a volume cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    #[error(
        "a volume requires root, since it mounts a file system; run prony as root, or remove \"volume\" and \"redo_volume\" from [host]: without them a \"kill\" event is possible, which says nothing about fsync"
    )]
    NoRoot,
    #[error("a volume requires {path}, which is missing; {hint}")]
    NoDevice {
        path: &'static str,
        hint: &'static str,
    },
    #[error(
        "mkfs.{filesystem} is not installed; install it (apt-get install {package}), or choose another filesystem"
    )]
    NoMkfs {
        filesystem: &'static str,
        package: &'static str,
    },
    #[error(
        "the program prony was not found in the folder of this one, so the volatile disk has no process"
    )]
    NoProgram,
    #[error("mkfs.{filesystem} {image} failed: {says}")]
    Mkfs {
        filesystem: &'static str,
        image: PathBuf,
        says: String,
    },
    #[error("cannot {what} {path}: {cause}")]
    Failed {
        what: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    #[error(
        "cannot mount {filesystem} with mount_options = \"{options}\": {cause}; see the kernel's log for the option that it refuses, and remove it"
    )]
    Mounted {
        filesystem: &'static str,
        options: String,
        cause: LeaseError,
    },
    #[error("{device} cannot be overwritten: {why}")]
    InUse { device: PathBuf, why: String },
    #[error(
        "{image} lies on a disk with logical blocks of more than 512 bytes, or on a file system without direct I/O: the kernel would keep the volume in the page cache, and reads would not reach the disk; put it on another disk (PRONY_HOME, or directory in [host]), or write kind = \"device\""
    )]
    Buffered { image: PathBuf },
    #[error("the volume cannot be filled: {0}")]
    NotFilled(String),
    #[error("{path} is still in use after the power cut, so the disk cannot be attached again")]
    StillInUse { path: PathBuf },
    #[error("this volume is not volatile, so its power cannot be cut; write kind = \"volatile\"")]
    NotVolatile,
    #[error("the volatile disk does not answer: {0}")]
    Daemon(io::Error),
    #[error(transparent)]
    Lease(#[from] LeaseError),
}

fn failed<'p>(
    what: &'static str,
    path: &'p Path,
) -> impl FnOnce(io::Error) -> VolumeError + use<'p> {
    move |cause| VolumeError::Failed {
        what,
        path: path.to_path_buf(),
        cause,
    }
}

/// Checks that this machine can have such a volume, before anything is made.
///
/// # Errors
/// Root, a device or a program is missing.
pub fn check(options: &VolumeOptions) -> Result<(), VolumeError> {
    if !rustix::process::geteuid().is_root() {
        return Err(VolumeError::NoRoot);
    }
    let exists = |path: &'static str, hint: &'static str| {
        if Path::new(path).exists() {
            Ok(())
        } else {
            Err(VolumeError::NoDevice { path, hint })
        }
    };
    match &options.device {
        Some(device) => unused::check(device)?,
        None => exists(
            loops::CONTROL,
            "load the kernel module \"loop\", or give the container access to it",
        )?,
    }
    if options.volatile.is_some() {
        exists(
            fuse::DEVICE,
            "load the kernel module \"fuse\", give the container access to it, or use \"kill\" events, which say nothing about fsync",
        )?;
    }
    let filesystem = options.filesystem;
    match mkfs(filesystem) {
        Some(_) => Ok(()),
        None => Err(VolumeError::NoMkfs {
            filesystem: filesystem.name(),
            package: filesystem.package(),
        }),
    }
}

/// The program that makes the file system. The folders of administration are often not in the path of a service.
fn mkfs(filesystem: Filesystem) -> Option<PathBuf> {
    let name = format!("mkfs.{}", filesystem.name());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
}

/// The image with which the recording of the volume in this folder began.
pub fn recorded_from(folder: &Path) -> PathBuf {
    folder.join("recorded-from.img")
}

/// A mounted volume. Dropping it unmounts and detaches it; the image stays in its folder.
pub struct Volume {
    /// None between two mounts, and if mounting failed.
    layers: Option<Layers>,
    options: VolumeOptions,
    folder: PathBuf,
    leases: Leases,
}

/// What a volume holds, in the order of its teardown.
struct Layers {
    _mount: Lease,
    below: Below,
}

/// What holds the device of a file system, in the order of its teardown: once the disk is unmounted, its loop device is no longer found.
#[derive(Default)]
struct Below {
    /// None: a block device.
    _loop: Option<Lease>,
    disk: Option<ServedDisk>,
}

struct ServedDisk {
    daemon: Daemon,
    _mount: Lease,
}

/// Nothing is written back to a disk that is thrown away, and nothing waits for it.
impl Drop for Layers {
    fn drop(&mut self) {
        if let Some(disk) = &mut self.below.disk {
            let _ = disk.daemon.freeze();
        }
    }
}

impl Volume {
    /// Makes a volume of `bytes` (at least 512 MiB; a device has its own size) in a leased folder that does not exist yet, lets `fill`
    /// write to its root, and mounts it. A device is overwritten.
    ///
    /// # Errors
    /// The machine cannot have it, or `fill` fails.
    pub fn make(
        options: VolumeOptions,
        bytes: u64,
        folder: &Path,
        leases: &Leases,
        fill: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<Volume, VolumeError> {
        let mut volume = Volume::unmounted(options, folder, leases)?;
        for point in [volume.data(), volume.disk_point()] {
            fs::create_dir(&point).map_err(failed("make", &point))?;
        }
        volume.layers = Some(match &volume.options.device {
            Some(device) => {
                volume.make_filesystem(device, false)?;
                volume.mounted(device, Below::default())?
            }
            None => {
                volume.make_image(bytes)?;
                let layers = volume.on(&volume.image(), None)?;
                volume.reaches_the_disk()?;
                layers
            }
        });
        fill(&volume.data()).map_err(VolumeError::NotFilled)?;
        volume.turn_volatile()?;
        Ok(volume)
    }

    /// Mounts the volume of an image that was made before, such as a replayed one. The image stays where it is and changes.
    ///
    /// # Errors
    /// As for [`Volume::make`]; also if the file system cannot replay its journal.
    pub fn of_image(
        filesystem: Filesystem,
        image: &Path,
        folder: &Path,
        leases: &Leases,
    ) -> Result<Volume, VolumeError> {
        let options = VolumeOptions {
            filesystem,
            ..VolumeOptions::default()
        };
        let mut volume = Volume::unmounted(options, folder, leases)?;
        let image = fs::canonicalize(image).map_err(failed("find", image))?;
        fs::create_dir(volume.data()).map_err(failed("make", &volume.data()))?;
        volume.layers = Some(volume.on(&image, None)?);
        Ok(volume)
    }

    fn unmounted(
        options: VolumeOptions,
        folder: &Path,
        leases: &Leases,
    ) -> Result<Volume, VolumeError> {
        check(&options)?;
        fs::create_dir_all(folder).map_err(failed("make", folder))?;
        Ok(Volume {
            layers: None,
            options,
            // The kernel's tables of mounts and loop devices have real paths.
            folder: fs::canonicalize(folder).map_err(failed("find", folder))?,
            leases: leases.clone(),
        })
    }

    /// The root of the mounted file system.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The image as it was when the recording began, if the volume is recorded.
    pub fn recorded_from(&self) -> Option<PathBuf> {
        let volatile = self.options.volatile.as_ref()?;
        volatile.recording.as_ref()?;
        Some(recorded_from(&self.folder))
    }

    /// The process id of a volatile disk's daemon.
    pub fn daemon_pid(&self) -> Option<u32> {
        let disk = self.layers.as_ref()?.below.disk.as_ref()?;
        Some(disk.daemon.pid())
    }

    /// What the volatile disk has done since it was attached.
    ///
    /// # Errors
    /// The volume is not volatile, or its daemon is dead.
    pub fn stats(&mut self) -> Result<DiskStats, VolumeError> {
        self.daemon()?.count().map_err(VolumeError::Daemon)
    }

    /// How the volatile disk's daemon ended; None while it runs.
    pub fn broken(&mut self) -> Option<String> {
        self.daemon().ok()?.end()
    }

    /// Takes the power away: from now on every request fails with EIO. The caller has stopped everything that writes, and kills it
    /// afterwards.
    ///
    /// # Errors
    /// The volume is not volatile, or its daemon is dead.
    pub fn freeze(&mut self) -> Result<DiskStats, VolumeError> {
        self.daemon()?.freeze().map_err(VolumeError::Daemon)
    }

    /// Brings the power back after [`Volume::freeze`]: chooses what survives, detaches everything, serves the image anew and mounts it,
    /// whereby the file system replays its journal. No process uses the volume any more. A recording ends here.
    ///
    /// # Errors
    /// Something still uses the volume, its daemon is dead, or the file system cannot be mounted.
    pub fn cut(&mut self, survive: Survive, seed: u64) -> Result<DiskStats, VolumeError> {
        let daemon = self.daemon()?;
        let stats = daemon.cut(survive, seed).map_err(VolumeError::Daemon)?;
        self.detach()?;
        if let Some(volatile) = &mut self.options.volatile {
            volatile.recording = None;
        }
        self.layers = Some(self.volatile()?);
        Ok(stats)
    }

    fn daemon(&mut self) -> Result<&mut Daemon, VolumeError> {
        let layers = self.layers.as_mut();
        let disk = layers.and_then(|layers| layers.below.disk.as_mut());
        disk.map(|disk| &mut disk.daemon)
            .ok_or(VolumeError::NotVolatile)
    }

    fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    /// The mount point of the FUSE file system of a volatile disk.
    fn disk_point(&self) -> PathBuf {
        self.folder.join("fuse")
    }

    fn make_image(&self, bytes: u64) -> Result<(), VolumeError> {
        let image = self.image();
        let bytes = bytes.max(self.options.filesystem.bytes_min());
        let bytes = bytes.next_multiple_of(1 << 20);
        let is_written = self.options.is_written;
        let made = File::create_new(&image).and_then(|file| {
            if is_written {
                image::write(&file, bytes)
            } else {
                file.set_len(bytes)
            }
        });
        made.map_err(failed("make", &image))?;
        self.make_filesystem(&image, is_written)
    }

    /// Makes a file system on an image or a device. With `keeps_blocks`, nothing of it is discarded.
    fn make_filesystem(&self, image: &Path, keeps_blocks: bool) -> Result<(), VolumeError> {
        let filesystem = self.options.filesystem;
        let program = mkfs(filesystem).unwrap_or_default();
        let made = self
            .leases
            .command(&program)
            .args(filesystem.mkfs_arguments(keeps_blocks))
            .arg(image)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .map_err(failed("start", &program))?;
        if made.status.success() {
            Ok(())
        } else {
            Err(VolumeError::Mkfs {
                filesystem: filesystem.name(),
                image: image.to_path_buf(),
                says: String::from_utf8_lossy(&made.stderr).trim().to_string(),
            })
        }
    }

    /// Checks that the page cache does not stand in for the disk below a plain volume. Nobody compares the speed of a volatile one.
    fn reaches_the_disk(&self) -> Result<(), VolumeError> {
        let image = self.image();
        let devices = loops::devices_over(&image).map_err(failed("find the device of", &image))?;
        let is_buffered = devices.iter().any(|device| loops::is_buffered(device));
        match is_buffered && self.options.volatile.is_none() {
            true => Err(VolumeError::Buffered { image }),
            false => Ok(()),
        }
    }

    /// Puts the disk that forgets below the filled file system, if it is to be there. What `fill` wrote is on the image by then.
    fn turn_volatile(&mut self) -> Result<(), VolumeError> {
        if self.options.volatile.is_none() {
            return Ok(());
        }
        self.detach()?;
        let image = self.image();
        if let Some(copy) = self.recorded_from() {
            clone::sparse(&image, &copy).map_err(failed("copy", &image))?;
        }
        self.layers = Some(self.volatile()?);
        Ok(())
    }

    /// Detaches everything, and checks that nothing is left of it.
    fn detach(&mut self) -> Result<(), VolumeError> {
        self.layers = None;
        for path in [self.data(), self.disk_point()] {
            let mounts = device::mounts().map_err(failed("read the mounts of", &path))?;
            if mounts.iter().any(|mount| mount.point == path) {
                return Err(VolumeError::StillInUse { path });
            }
        }
        for path in [self.image(), self.disk_point().join(fuse::FILE)] {
            let devices =
                loops::devices_over(&path).map_err(failed("find the device of", &path))?;
            if !devices.is_empty() {
                return Err(VolumeError::StillInUse { path });
            }
        }
        Ok(())
    }

    fn volatile(&self) -> Result<Layers, VolumeError> {
        let options = self.options.volatile.clone().unwrap_or_default();
        let point = self.disk_point();
        let mount = self.leases.lease(point.clone(), LeaseKind::Disk)?;
        let program = attached::program().ok_or(VolumeError::NoProgram)?;
        let mut command = self.leases.command(program);
        command.arg(VERB).arg(self.image()).arg(&point);
        if options.lies {
            command.arg("--lies");
        }
        let slow_us = options.slow_flush.as_micros().to_string();
        command.arg("--slow-flush-us").arg(slow_us);
        if let Some(recording) = &options.recording {
            command.arg("--recording").arg(recording);
        }
        let daemon = Daemon::start(&mut command).map_err(VolumeError::Daemon)?;
        let disk = ServedDisk {
            daemon,
            _mount: mount,
        };
        self.on(&point.join(fuse::FILE), Some(disk))
    }

    /// Attaches a loop device to the file and mounts it.
    fn on(&self, file: &Path, disk: Option<ServedDisk>) -> Result<Layers, VolumeError> {
        let lease = self.leases.lease(file.to_path_buf(), LeaseKind::Loop)?;
        let device = loops::attach(file).map_err(failed("attach a loop device to", file))?;
        let below = Below {
            _loop: Some(lease),
            disk,
        };
        self.mounted(&device, below)
    }

    fn mounted(&self, device: &Path, below: Below) -> Result<Layers, VolumeError> {
        let (filesystem, own) = (self.options.filesystem, &self.options.mount_options);
        let options = [filesystem.mount_options(), own.as_str()];
        let options: Vec<&str> = options.into_iter().filter(|one| !one.is_empty()).collect();
        let mounted = self.leases.mount(
            &self.data(),
            &device.to_string_lossy(),
            filesystem.name(),
            &options.join(","),
        );
        let mount = mounted.map_err(|cause| match own.is_empty() {
            true => VolumeError::Lease(cause),
            false => VolumeError::Mounted {
                filesystem: filesystem.name(),
                options: own.clone(),
                cause,
            },
        })?;
        Ok(Layers {
            _mount: mount,
            below,
        })
    }
}

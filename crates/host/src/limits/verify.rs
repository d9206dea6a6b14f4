//! Verifies limits with a short measurement: are they in force, and how precisely?
//!
//! A gauge in the same group measures each limit before the server starts. Later changes of the limits are not detected here.

use super::gauge::{VERB, What};
use super::{Group, LimitError, Limits, join};
use crate::process::attached;
use crate::{Leases, interrupted};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How far a measurement may exceed the limit: the kernel grants shares in slices, and the window may contain one slice
/// more or less.
const TOLERANCE: f64 = 1.1;
/// The size of InnoDB's reads, for IOPS; and for bandwidth, the largest request that the kernel does not split.
const SMALL_BYTES: usize = 16 << 10;
const LARGE_BYTES: usize = 512 << 10;
/// The file for writes, if writes are limited.
const SCRATCH: &str = "gauge.bin";
const SCRATCH_BYTES: u64 = 32 << 20;
/// The window is long enough for this many requests, within these bounds.
const REQUESTS: f64 = 100.0;
const SHORTEST_WINDOW_S: f64 = 0.7;
const LONGEST_WINDOW: Duration = Duration::from_secs(3);
/// Ten of the kernel's CPU quota periods.
const CPU_WINDOW_S: f64 = 1.0;

/// A limit as requested and as measured: requests or bytes per second, bytes of memory, CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verified {
    /// Its name in the experiment file, such as `read_iops`.
    pub name: &'static str,
    pub requested: f64,
    pub measured: f64,
    /// What all limits of this disk together allow: at 79 IOPS, 156 MB/s cannot be reached.
    pub allowed: f64,
}

/// Measures every limit. Reads use the largest file below `data`; writes, and reads if `data` has no file of at least 512 KiB without holes,
/// use a file in `scratch`, a folder on the same device.
///
/// # Errors
/// A limit is not in force, or cannot be measured.
pub fn verify(
    limits: &Limits,
    group: &Group,
    data: &Path,
    scratch: &Path,
    leases: &Leases,
) -> Result<Vec<Verified>, LimitError> {
    let mut verified = Vec::new();
    for probe in probes(limits, data, scratch)? {
        let mut window = probe.window();
        let mut measured = probe.measure(group, leases, window)?;
        // Measure again and for longer before rejecting: without a limit it is just as fast, but what a busy disk delayed from before the
        // window is a smaller part of a long one.
        if measured > probe.max(window) {
            window = LONGEST_WINDOW;
            measured = probe.measure(group, leases, window)?;
        }
        if measured > probe.max(window) {
            return Err(LimitError::NotInForce {
                name: probe.name,
                requested: probe.requested,
                measured,
            });
        }
        verified.push(Verified {
            name: probe.name,
            requested: probe.requested,
            measured,
            allowed: probe.expected,
        });
    }
    verified.extend(memory(limits, group)?);
    // The scratch file is no longer needed.
    let _ = fs::remove_file(scratch.join(SCRATCH));
    Ok(verified)
}

/// Checks the memory limit. The kernel rounds it down to whole pages.
fn memory(limits: &Limits, group: &Group) -> Result<Option<Verified>, LimitError> {
    let Some(requested) = limits.memory_bytes.map(|bytes| bytes as f64) else {
        return Ok(None);
    };
    let granted = group.memory_bytes();
    let granted = granted.ok_or_else(|| {
        LimitError::NotVerified("the group does not report its memory limit".to_string())
    })?;
    let (name, measured) = ("memory", granted as f64);
    if measured > requested {
        return Err(LimitError::NotInForce {
            name,
            requested,
            measured,
        });
    }
    Ok(Some(Verified {
        name,
        requested,
        measured,
        allowed: requested,
    }))
}

/// One measurement of the gauge.
struct Probe {
    name: &'static str,
    requested: f64,
    /// The maximum that all limits together allow.
    expected: f64,
    what: What,
    /// Converts the gauge's result to the limit's unit.
    unit: f64,
}

fn probes(limits: &Limits, data: &Path, scratch: &Path) -> Result<Vec<Probe>, LimitError> {
    let unusable = |error: io::Error| LimitError::NotVerified(error.to_string());
    let mut probes = Vec::new();
    let reads = (limits.read_iops, limits.read_bandwidth);
    if reads != (None, None) {
        let file = match largest_file(data).map_err(unusable)? {
            Some(file) => file,
            None => scratch_file(scratch).map_err(unusable)?,
        };
        let read = |request_bytes| disk(false, &file, request_bytes);
        probes.extend(disk_probes(["read_iops", "read_bandwidth"], reads, &read));
    }
    let writes = (limits.write_iops, limits.write_bandwidth);
    if writes != (None, None) {
        let file = scratch_file(scratch).map_err(unusable)?;
        let write = |request_bytes| disk(true, &file, request_bytes);
        probes.extend(disk_probes(
            ["write_iops", "write_bandwidth"],
            writes,
            &write,
        ));
    }
    probes.extend(limits.cpus.map(|cpus| Probe {
        name: "cpus",
        requested: cpus,
        expected: cpus,
        what: What::Cpu { busy: cores() + 1 },
        unit: 1.0,
    }));
    Ok(probes)
}

fn disk(is_write: bool, file: &Path, request_bytes: usize) -> What {
    What::Disk {
        is_write,
        file: file.to_path_buf(),
        request_bytes,
    }
}

/// The machine's cores. The gauge cannot count them: inside the group it would see the group's.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Small requests measure the IOPS limit, large ones the bandwidth limit.
fn disk_probes(
    names: [&'static str; 2],
    (iops, bandwidth): (Option<u64>, Option<u64>),
    what: &dyn Fn(usize) -> What,
) -> Vec<Probe> {
    let [iops, bandwidth] = [iops, bandwidth].map(|limit| limit.map(|limit| limit as f64));
    let small = iops.map(|requested| {
        let by_bytes = bandwidth.map_or(f64::INFINITY, |bytes| bytes / SMALL_BYTES as f64);
        Probe {
            name: names[0],
            requested,
            expected: requested.min(by_bytes),
            what: what(SMALL_BYTES),
            unit: 1.0,
        }
    });
    let large = bandwidth.map(|requested| {
        let by_requests = iops.map_or(f64::INFINITY, |iops| iops * LARGE_BYTES as f64);
        Probe {
            name: names[1],
            requested,
            expected: requested.min(by_requests),
            what: what(LARGE_BYTES),
            unit: LARGE_BYTES as f64,
        }
    });
    small.into_iter().chain(large).collect()
}

impl Probe {
    fn measure(&self, group: &Group, leases: &Leases, window: Duration) -> Result<f64, LimitError> {
        let unusable = |error: io::Error| LimitError::NotVerified(error.to_string());
        let program = attached::program().ok_or_else(|| {
            LimitError::NotVerified(
                "the program prony was not found next to this executable".to_string(),
            )
        })?;
        let mut command = leases.command(program);
        command
            .arg(VERB)
            .args(arguments(&self.what))
            .arg(format!("--window-ms={}", window.as_millis()));
        join(&mut command, &group.joins()).map_err(unusable)?;
        Ok(answer(command).map_err(unusable)? * self.unit)
    }

    /// The maximum that a limit in force can measure: the tolerance, plus one request at the edge of the window.
    fn max(&self, window: Duration) -> f64 {
        let one_more = match self.what {
            What::Cpu { .. } => 0.0,
            _ => self.unit / window.as_secs_f64(),
        };
        self.expected * TOLERANCE + one_more
    }

    fn window(&self) -> Duration {
        let wanted_s = match self.what {
            What::Cpu { .. } => CPU_WINDOW_S,
            _ => REQUESTS * self.unit / self.expected,
        };
        Duration::from_secs_f64(wanted_s.clamp(SHORTEST_WINDOW_S, LONGEST_WINDOW.as_secs_f64()))
    }
}

fn arguments(what: &What) -> Vec<String> {
    match what {
        What::Cpu { busy } => vec!["cpu".to_string(), busy.to_string()],
        What::Disk {
            is_write,
            file,
            request_bytes,
        } => vec![
            if *is_write { "write" } else { "read" }.to_string(),
            file.display().to_string(),
            request_bytes.to_string(),
        ],
    }
}

/// Time limit for the gauge, beyond its window: its last requests may wait for the disk.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Poll interval.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// Runs the gauge and returns the number that it prints.
fn answer(mut command: Command) -> io::Result<f64> {
    let mut gauge = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let began = Instant::now();
    while gauge.try_wait()?.is_none() {
        if interrupted() || began.elapsed() > ANSWER_WITHIN {
            gauge.kill()?;
            gauge.wait()?;
            let why = if interrupted() {
                "interrupted"
            } else {
                "the disk does not answer"
            };
            return Err(io::Error::other(why));
        }
        std::thread::sleep(POLL_EVERY);
    }
    let output = gauge.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figure = text.trim().parse().ok().filter(|_| output.status.success());
    figure.ok_or_else(|| {
        let error = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!(
            "the gauge printed no number, {}: {}",
            output.status,
            error.trim()
        ))
    })
}

/// Extensions of table files. A log file may be allocated but never written, and reading it does not touch the disk.
const TABLE_FILES: [&str; 4] = ["ibd", "MYD", "MAD", "ibdata1"];

/// The largest file below the folder that fits a large request, preferably a table file. Not one with holes, such as those of compressed
/// pages: reads of them do not reach the disk, and would exceed any limit.
fn largest_file(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut files: Vec<(bool, u64, PathBuf)> = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let about = entry.metadata()?;
            if about.is_dir() {
                folders.push(entry.path());
                continue;
            }
            let is_whole = about.blocks() * 512 >= about.len();
            if about.is_file() && is_whole && about.len() >= LARGE_BYTES as u64 {
                files.push((is_table_file(&entry.path()), about.len(), entry.path()));
            }
        }
    }
    Ok(files.into_iter().max().map(|(.., path)| path))
}

fn is_table_file(path: &Path) -> bool {
    let ending = path.extension().or(path.file_name());
    ending.is_some_and(|ending| TABLE_FILES.iter().any(|known| ending == *known))
}

/// Creates the scratch file and writes it once, so that requests overwrite blocks instead of allocating them.
fn scratch_file(folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(SCRATCH);
    let mut file = File::create(&path)?;
    io::copy(&mut io::Read::take(io::repeat(1), SCRATCH_BYTES), &mut file)?;
    file.sync_all()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(request_bytes: usize) -> What {
        disk(false, Path::new(""), request_bytes)
    }

    fn expected(iops: Option<u64>, bandwidth: Option<u64>) -> Vec<(&'static str, f64)> {
        let probes = disk_probes(["read_iops", "read_bandwidth"], (iops, bandwidth), &|_| {
            What::Cpu { busy: 1 }
        });
        probes
            .iter()
            .map(|probe| (probe.name, probe.expected))
            .collect()
    }

    #[test]
    fn the_tighter_of_two_disk_limits_is_expected() {
        // 100 requests of 16 KiB are 1.6 MiB, which the bandwidth allows; 1 MiB/s allows 64 of them.
        assert_eq!(
            expected(Some(100), Some(1 << 20)),
            [("read_iops", 64.0), ("read_bandwidth", 1_048_576.0)]
        );
        assert_eq!(
            expected(Some(10), Some(100 << 20)),
            [("read_iops", 10.0), ("read_bandwidth", 10.0 * 524_288.0)]
        );
        assert_eq!(expected(Some(400), None), [("read_iops", 400.0)]);
    }

    #[test]
    fn one_extra_request_does_not_fail_verification() {
        let probe = &disk_probes(["", ""], (Some(3), None), &read)[0];
        // Ten requests in the window of 3 s.
        assert!(10.0 / 3.0 <= probe.max(probe.window()));
        assert!(probe.max(probe.window()) < 4.0);
    }

    #[test]
    fn what_a_busy_disk_delayed_does_not_fail_the_second_measurement() {
        let probe = &disk_probes(["", ""], (Some(200), None), &read)[0];
        // Two of the kernel's slices of 0.1 s came late, into the window.
        let measured = |window: Duration| 200.0 * (1.0 + 0.2 / window.as_secs_f64());
        assert!(measured(probe.window()) > probe.max(probe.window()));
        assert!(measured(LONGEST_WINDOW) < probe.max(LONGEST_WINDOW));
    }

    #[test]
    fn the_window_is_longer_for_low_iops() {
        let window = |iops| disk_probes(["", ""], (Some(iops), None), &read)[0].window();
        assert_eq!(window(5000), Duration::from_millis(700));
        assert_eq!(window(57), Duration::from_secs_f64(100.0 / 57.0));
        assert_eq!(window(1), Duration::from_secs(3));
    }

    #[test]
    fn the_largest_table_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(largest_file(folder.path()).unwrap(), None);
        fs::create_dir(folder.path().join("prony")).unwrap();
        fs::write(folder.path().join("ibdata1"), vec![0; LARGE_BYTES]).unwrap();
        fs::write(folder.path().join("ib_logfile0"), vec![0; LARGE_BYTES * 2]).unwrap();
        let table = folder.path().join("prony/lineitem.ibd");
        fs::write(&table, vec![0; LARGE_BYTES + 1]).unwrap();
        assert_eq!(largest_file(folder.path()).unwrap(), Some(table));
    }

    #[test]
    fn a_file_with_holes_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let table = File::create(folder.path().join("compressed.ibd")).unwrap();
        table.set_len(LARGE_BYTES as u64 * 2).unwrap();
        assert_eq!(largest_file(folder.path()).unwrap(), None);
    }
}

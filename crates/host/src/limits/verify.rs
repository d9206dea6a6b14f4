//! A short measurement of limits that were set: whether they are in force, and how exactly.
//!
//! Goal: a figure for each limit before the server starts, by a gauge in the same group. Non-goal: the limits' course later.

use super::gauge::{VERB, What};
use super::{Group, LimitError, Limits, join};
use crate::{Leases, guard, interrupted};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How far above the limit a measurement may lie; the kernel deals shares out in slices, of which the window can hold one
/// more or less.
const TOLERANCE: f64 = 1.1;
/// Small requests are what InnoDB reads, large ones show the bandwidth; the kernel makes two of a larger one.
const SMALL_BYTES: usize = 16 << 10;
const LARGE_BYTES: usize = 512 << 10;
/// The file that is written to, where writes are limited.
const SCRATCH: &str = "gauge.bin";
const SCRATCH_BYTES: u64 = 32 << 20;
/// The window holds so many requests as a rule, within these bounds.
const REQUESTS: f64 = 100.0;
const WINDOW_S: (f64, f64) = (0.7, 3.0);
/// Ten of the kernel's periods of processor time.
const CPU_WINDOW_S: f64 = 1.0;

/// What was asked for and what was measured: requests or bytes a second, bytes of memory, processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verified {
    /// `read_iops`, as in the experiment file.
    pub name: &'static str,
    pub asked: f64,
    pub measured: f64,
    /// What all limits of this disk allow together: 79 requests a second are never 156 MB.
    pub allowed: f64,
}

/// Measures every limit. `data` holds the data files, of which the largest is read; `scratch` is a folder for what is
/// written, on the same device.
///
/// # Errors
/// A limit that is not in force, or that cannot be measured.
pub fn verify(
    limits: &Limits,
    group: &Group,
    data: &Path,
    scratch: &Path,
    leases: &Leases,
) -> Result<Vec<Verified>, LimitError> {
    let mut verified = Vec::new();
    for probe in probes(limits, data, scratch)? {
        let mut measured = probe.measure(group, leases)?;
        // Once more: a group without its limit is fast again.
        if measured > probe.most() {
            measured = probe.measure(group, leases)?;
        }
        if measured > probe.most() {
            return Err(LimitError::NotInForce {
                name: probe.name,
                asked: probe.asked,
                measured,
            });
        }
        verified.push(Verified {
            name: probe.name,
            asked: probe.asked,
            measured,
            allowed: probe.expected,
        });
    }
    verified.extend(memory(limits, group)?);
    // What was written there is of no more use.
    let _ = fs::remove_file(scratch.join(SCRATCH));
    Ok(verified)
}

/// What the kernel grants is rounded to pages.
fn memory(limits: &Limits, group: &Group) -> Result<Option<Verified>, LimitError> {
    let Some(asked) = limits.memory_bytes.map(|bytes| bytes as f64) else {
        return Ok(None);
    };
    let granted = group.memory_bytes();
    let granted = granted.ok_or_else(|| {
        LimitError::NotVerified("the group does not tell how much memory it has".to_string())
    })?;
    let measured = granted as f64;
    if measured > asked {
        let name = "memory";
        return Err(LimitError::NotInForce {
            name,
            asked,
            measured,
        });
    }
    Ok(Some(Verified {
        name: "memory",
        asked,
        measured,
        allowed: asked,
    }))
}

/// One measurement of the gauge.
struct Probe {
    name: &'static str,
    asked: f64,
    /// The largest that all limits together allow.
    expected: f64,
    what: What,
    /// What the gauge's figure is multiplied with.
    unit: f64,
}

fn probes(limits: &Limits, data: &Path, scratch: &Path) -> Result<Vec<Probe>, LimitError> {
    let unusable = |error: io::Error| LimitError::NotVerified(error.to_string());
    let mut probes = Vec::new();
    if limits.read_iops.or(limits.read_bandwidth).is_some() {
        let file = largest_file(data).map_err(unusable)?.ok_or_else(|| {
            LimitError::NotVerified(format!("{} holds no file of 512 KiB", data.display()))
        })?;
        let read = |request_bytes| What::Read {
            file: file.clone(),
            request_bytes,
        };
        let names = ["read_iops", "read_bandwidth"];
        probes.extend(of_disk(
            names,
            limits.read_iops,
            limits.read_bandwidth,
            &read,
        ));
    }
    if limits.write_iops.or(limits.write_bandwidth).is_some() {
        let file = scratch_file(scratch).map_err(unusable)?;
        let write = |request_bytes| What::Write {
            file: file.clone(),
            request_bytes,
        };
        let names = ["write_iops", "write_bandwidth"];
        probes.extend(of_disk(
            names,
            limits.write_iops,
            limits.write_bandwidth,
            &write,
        ));
    }
    probes.extend(limits.cpus.map(|cpus| Probe {
        name: "cpus",
        asked: cpus,
        expected: cpus,
        what: What::Cpu { busy: cores() + 1 },
        unit: 1.0,
    }));
    Ok(probes)
}

/// Asked here, since within the group the answer would be the group's.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Small requests for the limit of requests, large ones for that of bytes.
fn of_disk(
    names: [&'static str; 2],
    iops: Option<u64>,
    bandwidth: Option<u64>,
    what: &dyn Fn(usize) -> What,
) -> Vec<Probe> {
    let [iops, bandwidth] = [iops, bandwidth].map(|limit| limit.map(|limit| limit as f64));
    let small = iops.map(|asked| {
        let by_bytes = bandwidth.map_or(f64::INFINITY, |bytes| bytes / SMALL_BYTES as f64);
        Probe {
            name: names[0],
            asked,
            expected: asked.min(by_bytes),
            what: what(SMALL_BYTES),
            unit: 1.0,
        }
    });
    let large = bandwidth.map(|asked| {
        let by_requests = iops.map_or(f64::INFINITY, |iops| iops * LARGE_BYTES as f64);
        Probe {
            name: names[1],
            asked,
            expected: asked.min(by_requests),
            what: what(LARGE_BYTES),
            unit: LARGE_BYTES as f64,
        }
    });
    small.into_iter().chain(large).collect()
}

impl Probe {
    fn measure(&self, group: &Group, leases: &Leases) -> Result<f64, LimitError> {
        let unusable = |error: io::Error| LimitError::NotVerified(error.to_string());
        let program = guard::program().ok_or_else(|| {
            LimitError::NotVerified("the program prony is not found beside this one".to_string())
        })?;
        let mut command = leases.command(program);
        command
            .arg(VERB)
            .args(arguments(&self.what))
            .arg(format!("--window-ms={}", self.window().as_millis()));
        join(&mut command, &group.joins()).map_err(unusable)?;
        Ok(answer(command).map_err(unusable)? * self.unit)
    }

    /// A limit that is in force measures no more: slices of the kernel's, and one request that falls into the window.
    fn most(&self) -> f64 {
        let one_more = match self.what {
            What::Cpu { .. } => 0.0,
            _ => self.unit / self.window().as_secs_f64(),
        };
        self.expected * TOLERANCE + one_more
    }

    fn window(&self) -> Duration {
        let wanted_s = match self.what {
            What::Cpu { .. } => CPU_WINDOW_S,
            _ => REQUESTS * self.unit / self.expected,
        };
        Duration::from_secs_f64(wanted_s.clamp(WINDOW_S.0, WINDOW_S.1))
    }
}

fn arguments(what: &What) -> Vec<String> {
    match what {
        What::Cpu { busy } => vec!["cpu".to_string(), busy.to_string()],
        What::Read {
            file,
            request_bytes,
        } => requests("read", file, *request_bytes),
        What::Write {
            file,
            request_bytes,
        } => requests("write", file, *request_bytes),
    }
}

fn requests(verb: &str, file: &Path, request_bytes: usize) -> Vec<String> {
    vec![
        verb.to_string(),
        file.display().to_string(),
        request_bytes.to_string(),
    ]
}

/// How long the gauge may take beyond its ramp and window: its last requests wait for the disk.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Between two looks at it.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The figure that the gauge prints.
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
        std::thread::sleep(LOOK_EVERY);
    }
    let output = gauge.wait_with_output()?;
    let says = String::from_utf8_lossy(&output.stdout);
    let figure = says.trim().parse().ok().filter(|_| output.status.success());
    figure.ok_or_else(|| {
        let error = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!(
            "the gauge gave no figure, {}: {}",
            output.status,
            error.trim()
        ))
    })
}

/// Files of tables, which are written whole; a log may be allocated and never written, and is then read without the disk.
const OF_TABLES: [&str; 4] = ["ibd", "MYD", "MAD", "ibdata1"];

/// The largest file below the folder that large requests fit into, of a table where there is one.
fn largest_file(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut files: Vec<(bool, u64, PathBuf)> = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let about = entry.metadata()?;
            if about.is_dir() {
                folders.push(entry.path());
            } else if about.is_file() && about.len() >= LARGE_BYTES as u64 {
                files.push((is_of_tables(&entry.path()), about.len(), entry.path()));
            }
        }
    }
    Ok(files.into_iter().max().map(|(.., path)| path))
}

fn is_of_tables(path: &Path) -> bool {
    let ending = path.extension().or(path.file_name());
    ending.is_some_and(|ending| OF_TABLES.iter().any(|known| ending == *known))
}

/// Written once, so that a request overwrites what is there and does not grow the file.
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
        What::Read {
            file: PathBuf::new(),
            request_bytes,
        }
    }

    fn expected(iops: Option<u64>, bandwidth: Option<u64>) -> Vec<(&'static str, f64)> {
        let probes = of_disk(["read_iops", "read_bandwidth"], iops, bandwidth, &|_| {
            What::Cpu { busy: 1 }
        });
        probes
            .iter()
            .map(|probe| (probe.name, probe.expected))
            .collect()
    }

    #[test]
    fn of_two_limits_of_one_disk_the_narrower_one_is_expected() {
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
    fn one_request_more_than_allowed_is_no_limit_that_is_not_in_force() {
        let probe = &of_disk(["", ""], Some(3), None, &read)[0];
        // Ten requests in the window of 3 s.
        assert!(10.0 / 3.0 <= probe.most());
        assert!(probe.most() < 4.0);
    }

    #[test]
    fn the_window_is_longer_where_requests_are_rare() {
        let window = |iops| of_disk(["", ""], Some(iops), None, &read)[0].window();
        assert_eq!(window(5000), Duration::from_millis(700));
        assert_eq!(window(57), Duration::from_secs_f64(100.0 / 57.0));
        assert_eq!(window(1), Duration::from_secs(3));
    }

    #[test]
    fn the_largest_file_of_a_data_folder_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(largest_file(folder.path()).unwrap(), None);
        fs::create_dir(folder.path().join("prony")).unwrap();
        fs::write(folder.path().join("ibdata1"), vec![0; LARGE_BYTES]).unwrap();
        fs::write(folder.path().join("ib_logfile0"), vec![0; LARGE_BYTES * 2]).unwrap();
        let table = folder.path().join("prony/lineitem.ibd");
        fs::write(&table, vec![0; LARGE_BYTES + 1]).unwrap();
        assert_eq!(largest_file(folder.path()).unwrap(), Some(table));
    }
}

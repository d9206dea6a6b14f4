//! The gauge: a process inside a control group that measures its IOPS or CPU rate.
//!
//! It is prony itself, started by a hidden verb, because only a separate process can join a cgroup v2 group. It measures no
//! latencies and is not a disk benchmark.

use rustix::time::{ClockId, clock_gettime};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The hidden verb by which prony starts itself as a gauge.
pub const VERB: &str = "gauge";

/// Concurrent requests: enough to reach 5,000 IOPS on a disk with 1 ms latency.
const DEPTH: usize = 8;
/// The kernel gives a new group more than its share at first, in slices of 0.1 s; this time is not measured.
const RAMP: Duration = Duration::from_millis(300);
/// Direct I/O requires memory, offsets and lengths in multiples of the device's sector size; 4 KiB suits all.
const ALIGNMENT: usize = 4096;

/// What the gauge measures.
#[derive(Clone, Debug)]
pub enum What {
    /// Direct reads, or writes, of `request_bytes` at random offsets of the file.
    Disk {
        is_write: bool,
        file: PathBuf,
        request_bytes: usize,
    },
    /// This many busy threads.
    Cpu { busy: usize },
}

/// Measures for a window after the ramp: requests per second, or CPUs in use.
///
/// # Errors
/// The file is shorter than a request, or cannot be opened for direct I/O.
pub fn measure(what: &What, window: Duration) -> io::Result<f64> {
    match what {
        What::Disk {
            is_write,
            file,
            request_bytes,
        } => {
            let requests = Requests::new(file, *request_bytes, *is_write)?;
            requests.per_second(window, |file, buffer, at| match is_write {
                true => file.write_all_at(buffer, at),
                false => file.read_exact_at(buffer, at),
            })
        }
        What::Cpu { busy } => Ok(cpus(*busy, window)),
    }
}

struct Requests {
    file: File,
    request_bytes: usize,
    /// How many request-sized blocks the file has.
    blocks: u64,
}

impl Requests {
    fn new(path: &Path, request_bytes: usize, write: bool) -> io::Result<Requests> {
        let file = OpenOptions::new()
            .read(true)
            .write(write)
            .custom_flags(libc::O_DIRECT)
            .open(path)?;
        let blocks = file.metadata()?.len() / request_bytes as u64;
        if blocks == 0 {
            let message = format!("{} is shorter than {request_bytes} bytes", path.display());
            return Err(io::Error::other(message));
        }
        Ok(Requests {
            file,
            request_bytes,
            blocks,
        })
    }

    fn per_second(
        &self,
        window: Duration,
        request: impl Fn(&File, &mut [u8], u64) -> io::Result<()> + Sync,
    ) -> io::Result<f64> {
        let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let send_requests = |seed: usize| -> io::Result<()> {
            let mut memory = vec![0; self.request_bytes + ALIGNMENT];
            let from = memory.as_ptr().align_offset(ALIGNMENT);
            let buffer = &mut memory[from..from + self.request_bytes];
            for block in scattered(seed as u64, self.blocks) {
                if over.load(Relaxed) {
                    break;
                }
                request(&self.file, buffer, block * self.request_bytes as u64)?;
                done.fetch_add(1, Relaxed);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..DEPTH)
                .map(|seed| scope.spawn(move || send_requests(seed)))
                .collect();
            let rate = rate(window, || done.load(Relaxed) as f64);
            over.store(true, Relaxed);
            for worker in workers {
                worker
                    .join()
                    .map_err(|_| io::Error::other("the gauge panicked"))??;
            }
            Ok(rate)
        })
    }
}

/// The growth of a total per second, after the ramp.
fn rate(window: Duration, total: impl Fn() -> f64) -> f64 {
    thread::sleep(RAMP);
    let (began, before) = (Instant::now(), total());
    thread::sleep(window);
    (total() - before) / began.elapsed().as_secs_f64()
}

/// Block numbers in a pseudo-random order that defeats readahead; a linear congruential generator is enough.
fn scattered(seed: u64, blocks: u64) -> impl Iterator<Item = u64> {
    let step = |state: &u64| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    };
    std::iter::successors(Some(seed.wrapping_add(1)), step).map(move |state| (state >> 33) % blocks)
}

/// How many CPUs this many busy threads get.
fn cpus(threads: usize, window: Duration) -> f64 {
    let over = AtomicBool::new(false);
    let busy = || {
        while !over.load(Relaxed) {
            std::hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(busy);
        }
        let rate = rate(window, cpu_s);
        over.store(true, Relaxed);
        rate
    })
}

/// CPU time of this process in seconds.
fn cpu_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_scattered_over_the_whole_file() {
        let blocks: std::collections::BTreeSet<u64> = scattered(3, 16).take(200).collect();
        assert_eq!(blocks.len(), 16);
        assert!(blocks.iter().all(|block| *block < 16));
    }

    #[test]
    fn a_file_shorter_than_a_request_is_an_error() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let file = folder.path().join("short");
        std::fs::write(&file, "x").unwrap();
        let what = What::Disk {
            is_write: false,
            file,
            request_bytes: 16384,
        };
        let message = measure(&what, Duration::ZERO).unwrap_err().to_string();
        assert!(
            message.ends_with("is shorter than 16384 bytes"),
            "{message}"
        );
    }
}

//! The gauge: a process inside a group that finds out how fast the group is.
//!
//! Goal: requests a second, or processors, as a process of the group gets them. It is prony itself by a hidden verb, since
//! only a process of its own can join a group of version 2. Non-goals: latencies; a benchmark of the disk.

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

/// Requests that are under way at once: enough to keep a limit of 5,000 a second busy on a disk that takes 1 ms each.
const DEPTH: usize = 8;
/// The kernel gives a new group more than its share at first, in slices of 0.1 s.
const RAMP: Duration = Duration::from_millis(300);
/// Direct I/O wants memory, offsets and lengths in multiples of the device's sector; 4 KiB suits all.
const ALIGNMENT: usize = 4096;

#[derive(Clone, Debug)]
pub enum What {
    /// Direct requests of `request_bytes` at random places of the file.
    Read {
        file: PathBuf,
        request_bytes: usize,
    },
    Write {
        file: PathBuf,
        request_bytes: usize,
    },
    /// So many threads that are always busy.
    Cpu {
        busy: usize,
    },
}

/// Requests a second, or processors, over a window after the ramp.
///
/// # Errors
/// A file that is shorter than a request, or that cannot be read or written directly.
pub fn measure(what: &What, window: Duration) -> io::Result<f64> {
    match what {
        What::Read {
            file,
            request_bytes,
        } => {
            let requests = Requests::new(file, *request_bytes, false)?;
            requests.per_second(window, |file, buffer, at| file.read_exact_at(buffer, at))
        }
        What::Write {
            file,
            request_bytes,
        } => {
            let requests = Requests::new(file, *request_bytes, true)?;
            requests.per_second(window, |file, buffer, at| file.write_all_at(buffer, at))
        }
        What::Cpu { busy } => Ok(processors(*busy, window)),
    }
}

struct Requests {
    file: File,
    request_bytes: usize,
    /// Places of the file that a request can begin at.
    places: u64,
}

impl Requests {
    fn new(path: &Path, request_bytes: usize, write: bool) -> io::Result<Requests> {
        let file = OpenOptions::new()
            .read(true)
            .write(write)
            .custom_flags(libc::O_DIRECT)
            .open(path)?;
        let places = file.metadata()?.len() / request_bytes as u64;
        if places == 0 {
            let says = format!("{} is shorter than {request_bytes} bytes", path.display());
            return Err(io::Error::other(says));
        }
        Ok(Requests {
            file,
            request_bytes,
            places,
        })
    }

    fn per_second(
        &self,
        window: Duration,
        request: impl Fn(&File, &mut [u8], u64) -> io::Result<()> + Sync,
    ) -> io::Result<f64> {
        let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let ask = |seed: usize| -> io::Result<()> {
            let mut memory = vec![0; self.request_bytes + ALIGNMENT];
            let from = memory.as_ptr().align_offset(ALIGNMENT);
            let buffer = &mut memory[from..from + self.request_bytes];
            for place in scattered(seed as u64, self.places) {
                if over.load(Relaxed) {
                    break;
                }
                request(&self.file, buffer, place * self.request_bytes as u64)?;
                done.fetch_add(1, Relaxed);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let askers: Vec<_> = (0..DEPTH)
                .map(|seed| scope.spawn(move || ask(seed)))
                .collect();
            let rate = rate(window, || done.load(Relaxed) as f64);
            over.store(true, Relaxed);
            for asker in askers {
                asker
                    .join()
                    .map_err(|_| io::Error::other("the gauge panicked"))??;
            }
            Ok(rate)
        })
    }
}

/// How fast a total grows, after the ramp.
fn rate(window: Duration, total: impl Fn() -> f64) -> f64 {
    thread::sleep(RAMP);
    let (began, before) = (Instant::now(), total());
    thread::sleep(window);
    (total() - before) / began.elapsed().as_secs_f64()
}

/// Places in no order that a disk could read ahead in; any linear congruence scatters enough.
fn scattered(seed: u64, places: u64) -> impl Iterator<Item = u64> {
    let step = |state: &u64| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    };
    std::iter::successors(Some(seed.wrapping_add(1)), step).map(move |state| (state >> 33) % places)
}

/// Processors that so many busy threads get.
fn processors(threads: usize, window: Duration) -> f64 {
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
        let rate = rate(window, used_s);
        over.store(true, Relaxed);
        rate
    })
}

/// Seconds of processor time of this process.
fn used_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_scattered_over_the_whole_file() {
        let places: std::collections::BTreeSet<u64> = scattered(3, 16).take(200).collect();
        assert_eq!(places.len(), 16);
        assert!(places.iter().all(|place| *place < 16));
    }

    #[test]
    fn a_file_shorter_than_a_request_is_an_error() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let file = folder.path().join("short");
        std::fs::write(&file, "x").unwrap();
        let what = What::Read {
            file,
            request_bytes: 16384,
        };
        let says = measure(&what, Duration::ZERO).unwrap_err().to_string();
        assert!(says.ends_with("is shorter than 16384 bytes"), "{says}");
    }
}

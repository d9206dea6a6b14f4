//! Compares reads and writes of one file with fio and sysbench fileio: the same file, block size, pattern, depth and engine, past the
//! page cache. Turns alternate; the results are medians, and medians of the ratios within turns.
//!
//! cargo bench -p prony --bench fileio -- DIR [--size 2G] [--io-size 16K] [--pattern random-read|random-write] [--depths 1,8,64,1024]
//!     [--time S] [--turns N] [--out FILE]
//!
//! DIR is a folder on the disk, in which a folder of its own is made and removed. `fio` and `sysbench` must be on the PATH (Debian has
//! packages of both). With the defaults (5 s, 3 turns, 4 depths) it takes 9 minutes. Asynchronous engines run one client or job;
//! blocking ones, up to depth 64, as many threads as the depth.
//!
//! CPU time is that of the whole process, as the kernel accounts it, by operations. Goals: at least 0.98 of the operations/s of fio's
//! best engine at each depth, and 1.0 of sysbench's; CPU per operation at most fio's with the same engine, and 0.8 of sysbench's
//! asynchronous mode; p50, p95 and p99 within 1 % of fio's.

#[path = "../load/measured.rs"]
mod measured;
#[path = "../median.rs"]
mod median;

mod contestant;
mod fio;
mod prony;
mod sysbench;
mod table;

use contestant::Contestant;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// The settings of a comparison.
pub(crate) struct Settings {
    directory: PathBuf,
    /// As in an experiment file.
    size: String,
    io_size: String,
    writes: bool,
    depths: Vec<u32>,
    time_s: u32,
    turns: usize,
    out: Option<PathBuf>,
}

impl Settings {
    /// The keys of `[workload.fileio]`.
    fn keys(&self) -> String {
        let pattern = if self.writes {
            "random-write"
        } else {
            "random-read"
        };
        format!(
            "pattern = \"{pattern}\"\nsize = \"{}\"\nio_size = \"{}\"\n",
            self.size, self.io_size
        )
    }
}

fn main() {
    let mut arguments: VecDeque<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let Some(directory) = arguments.pop_front() else {
        eprintln!("skipped: give a folder, see the top of bench/fileio/main.rs");
        return;
    };
    if directory == prony::AS_CHILD {
        return prony::child(arguments.make_contiguous());
    }
    compare(&read(directory.into(), arguments));
}

fn read(directory: PathBuf, mut arguments: VecDeque<String>) -> Settings {
    let mut settings = Settings {
        directory,
        size: "2G".into(),
        io_size: "16K".into(),
        writes: false,
        depths: vec![1, 8, 64, 1024],
        time_s: 5,
        turns: 3,
        out: None,
    };
    while let Some(flag) = arguments.pop_front() {
        let value = arguments.pop_front().expect("the flag has a value");
        let number = |text: &str| text.parse().expect("a number");
        match flag.as_str() {
            "--size" => settings.size = value,
            "--io-size" => settings.io_size = value,
            "--pattern" => {
                settings.writes = match value.as_str() {
                    "random-read" => false,
                    "random-write" => true,
                    other => panic!("unknown pattern {other}: give random-read or random-write"),
                }
            }
            "--depths" => settings.depths = value.split(',').map(number).collect(),
            "--time" => settings.time_s = number(&value),
            "--turns" => settings.turns = number(&value) as usize,
            "--out" => settings.out = Some(value.into()),
            other => panic!("unknown flag {other}: see the top of bench/fileio/main.rs"),
        }
    }
    settings
}

fn compare(settings: &Settings) {
    let folder = tempfile::tempdir_in(&settings.directory).expect("a folder that can be written");
    let bytes = prony::make_file(settings, folder.path());
    // sysbench chooses the names of its files.
    std::fs::hard_link(file(folder.path()), folder.path().join(sysbench::FILE))
        .expect("a file system with hard links");
    let mut turns = Vec::new();
    for &depth in &settings.depths {
        let contestants = Contestant::at(depth);
        for turn in 0..settings.turns {
            // The order rotates, so that no program always runs after the same other one.
            let mut order = contestants.clone();
            order.rotate_left(turn % contestants.len());
            turns.extend(
                order
                    .into_iter()
                    .map(|one| one.turn(settings, folder.path(), bytes, depth)),
            );
        }
    }
    let text = table::markdown(settings, &turns);
    print!("{text}");
    if let Some(out) = &settings.out {
        std::fs::write(out, text).expect("a writable file");
    }
}

/// The file of the comparison.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("file-0")
}

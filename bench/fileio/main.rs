//! Compares reads and writes of one file with fio and sysbench fileio: the same file, block size, pattern, depth and engine, past the
//! page cache. Turns alternate; the results are medians, and medians of the ratios within turns.
//!
//! cargo bench -p prony --bench fileio -- DIR [--size 2G] [--io-size 16K] [--pattern PATTERN] [--depths 1,8,64,1024]
//!     [--time S] [--turns N] [--bare-loop PROGRAM] [--out FILE]
//!
//! DIR is a folder on the disk, in which a folder of its own is made and removed. `fio` and `sysbench` must be on the PATH (Debian has
//! packages of both). With the defaults (5 s, 3 turns, 4 depths) it takes 9 minutes. Asynchronous engines run one client or job;
//! blocking ones, up to depth 64, as many threads as the depth. PATTERN is random-read, random-write, sequential-read or
//! sequential-write. The bare loop is `t/io_uring` of fio's source, which no package has; it only reads.
//!
//! CPU time is that of the whole process, as the kernel accounts it, by operations. Goals: at least 0.98 of the operations/s of fio's
//! best engine at each depth, and 1.0 of sysbench's; CPU per operation at most fio's with the same engine, and 0.8 of sysbench's
//! asynchronous mode, and 1.3 of the bare loop's; p50, p95 and p99 within 1 % of fio's.

#[path = "../load/measured.rs"]
mod measured;
#[path = "../median.rs"]
mod median;

mod bare_loop;
mod contestant;
mod fio;
mod pattern;
mod prony;
mod sysbench;
mod table;

use contestant::Contestant;
use pattern::Pattern;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// The settings of a comparison.
pub(crate) struct Settings {
    directory: PathBuf,
    /// As in an experiment file.
    size: String,
    io_size: String,
    pattern: Pattern,
    depths: Vec<u32>,
    time_s: u32,
    turns: usize,
    bare_loop: Option<PathBuf>,
    out: Option<PathBuf>,
}

impl Settings {
    /// The keys of `[workload.fileio]`.
    fn keys(&self) -> String {
        format!(
            "pattern = \"{}\"\nsize = \"{}\"\nio_size = \"{}\"\n",
            self.pattern.name, self.size, self.io_size
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
        pattern: Pattern::named("random-read"),
        depths: vec![1, 8, 64, 1024],
        time_s: 5,
        turns: 3,
        bare_loop: None,
        out: None,
    };
    while let Some(flag) = arguments.pop_front() {
        let value = arguments.pop_front().expect("the flag has a value");
        let number = |text: &str| text.parse().expect("a number");
        match flag.as_str() {
            "--size" => settings.size = value,
            "--io-size" => settings.io_size = value,
            "--pattern" => settings.pattern = Pattern::named(&value),
            "--depths" => settings.depths = value.split(',').map(number).collect(),
            "--time" => settings.time_s = number(&value),
            "--turns" => settings.turns = number(&value) as usize,
            "--bare-loop" => settings.bare_loop = Some(value.into()),
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
        let contestants = Contestant::at(settings, depth);
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

//! Runs sysbench fileio. Its asynchronous mode counts an operation as ended when it is submitted, so its latency says nothing.

use crate::Settings;
use crate::contestant::{Engine, Output};
use std::path::Path;
use std::process::Command;

/// The name that sysbench gives to its only file.
pub(crate) const FILE: &str = "test_file.0";

pub(crate) fn command(
    settings: &Settings,
    folder: &Path,
    bytes: u64,
    engine: Engine,
    depth: u32,
) -> Command {
    let (threads, backlog) = engine.threads(depth);
    let mut command = Command::new("sysbench");
    command
        .current_dir(folder)
        .arg("fileio")
        .args(["--file-num=1", "--file-extra-flags=direct"])
        .arg(format!("--file-total-size={bytes}"))
        .arg(format!("--file-block-size={}", settings.io_size))
        .arg(settings.pattern.of_sysbench)
        .args(["--file-fsync-freq=0", "--file-fsync-end=off"])
        .args(["--rand-type=uniform", "--histogram=on"])
        .arg(format!("--threads={threads}"))
        .arg(format!("--time={}", settings.time_s));
    match engine {
        Engine::Sync => command.arg("--file-io-mode=sync"),
        Engine::IoUring | Engine::Libaio => command
            .arg("--file-io-mode=async")
            .arg(format!("--file-async-backlog={backlog}")),
    };
    command.arg("run");
    command
}

pub(crate) fn read(output: &str) -> Output {
    let after = output.split("total number of events:").nth(1);
    let operations = after.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    let buckets: Vec<(f64, f64)> = output.lines().filter_map(bucket).collect();
    Output {
        operations: operations.unwrap_or_else(|| panic!("sysbench printed no events:\n{output}")),
        latency: [0.5, 0.95, 0.99].map(|share| percentile_us(&buckets, share)),
    }
}

/// A line of the histogram: `0.012 |****** 1234`, in milliseconds.
fn bucket(line: &str) -> Option<(f64, f64)> {
    let (value_ms, rest) = line.split_once('|')?;
    let count = rest.trim_start_matches('*').trim();
    Some((value_ms.trim().parse().ok()?, count.parse().ok()?))
}

fn percentile_us(buckets: &[(f64, f64)], share: f64) -> f64 {
    let all: f64 = buckets.iter().map(|(_, count)| count).sum();
    let mut below = 0.0;
    for (value_ms, count) in buckets {
        below += count;
        if below >= all * share {
            return value_ms * 1e3;
        }
    }
    f64::NAN
}

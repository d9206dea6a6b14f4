//! Runs `t/io_uring` of fio's source: a loop around the ring without any accounting, the least that an operation can cost.

use crate::contestant::Output;
use crate::{Settings, file};
use std::path::Path;
use std::process::Command;

pub(crate) fn command(settings: &Settings, program: &Path, folder: &Path, depth: u32) -> Command {
    let random = u32::from(settings.pattern.is_random);
    let mut command = Command::new(program);
    command
        .arg(format!("-d{depth}"))
        .arg(format!("-b{}", bytes(&settings.io_size)))
        .arg(format!("-r{}", settings.time_s))
        .arg(format!("-R{random}"))
        .args(["-p0", "-B1", "-F1", "-O1", "-n1", "-P0"])
        .arg(file(folder));
    command
}

/// A size as in an experiment file, in bytes.
fn bytes(size: &str) -> u64 {
    let number = |text: &str| text.parse::<u64>().expect("a size such as 16K");
    match size.strip_suffix('K') {
        Some(kibibytes) => number(kibibytes) << 10,
        None => number(size),
    }
}

/// It prints a rate each second, and no latency that compares.
pub(crate) fn read(output: &str, time_s: u32) -> Output {
    let rates: Vec<f64> = output.lines().filter_map(rate).collect();
    assert!(
        !rates.is_empty(),
        "the bare loop printed no rate:\n{output}"
    );
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    Output {
        operations: mean * f64::from(time_s),
        latency: [f64::NAN; 3],
    }
}

/// `IOPS=123.45K, BW=...`
fn rate(line: &str) -> Option<f64> {
    let number = line.strip_prefix("IOPS=")?.split(',').next()?;
    let (digits, factor) = match number.as_bytes().last()? {
        b'M' => (number.trim_end_matches('M'), 1e6),
        b'K' => (number.trim_end_matches('K'), 1e3),
        _ => (number, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

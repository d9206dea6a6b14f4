//! Runs prony's workload in a child process, so that the kernel accounts its cost in the same way as that of its peers.

use crate::Settings;
use crate::contestant::{Engine, Output};
use hdrhistogram::Histogram;
use load::{Drive, Load, Watch};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use workload::{Target, Workload};

/// The first argument of the child.
pub(crate) const AS_CHILD: &str = "--as-child";

/// Makes the file with random bytes. Returns its size.
pub(crate) fn make_file(settings: &Settings, folder: &Path) -> u64 {
    let workload = open(&settings.keys());
    let files = workload.files().expect("the workload has files");
    files
        .make(folder, &|_| {}, &|| false)
        .expect("the file can be written");
    files.bytes()
}

pub(crate) fn command(settings: &Settings, folder: &Path, engine: Engine, depth: u32) -> Command {
    let (clients, depth) = engine.threads(depth);
    let keys = settings.keys();
    let section = format!("{keys}engine = \"{}\"\ndepth = {depth}\n", engine.name());
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg(AS_CHILD).arg(folder).arg(section);
    command.args([clients, settings.time_s].map(|number| number.to_string()));
    command
}

fn open(section: &str) -> Arc<dyn Workload> {
    let section = section.parse().expect("valid TOML");
    workload::open("fileio", &section).expect("a valid section")
}

/// The child process, with the arguments FOLDER SECTION CLIENTS SECONDS. Prints the number of operations and three percentiles in
/// nanoseconds.
pub(crate) fn child(arguments: &[String]) {
    let [folder, section, clients, time_s] = arguments else {
        panic!("wrong arguments: the child process is started by its parent only");
    };
    let number = |text: &String| text.parse::<u32>().expect("a number");
    let target = Target::Folder(folder.into());
    let work = open(section).work(&target, 1).expect("it has operations");
    let drive = Drive::new(
        Load::closed(number(clients)),
        Duration::from_secs(u64::from(number(time_s))),
    );
    let mut all = Histogram::<u64>::new(3).expect("three digits are allowed");
    let watch = Watch {
        second: &mut |second| all.add(&second.response).expect("it grows"),
        ..Watch::default()
    };
    let driven = work.driver.drive(&drive, &AtomicBool::new(false), watch);
    let tally = driven.expect("the load runs").tallies[0];
    assert_eq!(tally.not_done(), 0, "operations failed");
    let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|quantile| all.value_at_quantile(quantile));
    println!("{} {p50} {p95} {p99}", tally.done());
}

pub(crate) fn read(output: &str) -> Output {
    let numbers: Vec<f64> = output
        .split_whitespace()
        .map(|text| text.parse().expect("a number"))
        .collect();
    let [operations, p50, p95, p99] = numbers[..] else {
        panic!("the child printed {output}");
    };
    Output {
        operations,
        latency: [p50, p95, p99].map(|ns| ns / 1e3),
    }
}

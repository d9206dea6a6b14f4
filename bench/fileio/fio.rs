//! Runs fio with registered files and buffers where its engine has them.

use crate::contestant::{Engine, Output};
use crate::{Settings, file};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

pub(crate) fn command(
    settings: &Settings,
    folder: &Path,
    bytes: u64,
    engine: Engine,
    depth: u32,
) -> Command {
    let (jobs, depth) = engine.threads(depth);
    let mut command = Command::new("fio");
    command
        .arg("--name=bench")
        .arg(format!("--filename={}", file(folder).display()))
        .arg(format!("--size={bytes}"))
        .arg(format!("--bs={}", settings.io_size))
        .arg(settings.pattern.of_fio)
        .arg(format!("--runtime={}", settings.time_s))
        .arg(format!("--numjobs={jobs}"))
        .arg(format!("--iodepth={depth}"))
        // Without the map, places are drawn independently, as prony and sysbench do, and without `randrepeat` anew in each turn. `lat`
        // includes the submission.
        .args(["--direct=1", "--time_based=1", "--norandommap=1"])
        .arg("--randrepeat=0")
        .args(["--fallocate=none", "--group_reporting=1", "--thread=1"])
        .args(["--lat_percentiles=1", "--percentile_list=50:95:99"])
        .arg("--output-format=json");
    match engine {
        Engine::IoUring => {
            command.args(["--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1"])
        }
        Engine::Libaio => command.arg("--ioengine=libaio"),
        Engine::Sync => command.arg("--ioengine=psync"),
    };
    command
}

pub(crate) fn read(output: &str) -> Output {
    // Notes may precede the JSON.
    let start = output.find('{').expect("fio prints JSON");
    let json: Value = serde_json::from_str(&output[start..]).expect("fio prints JSON");
    let job = &json["jobs"][0];
    let number = |value: &Value| value.as_f64().expect("a number");
    let done = |kind: &str| number(&job[kind]["total_ios"]);
    let kind = if done("read") > 0.0 { "read" } else { "write" };
    assert_eq!(number(&job["error"]), 0.0, "fio failed:\n{output}");
    let percentile = |name: &str| number(&job[kind]["lat_ns"]["percentile"][name]) / 1e3;
    Output {
        operations: done(kind),
        latency: ["50.000000", "95.000000", "99.000000"].map(percentile),
    }
}

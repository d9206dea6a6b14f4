//! Limits of a server: set, measured, recorded and removed with prony; refused if they cannot be set.
//!
//! Tiers: default, all.

use crate::support::process::{as_nobody, ended, nothing_is_left, send, servers, until};
use crate::support::{Bench, can_limit, has};
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};

const EXPERIMENT: &str = r#"
title = "A slow disk"

[server.one]
build = "BUILD"

[limits]
LIMITS

[workload.ssb]
scale = 0.01

[protocol]
rounds = ["cold"]
queries = ["Q1.1"]
blocks = BLOCKS
control = false
"#;

fn experiment(bench: &Bench, build: &str, limits: &str, blocks: u32) -> String {
    let file = EXPERIMENT
        .replace("BUILD", build)
        .replace("LIMITS", limits)
        .replace("BLOCKS", &blocks.to_string());
    bench.experiment("slow", &file)
}

fn limits(trial: &Value) -> Vec<(String, f64, f64)> {
    let figure = |limit: &Value, key: &str| limit[key].as_f64().unwrap();
    let limits = trial["limits"].as_array().unwrap().iter();
    limits
        .map(|limit| {
            let name = limit["name"].as_str().unwrap().to_string();
            (name, figure(limit, "asked"), figure(limit, "measured"))
        })
        .collect()
}

#[test]
fn every_limit_is_in_force_and_its_measurement_is_recorded() {
    if !can_limit() || !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let requested =
        "read_iops = 300\nwrite_iops = 200\nread_bandwidth = \"8M\"\nmemory = \"1G\"\ncpus = 0.5";
    let file = experiment(&bench, "mariadb", requested, 1);
    let run = bench.run(&["run", &file, "--verbose"]);
    run.measured();
    assert!(
        run.stdout.contains("Limits of the servers"),
        "{}",
        run.stdout
    );
    let document = bench.json(&bench.runs()[0]);
    let limits = limits(&document["trials"][0]);
    let names: Vec<&str> = limits.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "read_iops",
            "read_bandwidth",
            "write_iops",
            "cpus",
            "memory"
        ]
    );
    let flags = document["trials"][0]["flags"].to_string();
    for (name, requested, measured) in &limits {
        let is_slow = flags.contains(&format!("{name}: "));
        // 200 requests of 16 KiB are below 8 MiB/s, 300 of 512 KiB are not.
        assert!(
            *measured <= requested * 1.2 && (*measured >= requested * 0.9 || is_slow),
            "{name}: {requested} requested, {measured} measured"
        );
    }
    nothing_is_left(&bench);
}

#[test]
fn a_limit_without_root_is_refused_after_the_plan_is_printed() {
    // Only root can switch to the user nobody.
    if !can_limit() {
        return;
    }
    let bench = Bench::new();
    let file = experiment(&bench, "mariadb", "read_iops = 20", 1);
    let refused = as_nobody(&bench, &["check", &file]);
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    assert!(refused.stdout.contains("trials  1"), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("run prony as root"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_killed_prony_leaves_no_control_group() {
    if !can_limit() || !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "mariadb", "read_iops = 20", 2);
    let running = bench.start(&["run", &file]);
    let group = group_of_the_server(&bench);
    send(running.id(), Signal::KILL);
    ended(running);
    nothing_is_left(&bench);
    assert!(folders_named("/sys/fs/cgroup", &group).is_empty());
}

#[test]
#[cfg(tier_all)]
fn a_limit_changed_during_a_trial_makes_it_invalid() {
    if !can_limit() || !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "mariadb", "memory = \"2G\"", 1);
    let text = std::fs::read_to_string(&file).unwrap();
    let hot = ", \"hot\"".repeat(20);
    let long = text.replace("[\"cold\"]", &format!("[\"cold\"{hot}]"));
    std::fs::write(&file, long).unwrap();
    let running = bench.start(&["run", &file]);
    let group = group_of_the_server(&bench);
    // The trial does not end before the limit is changed.
    send(running.id(), Signal::STOP);
    let folder = folders_named("/sys/fs/cgroup", &group).remove(0);
    for name in ["memory.limit_in_bytes", "memory.max"] {
        let file = folder.join(name);
        if file.exists() {
            std::fs::write(file, "1G").unwrap();
        }
    }
    send(running.id(), Signal::CONT);
    assert_eq!(ended(running).status, 3);
    let trial = &bench.json(&bench.runs()[0])["trials"][0];
    assert_eq!(trial["state"], "invalid");
    assert!(trial["flags"].to_string().contains("limit_lost"), "{trial}");
    nothing_is_left(&bench);
}

/// The name of the first server's control group. The server that loads the data has none.
fn group_of_the_server(bench: &Bench) -> String {
    let group = || {
        let (pid, _) = servers(bench).into_iter().next()?;
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let ours = groups.lines().find(|line| line.contains("/prony-"))?;
        Some(ours.rsplit('/').next()?.to_string())
    };
    let mut found = None;
    until("a limited server", || {
        found = group();
        found.is_some()
    });
    found.unwrap()
}

/// Control groups of this name in any hierarchy.
fn folders_named(root: &str, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(root).to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy() == name {
                    found.push(entry.path());
                }
                folders.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn a_server_that_prony_does_not_start_cannot_be_limited() {
    let bench = Bench::new();
    // Together with a server that can be limited.
    let both = "mariadb\"\n[server.two]\nbuild = \"sqlite";
    let file = experiment(&bench, both, "read_iops = 300", 1);
    for verb in ["run", "check"] {
        let refused = bench.run(&[verb, &file]);
        assert_eq!(refused.status, 2, "{}", refused.stderr);
        let says = "server \"two\": prony does not start this server";
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
    assert!(bench.runs().is_empty());
}

#[test]
fn a_pool_above_the_memory_limit_is_refused_before_the_first_trial() {
    if !can_limit() || !has("mariadb") {
        return;
    }
    let bench = Bench::new();
    let requested = "memory = \"64M\"\n[settings]\ninnodb_buffer_pool_size = \"128M\"";
    let file = experiment(&bench, "mariadb", requested, 1);
    let run = bench.run(&["run", &file]);
    assert_eq!(run.status, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("limits.memory = 64M is too small"),
        "{}",
        run.stderr
    );
    nothing_is_left(&bench);
}

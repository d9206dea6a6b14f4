//! Files on file systems of their own and under limits: made, measured, and removed with prony.
//!
//! Tiers: default, all.

use crate::support::process::{ended, nothing_is_left, send, until};
use crate::support::timed::*;
use crate::support::{Bench, can_cut, can_have, can_limit, can_mount, has, repeated};
use host::volume::{Filesystem, VolumeOptions};
use rustix::process::Signal;
use serde_json::Value;
use store::Store;

/// Random writes to 32 MB of files; `rest` is everything else.
fn writes(bench: &Bench, rest: &str) -> String {
    let text = format!(
        "title = \"Files\"\n[workload.fileio]\npattern = \"random-write\"\nsize = \"32M\"\nfiles = 2\n{rest}"
    );
    bench.experiment("files", &text)
}

fn is_mounted(bench: &Bench) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.contains(&bench.folder.path().display().to_string())
}

fn has_loop_device(bench: &Bench) -> bool {
    let folder = bench.folder.path().display().to_string();
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten();
    let mut images = devices.map(|device| device.path().join("loop/backing_file"));
    images.any(|image| std::fs::read_to_string(image).is_ok_and(|text| text.contains(&folder)))
}

#[test]
fn files_lie_on_the_file_system_of_their_level_with_its_mount_options() {
    let xfs = VolumeOptions {
        filesystem: Filesystem::Xfs,
        ..VolumeOptions::default()
    };
    if !can_mount() || !can_have(&xfs) {
        return;
    }
    let bench = Bench::new();
    let file = writes(
        &bench,
        "[factor.filesystem.ext4]\n\
         host = { volume = { kind = \"loop\", mount_options = \"noatime,data=writeback\" } }\n\
         [factor.filesystem.xfs]\n\
         host = { volume = { kind = \"loop\", filesystem = \"xfs\" } }\n\
         workload = { extents = \"unwritten\" }\n\
         [load.closed]\nclients = 2\n[protocol]\ntime = \"1s\"\n",
    );
    let shown = measured(&bench, &file);
    let store = Store::open(&bench.runs().pop().unwrap().join("run.sqlite")).unwrap();
    let facts = store.trials_with(&["file system", "mount options", "state of the device"]);
    for trial in facts.unwrap() {
        let (level, facts) = (trial.key.label(), trial.settings);
        assert_eq!(facts["file system"], level);
        assert_eq!(facts["state of the device"], "not purged");
        let options = &facts["mount options"];
        assert!(
            options.contains("noatime") == (level == "ext4"),
            "{options}"
        );
    }
    for level in ["ext4", "xfs"] {
        let trial = at_level(&shown, "filesystem", level);
        assert!(
            flags(&trial, "loop_volume").contains("loop device"),
            "{trial}"
        );
        assert_eq!(trial["errors"], 0, "{trial}");
    }
    nothing_is_left(&bench);
    assert!(!is_mounted(&bench) && !has_loop_device(&bench));
}

/// A load of a minute on a volume.
const ON_A_VOLUME: &str = "[host]\nvolume = { kind = \"loop\" }\n[load.closed]\nclients = 1\n[protocol]\ntime = \"60s\"\n";

#[test]
#[cfg(tier_all)]
fn an_interrupted_load_leaves_nothing_mounted_and_no_files() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    let running = bench.start(&["run", &writes(&bench, ON_A_VOLUME)]);
    until_seconds(&bench, "", 1);
    assert!(is_mounted(&bench) && has_loop_device(&bench));
    send(running.id(), Signal::INT);
    let interrupted = ended(running);
    assert_eq!(interrupted.status, 130, "{}", interrupted.stderr);
    nothing_is_left(&bench);
    assert!(!is_mounted(&bench) && !has_loop_device(&bench));
}

#[test]
fn a_killed_prony_leaves_no_volume_of_files() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    let running = bench.start(&["run", &writes(&bench, ON_A_VOLUME)]);
    until("the volume is mounted", || is_mounted(&bench));
    send(running.id(), Signal::KILL);
    ended(running);
    nothing_is_left(&bench);
    assert!(!is_mounted(&bench) && !has_loop_device(&bench));
}

#[test]
fn a_mount_option_that_the_file_system_refuses_fails_with_its_name() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    let rest = "[host]\nvolume = { kind = \"loop\", mount_options = \"no_such_option\" }\n[load.closed]\nclients = 1\n[protocol]\ntime = \"1s\"\n";
    let failed = bench.run(&["run", &writes(&bench, rest)]);
    assert_eq!(failed.status, 3, "{}", failed.stderr);
    let shown = bench.json(&bench.runs()[0]);
    let flag = flags(&trials(&shown)[0], "trial_failed");
    assert!(flag.contains("no_such_option"), "{flag}");
    nothing_is_left(&bench);
}

#[test]
fn a_device_is_overwritten_only_if_that_is_allowed() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    let root = host::mount_below(std::path::Path::new("/")).unwrap().source;
    let rest = format!(
        "[host]\nvolume = {{ kind = \"device\", device = \"{root}\" }}\n[load.closed]\nclients = 1\n[protocol]\ntime = \"1s\"\n"
    );
    let file = writes(&bench, &rest);
    let refused = bench.run(&["run", &file]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--allow-device-write"),
        "{}",
        refused.stderr
    );
    // It would be mounted, or it is no block device (overlay): never overwritten.
    let refused = bench.run(&["run", &file, "--allow-device-write"]);
    assert!([2, 3].contains(&refused.status), "{}", refused.stderr);
    assert!(
        !refused.stderr.contains("--allow-device-write"),
        "{}",
        refused.stderr
    );
    assert!(bench.runs().is_empty());
}

fn throughputs(trial: &Value) -> Vec<f64> {
    let samples = trial["samples"].as_array().unwrap().iter();
    samples
        .map(|sample| number(&sample["throughput"]))
        .collect()
}

#[test]
fn limits_hold_the_load_that_prony_generates() {
    if !can_limit() {
        return;
    }
    let bench = Bench::new();
    let rest = "[limits]\nwrite_iops = 300\nmemory = \"512M\"\n[load.closed]\nclients = 8\n[protocol]\ntime = \"4s\"\nwarmup = \"1s\"\n";
    let shown = measured(&bench, &writes(&bench, rest));
    let trial = &trials(&shown)[0];
    // A busy disk may do fewer.
    let throughput = number(&trial["throughput"]);
    assert!(0.0 < throughput && throughput <= 330.0, "{trial}");
    let limits = trial["limits"].as_array().unwrap();
    assert!(
        limits.iter().any(|limit| limit["name"] == "write_iops"),
        "{trial}"
    );
    nothing_is_left(&bench);
}

#[test]
fn arrivals_faster_than_the_disk_are_unstable_and_their_wait_counts() {
    if !can_limit() {
        return;
    }
    let bench = Bench::new();
    let rest = "[limits]\nwrite_iops = 100\n[load.open]\nrate = 300\narrivals = \"poisson\"\nworkers = 2\n[protocol]\ntime = \"5s\"\n";
    let shown = measured(&bench, &writes(&bench, rest));
    let trial = &trials(&shown)[0];
    let offered = number(&trial["offered"]);
    assert!((240.0..360.0).contains(&offered), "{trial}");
    let unstable = trial["unstable"].to_string();
    assert!(unstable.contains("the queue grows by"), "{trial}");
    assert!(number(&trial["queued_at_end"]) > 500.0, "{trial}");
    // Two workers at 100 writes/s: a write takes 20 ms, and the rest is its wait.
    let median_ms = response_ms(&bench.runs()[0], 0.5);
    assert!(median_ms > 500.0, "{median_ms}");
}

#[test]
fn a_limit_of_memory_that_would_kill_prony_itself_is_refused() {
    if !can_limit() {
        return;
    }
    let bench = Bench::new();
    let rest =
        "[limits]\nmemory = \"64M\"\n[load.closed]\nclients = 1\n[protocol]\ntime = \"1s\"\n";
    let refused = bench.run(&["run", &writes(&bench, rest)]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("at least 128M"),
        "{}",
        refused.stderr
    );
}

/// Random writes at 200 per second at most, which a busy disk can do too, with these limits of writes from some seconds on.
fn limited(bench: &Bench, time: &str, changes: &[(&str, u32)]) -> Value {
    let event = |(at, write_iops): &(&str, u32)| {
        format!("[[event]]\nat = \"{at}\"\nset = {{ limits = {{ write_iops = {write_iops} }} }}\n")
    };
    let rest = format!(
        "[limits]\nwrite_iops = 200\n[load.closed]\nclients = 4\n[protocol]\ntime = \"{time}\"\nwarmup = \"2s\"\n{}",
        changes.iter().map(event).collect::<String>()
    );
    let shown = measured(bench, &writes(bench, &rest));
    nothing_is_left(bench);
    trials(&shown)[0].clone()
}

/// As `limited`, again where a busy disk has hidden what is to be found. It does so now and then, but not three times.
fn found(time: &str, changes: &[(&str, u32)], is_found: impl Fn(&Value) -> bool) -> Value {
    repeated(3, || limited(&Bench::new(), time, changes), is_found)
}

/// The median throughput of some seconds.
fn median(trial: &Value, seconds: std::ops::Range<usize>) -> f64 {
    let mut values = throughputs(trial)[seconds].to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a published series of an SSD showed, on a real file: another level from one second on.
#[test]
#[cfg(tier_all)]
fn a_limit_that_changes_during_the_load_changes_the_level_of_its_seconds() {
    if !can_limit() {
        return;
    }
    // A busy disk may have shifts of its own, and seconds without a write after the change.
    let is_ours = |shift: &Value| {
        let [at_s, from, to] = ["at_s", "from", "to"].map(|key| number(&shift[key]));
        (26.0..35.0).contains(&at_s) && to < from
    };
    let levels = |trial: &Value| (median(trial, 3..28), median(trial, 29..46));
    let is_found = |trial: &Value| {
        let shifts = trial["level_shifts"].as_array().unwrap();
        shifts.iter().any(is_ours) && levels(trial).0 > 100.0
    };
    // A level lasts ten seconds. Where a busy disk divides the seconds before the change, one part is still so long.
    let trial = found("44s", &[("28s", 25)], is_found);
    let (before, after) = levels(&trial);
    assert!(after <= 28.75 && 100.0 < before, "{before} {after}");
    assert!(
        is_found(&trial),
        "{} in {:?}",
        trial["level_shifts"],
        throughputs(&trial)
    );
    let events = trial["events"].as_array().unwrap();
    let text = events[0]["text"].as_str().unwrap();
    assert!(text.starts_with("set: write_iops = 25 in "), "{text}");
    assert_eq!(events.len(), 1);
}

/// And another one: drops at equal intervals.
#[test]
#[cfg(tier_all)]
fn a_limit_that_alternates_is_found_as_a_period() {
    if !can_limit() {
        return;
    }
    let at = |second: u32| format!("{second}s");
    let times: Vec<(String, u32)> = (1..=8)
        .flat_map(|cycle| [(at(6 * cycle), 20), (at(6 * cycle + 2), 200)])
        .collect();
    let changes: Vec<(&str, u32)> = times.iter().map(|(at, limit)| (&at[..], *limit)).collect();
    let is_found = |trial: &Value| {
        let period = &trial["period"];
        let every_s = period["every_s"].as_f64();
        every_s.is_some_and(|every_s| (5.5..6.5).contains(&every_s))
            && number(&period["least"]) < 75.0
            && number(&period["usual"]) > 100.0
    };
    let trial = found("49s", &changes, is_found);
    assert!(is_found(&trial), "{trial}");
}

/// And another one: seconds of nothing.
#[test]
#[cfg(tier_all)]
fn a_limit_that_stops_the_disk_for_seconds_is_found_as_a_stall() {
    if !can_limit() {
        return;
    }
    // A busy disk may have stalls of its own, before and after it too.
    let is_ours = |stall: &Value| {
        let start_s = number(&stall["start_s"]);
        start_s <= 11.0 && start_s + number(&stall["seconds"]) >= 13.0
    };
    let is_found = |trial: &Value| {
        let is_stall = trial["stalls"].as_array().unwrap().iter().any(is_ours);
        is_stall && median(trial, 3..10) > 50.0
    };
    let trial = found("20s", &[("10s", 1), ("14s", 200)], is_found);
    assert!(is_found(&trial), "{trial}");
}

#[test]
#[cfg(tier_all)]
fn the_next_trial_of_a_series_begins_with_the_limits_of_the_file() {
    if !can_limit() {
        return;
    }
    let bench = Bench::new();
    let rest = "[limits]\nwrite_iops = 1000\n[load.closed]\nclients = [4, 8]\n[protocol]\ntime = \"5s\"\nseries = true\n\
        [[event]]\nat = \"2s\"\nset = { limits = { write_iops = 20 } }\n";
    let file = writes(&bench, rest);
    // With the limit of the trial before it, the first second has 20 and what was left over. A busy disk does not do a thousand, and
    // now and then nothing at all, but not three times.
    let is_limited_anew = |shown: &Value| {
        ["4", "8"].iter().all(|clients| {
            let seconds = throughputs(&at_level(shown, "clients", clients));
            seconds[0] > 40.0 && seconds[4] < 40.0
        })
    };
    let shown = repeated(3, || measured(&bench, &file), is_limited_anew);
    assert!(is_limited_anew(&shown), "{shown}");
    for trial in trials(&shown) {
        assert_eq!(flags(&trial, "limit_lost"), "");
    }
}

#[test]
#[cfg(tier_all)]
fn settings_that_change_during_the_load_are_restored_after_it() {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let asked = "sql = \"select 1 from dual where @@global.innodb_io_capacity = 321\"";
    let rest = format!(
        "[load.closed]\nclients = [1, 2]\n[protocol]\ntime = \"6s\"\nseries = true\n\
         [[event]]\nat = \"500ms\"\n{asked}\n\
         [[event]]\nat = \"2s\"\nset = {{ settings = {{ innodb_io_capacity = 321 }} }}\n\
         [[event]]\nat = \"3s\"\n{asked}\n"
    );
    let file = experiment(&bench, "settings", &oltp("point-select"), &rest);
    let shown = measured(&bench, &file);
    for clients in ["1", "2"] {
        let trial = at_level(&shown, "clients", clients);
        let events = trial["events"].as_array().unwrap().iter();
        let rows: Vec<bool> = events
            .filter(|event| event["kind"] == "sql")
            .map(|event| event["text"].as_str().unwrap().contains(": 1 rows in"))
            .collect();
        assert_eq!(rows, [false, true], "{clients}: {}", trial["events"]);
        assert_eq!(flags(&trial, "event_failed"), "");
    }
}

/// One load per level on a disk that forgets, which ends with a power cut.
fn cut_off(bench: &Bench, levels: &str) -> Value {
    let rest = format!(
        "verify = true\nio_size = \"4K\"\n{levels}\
         [load.closed]\nclients = 2\n[protocol]\ntime = \"60s\"\nwarmup = \"0s\"\n\
         [[event]]\nat = \"2s\"\npower_cut = {{ survive = \"none\", seed = 1 }}\n"
    );
    measured(bench, &writes(bench, &rest))
}

#[test]
fn after_a_power_cut_synced_writes_are_there_and_a_disk_that_lies_is_caught() {
    if !can_cut() {
        return;
    }
    let bench = Bench::new();
    let shown = cut_off(
        &bench,
        "fsync = \"each\"\n\
         [factor.disk.honest]\nhost = { volume = { kind = \"volatile\" } }\n\
         [factor.disk.lies]\nhost = { volume = { kind = \"volatile\", lie = \"flush\" } }\n",
    );
    let [honest, lies] = ["honest", "lies"].map(|level| at_level(&shown, "disk", level));
    for trial in [&honest, &lies] {
        assert!(is_whole(trial), "{trial}");
        let text = trial["events"][0]["text"].to_string();
        assert!(text.contains("unsynced bytes survived"), "{text}");
        assert!(
            flags(trial, "stopped").contains("ended by an event"),
            "{trial}"
        );
        assert!(number(&trial["audit"]["acknowledged"]) > 0.0, "{trial}");
    }
    assert_eq!(honest["audit"]["lost"], 0, "{honest}");
    assert!(number(&lies["audit"]["lost"]) > 0.0, "{lies}");
    nothing_is_left(&bench);
    assert!(!is_mounted(&bench) && !has_loop_device(&bench));
}

#[test]
#[cfg(tier_all)]
fn a_power_cut_may_take_what_was_not_synced_on_every_engine() {
    if !can_cut() {
        return;
    }
    let bench = Bench::new();
    let shown = cut_off(
        &bench,
        "fsync = \"never\"\n[host]\nvolume = { kind = \"volatile\" }\n\
         [factor.engine.sync]\nworkload = { engine = \"sync\" }\n\
         [factor.engine.io_uring]\nworkload = { engine = \"io_uring\", depth = 4 }\n\
         [factor.engine.libaio]\nworkload = { engine = \"libaio\", depth = 4 }\n",
    );
    for engine in ["sync", "io_uring", "libaio"] {
        let trial = at_level(&shown, "engine", engine);
        assert!(is_whole(&trial), "{trial}");
        assert_eq!(trial["audit"]["lost"], 0, "{trial}");
        assert!(number(&trial["audit"]["unknown"]) > 0.0, "{trial}");
    }
    nothing_is_left(&bench);
}

//! Reads and writes of real files by the binary, without a server.
//!
//! Tiers: default, all.

use crate::support::Bench;
use crate::support::process::{as_nobody, ended, nothing_is_left, send, until};
use crate::support::skip::skipped;
use crate::support::timed::*;
use rustix::process::Signal;

/// A folder on a disk: the temporary folder may lie in memory, where direct I/O means nothing.
fn disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn bench_measures_reads_and_writes_in_a_folder_and_leaves_it_empty() {
    let (bench, disk) = (Bench::new(), disk());
    let directory = disk.path().display();
    let ended = bench.line(&format!(
        "bench fileio --directory {directory} --size 16M --pattern mixed --fsync 50 --clients 1,4 --time 1s --format json"
    ));
    whole(&ended);
    let shown = shown(&ended);
    for clients in ["1", "4"] {
        let trial = at_level(&shown, "clients", clients);
        assert_eq!(trial["errors"], 0, "{trial}");
        let operations = trial["by_operation"].as_array().unwrap();
        let names: Vec<&str> = operations
            .iter()
            .filter_map(|one| one["name"].as_str())
            .collect();
        assert_eq!(names, ["read", "write", "sync"], "{trial}");
        // A busy disk may stand still for the whole second. What was begun in it ends after it.
        assert!(ended_operations(&trial) > 0.0, "{trial}");
    }
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 0);
    nothing_is_left(&bench);
}

#[test]
fn asynchronous_engines_keep_operations_in_flight_and_sync_once_at_the_end() {
    let (bench, disk) = (Bench::new(), disk());
    let directory = disk.path().display();
    for engine in ["io_uring", "libaio"] {
        let ended = bench.line(&format!(
            "bench fileio --directory {directory} --size 16M --pattern random-write --fsync end --engine {engine} --depth 8 --clients 2 --time 1s --format json"
        ));
        if ended.stderr.contains("cannot be used here") {
            eprintln!("skipped: {}", ended.stderr);
            continue;
        }
        let trial = &whole(&ended)[0];
        assert_eq!(trial["errors"], 0, "{trial}");
        assert_eq!(trial["engine"]["backend"], engine, "{trial}");
        let [writes, syncs] = &trial["by_operation"].as_array().unwrap()[..] else {
            panic!("two operations: {trial}");
        };
        assert_eq!(
            (&writes["name"], &syncs["name"]),
            (&"write".into(), &"sync".into())
        );
        assert_eq!(syncs["starts"], 1, "{trial}");
        assert!(ended_operations(trial) > 1.0, "{trial}");
    }
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 0);
    nothing_is_left(&bench);
}

#[test]
fn blocking_calls_with_a_depth_are_refused_with_the_way_out() {
    let (bench, disk) = (Bench::new(), disk());
    let directory = disk.path().display();
    let ended = bench.line(&format!(
        "bench fileio --directory {directory} --depth 8 --time 1s"
    ));
    assert_eq!(ended.status, 2, "{}", ended.stderr);
    let says = "write engine = \"io_uring\" or \"libaio\", or use more clients";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
}

#[test]
fn files_that_do_not_fit_are_refused_before_a_byte_is_written() {
    let (bench, disk) = (Bench::new(), disk());
    let directory = disk.path().display();
    let ended = bench.line(&format!(
        "bench fileio --directory {directory} --size 900T --time 1s"
    ));
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    let says = "the files need 989.6 TB, but";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_is_refused_where_it_is_missing_or_a_server_is_measured() {
    let bench = Bench::new();
    let missing = bench.line("bench fileio --directory /nowhere/at/all --time 1s");
    assert_eq!(missing.status, 2, "{}", missing.stderr);
    let says = "/nowhere/at/all in [host] is not a folder; create it";
    assert!(missing.stderr.contains(says), "{}", missing.stderr);
    let server = bench.line("bench oltp-point-select --directory /tmp --time 1s");
    assert_eq!(server.status, 2, "{}", server.stderr);
    let says = "is for workloads without a server, such as fileio";
    assert!(server.stderr.contains(says), "{}", server.stderr);
}

/// The JSON of a file with these keys of the workload, measured for a second.
fn of_keys(bench: &Bench, disk: &std::path::Path, keys: &str) -> serde_json::Value {
    let directory = disk.display();
    let text = format!(
        "title = \"files\"\nquestion = \"What do these keys do?\"\n[host]\ndirectory = \"{directory}\"\n[workload.fileio]\nsize = \"16M\"\n{keys}\n[load.closed]\nclients = [2]\n[protocol]\nshort = true\nshared_machine = true\ntime = \"1s\"\n"
    );
    let path = bench.folder.path().join("files.toml");
    std::fs::write(&path, text).unwrap();
    measured(bench, &path.display().to_string())
}

#[test]
fn check_counts_the_files_as_disk_space_and_their_preconditioning_as_time() {
    let bench = Bench::new();
    let disk_and_time = |keys: &str| {
        let text = format!(
            "title = \"files\"\n[workload.fileio]\nsize = \"64M\"\n{keys}\n[protocol]\ntime = \"20s\"\n"
        );
        let file = bench.experiment("files", &text);
        let checked = bench.run(&["check", &file]);
        assert_eq!(checked.status, 0, "{}", checked.stderr);
        let lines: Vec<String> = checked.stdout.lines().map(str::to_string).collect();
        assert_eq!(lines[1], "disk    about 64.0 MiB", "{}", checked.stdout);
        lines[2].clone()
    };
    assert_eq!(disk_and_time(""), "time    about 23 s");
    let preconditioned = "precondition = \"2x\"\nprecondition_round = \"60s\"";
    assert_eq!(disk_and_time(preconditioned), "time    about 5 min");
}

#[test]
fn verified_files_are_read_back_after_the_load() {
    let (bench, disk) = (Bench::new(), disk());
    let keys = "pattern = \"random-write\"\nverify = true";
    let shown = of_keys(&bench, disk.path(), keys);
    let trial = &trials(&shown)[0];
    let says = "1024 blocks were read back, 0 of them wrong";
    assert_eq!(trial["audit"]["findings"][0], says, "{trial}");
}

#[test]
fn preconditioning_is_reported_with_its_verdict() {
    let (bench, disk) = (Bench::new(), disk());
    let keys = "pattern = \"random-write\"\nprecondition = \"2x\"\nprecondition_round = \"200ms\"";
    let shown = of_keys(&bench, disk.path(), keys);
    let text = flags(&trials(&shown)[0], "preconditioned");
    assert!(text.contains("the files (16.8 MB"), "{text}");
    assert!(text.contains(" were written 2 times; "), "{text}");
    assert!(
        text.contains(" rounds of 0.2 s by the SNIA rule: "),
        "{text}"
    );
}

#[test]
fn buffered_files_smaller_than_the_memory_are_a_warning() {
    let (bench, disk) = (Bench::new(), disk());
    let shown = of_keys(&bench, disk.path(), "direct = false");
    let trial = &trials(&shown)[0];
    let text = flags(trial, "smaller_than_caches");
    assert!(
        text.contains("the files (16.8 MB) are smaller than the caches"),
        "{text}"
    );
}

#[test]
fn a_trial_whose_direct_io_stayed_in_memory_is_invalid() {
    let shm = std::path::Path::new("/dev/shm");
    if !host::mount_below(shm).is_ok_and(|mount| mount.kind == "tmpfs") {
        return skipped("/dev/shm is no tmpfs");
    }
    let (bench, disk) = (Bench::new(), tempfile::tempdir_in(shm).unwrap());
    let directory = disk.path().display();
    let ended = bench.line(&format!(
        "bench fileio --directory {directory} --size 16M --time 1s --format json"
    ));
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    // Before Linux 6.6 tmpfs refuses direct I/O.
    if !ended.stderr.contains("has no direct I/O") {
        let text = flags(&trials(&shown(&ended))[0], "direct_io_cached");
        assert!(text.contains("16.8 MB of 16.8 MB"), "{text}");
    }
}

/// The folders that prony made in a directory.
fn folders(directory: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.collect()
}

#[test]
fn doctor_describes_a_disk_and_leaves_nothing_on_it() {
    let (bench, disk) = (Bench::new(), disk());
    std::fs::write(disk.path().join("theirs"), "precious").unwrap();
    let directory = disk.path().display().to_string();
    let ended = bench.run(&["doctor", &directory, "--format", "json"]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let shown = shown(&ended);
    let probes = shown["probes"].as_array().unwrap();
    assert_eq!(probes.len(), 9);
    // It takes at most 20 s, except on a disk that stalls. There a probe may be over before its first operation.
    let is_stalled = number(&shown["elapsed_s"]) > 20.0;
    for probe in probes {
        let is_measured = number(&probe["operations_per_s"]) > 0.0;
        assert!(is_measured || is_stalled, "{probe}");
        let max_ms = probe["latency_ms"]["max"].as_f64();
        assert_eq!(is_measured, max_ms > Some(0.0), "{probe}");
    }
    assert_eq!(shown["direct"]["verdict"], "works", "{shown}");
    assert_eq!(folders(disk.path()), ["theirs"]);
    assert_eq!(
        std::fs::read_to_string(disk.path().join("theirs")).unwrap(),
        "precious"
    );
    nothing_is_left(&bench);
}

#[test]
#[cfg(tier_all)]
fn doctor_needs_no_root_and_prints_plain_text_of_80_columns() {
    let (bench, disk) = (Bench::new(), tempfile::tempdir().unwrap());
    let directory = disk.path().display().to_string();
    let arguments = ["doctor", &directory];
    let ended = match rustix::process::geteuid().is_root() {
        true => {
            let nobody = Some(65_534);
            std::os::unix::fs::chown(disk.path(), nobody, nobody).unwrap();
            as_nobody(&bench, &arguments)
        }
        false => bench.run(&arguments),
    };
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    for line in ended.stdout.lines() {
        assert!(line.is_ascii(), "{line}");
        assert!(line.len() <= 80 || line.starts_with('/'), "{line}");
    }
    for name in [
        "append 512 B, fdatasync",
        "file system ",
        "O_DIRECT ",
        "flushes ",
        "atomic writes ",
    ] {
        let has = ended.stdout.lines().any(|line| line.starts_with(name));
        assert!(has, "{name}: {}", ended.stdout);
    }
    assert_eq!(folders(disk.path()), [""; 0]);
}

#[test]
fn an_interrupted_doctor_removes_its_folder() {
    let (bench, disk) = (Bench::new(), disk());
    let directory = disk.path().display().to_string();
    let doctor = bench.start(&["doctor", &directory]);
    until("the folder of the probes", || {
        folders(disk.path())
            .iter()
            .any(|name| name.starts_with("prony-doctor"))
    });
    send(doctor.id(), Signal::INT);
    let ended = ended(doctor);
    assert_eq!(ended.status, 130, "{}", ended.stderr);
    assert_eq!(folders(disk.path()), [""; 0]);
    nothing_is_left(&bench);
}

#[test]
fn the_files_of_a_killed_run_are_removed_by_the_next_one() {
    let (bench, disk) = (Bench::new(), disk());
    let directory = disk.path().display();
    let arguments = format!("bench fileio --directory {directory} --size 16M --time 60s");
    let killed = bench.start(&arguments.split(' ').collect::<Vec<_>>());
    until("the folder of the files", || {
        !folders(disk.path()).is_empty()
    });
    // The guard first: it would clean up.
    for line in bench
        .processes()
        .iter()
        .filter(|line| line.contains(" guard "))
    {
        let pid = line.split(':').next().unwrap().parse().unwrap();
        send(pid, Signal::KILL);
    }
    send(killed.id(), Signal::KILL);
    assert_ne!(ended(killed).status, 0);
    bench.wait_until_quiet();
    assert_eq!(folders(disk.path()).len(), 1, "left behind");
    let next = bench.line(&format!(
        "bench fileio --directory {directory} --size 1M --time 1s --format json"
    ));
    whole(&next);
    assert_eq!(folders(disk.path()), [""; 0]);
    nothing_is_left(&bench);
}

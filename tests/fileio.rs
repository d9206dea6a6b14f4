//! Reads and writes of real files by the binary, without a server.

use crate::support::Bench;
use crate::support::process::nothing_is_left;
use crate::support::timed::*;

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
    assert_eq!(ended.status, 0, "{}", ended.stderr);
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
        assert!(number(&trial["throughput"]) > 0.0, "{trial}");
    }
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 0);
    nothing_is_left(&bench);
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

//! Tests of power cuts with a real server on a volatile volume that obeys flushes or lies about them.
//!
//! A client inserts rows, each in a transaction of its own, and remembers which commits were acknowledged. They require root,
//! loop devices and FUSE.
//!
//! Tiers: default, all.

use crate::real::begun;
use crate::support::can_have;
use crate::support::fresh::Fresh;
use crate::support::process::until;
use host::volume::{DiskOptions, Filesystem, Volume, VolumeOptions};
use prony::run::Power;
use prony::run::event::{Events, Happened};
use server::{Managed, Node, StartRequest};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const BYTES: u64 = 1 << 30;
const CUT: &str = "[[event]]\nat = '3s'\npower_cut = { survive = 'none', seed = 7 }";

/// A server on a volatile volume. The fields end in this order.
struct Bench {
    server: Arc<Managed>,
    power: Power,
    daemon: u32,
    fresh: Fresh,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.server.kill();
    }
}

fn volatile(lies: bool) -> VolumeOptions {
    VolumeOptions {
        filesystem: Filesystem::Ext4,
        volatile: Some(DiskOptions {
            lies,
            ..DiskOptions::default()
        }),
        ..VolumeOptions::default()
    }
}

/// None, with a message, where the build or the volume is not available. In CI that is a failure.
fn bench(options: VolumeOptions) -> Option<Bench> {
    if !can_have(&options) {
        return None;
    }
    let fresh = Fresh::of("mariadb")?;
    let fill = |root: &std::path::Path| {
        let cloned = host::clone::folder(&fresh.data_folder, &root.join("data"));
        cloned.map(drop).map_err(|error| error.to_string())
    };
    let place = fresh.instance().with_file_name("volume");
    let volume = Volume::make(options, BYTES, &place, &fresh.leases, fill).unwrap();
    let server = Arc::new(fresh.managed());
    let request = StartRequest {
        data_folder: volume.data().join("data"),
        settings: vec![("innodb_flush_log_at_trx_commit".into(), "1".into())],
        groups: Vec::new(),
    };
    server.start(&request).unwrap();
    let mut session = server.connect().unwrap();
    for statement in [
        "CREATE DATABASE prony_recovery",
        "CREATE TABLE prony_recovery.commits (n BIGINT NOT NULL) ENGINE=InnoDB",
        "CREATE TABLE prony_recovery.rows (n BIGINT NOT NULL PRIMARY KEY) ENGINE=InnoDB",
    ] {
        session.execute(statement).unwrap();
    }
    let daemon = volume.daemon_pid().unwrap();
    Some(Bench {
        server,
        power: Power::new(volume, 0),
        daemon,
        fresh,
    })
}

/// Begins a power cut after 3 s.
fn begin(bench: &Bench) -> Events {
    begun::begin(CUT, || begun::means(&bench.server, Some(&bench.power)))
}

/// Inserts rows from 1 on until the connection is lost. Returns the last acknowledged one.
fn insert(server: &Managed) -> u64 {
    let mut session = server.connect().unwrap();
    let rows = 1..;
    let mut acknowledged = rows.take_while(|n| {
        let inserted = session.execute(&format!("INSERT INTO prony_recovery.rows VALUES ({n})"));
        inserted.is_ok()
    });
    acknowledged.by_ref().last().unwrap_or(0)
}

fn rows(server: &Managed) -> BTreeSet<u64> {
    let mut session = server.connect().unwrap();
    let reply = session.query("SELECT n FROM prony_recovery.rows").unwrap();
    let number = |row: &Vec<Option<Vec<u8>>>| {
        let text = String::from_utf8(row[0].clone().unwrap()).unwrap();
        text.parse().unwrap()
    };
    reply.rows.iter().map(number).collect()
}

/// What an audit of one crash says.
#[derive(Debug)]
struct Audit {
    lost: u64,
    happened: Happened,
}

fn audited(bench: &Bench) -> Audit {
    let pid = bench.server.pid().unwrap();
    let events = begin(bench);
    let acknowledged = insert(&bench.server);
    until("a restarted server", || {
        bench.server.pid().is_some_and(|now| now != pid) && bench.server.connect().is_ok()
    });
    let happened = events.cancel();
    assert!(happened.failed.is_empty(), "{:?}", happened.failed);
    let kept = rows(&bench.server);
    // The one that was under way may be kept.
    assert!(kept.last().copied().unwrap_or(0) <= acknowledged + 1);
    let lost = (1..=acknowledged).filter(|n| !kept.contains(n)).count() as u64;
    eprintln!("{lost} of {acknowledged} acknowledged rows are lost");
    assert!(acknowledged > 0);
    Audit { lost, happened }
}

#[test]
fn with_a_flush_at_each_commit_a_power_cut_loses_nothing() {
    let Some(bench) = bench(volatile(false)) else {
        return;
    };
    let audit = audited(&bench);
    assert_eq!(audit.lost, 0, "{audit:?}");
    let note = &audit.happened.notes[0];
    assert_eq!((note.kind.as_str(), note.node), ("power_cut", Some(1)));
    assert_eq!(note.numbers["seed"], 7.0);
    assert_eq!(note.numbers["survived_bytes"], 0.0);
    assert!(note.numbers["mount_s"] < note.numbers["accept_s"]);
}

#[test]
fn a_disk_that_lies_about_flushes_is_caught() {
    let Some(bench) = bench(volatile(true)) else {
        return;
    };
    let audit = audited(&bench);
    assert!(audit.lost > 0, "{audit:?}");
}

#[test]
#[cfg(tier_all)]
fn a_dead_daemon_is_named_and_leaves_nothing_mounted() {
    let Some(bench) = bench(volatile(false)) else {
        return;
    };
    let daemon = rustix::process::Pid::from_raw(bench.daemon as i32).unwrap();
    let events = begin(&bench);
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    insert(&bench.server);
    // The event comes after three seconds, or later on a busy machine.
    std::thread::sleep(Duration::from_secs(7));
    let happened = events.cancel();
    let says = &happened.failed[0];
    let is_named = says.contains("the process of the volatile disk ended, signal: 9");
    assert!(
        is_named || says.contains("the server had already ended"),
        "{says}"
    );
    let folder = bench.fresh.instance().parent().unwrap().to_path_buf();
    drop(bench);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(folder.to_str().unwrap()), "{mounts}");
}

//! Damaged files and connections, interruptions and kills. Each test of many cases has a short share that always runs, and a long one:
//!
//! PRONY_TESTS=long cargo test --release -p prony --test tests -- --show-output hardening
//!
//! `HARDENING_SEED=1562` repeats the case of one seed, which a failed test names.
//!
//! Tiers: default, all, long.

use crate::faults::experiment;
use crate::support::elsewhere::{Elsewhere, dsn_with_password};
use crate::support::process::{ended, nothing_is_left, send, servers, until, works};
use crate::support::proxy::Proxy;
use crate::support::random::Random;
use crate::support::sound::{beside, say, sound};
use crate::support::{Bench, has};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Parts of TOML and of values that are easy to get wrong.
const WORDS: [&[u8]; 16] = [
    b"\"",
    b"[",
    b"]]",
    b"{",
    b"=",
    b"\n",
    b"#",
    b"'''",
    b"\x1b[31m",
    b"\0",
    b"\xff\xfe",
    b"-1",
    b"1e999",
    b"99999999999999999999",
    b"\"data * 1e300\"",
    b"\xe2\x80\xae",
];

const CHECKS_AT_ONCE: usize = 4;
/// Each has a server of its own.
const PROXIES_AT_ONCE: usize = 3;

/// The experiments that come with prony.
fn experiments(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(experiments(&path));
        } else if path.extension().is_some_and(|name| name == "toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Changes 1 to 8 places: a bit, a missing part, a repeated part, a foreign word.
fn mutated(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=random.below(8) {
        let place = random.place(text.len());
        let end = (place + random.place(40)).min(text.len());
        match random.below(4) {
            0 if place < text.len() => text[place] ^= 1 << random.below(8),
            1 => drop(text.drain(place..end)),
            2 => {
                let part = text[place..end].to_vec();
                text.splice(place..place, part);
            }
            _ => {
                let word = WORDS[random.place(WORDS.len())];
                text.splice(place..place, word.iter().copied());
            }
        }
    }
    text
}

/// These seeds, or the one to repeat.
fn chosen(seeds: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let one = std::env::var("HARDENING_SEED").ok();
    match one.and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => seeds.into_iter().collect(),
    }
}

fn mutated_files_get_a_message(seeds: impl IntoIterator<Item = u64>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let originals = experiments(&folder);
    let runs = beside(
        CHECKS_AT_ONCE,
        chosen(seeds),
        || Some(Bench::new()),
        |bench, seed| {
            let mut random = Random(seed);
            let original = &originals[random.place(originals.len())];
            let text = mutated(&std::fs::read(original).unwrap(), &mut random);
            let file = bench.folder.path().join(format!("mutated-{seed}.toml"));
            std::fs::write(&file, text).unwrap();
            let name = format!("seed {seed}, {}", original.display());
            let run = sound(bench.start(&["check", &file.display().to_string()]), &name);
            std::fs::remove_file(&file).unwrap();
            run
        },
    );
    say("check of mutated files", &runs);
}

#[test]
fn eighty_mutated_files_get_a_message() {
    mutated_files_get_a_message(0..80);
}

#[test]
#[cfg(tier_long)]
fn hardening_2000_mutated_files_get_a_message() {
    mutated_files_get_a_message(1_000..3_000);
}

fn damaged_connections_end(seeds: impl IntoIterator<Item = u64>, workers: usize) {
    let make = || Some((Bench::new(), Elsewhere::start("mariadb", "ALL ON *.*")?));
    let runs = beside(workers, chosen(seeds), make, |(bench, server), seed| {
        let proxy = Proxy::start(server.port, seed);
        let dsn = dsn_with_password(proxy.port);
        let line = "bench oltp-point-select --tables 1 --rows 100 --clients 2 --time 1s --allow-drop --server";
        let arguments: Vec<&str> = line.split(' ').chain([dsn.as_str()]).collect();
        let run = sound(bench.start(&arguments), &format!("seed {seed}"));
        // What a damaged load left behind is not the subject.
        server.execute("DROP DATABASE IF EXISTS prony_oltp");
        run
    });
    say("loads behind a damaging proxy", &runs);
}

#[test]
fn ten_runs_behind_a_damaging_proxy_end() {
    damaged_connections_end(0..10, 1);
}

#[test]
#[cfg(tier_long)]
fn hardening_1000_runs_behind_a_damaging_proxy_end() {
    damaged_connections_end(1_000..2_000, PROXIES_AT_ONCE);
}

/// Without the guard, the next prony cleans up.
fn servers_end_without_prony_and_its_guard(times: usize) {
    if !has("mariadb") {
        return;
    }
    let bench = Bench::with_shared_snapshots();
    let file = experiment(&bench, "mariadb");
    let first = bench.run(&["run", &file, "--blocks", "1"]);
    first.measured();
    for _ in 0..times {
        let running = bench.start(&["run", &file]);
        // For a moment after its start a server has none.
        let is_supervised = |line: &String| line.contains("prony supervise ");
        until("the server's supervisor", || {
            bench.processes().iter().any(is_supervised)
        });
        let processes = bench.processes();
        let guard = processes.iter().find(|line| line.contains("prony guard "));
        let guard = guard.and_then(|line| line.split(':').next()?.parse().ok());
        send(guard.expect("a guard"), Signal::KILL);
        send(running.id(), Signal::KILL);
        ended(running);
        until("the end of the server", || servers(&bench).is_empty());
        let next = bench.run(&["check", &file]);
        assert_eq!(next.status, 0, "{}", next.stderr);
        nothing_is_left(&bench);
    }
}

#[test]
fn a_server_ends_when_prony_and_its_guard_are_killed() {
    servers_end_without_prony_and_its_guard(2);
}

#[test]
#[cfg(tier_long)]
fn hardening_twenty_servers_end_when_prony_and_its_guard_are_killed() {
    servers_end_without_prony_and_its_guard(20);
}

/// Time from the signal to the end of prony. It waits 2 s for a reply at most; the rest is for a busy machine.
const INTERRUPTED_WITHIN: Duration = Duration::from_secs(60);

/// Ctrl-C while the server does not answer, for what these words start, at the moment that `has_come`.
fn ctrl_c_ends_prony(words: &str, has_come: impl Fn(&Bench) -> bool) {
    let bench = Bench::new();
    let write = |name: &str, text: &str| std::fs::write(bench.folder.path().join(name), text);
    write("empty.sql", "create table t (a int primary key);\n").unwrap();
    write("slow.sql", "select benchmark(100000000000, sha1(1));\n").unwrap();
    let running = bench.start(&words.split(' ').collect::<Vec<_>>());
    until(words, || has_come(&bench));
    for (pid, _) in servers(&bench) {
        send(pid, Signal::STOP);
    }
    let began = Instant::now();
    send(running.id(), Signal::INT);
    let interrupted = ended(running);
    let took = began.elapsed();
    assert_eq!(interrupted.status, 130, "{words}: {}", interrupted.stderr);
    assert!(took < INTERRUPTED_WITHIN, "{words}: {took:?}");
    nothing_is_left(&bench);
}

#[test]
fn ctrl_c_ends_a_load_of_rows_although_the_server_is_stopped() {
    if has("mariadb") {
        let words = "bench ssb --scale 0.5 --rounds hot --server mariadb";
        ctrl_c_ends_prony(words, works);
    }
}

#[test]
#[cfg(tier_all)]
fn ctrl_c_ends_a_query_although_the_server_is_stopped() {
    if has("mariadb") {
        let words = "bench sql --dump empty.sql --queries slow.sql --rounds hot --server mariadb";
        ctrl_c_ends_prony(words, works);
    }
}

#[test]
fn ctrl_c_ends_a_timed_load_although_the_server_is_stopped() {
    if has("mariadb") {
        let words = "bench oltp-point-select --tables 1 --rows 1000 --clients 2 --time 600s --server mariadb";
        ctrl_c_ends_prony(words, works);
    }
}

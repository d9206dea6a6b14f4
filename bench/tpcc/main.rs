//! Compares TPC-C transactions with go-tpc and tpcc-mysql on one server, with all clients on the server's cores. Turns alternate; the
//! results are medians.
//!
//! cargo bench -p prony --bench tpcc -- SERVER [--go-tpc PROGRAM] [--tpcc-mysql FOLDER] [--warehouses N] [--time S] [--turns N]
//!     [--clients 8,64] [--out FILE]
//!
//! SERVER is a build that prony starts (`mariadb`, `mysql@8.0.33`). Each peer is optional; FOLDER holds `tpcc_load`, `tpcc_start` and
//! `create_table.sql`. All connect over loopback. CPU time is that of the whole client process, as the kernel accounts it, by
//! New-Orders. Goals: CPU per New-Order at most 0.35 of tpcc-mysql's and 0.3 of go-tpc's; at least 1.1 times as many New-Orders
//! where the server is not the limit; loading at least three times go-tpc's rows/s.

#[path = "../load/drive.rs"]
mod drive;
#[path = "../load/measured.rs"]
mod measured;
#[path = "../median.rs"]
mod median;
#[path = "../load/server.rs"]
mod server;

mod contestant;
mod loading;
mod table;

use contestant::{Contestant, Turn};
use server::Running;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// The first argument of a child process.
const AS_CHILD: &str = "--as-child";

/// The settings of a comparison.
pub(crate) struct Settings {
    build: String,
    go_tpc: Option<PathBuf>,
    tpcc_mysql: Option<PathBuf>,
    warehouses: u32,
    time_s: u32,
    turns: usize,
    clients: Vec<u32>,
    out: Option<PathBuf>,
}

fn main() {
    let mut arguments: VecDeque<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let Some(build) = arguments.pop_front() else {
        eprintln!("skipped: give a build, see the top of bench/tpcc/main.rs");
        return;
    };
    if build == AS_CHILD {
        return contestant::child(arguments.make_contiguous());
    }
    compare(&read(build, arguments));
}

fn read(build: String, mut arguments: VecDeque<String>) -> Settings {
    let mut settings = Settings {
        build,
        go_tpc: None,
        tpcc_mysql: None,
        warehouses: 1,
        time_s: 5,
        turns: 1,
        clients: vec![8],
        out: None,
    };
    while let Some(flag) = arguments.pop_front() {
        let value = arguments.pop_front().expect("the flag has a value");
        let number = |text: &str| text.parse().expect("a number");
        match flag.as_str() {
            "--go-tpc" => settings.go_tpc = Some(value.into()),
            "--tpcc-mysql" => settings.tpcc_mysql = Some(value.into()),
            "--warehouses" => settings.warehouses = number(&value),
            "--time" => settings.time_s = number(&value),
            "--turns" => settings.turns = number(&value) as usize,
            "--clients" => settings.clients = value.split(',').map(number).collect(),
            "--out" => settings.out = Some(value.into()),
            other => panic!("unknown flag {other}: see the top of bench/tpcc/main.rs"),
        }
    }
    settings
}

fn compare(settings: &Settings) {
    let workload = workload(settings.warehouses);
    let running = Running::start(&settings.build, workload.as_ref());
    let loads = loading::all(settings, &running, workload.as_ref());
    let contestants = Contestant::all(settings);
    let mut turns = Vec::new();
    for &clients in &settings.clients {
        for turn in 0..settings.turns {
            // The order rotates, so that no program always runs after the same other one.
            let mut order: Vec<&Contestant> = contestants.iter().collect();
            order.rotate_left(turn % contestants.len());
            turns.extend(
                order
                    .iter()
                    .map(|one| one.turn(settings, &running, clients)),
            );
        }
    }
    let text = table::markdown(settings, &running, &loads, &turns);
    print!("{text}");
    if let Some(out) = &settings.out {
        std::fs::write(out, text).expect("a writable file");
    }
}

/// The workload with its defaults: a deck, no waits, inline deliveries.
pub(crate) fn workload(warehouses: u32) -> Arc<dyn workload::Workload> {
    let section = format!("scale = {warehouses}").parse().expect("valid TOML");
    workload::open("tpcc", &section).expect("a number of warehouses")
}

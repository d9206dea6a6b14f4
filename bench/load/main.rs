//! Compares the load engine with sysbench: the same statements, tables and server, with the client on the server's two cores. Runs
//! alternate back to back; the results are medians.
//!
//! cargo bench -p prony --bench load -- BUILD [--time S] [--pairs N] [--operations A,B] [--clients 64,256] [--tcp] [--against PROGRAM]
//!
//! BUILD is a build that prony starts (`mariadb`, `mysql@5.6.14`). `sysbench` must be on the PATH; with `--against`, an earlier build of this
//! benchmark takes its place (`target/release/deps/load-...` of another checkout). Goals as ratios to sysbench at 64
//! and 256 clients: CPU per operation at most 0.6 and 0.35, throughput at least 1.3 and 1.5; memory per connection at most 0.25.
//! The last results are in bench/results/load.md.

#[path = "../median.rs"]
mod median;

mod compare;
mod drive;
mod engine;
mod measured;
mod server;
mod sysbench;

use std::collections::VecDeque;
use std::path::PathBuf;

/// The settings of a comparison.
pub struct Settings {
    pub build: String,
    pub time_s: u32,
    pub pairs: usize,
    pub operations: Vec<String>,
    pub clients: Vec<u32>,
    /// Connect over loopback instead of the socket.
    pub tcp: bool,
    /// Open loop with this many transactions per second, instead of a closed loop.
    pub rate: Option<u32>,
    /// An earlier build of this program, in sysbench's place.
    pub against: Option<PathBuf>,
}

fn main() {
    let mut arguments: VecDeque<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let Some(build) = arguments.pop_front() else {
        eprintln!("skipped: give a build, see the top of bench/load/main.rs");
        return;
    };
    if build == engine::AS_CHILD {
        return engine::child(arguments.make_contiguous());
    }
    let mut settings = Settings {
        build,
        time_s: 10,
        pairs: 5,
        operations: ["point-select", "update-index", "read-write"]
            .map(String::from)
            .into(),
        clients: vec![64, 256],
        tcp: false,
        rate: None,
        against: None,
    };
    while let Some(flag) = arguments.pop_front() {
        let mut value = || arguments.pop_front().expect("the flag has a value");
        match flag.as_str() {
            "--time" => settings.time_s = value().parse().expect("seconds"),
            "--pairs" => settings.pairs = value().parse().expect("a number"),
            "--operations" => settings.operations = value().split(',').map(String::from).collect(),
            "--clients" => {
                let numbers = value();
                let numbers = numbers.split(',');
                settings.clients = numbers.map(|n| n.parse().expect("a number")).collect();
            }
            "--rate" => settings.rate = Some(value().parse().expect("transactions per second")),
            "--against" => settings.against = Some(value().into()),
            "--tcp" => settings.tcp = true,
            other => panic!("unknown flag {other}: see the top of bench/load/main.rs"),
        }
    }
    compare::all(&settings);
}

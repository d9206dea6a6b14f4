//! The load engine against sysbench: the same statements on the same tables of the same server, the client on the
//! server's own two cores, back to back and alternating, medians.
//!
//! cargo bench -p prony --bench load -- BUILD [--time S] [--pairs N] [--operations A,B] [--clients 64,256] [--tcp]
//!
//! BUILD is one that prony starts (`mariadb`, `mysql@5.6.14`); `sysbench` has to be on the PATH. Goals, as ratios to
//! sysbench: CPU an operation at most 0.6 at 64 clients and 0.35 at 256; operations a second at least 1.3 and 1.5;
//! memory a connection at most 0.25. The last results are in bench/results/load.md.

#[path = "../median.rs"]
mod median;

mod compare;
mod engine;
mod measured;
mod server;
mod sysbench;

use std::collections::VecDeque;

/// What is compared.
pub struct Asked {
    pub build: String,
    pub time_s: u32,
    pub pairs: usize,
    pub operations: Vec<String>,
    pub clients: Vec<u32>,
    /// Over loopback instead of the socket.
    pub tcp: bool,
    /// Transactions a second that arrive, instead of a closed loop.
    pub rate: Option<u32>,
}

fn main() {
    let mut arguments: VecDeque<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let Some(build) = arguments.pop_front() else {
        eprintln!("skipped: name a build, see the head of the file");
        return;
    };
    if build == engine::AS_CHILD {
        return engine::child(arguments.make_contiguous());
    }
    let mut asked = Asked {
        build,
        time_s: 10,
        pairs: 5,
        operations: ["point-select", "update-index", "read-write"]
            .map(String::from)
            .into(),
        clients: vec![64, 256],
        tcp: false,
        rate: None,
    };
    while let Some(flag) = arguments.pop_front() {
        let mut value = || arguments.pop_front().expect("the flag has a value");
        match flag.as_str() {
            "--time" => asked.time_s = value().parse().expect("seconds"),
            "--pairs" => asked.pairs = value().parse().expect("a number"),
            "--operations" => asked.operations = value().split(',').map(String::from).collect(),
            "--clients" => {
                let numbers = value();
                let numbers = numbers.split(',');
                asked.clients = numbers.map(|n| n.parse().expect("a number")).collect();
            }
            "--rate" => asked.rate = Some(value().parse().expect("transactions a second")),
            "--tcp" => asked.tcp = true,
            other => panic!("{other} is no flag, see the head of the file"),
        }
    }
    compare::all(&asked);
}

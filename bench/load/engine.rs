//! Runs prony's engine in a child process, so that the kernel accounts its cost in the same way as sysbench's.

use crate::Settings;
use crate::drive::drive;
use crate::measured::{Figure, run};
use crate::server::Running;
use load::{Load, Open, Tally, WhenFull, arrivals::Arrivals};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

pub(crate) const TABLES: u32 = 4;
pub(crate) const ROWS: u32 = 250_000;

/// The first argument of the child.
pub(crate) const AS_CHILD: &str = "--as-child";

/// `program` is this benchmark, or an earlier build of it.
pub(crate) fn figure(
    program: &Path,
    settings: &Settings,
    running: &Running,
    operation: &str,
    clients: u32,
) -> Figure {
    let address = match settings.tcp {
        true => running.port.to_string(),
        false => running.socket.display().to_string(),
    };
    let mut command = Command::new(program);
    command.args([AS_CHILD, operation, &address]);
    command.args(
        [clients, settings.time_s, settings.rate.unwrap_or(0)].map(|number| number.to_string()),
    );
    let measured = run(&mut command);
    let operations = measured
        .output
        .trim()
        .parse()
        .expect("the child prints a number");
    Figure::of(&measured, clients, operations, f64::from(settings.time_s))
}

/// The workload with one operation on the tables of the comparison.
pub(crate) fn workload(operation: &str) -> Arc<dyn workload::Workload> {
    let text = format!("operations = \"{operation}\"\ntables = {TABLES}\nrows = {ROWS}");
    let section = text.parse().expect("valid TOML");
    workload::open("oltp", &section).expect("a known operation")
}

/// The child process, with the arguments OPERATION ADDRESS CLIENTS SECONDS RATE. Prints the number of completed operations.
pub(crate) fn child(arguments: &[String]) {
    let [operation, address, clients, time_s, rate] = arguments else {
        panic!("wrong arguments: the child process is started by its parent only");
    };
    let number = |text: &String| text.parse::<u32>().expect("a number");
    let (clients, rate) = (number(clients), number(rate));
    let load = match rate {
        0 => Load::closed(clients),
        rate => Load::Open(Open {
            arrivals: Arrivals::Poisson {
                rate: f64::from(rate),
            },
            workers: clients,
            queue: 100_000,
            when_full: WhenFull::Stop,
        }),
    };
    let driven = drive(workload(operation).as_ref(), address, load, number(time_s));
    println!("{}", driven.tallies.iter().map(Tally::done).sum::<u64>());
}

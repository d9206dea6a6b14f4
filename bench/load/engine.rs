//! Runs prony's engine in a child process, so that the kernel accounts its cost in the same way as sysbench's.

use crate::Settings;
use crate::measured::{Figure, run};
use crate::server::{Running, section};
use load::{Closed, Drive, Endpoint, Load, Open, WhenFull, arrivals::Arrivals};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The first argument of the child.
pub(crate) const AS_CHILD: &str = "--as-child";

pub(crate) fn figure(
    settings: &Settings,
    running: &Running,
    operation: &str,
    clients: u32,
) -> Figure {
    let address = match settings.tcp {
        true => running.port.to_string(),
        false => running.socket.display().to_string(),
    };
    let mut command = Command::new(std::env::current_exe().expect("this program"));
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

/// The child process, with the arguments OPERATION ADDRESS CLIENTS SECONDS RATE. Prints the number of completed operations.
pub(crate) fn child(arguments: &[String]) {
    let [operation, address, clients, time_s, rate] = arguments else {
        panic!("wrong arguments: the child process is started by its parent only");
    };
    let number = |text: &String| text.parse::<u32>().expect("a number");
    let (clients, rate) = (number(clients), number(rate));
    let login = wire::Login {
        endpoints: vec![endpoint(address)],
        user: "bench".into(),
        password: None,
        schema: None,
        tls: wire::Tls::Off,
        login_timeout: Duration::from_secs(10),
        stall_timeout: None,
    };
    let workload = workload::open("oltp", &section(operation)).expect("a known operation");
    let target = workload::Target::Server {
        login,
        session: &[],
    };
    let driver = workload
        .work(&target, 1)
        .expect("oltp has operations")
        .driver;
    let load = match rate {
        0 => Load::Closed(Closed {
            clients,
            think: Duration::ZERO,
        }),
        rate => Load::Open(Open {
            arrivals: Arrivals::Poisson {
                rate: f64::from(rate),
            },
            workers: clients,
            queue: 100_000,
            when_full: WhenFull::Stop,
        }),
    };
    let drive = Drive {
        load,
        time: Duration::from_secs(u64::from(number(time_s))),
        warmup: Duration::ZERO,
        seed: 1,
        reactors: None,
        backend: None,
        reconnect_for: Duration::ZERO,
        drain_timeout: None,
    };
    let mut done = 0;
    let watch = load::Watch {
        begun: &mut |_| (),
        second: &mut |second| done += second.tally.done(),
        window: &mut |_| (),
    };
    driver
        .drive(&drive, &AtomicBool::new(false), watch)
        .expect("the load runs");
    println!("{done}");
}

/// Parses a port on the loopback interface, or the path of a socket.
fn endpoint(address: &str) -> Endpoint {
    match address.parse() {
        Ok(port) => Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port,
        },
        Err(_) => Endpoint::Unix(address.into()),
    }
}

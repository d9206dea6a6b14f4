//! Drives a workload on the server of a comparison, in a child process.

use load::{Drive, Driven, Endpoint, Load, Watch};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workload::Workload;

/// Runs the load. `address` is a port on the loopback interface, or the path of a socket.
pub(crate) fn drive(workload: &dyn Workload, address: &str, load: Load, time_s: u32) -> Driven {
    let login = wire::Login {
        endpoints: vec![endpoint(address)],
        user: "bench".into(),
        password: None,
        schema: None,
        protection: Default::default(),
        login_timeout: Duration::from_secs(10),
        stall_timeout: None,
    };
    let target = workload::Target::Server {
        readers: None,
        login,
        session: Vec::new(),
    };
    let work = workload.work(&target, seed()).expect("it has operations");
    let drive = Drive::new(load, Duration::from_secs(u64::from(time_s)));
    let driven = (work.driver).drive(&drive, &AtomicBool::new(false), Watch::default());
    driven.expect("the load runs")
}

/// Another one each time, as sysbench has: the same updates again would set what is already there.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a clock after 1970").as_nanos() as u64
}

fn endpoint(address: &str) -> Endpoint {
    match address.parse() {
        Ok(port) => Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port,
        },
        Err(_) => Endpoint::Unix(address.into()),
    }
}

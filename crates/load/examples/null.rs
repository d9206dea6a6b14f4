//! Measures the engine's maximum throughput: an in-process workload whose operations do nothing, in closed loop and in open loop.
//!
//! cargo run --release -p load --example null [-- SECONDS [CLIENTS [RATE]]]
//!
//! The last result is in bench/results/load-null.md.

use load::arrivals::Arrivals;
use load::{Drive, Driven, Load, Open, Watch, WhenFull};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn driven(load: Load, time: Duration) -> Driven {
    let settings = Drive::new(load, time);
    load::null()
        .drive(&settings, &AtomicBool::new(false), Watch::default())
        .expect("the null workload cannot fail")
}

fn print(name: &str, driven: &Driven) {
    let elapsed_s = driven.elapsed.as_secs_f64();
    let operations = driven.started as f64;
    let cpu_s = driven.cpu_user_s + driven.cpu_system_s;
    println!(
        "{name}: {:.0} ops/s, {:.0} ns of CPU each, {} reactors on {:?}",
        operations / elapsed_s,
        cpu_s / operations * 1e9,
        driven.reactors,
        driven.backend,
    );
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse::<f64>().expect("a number"));
    let time = Duration::from_secs_f64(arguments.next().unwrap_or(5.0));
    let clients = arguments.next().unwrap_or(64.0) as u32;
    let rate = arguments.next().unwrap_or(20_000.0);

    print(
        &format!("closed, {clients} clients"),
        &driven(Load::closed(clients), time),
    );

    let open = Open {
        arrivals: Arrivals::Poisson { rate },
        workers: clients,
        queue: 1_000_000,
        when_full: WhenFull::Drop,
    };
    let driven = driven(Load::Open(open), time);
    print(
        &format!("open, {clients} workers, {rate} requests/s"),
        &driven,
    );
    let late_us = |quantile| driven.lateness.value_at_quantile(quantile) as f64 / 1e3;
    println!(
        "  lateness p50 {:.1} us, p99 {:.1} us, max {:.1} us over {} operations that a worker waited for; {} queued at the end, {} dropped",
        late_us(0.5),
        late_us(0.99),
        late_us(1.0),
        driven.lateness.len(),
        driven.queued_at_end,
        driven.dropped,
    );
}

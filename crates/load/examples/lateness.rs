//! Measures how late sleeping tasks wake: an open loop without a server.
//!
//!     lateness rate=20000 workers=64 reactors=2 backend=uring time=5
//!
//! Workers take tickets of one uniform schedule, as in an open loop, and sleep until their times.

mod arguments;

use arguments::number;
use hdrhistogram::Histogram;
use load::Backend;
use load::executor::{self, Task};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// All workers have started by then.
const BEGIN_NS: u64 = 100_000_000;

struct Settings {
    rate: u64,
    workers: usize,
    reactors: usize,
    backend: Backend,
    time_ns: u64,
}

fn main() {
    let settings = settings();
    let ticket = Arc::new(AtomicU64::new(0));
    let origin = Instant::now();
    let cpu_before_us = cpu_us();
    let mut late_ns = nanoseconds();
    std::thread::scope(|scope| {
        let reactor = |core| {
            let (settings, ticket) = (&settings, ticket.clone());
            scope.spawn(move || sleep_all(settings, origin, core, ticket))
        };
        let reactors: Vec<_> = (0..settings.reactors).map(reactor).collect();
        for reactor in reactors {
            late_ns.add(reactor.join().unwrap()).unwrap();
        }
    });
    let late_us = |quantile| late_ns.value_at_quantile(quantile) as f64 / 1e3;
    println!(
        "{:?}, {}/s, {} workers, {} reactors: {} wake-ups, late p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, max {:.0} us; {:.2} us of CPU each",
        settings.backend,
        settings.rate,
        settings.workers,
        settings.reactors,
        late_ns.len(),
        late_us(0.5),
        late_us(0.99),
        late_us(0.999),
        late_us(1.0),
        (cpu_us() - cpu_before_us) / late_ns.len() as f64
    );
}

fn settings() -> Settings {
    Settings {
        rate: number("rate", "20000"),
        workers: number("workers", "64") as usize,
        reactors: number("reactors", "2") as usize,
        backend: arguments::backend(),
        time_ns: number("time", "5") * 1_000_000_000,
    }
}

fn nanoseconds() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 10_000_000_000, 3).unwrap()
}

fn sleep_all(
    settings: &Settings,
    origin: Instant,
    core: usize,
    ticket: Arc<AtomicU64>,
) -> Histogram<u64> {
    let late_ns = Rc::new(RefCell::new(nanoseconds()));
    let core = (settings.reactors > 1).then_some(core);
    executor::run(settings.backend, origin, core, settings.workers, |io| {
        let worker = |_| -> Task {
            let (io, ticket, late_ns) = (io.clone(), ticket.clone(), late_ns.clone());
            let (rate, time_ns) = (settings.rate, settings.time_ns);
            Box::pin(async move {
                loop {
                    let number = ticket.fetch_add(1, Ordering::Relaxed);
                    let after_ns = (number as f64 / rate as f64 * 1e9) as u64;
                    if after_ns > time_ns {
                        return;
                    }
                    let at_ns = BEGIN_NS + after_ns;
                    io.sleep_until(at_ns).await;
                    late_ns.borrow_mut().saturating_record(io.now_ns() - at_ns);
                }
            })
        };
        (0..settings.workers / settings.reactors)
            .map(worker)
            .collect()
    })
    .unwrap();
    late_ns.replace(nanoseconds())
}

/// CPU time of this process, user and system, in microseconds.
fn cpu_us() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

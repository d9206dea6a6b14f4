//! How late sleepers wake: an open loop without a server.
//!
//!     lateness rate=20000 workers=64 reactors=2 backend=uring time=5
//!
//! Workers take tickets of one uniform schedule, as an open loop's do, and sleep until their times.

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

/// Everybody is there by then.
const BEGIN_NS: u64 = 100_000_000;

struct Asked {
    rate: u64,
    workers: usize,
    reactors: usize,
    backend: Backend,
    time_ns: u64,
}

fn main() {
    let asked = asked();
    let ticket = Arc::new(AtomicU64::new(0));
    let origin = Instant::now();
    let cpu_before_us = cpu_us();
    let mut late_ns = nanoseconds();
    std::thread::scope(|scope| {
        let reactor = |core| {
            let (asked, ticket) = (&asked, ticket.clone());
            scope.spawn(move || sleep_all(asked, origin, core, ticket))
        };
        let reactors: Vec<_> = (0..asked.reactors).map(reactor).collect();
        for reactor in reactors {
            late_ns.add(reactor.join().unwrap()).unwrap();
        }
    });
    let late_us = |quantile| late_ns.value_at_quantile(quantile) as f64 / 1e3;
    println!(
        "{:?}, {}/s, {} workers, {} reactors: {} wake-ups, late p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, max {:.0} us; {:.2} us of CPU each",
        asked.backend,
        asked.rate,
        asked.workers,
        asked.reactors,
        late_ns.len(),
        late_us(0.5),
        late_us(0.99),
        late_us(0.999),
        late_us(1.0),
        (cpu_us() - cpu_before_us) / late_ns.len() as f64
    );
}

fn asked() -> Asked {
    Asked {
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
    asked: &Asked,
    origin: Instant,
    core: usize,
    ticket: Arc<AtomicU64>,
) -> Histogram<u64> {
    let late_ns = Rc::new(RefCell::new(nanoseconds()));
    let core = (asked.reactors > 1).then_some(core);
    executor::run(asked.backend, origin, core, asked.workers, |io| {
        let worker = |_| -> Task {
            let (io, ticket, late_ns) = (io.clone(), ticket.clone(), late_ns.clone());
            let (rate, time_ns) = (asked.rate, asked.time_ns);
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
        (0..asked.workers / asked.reactors).map(worker).collect()
    })
    .unwrap();
    late_ns.replace(nanoseconds())
}

/// Of this process, user and system.
fn cpu_us() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

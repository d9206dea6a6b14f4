//! Watching over a drive: an interrupt, the end, and what does not end by itself.

use super::alarm::Alarm;
use super::driven::DriveError;
use super::shared::Shared;
use crate::seam::Workload;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(10);
/// What is under way when the drive is interrupted, or will not begin, has so long to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// The same at the drive's end, where the drive does not say after how long a client has stalled.
const STALLED: Duration = Duration::from_secs(30);

/// Returns when all threads have ended.
pub fn watch<W: Workload>(
    shared: &Shared<'_, W>,
    stop: &AtomicBool,
    begun: &mut dyn FnMut(Instant),
    all_ended: impl Fn() -> bool,
) {
    let _alarm = Alarm(shared);
    let mut given_up: Option<Instant> = None;
    let mut is_told = false;
    while !all_ended() {
        if let (false, Some(zero_ns)) = (is_told, shared.gate.zero_ns()) {
            begun(shared.origin + Duration::from_nanos(zero_ns));
            is_told = true;
        }
        if given_up.is_none() && stop.load(Relaxed) {
            interrupt(shared);
            given_up = Some(Instant::now());
        }
        if given_up.is_none() && shared.gate.is_refused() {
            given_up = Some(Instant::now());
        }
        keep_schedule(shared);
        if given_up.is_some_and(|at| at.elapsed() > GRACE) || is_overdue(shared) {
            shared.interrupt_waits();
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn interrupt<W: Workload>(shared: &Shared<'_, W>) {
    if shared.gate.refuse(DriveError::Interrupted) {
        return;
    }
    let now_ns = shared.now_ns().unwrap_or(0);
    let at_s = now_ns as f64 / 1e9;
    shared.end_at(now_ns, format!("interrupted at {at_s:.1} s"));
}

/// Arrivals find the queue full also while no worker takes one.
fn keep_schedule<W: Workload>(shared: &Shared<'_, W>) {
    if let (Some(now_ns), Some(mut pacer)) = (shared.now_ns(), shared.pacer()) {
        pacer.advance(now_ns);
        shared.end.bring_forward(pacer.end_ns(), None);
    }
}

fn is_overdue<W: Workload>(shared: &Shared<'_, W>) -> bool {
    let wait = shared.drive.stalled.unwrap_or(STALLED);
    let over_ns = shared
        .now_ns()
        .and_then(|now_ns| now_ns.checked_sub(shared.end.at_ns()));
    over_ns.is_some_and(|over_ns| u128::from(over_ns) > wait.as_nanos())
}

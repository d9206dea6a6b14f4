//! Supervises a drive: handles interrupts, the end, and operations that do not end by themselves.

use super::Ready;
use super::driven::DriveError;
use super::panic_guard::PanicGuard;
use super::shared::Shared;
use crate::io::{Gap, Pulse};
use crate::seam::Workload;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// How long operations in flight may take after an interrupt or a failed start.
const GRACE: Duration = Duration::from_secs(1);
/// Default of `Drive::drain_timeout`.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Supervises the drive. Returns when all threads have ended, with the times in which this thread did not run: then hardly any did.
pub(super) fn watch<W: Workload>(
    shared: &Shared<'_, W>,
    stop: &AtomicBool,
    mut ready: Option<Ready<'_>>,
    begun: &mut dyn FnMut(Instant),
    all_ended: impl Fn() -> bool,
) -> Vec<Gap> {
    let _guard = PanicGuard(shared);
    let mut given_up: Option<Instant> = None;
    let mut has_begun = false;
    let pulse = Pulse::default();
    while !all_ended() {
        if shared.gate.awaits_start()
            && let Some(ready) = ready.take()
            && let Err(why) = start(shared, ready())
        {
            shared.gate.refuse(DriveError::NotTogether(why));
        }
        if let (false, Some(zero_ns)) = (has_begun, shared.gate.zero_ns()) {
            begun(shared.origin + Duration::from_nanos(zero_ns));
            has_begun = true;
        }
        if given_up.is_none() && stop.load(Relaxed) {
            interrupt(shared);
            given_up = Some(Instant::now());
        }
        if given_up.is_none() && shared.gate.is_refused() {
            given_up = Some(Instant::now());
        }
        advance_schedule(shared);
        if given_up.is_some_and(|at| at.elapsed() > GRACE) || is_overdue(shared) {
            shared.interrupt_waits();
        }
        sleep(shared, &pulse);
    }
    pulse.gaps().unwrap_or_default()
}

fn sleep<W: Workload>(shared: &Shared<'_, W>, pulse: &Pulse) {
    let now_ns = || shared.origin.elapsed().as_nanos() as u64;
    pulse.expect(now_ns() + CHECK_INTERVAL.as_nanos() as u64);
    std::thread::sleep(CHECK_INTERVAL);
    pulse.beat(now_ns(), 0);
}

/// Starts the drive at the moment that was agreed on.
fn start<W: Workload>(
    shared: &Shared<'_, W>,
    agreed: Result<Instant, String>,
) -> Result<(), String> {
    let since_origin = agreed?.saturating_duration_since(shared.origin);
    let now_ns = shared.origin.elapsed().as_nanos() as u64;
    let started = shared.gate.start(since_origin.as_nanos() as u64, now_ns);
    started.map_err(|late| {
        format!(
            "the common start was missed by {:.1} ms: this machine, or the server, was too slow to answer",
            late.as_secs_f64() * 1e3
        )
    })
}

fn interrupt<W: Workload>(shared: &Shared<'_, W>) {
    if shared.gate.refuse(DriveError::Interrupted) {
        return;
    }
    let now_ns = shared.now_ns().unwrap_or(0);
    let at_s = now_ns as f64 / 1e9;
    shared.end_at(now_ns, format!("interrupted at {at_s:.1} s"));
}

/// Advances the schedule, so that a full queue is detected even while no worker takes an arrival.
fn advance_schedule<W: Workload>(shared: &Shared<'_, W>) {
    if let (Some(now_ns), Some(mut pacer)) = (shared.now_ns(), shared.pacer()) {
        pacer.advance(now_ns);
        shared.end.bring_forward(pacer.end_ns(), None);
    }
}

fn is_overdue<W: Workload>(shared: &Shared<'_, W>) -> bool {
    let wait = shared.drive.drain_timeout.unwrap_or(DRAIN_TIMEOUT);
    let running_ns = match shared.turns() {
        Some(turns) => Some(turns.running_ns()),
        None => shared.now_ns(),
    };
    let over_ns = running_ns.and_then(|now_ns| now_ns.checked_sub(shared.end.at_ns()));
    over_ns.is_some_and(|over_ns| u128::from(over_ns) > wait.as_nanos())
}

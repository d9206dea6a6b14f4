//! Merges the counts of all reactors, second by second, in order and on time, even while no operation ends.

use super::driven::{Second, Window};
use super::panic_guard::PanicGuard;
use super::shared::Shared;
use crate::recorder::{Recorder, SECOND_NS, Sample};
use crate::seam::Workload;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Delay after the end of a second until it is collected, for operations that are just being recorded.
const GRACE_NS: u64 = 1_000_000;
/// Seconds per histogram of one operation.
pub const WINDOW_S: u32 = 10;
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Collects seconds and windows.
pub(super) struct Collector<'a, W: Workload> {
    shared: &'a Shared<'a, W>,
    second: u32,
    /// The first second of the current window.
    window_s: u32,
    window: Sample,
    dropped: u64,
    held_ns: u64,
}

impl<'a, W: Workload> Collector<'a, W> {
    pub(super) fn new(shared: &'a Shared<'a, W>) -> Collector<'a, W> {
        Collector {
            shared,
            second: 0,
            window_s: 0,
            window: shared.sample(),
            dropped: 0,
            held_ns: 0,
        }
    }

    /// Collects until `over` is closed, then collects the rest.
    pub(super) fn run(
        mut self,
        over: &Receiver<()>,
        each_second: &mut (dyn FnMut(Second) + Send),
        each_window: &mut (dyn FnMut(Window) + Send),
    ) {
        let _guard = PanicGuard(self.shared);
        let warmup_s = self.shared.drive.warmup.as_secs_f64().ceil() as u32;
        let mut collect = |collector: &mut Self| {
            each_second(collector.collect());
            if ends_window(collector.window_s, collector.second, warmup_s) {
                collector.end_window(each_window);
            }
        };
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(self.until_next()) {
            if self.is_due() {
                collect(&mut self);
            }
        }
        if self.shared.gate.zero_ns().is_some() {
            while self.second <= self.last_second() {
                collect(&mut self);
            }
        }
        self.end_window(each_window);
    }

    fn due_ns(&self) -> u64 {
        (u64::from(self.second) + 1) * SECOND_NS + GRACE_NS
    }

    fn until_next(&self) -> Duration {
        let left = self.shared.now_ns().map_or(CHECK_INTERVAL, |now_ns| {
            Duration::from_nanos(self.due_ns().saturating_sub(now_ns))
        });
        match self.shared.turns() {
            // Its clock may stand still just before the second is due.
            Some(_) => left.max(CHECK_INTERVAL),
            None => left,
        }
    }

    fn is_due(&self) -> bool {
        let now_ns = self.shared.now_ns();
        now_ns.is_some_and(|now_ns| now_ns >= self.due_ns())
    }

    /// The last second of the drive, or the last in which an operation ended after it.
    fn last_second(&self) -> u32 {
        let until_end = self.shared.end.at_ns().saturating_sub(1) / SECOND_NS;
        let recorders = self.shared.recorders.iter();
        let counted = recorders.filter_map(Recorder::last_uncollected).max();
        (until_end as u32).max(counted.unwrap_or(0))
    }

    fn collect(&mut self) -> Second {
        let mut sample = self.shared.sample();
        for recorder in &self.shared.recorders {
            recorder.collect(self.second, &mut sample);
        }
        self.window.add(&sample);
        let second = self.second_of(&sample);
        self.second += 1;
        second
    }

    fn second_of(&mut self, sample: &Sample) -> Second {
        let recorders = self.shared.recorders.iter();
        let running: u32 = recorders.map(Recorder::running).sum();
        let (queued, dropped, held) = self.queue();
        let mut carried = sample.carried().clone();
        // As of the other operations of a second, those of clients.
        carried.tallies.truncate(self.shared.foreground);
        Second {
            second: self.second,
            response: sample.all_operations().histogram(),
            tally: sample.tally(),
            tallies: sample.tallies().to_vec(),
            errors: sample.errors().iter().copied().collect(),
            carried,
            queued,
            running,
            idle: self.shared.alive().saturating_sub(running),
            dropped,
            held,
        }
    }

    /// How many arrivals until the end of the second are queued now, how many were dropped since the previous second, and how long the
    /// schedule was paused.
    fn queue(&mut self) -> (u64, u64, Duration) {
        let Some(mut pacer) = self.shared.pacer() else {
            return (0, 0, Duration::ZERO);
        };
        pacer.advance((u64::from(self.second) + 1) * SECOND_NS);
        let dropped = pacer.dropped() - self.dropped;
        self.dropped += dropped;
        let held_ns = pacer.held_ns().saturating_sub(self.held_ns);
        self.held_ns += held_ns;
        (pacer.queued(), dropped, Duration::from_nanos(held_ns))
    }

    fn end_window(&mut self, each_window: &mut dyn FnMut(Window)) {
        let start_s = std::mem::replace(&mut self.window_s, self.second);
        for (operation, kind, counts) in self.window.each() {
            each_window(Window {
                start_s,
                operation,
                kind,
                nanoseconds: counts.histogram(),
            });
        }
        self.window.clear();
    }
}

/// Whether a window that started with `from_s` ends before `second`. A new window starts at the end of the warm-up, so that no
/// window spans it.
fn ends_window(from_s: u32, second: u32, warmup_s: u32) -> bool {
    second == warmup_s || second - from_s == WINDOW_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(seconds: u32, warmup_s: u32) -> Vec<u32> {
        let mut began = vec![0];
        for second in 1..seconds {
            if ends_window(*began.last().unwrap(), second, warmup_s) {
                began.push(second);
            }
        }
        began
    }

    #[test]
    fn a_new_window_starts_when_the_warm_up_ends() {
        assert_eq!(windows(30, 0), [0, 10, 20]);
        assert_eq!(windows(30, 2), [0, 2, 12, 22]);
        assert_eq!(windows(30, 13), [0, 10, 13, 23]);
    }
}

//! Watches a load: progress, cancellation, and a stalled server.

use super::tally::Tally;
use super::{Connect, Failure, Table};
use crate::{Progress, Unit};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The polling interval.
const EVERY: Duration = Duration::from_millis(100);
/// A server that accepts no rows for this long is stalled: MyISAM and Aria retry every minute when the disk is full.
const STALLED: Duration = Duration::from_secs(180);

#[derive(Clone, Copy)]
pub(super) struct Watch<'a> {
    pub began: Instant,
    pub tally: &'a Tally,
    pub tables: &'a [Table],
    /// Connections to kill when the load is stopped.
    pub ids: &'a [u32],
    pub connect: Connect<'a>,
    pub progress: &'a (dyn Fn(Progress) + Sync),
    pub cancel: &'a (dyn Fn() -> bool + Sync),
}

pub(super) enum Outcome {
    Done,
    Cancelled,
    Stalled { idle_s: f64 },
    Failed(Failure),
}

/// Waits for every worker. Only the first failure is reported, since it causes the others.
pub(super) fn until_ended(ends: &Receiver<Result<(), Failure>>, watch: &Watch<'_>) -> Outcome {
    let mut outcome = Outcome::Done;
    let mut moved = (watch.tally.sent(), Instant::now());
    loop {
        match ends.recv_timeout(EVERY) {
            Ok(Ok(())) => continue,
            Ok(Err(failure)) => {
                if matches!(outcome, Outcome::Done) {
                    outcome = Outcome::Failed(failure);
                }
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let sent = watch.tally.sent();
        if sent != moved.0 {
            moved = (sent, Instant::now());
        }
        let idle = moved.1.elapsed();
        watch.report(sent, idle);
        if !matches!(outcome, Outcome::Done) {
            continue;
        }
        if (watch.cancel)() {
            outcome = Outcome::Cancelled;
            watch.stop();
        } else if idle > STALLED && sent < watch.tally.total() {
            outcome = Outcome::Stalled {
                idle_s: idle.as_secs_f64(),
            };
            watch.stop();
        }
    }
    watch.report(watch.tally.sent(), Duration::ZERO);
    outcome
}

impl Watch<'_> {
    fn report(&self, sent: u64, idle: Duration) {
        (self.progress)(Progress {
            table: self.tables[self.tally.at()].name.clone(),
            rows: sent,
            rows_total: self.tally.total(),
            unit: Unit::Rows,
            elapsed_s: self.began.elapsed().as_secs_f64(),
            idle_s: idle.as_secs_f64(),
            has_tables: false,
        });
    }

    /// Stops sending and kills long statements (an index build, a wait for disk space).
    fn stop(&self) {
        self.tally.stop.store(true, Relaxed);
        if self.ids.is_empty() {
            return;
        }
        // If the server is unreachable, there is nothing to kill.
        let Ok(session) = (self.connect)() else {
            return;
        };
        let mut session = session.for_control();
        for id in self.ids {
            let _ = session.execute(&format!("KILL {id}"));
        }
    }
}

//! The watch over a load: progress, cancel, and a server that takes no rows any more.

use super::tally::Tally;
use super::{Connect, Failure, Table};
use crate::Progress;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often it looks.
const EVERY: Duration = Duration::from_millis(100);
/// With rows left to send, a server that takes none for so long waits for something that does not come: MyISAM and
/// Aria retry each minute where the disk is full.
const STALLED: Duration = Duration::from_secs(180);

#[derive(Clone, Copy)]
pub(super) struct Watch<'a> {
    pub began: Instant,
    pub tally: &'a Tally,
    pub tables: &'a [Table],
    /// Connections to be killed when the load is stopped.
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

/// Waits for every worker. The first failure counts: those that follow come of it.
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
            elapsed_s: self.began.elapsed().as_secs_f64(),
            idle_s: idle.as_secs_f64(),
        });
    }

    /// Sends no more, and ends statements that may still take long (an index that is being built, a wait for space).
    fn stop(&self) {
        self.tally.stop.store(true, Relaxed);
        if self.ids.is_empty() {
            return;
        }
        // Where the server cannot be reached any more there is nothing to kill.
        let Ok(mut session) = (self.connect)() else {
            return;
        };
        for id in self.ids {
            let _ = session.execute(&format!("KILL {id}"));
        }
    }
}

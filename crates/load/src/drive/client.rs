//! One client: its session, one operation after another, and what happens when the session is lost.

use super::shared::Shared;
use crate::io::Io;
use crate::recorder::{Ended, Recorder};
use crate::seam::{Failure, Outcome, Request, Workload};

/// A client that sleeps looks so often whether the drive has ended early.
const LOOK_EVERY_NS: u64 = 500_000_000;
/// The first pause before a lost session is opened again; it doubles with each time in a row.
const PAUSE_NS: u64 = 10_000_000;
const PAUSE_MAX_NS: u64 = 1_000_000_000;

pub struct Client<'a, W: Workload> {
    pub shared: &'a Shared<'a, W>,
    pub recorder: &'a Recorder,
    pub io: Io,
    pub number: u32,
    /// The drive's beginning on the reactor's clock.
    pub zero_ns: u64,
    /// None: lost, and not opened again.
    pub session: Option<W::Session>,
    /// Sessions lost or not opened since the last operation that was answered.
    pub lost_in_a_row: u32,
}

/// The client has no session any more, and will not ask again.
pub struct Gone;

impl<W: Workload> Client<'_, W> {
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.io.now_ns() - self.zero_ns
    }

    /// Sleeps until then, or until the drive ends.
    pub async fn sleep_until(&self, at_ns: u64) {
        loop {
            let now_ns = self.now_ns();
            let until_ns = at_ns.min(self.shared.end.at_ns());
            if now_ns >= until_ns {
                return;
            }
            let look_ns = until_ns.min(now_ns + LOOK_EVERY_NS);
            self.io.sleep_until(self.zero_ns + look_ns).await;
        }
    }

    /// Does an operation and records it. Gives the time from which the client is free again.
    #[inline]
    pub async fn operate(&mut self, request: &Request) -> Result<u64, Gone> {
        let session = self.session.as_mut().ok_or(Gone)?;
        let outcome = self.shared.workload.operate(session, request).await;
        let ended_ns = self.now_ns();
        self.recorder.record(&Ended {
            operation: request.operation,
            scheduled_ns: request.scheduled_ns,
            started_ns: request.started_ns,
            ended_ns,
            outcome,
        });
        if let Outcome::Lost(code) = outcome {
            self.recorder.rest();
            let reopened = self.reopen(code).await;
            self.recorder.run();
            return reopened.map(|()| self.now_ns());
        }
        self.lost_in_a_row = 0;
        Ok(ended_ns)
    }

    /// Closes the lost session and opens another one, with growing pauses, as often as the drive allows in a row.
    async fn reopen(&mut self, code: u16) -> Result<(), Gone> {
        self.close().await;
        let mut why = Failure {
            code,
            text: format!("the session was lost (error {code})"),
            passing: true,
        };
        let mut was_refused = false;
        while !self.is_over() {
            if !why.passing || self.lost_in_a_row >= self.shared.drive.reconnects_max {
                self.leave(why);
                return Err(Gone);
            }
            self.sleep_until(self.now_ns() + pause_ns(self.lost_in_a_row))
                .await;
            if self.is_over() {
                break;
            }
            self.lost_in_a_row += 1;
            match self.shared.workload.open(&self.io, self.number).await {
                Ok(session) => {
                    self.session = Some(session);
                    return Ok(());
                }
                Err(failure) => {
                    why = failure;
                    was_refused = true;
                }
            }
        }
        // The end caught it between two sessions, or it was refused until then.
        if was_refused {
            self.leave(why);
        }
        Err(Gone)
    }

    pub async fn close(&mut self) {
        if let Some(session) = self.session.take() {
            self.shared.workload.close(session).await;
        }
    }

    #[inline]
    pub fn is_over(&self) -> bool {
        self.now_ns() >= self.shared.end.at_ns()
    }

    fn leave(&self, mut why: Failure) {
        if self.lost_in_a_row > 0 {
            let times = self.lost_in_a_row;
            why.text = format!(
                "{}, after it was tried again {times} times in a row",
                why.text
            );
        }
        self.shared.leave(self.number, self.now_ns(), why);
    }
}

fn pause_ns(lost_in_a_row: u32) -> u64 {
    let doubled = PAUSE_NS.checked_shl(lost_in_a_row).unwrap_or(PAUSE_MAX_NS);
    doubled.clamp(PAUSE_NS, PAUSE_MAX_NS)
}

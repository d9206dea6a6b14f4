//! One client: runs its operations one after another and reconnects when its session is lost.
//!
//! The time without a session is measured. In open loop, a worker without a session takes no arrival: arrivals wait in the queue,
//! and that wait counts. In closed loop, the next operation is due as usual and its service time includes the reconnect. If the
//! client cannot reconnect, that operation counts as lost.

mod background;
mod backoff;
mod closed;
mod open;
pub(super) mod sessions;

use super::shared::{Numbers, Shared};
use super::turns::{Present, Waiting};
use crate::io::Io;
use crate::recorder::{Ended, Recorder};
use crate::seam::{Failure, Outcome, Request, Workload};
use backoff::Backoff;

/// How often a sleeping client checks whether the drive has ended early.
const CHECK_INTERVAL_NS: u64 = 500_000_000;

/// A client of a drive, in closed loop, or a worker in open loop.
pub(super) struct Client<'a, W: Workload> {
    pub shared: &'a Shared<'a, W>,
    pub recorder: &'a Recorder,
    pub io: Io,
    /// Among the clients of this drive; see [`Shared::name`].
    pub number: u32,
    pub numbers: &'a Numbers<'a>,
    /// Time zero of the drive's clock on the reactor's clock. It moves on between the slices of a drive.
    pub zero_ns: u64,
    /// From when on the client waits instead of starting an operation; `u64::MAX` if the drive runs to its end.
    pub slice_ends_ns: u64,
    pub turns: Option<Present<'a>>,
    pub waiting: &'a Waiting,
    /// None after it was lost, see [`Client::reopen`].
    pub session: Option<W::Session>,
    /// The outage since the last answered operation.
    pub outage: Outage,
}

/// The state of a client that lost its session.
#[derive(Debug)]
pub(super) struct Outage {
    backoff: Backoff,
    /// When the client started to reconnect.
    since_ns: Option<u64>,
    /// The last error, of the session or of an attempt to reconnect.
    why: Option<Failure>,
}

impl Outage {
    pub(super) fn new(client: u32) -> Outage {
        Outage {
            backoff: Backoff::new(client),
            since_ns: None,
            why: None,
        }
    }

    #[cold]
    fn clear(&mut self) {
        self.backoff.reset();
        self.since_ns = None;
        self.why = None;
    }
}

/// The client has no session and starts no more operations. The code is that of the last error.
pub(super) struct Gone(pub u16);

impl<W: Workload> Client<'_, W> {
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        self.io.now_ns() - self.zero_ns
    }

    /// Sleeps until `at_ns`, or until the drive ends.
    pub(super) async fn sleep_until(&self, at_ns: u64) {
        loop {
            let now_ns = self.now_ns();
            let until_ns = at_ns.min(self.shared.end.at_ns());
            if now_ns >= until_ns {
                return;
            }
            let check_ns = until_ns.min(now_ns + CHECK_INTERVAL_NS);
            self.io.sleep_until(self.zero_ns + check_ns).await;
        }
    }

    /// Waits for a time without an operation, over the ends of slices. Returns when the client was free again; the end of
    /// time if there is no further slice.
    pub(super) async fn pause(&mut self, from_ns: u64, pause_ns: u64) -> u64 {
        let until_ns = from_ns + pause_ns;
        loop {
            self.recorder.mark_idle();
            self.sleep_until(until_ns.min(self.slice_ends_ns)).await;
            self.recorder.mark_busy();
            let now_ns = self.now_ns();
            if now_ns < self.slice_ends_ns {
                return now_ns;
            }
            if self.next_slice().await.is_none() {
                return u64::MAX;
            }
        }
    }

    /// Waits until the next slice of the drive begins. Returns when the client is free; None if there is no further slice.
    pub(super) async fn next_slice(&mut self) -> Option<u64> {
        let turns = self.turns.as_mut()?;
        self.recorder.mark_idle();
        let starts = turns.next_slice(&self.io, self.waiting).await;
        self.recorder.mark_busy();
        let starts = starts?;
        self.zero_ns = starts.zero_ns();
        self.slice_ends_ns = starts.ends_ns;
        Some(self.now_ns())
    }

    /// Runs an operation, with retries, and records it. Returns when the client was free again. `late_ns` is how late the operation
    /// started if the client waited for its due time. The session may be lost afterwards.
    #[inline]
    pub(super) async fn operate(
        &mut self,
        mut request: Request,
        late_ns: Option<u64>,
    ) -> Result<u64, Gone> {
        let outcome = loop {
            let session = self.session.as_mut().ok_or(Gone(0))?;
            match self.shared.workload.operate(session, &request).await {
                Outcome::Retry(code) => self.retry(code, &mut request),
                outcome => break outcome,
            }
        };
        let ended_ns = self.now_ns();
        self.record(&request, ended_ns, late_ns, outcome);
        if let Some(turns) = &mut self.turns {
            turns.ended(ended_ns.saturating_sub(request.started_ns));
        }
        match outcome {
            Outcome::Lost(code) | Outcome::Unknown(code) => self.close_lost(code).await,
            _ if self.outage.why.is_some() => self.outage.clear(),
            _ => {}
        }
        Ok(ended_ns)
    }

    #[inline]
    fn record(&self, request: &Request, ended_ns: u64, late_ns: Option<u64>, outcome: Outcome) {
        let ended = Ended {
            operation: request.operation,
            scheduled_ns: request.scheduled_ns,
            started_ns: request.started_ns,
            ended_ns,
            counts_ns: ended_ns.min(self.slice_ends_ns),
            late_ns,
            is_retried: request.retries > 0,
            outcome,
        };
        self.recorder.record(&ended);
        let end_ns = self.shared.end.at_ns();
        if ended.counts_ns >= end_ns && request.scheduled_ns < end_ns {
            self.recorder.record_late(&ended);
        }
    }

    #[cold]
    fn retry(&self, code: u16, request: &mut Request) {
        let now_ns = self.now_ns().min(self.slice_ends_ns);
        self.recorder.retry(request.operation, code, now_ns);
        request.retries = request.retries.saturating_add(1);
    }

    /// Closes a lost session.
    async fn close_lost(&mut self, code: u16) {
        self.outage.why = Some(Failure {
            code,
            text: format!("the session was lost (error {code})"),
            transient: true,
        });
        self.close().await;
    }

    /// Reconnects with backoff, for as long as the settings allow.
    ///
    /// # Errors
    /// If the drive ended or the time for reconnecting is over.
    pub(super) async fn reopen(&mut self) -> Result<(), Gone> {
        self.recorder.mark_idle();
        let reopened = self.reopen_with_backoff().await;
        self.recorder.mark_busy();
        reopened
    }

    async fn reopen_with_backoff(&mut self) -> Result<(), Gone> {
        let since_ns = *self.outage.since_ns.get_or_insert(self.now_ns());
        let budget_ns = u64::try_from(self.shared.drive.reconnect_for.as_nanos());
        let give_up_ns = since_ns.saturating_add(budget_ns.unwrap_or(u64::MAX));
        let mut was_refused = false;
        while !self.is_over() {
            if self.is_final() || self.now_ns() >= give_up_ns {
                return Err(self.end_early());
            }
            let pause_ns = self.outage.backoff.next_ns();
            self.sleep_until(give_up_ns.min(self.now_ns() + pause_ns))
                .await;
            if self.is_over() {
                break;
            }
            let name = self.shared.name(self.number);
            match self.shared.workload.open(&self.io, name).await {
                Ok(session) => {
                    self.session = Some(session);
                    return Ok(());
                }
                Err(failure) => {
                    self.outage.why = Some(failure);
                    was_refused = true;
                }
            }
        }
        // The drive ended between two sessions, or the client was refused until its end.
        if was_refused {
            Err(self.end_refused())
        } else {
            Err(Gone(self.outage.why.as_ref().map_or(0, |why| why.code)))
        }
    }

    /// Counts an operation that was due and got no session as lost.
    pub(super) fn count_lost(&self, request: &Request, Gone(code): Gone) {
        self.record(request, self.now_ns(), None, Outcome::Lost(code));
    }

    /// Whether the last error is permanent.
    fn is_final(&self) -> bool {
        let why = self.outage.why.as_ref();
        why.is_some_and(|why| !why.transient)
    }

    pub(super) async fn close(&mut self) {
        if let Some(session) = self.session.take() {
            self.shared.workload.close(session).await;
        }
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.now_ns() >= self.shared.end.at_ns()
    }

    fn end_early(&self) -> Gone {
        let now_ns = self.now_ns();
        let why = self.why_gone(now_ns);
        let gone = Gone(why.code);
        self.shared.client_ended(self.number, now_ns, why);
        gone
    }

    /// The client got no session until the end of the drive.
    fn end_refused(&self) -> Gone {
        let why = self.why_gone(self.now_ns());
        let gone = Gone(why.code);
        self.shared.client_refused(self.number, why);
        gone
    }

    fn why_gone(&self, now_ns: u64) -> Failure {
        let mut why = self.outage.why.clone().unwrap_or_else(|| Failure {
            code: 0,
            text: "the session was lost".into(),
            transient: true,
        });
        let attempts = self.outage.backoff.attempts();
        if attempts > 0 {
            let since_ns = self.outage.since_ns.unwrap_or(now_ns);
            let waited_s = now_ns.saturating_sub(since_ns) as f64 / 1e9;
            let times = if attempts == 1 { "attempt" } else { "attempts" };
            why.text += &format!(", after {attempts} {times} to reconnect in {waited_s:.1} s");
        }
        why
    }
}

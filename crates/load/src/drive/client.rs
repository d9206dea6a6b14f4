//! One client: its session, one operation after another, and what happens when the session is lost.
//!
//! A lost session hides no waiting. In open loop a worker without a session takes no arrival: arrivals queue, and the queue's
//! wait counts. In closed loop the next operation is due as always, and the time until there is a session again counts as
//! its own; where no session comes, it counts as lost after that time.

use super::backoff::Backoff;
use super::shared::Shared;
use crate::io::Io;
use crate::recorder::{Ended, Recorder};
use crate::seam::{Failure, Outcome, Request, Workload};

/// A client that sleeps looks so often whether the drive has ended early.
const LOOK_EVERY_NS: u64 = 500_000_000;

pub struct Client<'a, W: Workload> {
    pub shared: &'a Shared<'a, W>,
    pub recorder: &'a Recorder,
    pub io: Io,
    pub number: u32,
    /// The drive's beginning on the reactor's clock.
    pub zero_ns: u64,
    /// None: lost, see [`Client::reopen`].
    pub session: Option<W::Session>,
    /// What is known of the outage since the last operation that was answered.
    pub outage: Outage,
}

/// How a client fares without a server.
#[derive(Debug)]
pub struct Outage {
    backoff: Backoff,
    /// When it began to open a session again.
    since_ns: Option<u64>,
    /// The last error, of the session or of an attempt to open another one.
    why: Option<Failure>,
}

impl Outage {
    pub fn new(client: u32) -> Outage {
        Outage {
            backoff: Backoff::new(client),
            since_ns: None,
            why: None,
        }
    }

    #[cold]
    fn is_over(&mut self) {
        self.backoff.reset();
        self.since_ns = None;
        self.why = None;
    }
}

/// The client has no session any more, and starts no operation again. The code is that of the last error.
pub struct Gone(pub u16);

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

    /// Does an operation and records it. Gives the time from which the client is free again. `late_ns`: how late it was
    /// begun by a client that waited for its time. The session may be lost afterwards.
    #[inline]
    pub async fn operate(
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
        match outcome {
            Outcome::Lost(code) | Outcome::Unknown(code) => self.lose(code).await,
            _ if self.outage.why.is_some() => self.outage.is_over(),
            _ => {}
        }
        Ok(ended_ns)
    }

    #[inline]
    fn record(&self, request: &Request, ended_ns: u64, late_ns: Option<u64>, outcome: Outcome) {
        self.recorder.record(&Ended {
            operation: request.operation,
            scheduled_ns: request.scheduled_ns,
            started_ns: request.started_ns,
            ended_ns,
            late_ns,
            is_retried: request.retries > 0,
            outcome,
        });
    }

    #[cold]
    fn retry(&self, code: u16, request: &mut Request) {
        let now_ns = self.now_ns();
        self.recorder.retry(request.operation, code, now_ns);
        request.retries = request.retries.saturating_add(1);
    }

    /// Closes the session that was lost.
    async fn lose(&mut self, code: u16) {
        self.outage.why = Some(Failure {
            code,
            text: format!("the session was lost (error {code})"),
            passing: true,
        });
        self.close().await;
    }

    /// Opens a session again, with growing pauses, for as long as the drive allows.
    ///
    /// # Errors
    /// The drive ended, or the client gave up.
    pub async fn reopen(&mut self) -> Result<(), Gone> {
        self.recorder.rest();
        let reopened = self.try_to_reopen().await;
        self.recorder.run();
        reopened
    }

    async fn try_to_reopen(&mut self) -> Result<(), Gone> {
        let since_ns = *self.outage.since_ns.get_or_insert(self.now_ns());
        let budget_ns = u64::try_from(self.shared.drive.reconnect_for.as_nanos());
        let give_up_ns = since_ns.saturating_add(budget_ns.unwrap_or(u64::MAX));
        let mut was_refused = false;
        while !self.is_over() {
            if self.is_final() || self.now_ns() >= give_up_ns {
                return Err(self.leave());
            }
            let pause_ns = self.outage.backoff.next_ns();
            self.sleep_until(give_up_ns.min(self.now_ns() + pause_ns))
                .await;
            if self.is_over() {
                break;
            }
            match self.shared.workload.open(&self.io, self.number).await {
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
        // The end came between two sessions, or the client was refused until then.
        match was_refused {
            true => Err(self.leave()),
            false => Err(Gone(self.outage.why.as_ref().map_or(0, |why| why.code))),
        }
    }

    /// Counts an operation that was due and got no session.
    pub fn give_up(&self, request: &Request, Gone(code): Gone) {
        self.record(request, self.now_ns(), None, Outcome::Lost(code));
    }

    /// Trying again does not help.
    fn is_final(&self) -> bool {
        let why = self.outage.why.as_ref();
        why.is_some_and(|why| !why.passing)
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

    fn leave(&self) -> Gone {
        let now_ns = self.now_ns();
        let mut why = self.outage.why.clone().unwrap_or_else(|| Failure {
            code: 0,
            text: "the session was lost".into(),
            passing: true,
        });
        let attempts = self.outage.backoff.attempts();
        if attempts > 0 {
            let since_ns = self.outage.since_ns.unwrap_or(now_ns);
            let waited_s = now_ns.saturating_sub(since_ns) as f64 / 1e9;
            let times = if attempts == 1 { "attempt" } else { "attempts" };
            why.text += &format!(", after {attempts} {times} to reconnect in {waited_s:.1} s");
        }
        let gone = Gone(why.code);
        self.shared.leave(self.number, now_ns, why);
        gone
    }
}

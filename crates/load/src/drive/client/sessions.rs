//! Opens the sessions of one thread, a few at a time and all of them before the drive starts, and runs its clients.

use super::backoff::Backoff;
use super::{Client, Outage, background, closed, open};
use crate::drive::driven::DriveError;
use crate::drive::settings::Load;
use crate::drive::shared::{Numbers, Shared};
use crate::drive::turns::{Turns, Waiting};
use crate::drive::usage::Usage;
use crate::io::Io;
use crate::recorder::Recorder;
use crate::seam::{Failure, Workload};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Number of sessions that a reactor opens concurrently.
const CONCURRENT_OPENS: usize = 32;
/// How long opening a session is retried after transient errors.
const OPEN_RETRY_NS: u64 = 5_000_000_000;

/// The clients of one thread.
pub(in crate::drive) struct ReactorClients<'a, W: Workload> {
    shared: &'a Shared<'a, W>,
    recorder: &'a Recorder,
    io: Io,
    clients: Vec<u32>,
    numbers: Numbers<'a>,
    /// Sessions that are open and not yet taken by their clients, in the order of `clients`.
    sessions: RefCell<Vec<Option<W::Session>>>,
    waiting: Waiting,
    /// The thread's CPU time at the start of the drive.
    began: Rc<Cell<Option<Usage>>>,
}

impl<'a, W: Workload> ReactorClients<'a, W> {
    pub(in crate::drive) fn new(
        shared: &'a Shared<'a, W>,
        recorder: &'a Recorder,
        io: &Io,
        clients: &[u32],
        began: &Rc<Cell<Option<Usage>>>,
    ) -> Rc<ReactorClients<'a, W>> {
        Rc::new(ReactorClients {
            shared,
            recorder,
            io: io.clone(),
            clients: clients.to_vec(),
            numbers: shared.numbers(),
            sessions: RefCell::new(clients.iter().map(|_| None).collect()),
            waiting: Waiting::default(),
            began: began.clone(),
        })
    }

    /// Runs the client at index `place`: opens a share of the thread's sessions, runs the client's own load, closes its session.
    pub(in crate::drive) async fn run_client(self: Rc<Self>, place: usize) {
        if place < CONCURRENT_OPENS {
            self.open_share(place).await;
        }
        let is_client = self.clients[place] < self.shared.drive.load.clients();
        let _unclosed = is_client.then(|| self.shared.unclosed());
        let zero_ns = self.shared.gate.pass(&self.io, &self.waiting).await;
        let session = self.sessions.borrow_mut()[place].take();
        let turns = self.shared.turns().map(Turns::present);
        let Some(zero_ns) = zero_ns else {
            if let Some(session) = session {
                self.shared.workload.close(session).await;
            }
            return;
        };
        self.shared.woke(self.io.now_ns().saturating_sub(zero_ns));
        if place == 0 {
            self.began.set(Some(Usage::of_this_thread()));
        }
        let mut client = Client {
            shared: self.shared,
            recorder: self.recorder,
            io: self.io.clone(),
            number: self.clients[place],
            numbers: &self.numbers,
            zero_ns,
            slice_ends_ns: match &turns {
                Some(_) => 0,
                None => u64::MAX,
            },
            turns,
            waiting: &self.waiting,
            session,
            outage: Outage::new(self.clients[place]),
        };
        match &self.shared.drive.load {
            _ if !is_client => background::run(&mut client).await,
            Load::Closed(settings) => closed::run(&mut client, settings).await,
            Load::Open(_) => open::run(&mut client).await,
        }
        client.close().await;
    }

    async fn open_share(&self, first: usize) {
        for place in (first..self.clients.len()).step_by(CONCURRENT_OPENS) {
            let client = self.clients[place];
            let opened = self.open_with_retries(client).await;
            match opened {
                Ok(session) if self.shared.gate.is_refused() => {
                    return self.shared.workload.close(session).await;
                }
                Ok(session) => self.sessions.borrow_mut()[place] = Some(session),
                Err(failure) => {
                    let refusal = DriveError::Open { client, failure };
                    self.shared.gate.refuse(refusal);
                    return;
                }
            }
            self.shared.gate.opened(self.io.now_ns());
        }
    }

    async fn open_with_retries(&self, client: u32) -> Result<W::Session, Failure> {
        let give_up_ns = self.io.now_ns() + OPEN_RETRY_NS;
        let mut backoff = Backoff::new(client);
        loop {
            let name = self.shared.name(client);
            match self.shared.workload.open(&self.io, name).await {
                Err(failure) if failure.transient && self.may_retry(give_up_ns) => {
                    let pause_ns = backoff.next_ns();
                    self.io.sleep_until(self.io.now_ns() + pause_ns).await;
                }
                opened => return opened,
            }
        }
    }

    fn may_retry(&self, give_up_ns: u64) -> bool {
        self.io.now_ns() < give_up_ns && !self.shared.gate.is_refused()
    }
}

//! Opening sessions: a few at a time on each reactor, and all of them before anything begins.

use super::asked::Load;
use super::backoff::Backoff;
use super::client::{Client, Outage};
use super::driven::DriveError;
use super::gate::Waiting;
use super::shared::Shared;
use super::usage::Usage;
use super::{closed, open};
use crate::io::Io;
use crate::recorder::Recorder;
use crate::seam::{Failure, Workload};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Sessions that a reactor opens at the same time.
const AT_ONCE: usize = 32;
/// How long a passing failure is tried again.
const PATIENCE_NS: u64 = 5_000_000_000;

/// The clients of one thread.
pub struct ReactorClients<'a, W: Workload> {
    shared: &'a Shared<'a, W>,
    recorder: &'a Recorder,
    io: Io,
    clients: Vec<u32>,
    /// Opened and not yet taken by its client, in the order of `clients`.
    sessions: RefCell<Vec<Option<W::Session>>>,
    waiting: Waiting,
    /// The thread's CPU time when the drive began.
    began: Rc<Cell<Option<Usage>>>,
}

impl<'a, W: Workload> ReactorClients<'a, W> {
    pub fn new(
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
            sessions: RefCell::new(clients.iter().map(|_| None).collect()),
            waiting: Waiting::default(),
            began: began.clone(),
        })
    }

    /// The client at a place, from beginning to end: it opens its share of the thread's sessions, drives its own, closes it.
    pub async fn run_client(self: Rc<Self>, place: usize) {
        if place < AT_ONCE {
            self.open_share(place).await;
        }
        let zero_ns = self.shared.gate.pass(&self.io, &self.waiting).await;
        let session = self.sessions.borrow_mut()[place].take();
        let Some(zero_ns) = zero_ns else {
            if let Some(session) = session {
                self.shared.workload.close(session).await;
            }
            return;
        };
        if place == 0 {
            self.began.set(Some(Usage::of_this_thread()));
        }
        let mut client = Client {
            shared: self.shared,
            recorder: self.recorder,
            io: self.io.clone(),
            number: self.clients[place],
            zero_ns,
            session,
            outage: Outage::new(self.clients[place]),
        };
        match &self.shared.drive.load {
            Load::Closed(asked) => closed::run(&mut client, asked).await,
            Load::Open(_) => open::run(&mut client).await,
        }
        client.close().await;
    }

    async fn open_share(&self, first: usize) {
        for place in (first..self.clients.len()).step_by(AT_ONCE) {
            let client = self.clients[place];
            let opened = self.open_patiently(client).await;
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

    async fn open_patiently(&self, client: u32) -> Result<W::Session, Failure> {
        let give_up_ns = self.io.now_ns() + PATIENCE_NS;
        let mut backoff = Backoff::new(client);
        loop {
            match self.shared.workload.open(&self.io, client).await {
                Err(failure) if failure.passing && self.may_wait(give_up_ns) => {
                    let pause_ns = backoff.next_ns();
                    self.io.sleep_until(self.io.now_ns() + pause_ns).await;
                }
                opened => return opened,
            }
        }
    }

    fn may_wait(&self, give_up_ns: u64) -> bool {
        self.io.now_ns() < give_up_ns && !self.shared.gate.is_refused()
    }
}

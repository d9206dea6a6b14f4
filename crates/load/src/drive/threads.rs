//! Assigns clients to threads and runs the threads.
//!
//! Non-goals: what a client does (`sessions`, `client`), polling (`executor`).

use super::client::sessions::ReactorClients;
use super::driven::DriveError;
use super::panic_guard::PanicGuard;
use super::shared::Shared;
use super::usage::Usage;
use crate::executor::{self, Task};
use crate::io::{Backend, Gap, Io};
use crate::seam::{Placement, Workload};
use std::cell::Cell;
use std::rc::Rc;

/// Recorders per core for blocking threads. Recorders are large, and a blocked thread does not need one.
const RECORDERS_A_CORE: usize = 2;

/// An OS thread with its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientThread {
    pub placement: Placement,
    pub clients: Vec<u32>,
    pub recorder: usize,
    /// The core that it is pinned to.
    pub core: Option<usize>,
}

/// What a client thread used, and when it did not run.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// Since the start of the drive.
    pub usage: Usage,
    /// The gaps on the reactors' clock; none if the thread blocks in calls.
    pub gaps: Option<Vec<Gap>>,
}

/// Assigns clients to threads round-robin: to one reactor per core by default, or to one thread per client. A client has `depth`
/// sessions, which stay together.
pub(super) fn assign(
    placement: Placement,
    sessions: u32,
    depth: u32,
    reactors: Option<usize>,
    cores: &[usize],
) -> Vec<ClientThread> {
    let is_blocking = placement == Placement::Threads;
    let clients = sessions.div_ceil(depth) as usize;
    let (threads, recorders) = if is_blocking {
        (clients, clients.min(RECORDERS_A_CORE * cores.len()))
    } else {
        let reactors = reactors.unwrap_or(cores.len()).clamp(1, clients);
        (reactors, reactors)
    };
    let pinned = !is_blocking && threads == cores.len();
    let runs = |thread: usize, session: &u32| (session / depth) as usize % threads == thread;
    let one = |thread: usize| ClientThread {
        placement,
        clients: (0..sessions)
            .filter(|session| runs(thread, session))
            .collect(),
        recorder: thread % recorders,
        core: pinned.then(|| cores[thread]),
    };
    (0..threads).map(one).collect()
}

/// The cores that this process may use.
pub fn cores() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None);
    let cores: Vec<usize> = allowed.map_or(Vec::new(), |allowed| {
        let most = rustix::thread::CpuSet::MAX_CPU;
        (0..most).filter(|core| allowed.is_set(*core)).collect()
    });
    if cores.is_empty() { vec![0] } else { cores }
}

impl ClientThread {
    /// Runs the thread's clients to their end.
    pub(super) fn run<W: Workload>(&self, shared: &Shared<'_, W>, backend: Backend) -> Ran {
        let began = Rc::new(Cell::new(None));
        let mut reactor = None;
        let _guard = PanicGuard(shared);
        let ran = executor::run(
            backend,
            shared.origin,
            self.core,
            self.clients.len(),
            |io| {
                reactor = Some(io.clone());
                self.tasks(shared, io, &began)
            },
        );
        if let Err(error) = ran {
            self.fail(shared, &error);
        }
        let used = |began| Usage::of_this_thread() - began;
        Ran {
            usage: began.get().map_or(Usage::default(), used),
            gaps: reactor.and_then(|io| io.schedule().pulse.gaps()),
        }
    }

    fn tasks<'a, W: Workload>(
        &self,
        shared: &'a Shared<'_, W>,
        io: &Io,
        began: &Rc<Cell<Option<Usage>>>,
    ) -> Vec<Task<'a>> {
        shared.add_stopper(io.stopper());
        let recorder = &shared.recorders[self.recorder];
        let clients = ReactorClients::new(shared, recorder, io, &self.clients, began);
        let task = |place| -> Task<'a> { Box::pin(clients.clone().run_client(place)) };
        (0..self.clients.len()).map(task).collect()
    }

    /// Ends the drive, or refuses its start, because the reactor failed.
    fn fail<W: Workload>(&self, shared: &Shared<'_, W>, error: &std::io::Error) {
        let text = format!("the reactor of client {} failed: {error}", self.clients[0]);
        if !shared.gate.refuse(DriveError::System(text.clone())) {
            shared.end_at(shared.now_ns().unwrap_or(0), text);
        }
    }
}

/// The error for a thread that could not be started.
pub(super) fn thread_not_started(thread: &ClientThread, error: &std::io::Error) -> DriveError {
    let client = thread.clients[0];
    DriveError::System(format!(
        "the thread of client {client} could not be started: {error}; use fewer clients"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reactors_are_pinned_if_there_is_one_per_core() {
        let cores_of = |reactors| {
            let assigned = assign(Placement::Reactors, 8, 1, reactors, &[3, 5]);
            assigned
                .iter()
                .map(|thread| thread.core)
                .collect::<Vec<_>>()
        };
        assert_eq!(cores_of(None), [Some(3), Some(5)]);
        assert_eq!(cores_of(Some(1)), [None]);
        assert_eq!(cores_of(Some(3)), [None; 3]);
    }

    #[test]
    fn each_client_has_its_own_blocking_thread_and_recorders_are_shared() {
        let assigned = assign(Placement::Threads, 100, 1, None, &[0, 1]);
        assert_eq!(assigned.len(), 100);
        assert_eq!(assigned.iter().map(|thread| thread.recorder).max(), Some(3));
        assert!(assigned.iter().all(|thread| thread.core.is_none()));
    }

    #[test]
    fn the_sessions_of_a_client_share_a_reactor() {
        let assigned = assign(Placement::Reactors, 9, 3, None, &[0, 1]);
        let sessions: Vec<_> = assigned.into_iter().map(|thread| thread.clients).collect();
        assert_eq!(sessions, [vec![0, 1, 2, 6, 7, 8], vec![3, 4, 5]]);
    }

    proptest! {
        #[test]
        fn every_client_has_one_thread_and_no_thread_is_empty(
            clients in 1..200u32, depth in 1..5u32, reactors in proptest::option::of(1..20usize), blocking: bool,
        ) {
            let placement = if blocking { Placement::Threads } else { Placement::Reactors };
            let depth = if blocking { 1 } else { depth };
            let assigned = assign(placement, clients, depth, reactors, &[0, 1, 2]);
            let mut clients_assigned: Vec<u32> = assigned.iter().flat_map(|thread| thread.clients.clone()).collect();
            clients_assigned.sort_unstable();
            prop_assert_eq!(clients_assigned, (0..clients).collect::<Vec<_>>());
            prop_assert!(assigned.iter().all(|thread| !thread.clients.is_empty()));
        }
    }
}

//! When a server answers writes again that lost one of its nodes, or whose node is paused.
//!
//! Purpose: `commit_s` of the events that do not start the node again: from the event to the first commit of prony's own write. It is tried
//! on the other nodes that take writes. Boundaries: `recovery` measures a node that is started again.

use super::happening::Happening;
use super::recovery::COMMIT;
use server::{Formation, Node};
use spec::Topology;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Limit for each attempt. A node that holds one answers it as soon as it can.
const WITHIN: Duration = Duration::from_secs(2);
const AGAIN_AFTER: Duration = Duration::from_millis(5);

/// Seconds from the event to the first commit; None: the load was over first.
pub(super) type FirstCommit = JoinHandle<Option<f64>>;

impl Happening {
    /// Tries to commit on the nodes other than this one. None: no other node takes writes.
    pub(super) fn first_commit_without(&self, node: u32, began: Instant) -> Option<FirstCommit> {
        let server = self.server.as_ref()?;
        let writers = match server.formation().map(Formation::topology) {
            Some(Topology::Replica) => 1,
            Some(Topology::Galera | Topology::Group) | None => usize::MAX,
        };
        let writers = (1..).zip(server.nodes()).take(writers);
        let others = writers.filter(|(number, _)| *number != node);
        let others: Vec<_> = others.map(|(_, other)| other.clone()).collect();
        (!others.is_empty()).then(|| self.first_commit_on(others, began))
    }

    /// Tries to commit on these nodes until one does it, or the load is over.
    pub(super) fn first_commit_on(&self, nodes: Vec<Arc<dyn Node>>, began: Instant) -> FirstCommit {
        let is_over = self.is_cancelled.clone();
        std::thread::spawn(move || {
            while !is_over.load(SeqCst) {
                if nodes.iter().any(commits) {
                    return Some(began.elapsed().as_secs_f64());
                }
                std::thread::sleep(AGAIN_AFTER);
            }
            None
        })
    }

    /// Adds the first commit to the last note, once it is there. The end of the load does not wait for it.
    pub(super) fn add_first_commit(&mut self, first: FirstCommit) {
        while !first.is_finished() && self.wait(AGAIN_AFTER) {}
        if !first.is_finished() {
            return;
        }
        let commit_s = first.join().ok().flatten();
        if let (Some(note), Some(commit_s)) = (self.happened.notes.last_mut(), commit_s) {
            note.numbers.insert("commit_s".into(), commit_s);
        }
    }
}

fn commits(node: &Arc<dyn Node>) -> bool {
    let session = node.connect().map(|session| session.limited(WITHIN));
    let committed = session.and_then(|mut session| session.execute(COMMIT));
    committed.is_ok()
}

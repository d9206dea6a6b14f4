//! Group commit: writers that wait at the same time share one sync.
//!
//! Purpose: a redo log and a binary log make many transactions durable at once. Boundary: a waiting writer blocks its thread, so each
//! client needs one of its own.

use crate::held;
use std::sync::{Condvar, Mutex, PoisonError};

/// The commits of all clients.
#[derive(Default)]
pub(super) struct Group {
    commits: Mutex<Commits>,
    synced: Condvar,
}

#[derive(Default)]
struct Commits {
    /// Writes that completed.
    written: u64,
    /// Writes that are durable: the first ones.
    durable: u64,
    is_syncing: bool,
}

impl Group {
    /// Returns when the write of this client, which has completed, is durable. `sync` makes all completed writes durable; it is called
    /// by one client at a time.
    ///
    /// # Errors
    /// Those of `sync`. The other clients of the group try again.
    pub(super) async fn commit<E>(
        &self,
        mut sync: impl AsyncFnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let mine = {
            let mut commits = held(&self.commits);
            commits.written += 1;
            commits.written
        };
        while let Some(until) = self.lead(mine) {
            let synced = sync().await;
            self.ended(until, synced.is_ok());
            synced?;
        }
        Ok(())
    }

    /// The writes that this client has to make durable for all. None: its own write is durable.
    fn lead(&self, mine: u64) -> Option<u64> {
        let mut commits = held(&self.commits);
        while commits.durable < mine && commits.is_syncing {
            commits = self
                .synced
                .wait(commits)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if commits.durable >= mine {
            return None;
        }
        commits.is_syncing = true;
        Some(commits.written)
    }

    fn ended(&self, until: u64, is_durable: bool) {
        let mut commits = held(&self.commits);
        commits.is_syncing = false;
        if is_durable {
            commits.durable = until;
        }
        self.synced.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    /// Runs a future that never waits.
    fn run<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn every_write_is_durable_when_its_commit_ends_and_syncs_are_shared() {
        let syncs_of_160_writes = || {
            let (group, written) = (Group::default(), AtomicU64::new(0));
            let (durable, syncs) = (AtomicU64::new(0), AtomicU64::new(0));
            let sync = async || {
                let until = written.load(SeqCst);
                std::thread::sleep(Duration::from_millis(1));
                durable.fetch_max(until, SeqCst);
                syncs.fetch_add(1, SeqCst);
                Ok::<(), ()>(())
            };
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for _ in 0..20 {
                            let mine = written.fetch_add(1, SeqCst) + 1;
                            run(group.commit(&sync)).unwrap();
                            assert!(durable.load(SeqCst) >= mine);
                        }
                    });
                }
            });
            syncs.load(SeqCst)
        };
        // On a busy machine the threads may come one after another. Not each time.
        assert!((0..3).any(|_| (20..100).contains(&syncs_of_160_writes())));
    }

    #[test]
    fn a_failed_sync_fails_its_own_commit_and_the_next_one_covers_both_writes() {
        let group = Group::default();
        assert_eq!(run(group.commit(async || Err("EIO"))), Err("EIO"));
        assert_eq!(run(group.commit(async || Ok::<(), &str>(()))), Ok(()));
        assert_eq!(held(&group.commits).durable, 2);
    }
}

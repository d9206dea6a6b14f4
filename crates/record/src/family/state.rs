//! The states of a server's storage, second by second, in words that hold for any server.
//!
//! Purpose: one vocabulary for the series of a timed load, for events that wait for a state, and for explanations of stalls.
//! Boundaries: how a server reports them is known to crate `observe`, what they mean for throughput to crate `explain`.

use std::fmt::{Display, Formatter};

/// Whether a state is a gauge or a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// The value at the end of a second.
    Level,
    /// Its change per second.
    Rate,
}

macro_rules! states {
    ($($(#[$about:meta])* $state:ident = $name:literal $kind:ident,)+) => {
        /// A state of the storage of a server. Its name is that of its series in a timed load.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum State {
            $($(#[$about])* $state,)+
        }

        impl State {
            /// All states, in the order of a report.
            pub const ALL: &'static [State] = &[$(State::$state,)+];

            /// The name of its series: `checkpoint age`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(State::$state => $name,)+
                }
            }

            pub fn kind(self) -> StateKind {
                match self {
                    $(State::$state => StateKind::$kind,)+
                }
            }
        }
    };
}

states! {
    /// Bytes of redo log that a recovery would have to read: written since the last checkpoint.
    CheckpointAge = "checkpoint age" Level,
    /// The checkpoint age at which the server flushes synchronously, so that writers wait (bytes).
    CheckpointAgeLimit = "checkpoint age limit" Level,
    /// Size of the redo log (bytes).
    LogCapacity = "log capacity" Level,
    /// Cached pages that differ from those on disk.
    DirtyPages = "dirty pages" Level,
    /// Free pages of the cache.
    FreePages = "free pages" Level,
    /// Size of the cache (pages).
    CachePages = "cache pages" Level,
    /// Undo logs that are not purged yet.
    HistoryLength = "history length" Level,
    /// Bytes written to the redo log.
    LogBytes = "log bytes" Rate,
    /// Waits because the log buffer in memory was too small.
    LogWaits = "log waits" Rate,
    /// Waits because the redo log had no free space.
    LogSpaceWaits = "log space waits" Rate,
    /// Pages read into the cache.
    PagesRead = "pages read" Rate,
    /// Pages written, whatever the cause.
    PagesWritten = "pages written" Rate,
    /// Pages flushed ahead of the checkpoint age limit, at a rate that the server adapts.
    FlushedAdaptive = "pages flushed adaptive" Rate,
    /// Pages flushed while the server was idle, or to bound the share of dirty pages.
    FlushedBackground = "pages flushed background" Rate,
    /// Pages flushed because the checkpoint age was at its limit.
    FlushedSync = "pages flushed sync" Rate,
    /// Pages flushed only because a neighbour on disk was.
    FlushedNeighbour = "pages flushed neighbour" Rate,
    /// Pages flushed from the end of the LRU list, to have free pages.
    FlushedLru = "pages flushed LRU" Rate,
    /// Searches of a client for a single page to flush, because there was no free page.
    SingleFlushes = "single page flushes" Rate,
    /// Waits for a free page.
    FreePageWaits = "free page waits" Rate,
    /// Waits for a row lock.
    LockWaits = "row lock waits" Rate,
    /// Time spent in waits for row locks, of all clients together (ms per second).
    LockWaitMs = "row lock wait ms" Rate,
    Deadlocks = "deadlocks" Rate,
    /// Nodes of the cluster that the node sees, itself included.
    ClusterSize = "cluster size" Level,
    /// The lag that a replica reports (whole s).
    ReplicationLag = "replication lag s" Level,
    /// Transactions of other nodes that are not applied yet.
    ReceiveQueue = "receive queue" Level,
    /// Time in which the cluster was paused because a node could not apply as fast (ns per second).
    FlowControlPausedNs = "flow control paused ns" Rate,
    /// Transactions that failed because another node had changed the same rows.
    CertificationFailures = "certification failures" Rate,
}

impl State {
    /// The state whose series has this name.
    pub fn of_series(name: &str) -> Option<State> {
        let mut all = State::ALL.iter().copied();
        all.find(|state| state.as_str() == name)
    }

    /// The state with this name; `_` is allowed for a space: `checkpoint_age`.
    pub fn named(name: &str) -> Option<State> {
        State::of_series(&name.replace('_', " "))
    }

    /// The name as one word: `checkpoint_age`.
    pub fn key(self) -> String {
        self.as_str().replace(' ', "_")
    }

    /// The state that a percentage of this one refers to; None if it has no limit.
    pub fn limit(self) -> Option<State> {
        match self {
            State::CheckpointAge => Some(State::CheckpointAgeLimit),
            State::DirtyPages | State::FreePages => Some(State::CachePages),
            _ => None,
        }
    }

    /// The share of its limit, 1 at the limit; None if either is unknown, or the limit is 0. `get` returns the value of a state.
    pub fn share_of_limit(self, get: impl Fn(State) -> Option<f64>) -> Option<f64> {
        let limit = get(self.limit()?).filter(|limit| *limit > 0.0)?;
        Some(get(self)? / limit)
    }
}

impl Display for State {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_found_by_its_name_and_by_its_key() {
        for state in State::ALL {
            assert_eq!(State::named(state.as_str()), Some(*state));
            assert_eq!(State::named(&state.key()), Some(*state));
        }
        assert_eq!(State::named("checkpoint"), None);
    }

    #[test]
    fn a_share_needs_the_state_and_a_limit_above_0() {
        let share = |age: Option<f64>, limit: f64| {
            State::CheckpointAge.share_of_limit(|state| match state {
                State::CheckpointAge => age,
                _ => Some(limit),
            })
        };
        assert_eq!(share(Some(80.0), 320.0), Some(0.25));
        assert_eq!([share(Some(80.0), 0.0), share(None, 320.0)], [None; 2]);
        assert_eq!(State::HistoryLength.share_of_limit(|_| Some(1.0)), None);
    }

    #[test]
    fn only_levels_have_limits_and_limits_are_levels() {
        let limited = State::ALL.iter().filter(|state| state.limit().is_some());
        for state in limited {
            let limit = state.limit().unwrap();
            assert_eq!([state.kind(), limit.kind()], [StateKind::Level; 2]);
        }
    }
}

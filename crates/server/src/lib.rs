//! Servers: downloads builds, and starts, stops, kills and connects to server instances.
//!
//! Builds of all ages and sources, external servers, SQLite and fakes share one interface, [`Node`]. Which statements to run
//! is decided by the crates `workload` and `observe`, and when by `prony::run`.

mod access;
mod builds;
mod cluster;
mod external;
mod fake;
mod full_disk;
mod initialise;
mod log;
mod managed;
mod node;
mod provider;
mod recovery;
mod session;
mod settings;
mod sha256;
mod sqlite;
mod start;

pub use builds::{Cache, Distribution, Flavor, Held, build_names};
pub use cluster::{Behind, Formation, Server};
pub use external::{External, take_password};
pub use fake::{Fake, reply as fake_reply};
pub use managed::Managed;
pub use managed::adjusted::{differences as adjusted, unmet};
pub use node::{Abilities, Adjusted, Connector, Node, Started};
pub use provider::{FakeProvider, Provider, provider};
pub use recovery::{LogLine, LogWatch, RecoveryLog};
pub(crate) use session::file_error;
pub use session::{
    ColumnKind, Cutter, Producer, Reply, Script, ServerError, Session, TakeAnswer, TakeRow, login,
};
pub use settings::SettingTable;
pub use sha256::Sha256;
pub use sqlite::Sqlite;
pub use start::StartRequest;
use std::sync::{Mutex, MutexGuard, PoisonError};
pub use wire::statements_sent;

/// Ignores poisoning: each value is replaced as a whole, so a panic cannot leave it half-written.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Servers: where builds come from, and instances of them.
//!
//! Goal: whatever a build's age or origin, one way to start, stop, kill and reach it. Non-goals: what is asked of a
//! server (`workload`, `observe`), when (`run`).

pub mod builds;
pub mod external;
pub mod fake;
mod initialise;
pub mod log;
pub mod managed;
pub mod node;
pub mod provider;
pub mod session;
mod settings;
pub mod sqlite;
pub mod start;

pub use builds::{Cache, Distribution, Flavor};
pub use external::External;
pub use fake::Fake;
pub use managed::Managed;
pub use managed::adjusted::{Adjusted, differences as adjusted};
pub use node::{Abilities, Connector, Node, Server, Started};
pub use provider::{FakeProvider, Provider, provider};
pub use session::{Cutter, Producer, Reply, ServerError, Session};
pub use settings::SettingTable;
pub use sqlite::Sqlite;
pub use start::StartRequest;

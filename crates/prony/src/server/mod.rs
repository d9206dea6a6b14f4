//! Servers: where builds come from, and instances of them.

pub mod builds;
pub mod external;
pub mod fake;
mod initialise;
pub mod log;
pub mod managed;
pub mod seam;
pub mod session;
mod settings;
pub mod sqlite;
pub mod start;

pub use external::External;
pub use managed::Managed;
pub use managed::adjusted::Adjusted;
pub use seam::{Abilities, Server, Started};
pub use session::{Producer, Reply, ServerError, Session};
pub use settings::SettingTable;
pub use sqlite::Sqlite;
pub use start::StartRequest;

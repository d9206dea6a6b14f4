//! Servers: where builds come from, and instances of them.

pub mod builds;
mod initialise;
pub mod seam;
pub mod session;
mod settings;
pub mod start;

pub use seam::{Abilities, Server, Started};
pub use session::{Producer, Reply, ServerError, Session};
pub use settings::SettingTable;
pub use start::StartRequest;

//! Servers: where builds come from, and instances of them.

pub mod seam;
pub mod session;
pub mod start;

pub use seam::{Abilities, Server, Started};
pub use session::{Producer, Reply, ServerError, Session};
pub use start::StartRequest;

//! One file per verb.

pub mod guard;
pub mod server;

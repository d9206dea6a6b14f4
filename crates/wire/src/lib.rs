//! The MySQL protocol on the load engine's streams.
//!
//! Goals: every login that the builds have; prepared statements without copying or allocating on their way; replies
//! parsed as far as is asked for; nothing that a hostile server sends panics or takes unbounded memory. Non-goals:
//! pools, reconnecting (`load` does), types of rows that no workload reads.

pub mod connection;
pub mod error;
pub mod login;

pub use connection::{Connection, Done, Param, Statement, Value};
pub use error::WireError;
pub use login::{Login, Tls};

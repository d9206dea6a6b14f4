//! The MySQL protocol on the load engine's streams.
//!
//! Goals: every login that the builds have; prepared statements without copying or allocating on their way; replies
//! parsed as far as is asked for; nothing that a hostile server sends panics or takes unbounded memory. Non-goals:
//! pools, reconnecting (`load` does), types of rows that no workload reads, several requests under way at once.

mod authenticate;
mod channel;
pub mod connection;
mod deadline;
pub mod error;
mod greeting;
mod link;
pub mod login;
pub mod null;
mod packet;
mod reply;
mod request;
mod row;
mod tls;

pub use connection::{Connection, Statement};
pub use error::WireError;
pub use login::{Login, Tls};
pub use reply::Done;
pub use request::Param;
pub use row::Value;

//! A MySQL protocol client on the load engine's streams.
//!
//! Goals: the default login of every supported server; no copy and no allocation per execution of a prepared statement; parse
//! no more of a reply than the caller needs; a hostile server cannot cause a panic or unbounded memory use. Non-goals:
//! connection pools, reconnecting (crate `load`), column types that no workload reads, pipelined requests.

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

pub use authenticate::login_fix;
pub use connection::{Connection, PendingReply, Statement};
pub use error::WireError;
pub use login::{Login, Tls};
pub use reply::Done;
pub use request::Param;
pub use row::Value;

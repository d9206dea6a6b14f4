//! A MySQL protocol client on the load engine's streams: [`Connection`] for the clients of a timed load, [`Blocking`] for sessions,
//! which run one statement after another on a thread.
//!
//! Goals: the default login of every supported server; no copy and no allocation per execution of a prepared statement; parse
//! no more of a reply than the caller needs; a hostile server cannot cause a panic, unbounded memory use or, in a session, a wait
//! without end. Non-goals: connection pools, reconnecting (crate `load`), column types that no workload reads, pipelined requests.

mod authenticate;
pub mod blocking;
mod capability;
mod channel;
pub mod connection;
mod deadline;
pub mod error;
mod explain;
mod field_type;
mod greeting;
mod link;
pub mod login;
pub mod null;
mod packet;
mod plugin;
mod reply;
mod request;
mod row;
mod rsa;
mod tls;

pub use blocking::Blocking;
pub use connection::{Connection, PendingReply, Sink, Statement, WriteFile};
pub use error::WireError;
pub use load::{Endpoint, OnSilence, Stopper};
pub use login::{Login, Protection, ServerKey, Tls, Verification};
pub use reply::Done;
pub use request::Param;
pub use row::{ColumnKind, Value};

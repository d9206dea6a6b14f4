//! A MySQL protocol client on the load engine's streams: [`Connection`] for the clients of a timed load, [`Blocking`] for sessions,
//! which run one statement after another on a thread.
//!
//! Goals: the default login of every supported server; no copy and no allocation per execution of a prepared statement; parse
//! no more of a reply than the caller needs; a hostile server cannot cause a panic, unbounded memory use or, in a session, a wait
//! without end. Non-goals: connection pools, reconnecting (crate `load`), column types that no workload reads, pipelined requests.
//!
//! ```
//! use std::time::Duration;
//! use wire::null::{Behaviour, NullServer};
//! use wire::{Blocking, Login, Protection};
//!
//! // A server that answers every statement with OK. A real one has the same login.
//! let server = NullServer::tcp(Behaviour::default())?;
//! let login = Login {
//!     endpoints: vec![server.endpoint()],
//!     user: "bench".into(),
//!     password: None,
//!     schema: None,
//!     protection: Protection::default(),
//!     login_timeout: Duration::from_secs(5),
//!     stall_timeout: None,
//! };
//! let mut session = Blocking::open(&login, "the null server", || false)?;
//! session.run("SET NAMES utf8mb4")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod authenticate;
pub mod blocking;
mod capability;
mod channel;
pub mod connection;
pub mod error;
mod field_type;
pub mod login;
pub mod null;
mod packet;
mod reply;

pub use blocking::Blocking;
pub use connection::request::Param;
pub use connection::sent::statements_sent;
pub use connection::{Connection, PendingReply, Sink, Statement, WriteFile};
pub use error::WireError;
pub use load::{Endpoint, OnSilence, Stopper};
pub use login::{Login, Protection, ServerKey, Tls, Verification};
pub use reply::Done;
pub use reply::row::{ColumnKind, Value};

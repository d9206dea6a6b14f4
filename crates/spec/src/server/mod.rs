//! What a file says about a server: its build, its nodes, and the settings of its own option file.
//!
//! Boundaries: `sections::factors` reads `[server.NAME]`; crate `server` starts servers.

pub mod build;
pub(crate) mod cluster;
pub mod confined;
pub(crate) mod server_file;

//! A workload's schema on a server: what is made, marked, compared, read into memory and dropped.
//!
//! Purpose: the same on every server and for every workload. Boundaries: `loader` loads rows; a workload says which tables it has.

mod create_and_drop;
pub(crate) mod definitions;
mod engines;
pub(crate) mod held;
pub(crate) mod indexes;
pub(crate) mod marker;
pub(crate) mod preload;
pub(crate) mod state;
pub(crate) mod witness;

pub use create_and_drop::index_bytes;
pub(crate) use create_and_drop::{
    ask_anew, count, create, data_bytes, drop, drop_tables, enter, exists, literal, make, may_drop,
    prepare, query, quoted, refuse_sqlite, statements,
};

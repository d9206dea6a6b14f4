//! The rows of table lineorder: orders of one to seven lines.
//!
//! Goal: tens of nanoseconds per row, because lineorder is nearly all of the benchmark's data. Streams advance without divisions,
//! and fields common to all lines of an order are computed once. Non-goal: separate tables for orders and lines, as in TPC-H.

mod order;
mod text;

pub(super) use order::line_counts;
pub use order::{Line, Order, Orders};
pub(super) use text::OrderText;

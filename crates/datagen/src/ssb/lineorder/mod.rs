//! The rows of lineorder, which come in orders of one to seven lines.
//!
//! Goal: nearly all of the benchmark's bytes, so a row is to cost some tens of nanoseconds: streams advance without divisions, and
//! what all lines of an order share is worked out once. Non-goals: order and line as tables of their own, as TPC-H has them.

mod order;
mod text;

pub(super) use order::line_counts;
pub use order::{Line, Order, Orders};
pub(super) use text::OrderText;

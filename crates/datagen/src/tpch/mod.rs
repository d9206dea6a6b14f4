//! The tables of TPC-H (Transaction Processing Performance Council: "TPC Benchmark H, Standard Specification").
//!
//! Goal: the same bytes as the reference program `dbgen`, from the `tpchgen` crate, in chunks that any thread can generate.
//! The text pool for comments (300 MB, clause 4.2.2.10) is generated once per process, when the first comment is needed.
//! Non-goals: rows of the refresh functions; scale factors at which the key of partsupp is not unique (see [`ScaleError`]).

mod chunk;
mod scale;
mod table;

pub use scale::{MAX_SCALE, ScaleError, Tpch};
pub use table::Table;

/// The validation output of query `number` (1 to 22) at scale 1, from the specification: a line of column names, then one line
/// per row. Fields are separated by `|` and padded with spaces; figures are rounded to two decimals. None for other numbers.
pub fn validation_answer(number: u8) -> Option<&'static str> {
    tpchgen::q_and_a::answers_sf1::answer(number.into())
}

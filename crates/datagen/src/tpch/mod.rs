//! The tables of TPC-H (Transaction Processing Performance Council: "TPC Benchmark H, Standard Specification").
//!
//! Goal: the bytes of the reference program `dbgen`, made by the `tpchgen` crate, in chunks that any thread can make by itself.
//! The text that comments are cut from (300 MB, clause 4.2.2.10) is made once a process, when the first comment is asked for.
//! Non-goals: the refresh functions' rows, and scales at which the key of partsupp would not be unique (see [`ScaleError`]).

mod chunk;
mod scale;
mod table;

pub use chunk::Chunk;
pub use scale::{MAX_SCALE, ScaleError, Tpch};
pub use table::Table;

/// What query `number` (1 to 22) answers at scale 1, as the specification's validation output: a line of column names, then a line
/// a row, fields separated by `|` and padded with blanks, figures rounded to two decimals. None for other numbers.
pub fn validation_answer(number: u8) -> Option<&'static str> {
    tpchgen::q_and_a::answers_sf1::answer(number.into())
}

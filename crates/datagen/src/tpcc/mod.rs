//! The nine tables of TPC-C, revision 5.11, NURand with its constants, and last names. Numbers in parentheses are clauses of the
//! standard.
//!
//! Goals: any part of a table without what precedes it; constant memory; one source for what the load, the terminals and the
//! audits draw. Non-goals: transactions (crate `workload`); the bytes of other generators, which draw at random.

mod chunk;
mod names;
mod random;
mod rows;
mod table;
mod text;

pub use chunk::Tpcc;
pub use names::last_name;
pub use random::{CUSTOMER_A, Constants, ITEM_A, LAST_NAME_A, LAST_NAME_MAX, mass, nurand};
pub use rows::LOADED_AT;
pub use table::Table;

/// The seed of the tables that prony loads.
pub const SEED: u64 = 1;
/// Districts of a warehouse (1.2.1).
pub const DISTRICTS: u64 = 10;
/// Customers of a district, and its orders after the load (4.3.3.1).
pub const CUSTOMERS_PER_DISTRICT: u64 = 3_000;
/// Items, and stock rows of a warehouse (4.3.3.1).
pub const ITEMS: u64 = 100_000;
/// The oldest undelivered order of each district after the load (4.3.3.1).
pub const FIRST_NEW_ORDER: u64 = 2_101;

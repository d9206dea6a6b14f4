//! The tables of the Star Schema Benchmark (O'Neil, O'Neil, Chen, Revilak: "The Star Schema Benchmark", 2009).
//!
//! Goal: at whole scales the bytes of the common C generator when it makes all tables in one call (`dbgen -s SF -T a`). Its tables
//! share random streams, so where a table starts depends on the sizes of the tables before it: part, supplier, customer, date,
//! lineorder. At other scales each table but date is scaled, and date keeps its 2,556 days.
//! Non-goals: the data sets of other forks or of one call for each table, which differ in a few dozen rows, and update streams.

mod calendar;
mod chunk;
mod customer;
mod date;
mod lineorder;
mod part;
mod phone;
mod place;
mod scale;
mod stream;
mod supplier;
mod table;
mod text;

pub use chunk::Chunk;
pub use customer::{Customer, Customers};
pub use date::{Date, Dates};
pub use lineorder::{Line, Order, Orders};
pub use part::{Part, Parts};
pub use phone::Phone;
pub use place::{Address, City};
pub use scale::{MAX_SCALE, ScaleError, Ssb};
pub use supplier::{Supplier, Suppliers};
pub use table::Table;

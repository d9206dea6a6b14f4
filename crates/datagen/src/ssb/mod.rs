//! The tables of the Star Schema Benchmark (O'Neil, O'Neil, Chen, Revilak: "The Star Schema Benchmark", 2009).
//!
//! Goal: at integer scale factors, the same bytes as the common C generator when it generates all tables in one call
//! (`dbgen -s SF -T a`). Its tables share random streams, so the start of a table depends on the sizes of the tables before it:
//! part, supplier, customer, date, lineorder. At fractional scale factors every table but date is scaled; date keeps its 2,556 days.
//! Non-goals: the data of other forks, or of one call per table, which differs in a few dozen rows; update streams.

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

pub use customer::{Customer, Customers};
pub use date::{Date, Dates};
pub use lineorder::{Line, Order, Orders};
pub use part::{Part, Parts};
pub use phone::Phone;
pub use place::{Address, City};
pub use scale::{MAX_SCALE, ScaleError, Ssb};
pub use supplier::{Supplier, Suppliers};
pub use table::Table;

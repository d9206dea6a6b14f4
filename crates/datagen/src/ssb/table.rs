//! The names of the five tables.
//!
//! Goal: one list for all iteration over tables. Non-goals: columns and SQL types (crate `workload`).

/// A table of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    Customer,
    Date,
    Lineorder,
    Part,
    Supplier,
}

impl Table {
    /// All tables, in alphabetical order.
    pub const ALL: [Table; 5] = [
        Table::Customer,
        Table::Date,
        Table::Lineorder,
        Table::Part,
        Table::Supplier,
    ];

    /// The name in SQL and in file names, such as `lineorder`.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Customer => "customer",
            Table::Date => "date",
            Table::Lineorder => "lineorder",
            Table::Part => "part",
            Table::Supplier => "supplier",
        }
    }
}

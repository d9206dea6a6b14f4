//! The names of the eight tables.
//!
//! Goal: one list for all iteration over tables. Non-goals: columns and SQL types (crate `workload`).

/// A table of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    Customer,
    Lineitem,
    Nation,
    Orders,
    Part,
    Partsupp,
    Region,
    Supplier,
}

impl Table {
    /// All tables, in alphabetical order.
    pub const ALL: [Table; 8] = [
        Table::Customer,
        Table::Lineitem,
        Table::Nation,
        Table::Orders,
        Table::Part,
        Table::Partsupp,
        Table::Region,
        Table::Supplier,
    ];

    /// The name in SQL and in file names, such as `lineitem`.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Customer => "customer",
            Table::Lineitem => "lineitem",
            Table::Nation => "nation",
            Table::Orders => "orders",
            Table::Part => "part",
            Table::Partsupp => "partsupp",
            Table::Region => "region",
            Table::Supplier => "supplier",
        }
    }
}

//! The names of the eight tables, in alphabetical order.
//!
//! Non-goals: columns and SQL types (crate `workload`).

crate::table::tables! {
    Customer = "customer",
    Lineitem = "lineitem",
    Nation = "nation",
    Orders = "orders",
    Part = "part",
    Partsupp = "partsupp",
    Region = "region",
    Supplier = "supplier",
}

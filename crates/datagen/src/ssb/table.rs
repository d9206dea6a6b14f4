//! The names of the five tables, in alphabetical order.
//!
//! Non-goals: columns and SQL types (crate `workload`).

crate::table::tables! {
    Customer = "customer",
    Date = "date",
    Lineorder = "lineorder",
    Part = "part",
    Supplier = "supplier",
}

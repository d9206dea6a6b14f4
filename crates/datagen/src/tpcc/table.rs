//! The nine tables: names, and how many rows each has.
//!
//! Non-goals: columns and SQL types (crate `workload`).

use super::{CUSTOMERS_PER_DISTRICT, DISTRICTS, FIRST_NEW_ORDER, ITEMS};

// Each refers only to tables before it.
crate::table::tables! {
    Item = "item",
    Warehouse = "warehouse",
    Stock = "stock",
    District = "district",
    Customer = "customer",
    History = "history",
    Orders = "orders",
    NewOrder = "new_order",
    OrderLine = "order_line",
}

impl Table {
    /// Units of generation (4.3.3.1): rows, and orders for `order_line`, whose orders have 5 to 15 lines.
    pub(super) fn units(self, warehouses: u64) -> u64 {
        let districts = warehouses * DISTRICTS;
        match self {
            Table::Item => ITEMS,
            Table::Warehouse => warehouses,
            Table::District => districts,
            Table::Customer | Table::History | Table::Orders | Table::OrderLine => {
                districts * CUSTOMERS_PER_DISTRICT
            }
            Table::NewOrder => districts * NEW_ORDERS_PER_DISTRICT,
            Table::Stock => warehouses * ITEMS,
        }
    }

    /// Mean bytes of a unit as text, measured at few warehouses.
    pub(super) const fn unit_bytes(self) -> u64 {
        match self {
            Table::Item => 77,
            Table::Warehouse => 92,
            Table::District => 96,
            Table::Customer => 574,
            Table::History => 60,
            Table::NewOrder => 11,
            Table::Orders => 42,
            Table::OrderLine => 677,
            Table::Stock => 307,
        }
    }
}

/// Orders that are not yet delivered after the load (4.3.3.1).
pub(super) const NEW_ORDERS_PER_DISTRICT: u64 = CUSTOMERS_PER_DISTRICT + 1 - FIRST_NEW_ORDER;

/// The warehouse, the district and the number in the district, each from 1, of unit `n` of a table with `each` per district.
pub(super) fn place(n: u64, each: u64) -> (u64, u64, u64) {
    let district = n / each;
    (
        district / DISTRICTS + 1,
        district % DISTRICTS + 1,
        n % each + 1,
    )
}

//! What the tables hold of the transactions of a load.
//!
//! Boundaries: reading is in `read`; comparing is in `check`.

use super::facts::Payment;
use std::collections::{BTreeMap, HashMap};

/// A warehouse and a district.
pub type District = (u16, u8);

/// Warehouse, district and number of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub w: u16,
    pub d: u8,
    pub o: u32,
}

/// Warehouse, district and number of a customer.
pub type CustomerKey = (u16, u8, u16);

/// Without the orders that the load had delivered. Amounts are in cents.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// D_NEXT_O_ID.
    pub next_o_id: BTreeMap<District, u32>,
    /// D_YTD.
    pub ytd: BTreeMap<District, i64>,
    pub orders: HashMap<Key, Held>,
    /// Customers whose counts are not those of the load.
    pub customers: HashMap<CustomerKey, Counted>,
    /// Rows of history that the load did not make.
    pub payments: Vec<Payment>,
}

/// What three tables hold of one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    pub order: Option<OrderRow>,
    /// Rows of order_line, how many of them have a delivery date, and the sum of OL_AMOUNT.
    pub lines: u32,
    pub delivered: u32,
    pub cents: i64,
    /// Whether new_order has a row.
    pub is_new: bool,
}

/// A row of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRow {
    pub c: u16,
    pub carrier: Option<u8>,
    pub ol_cnt: u8,
    pub all_local: bool,
}

/// The counts of one customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// C_PAYMENT_CNT, C_YTD_PAYMENT and C_DELIVERY_CNT.
    pub payments: i64,
    pub ytd_payment: i64,
    pub deliveries: i64,
}

impl Counted {
    /// As the load leaves every customer: one payment of 10.00, no delivery.
    pub const LOADED: Counted = Counted {
        payments: 1,
        ytd_payment: 1_000,
        deliveries: 0,
    };
}

/// D_YTD after the load: 30,000.00.
pub(super) const LOADED_YTD: i64 = 3_000_000;

//! What the audit needs of the tables: D_NEXT_O_ID before the load, and after it what transactions may have written.

use super::check::Before;
use super::facts::Payment;
use super::tables::{Counted, Held, Key, OrderRow, Tables};
use crate::tpcc::rows::cells::numbers;
use crate::tpcc::rows::{self, Warehouse};
use datagen::tpcc::FIRST_NEW_ORDER;
use server::{ServerError, Session};

/// D_NEXT_O_ID of each district.
///
/// # Errors
/// The server refuses the statement or is lost.
pub(crate) fn next_orders(session: &mut Session) -> Result<Before, ServerError> {
    let mut next = Before::new();
    let sql = "SELECT d_w_id, d_id, d_next_o_id FROM district";
    session.each(sql, &mut |row| {
        let [w, d, o] = numbers(row);
        next.insert((w as u16, d as u8), o as u32);
    })?;
    Ok(next)
}

impl Tables {
    /// What the transactions of a load may have written in this warehouse.
    pub(in crate::tpcc) fn of(warehouse: &Warehouse) -> Tables {
        let mut tables = Tables::default();
        tables.payments.extend(warehouse.later.iter().map(payment));
        // Only the rows of existing warehouses can be of transactions.
        if !warehouse.is_stray {
            tables.add_districts(warehouse);
            tables.add_orders(warehouse);
            tables.add_customers(warehouse);
        }
        tables
    }

    fn add_districts(&mut self, warehouse: &Warehouse) {
        let w = warehouse.id as u16;
        for (&d, district) in &warehouse.districts {
            let key = (w, d as u8);
            self.next_o_id.insert(key, district.next_o_id as u32);
            self.ytd.insert(key, district.ytd);
        }
    }

    /// The orders that the load had not delivered, and those of transactions.
    fn add_orders(&mut self, warehouse: &Warehouse) {
        let w = warehouse.id as u16;
        let is_later = |key: &rows::Key| key.1 >= FIRST_NEW_ORDER as i64;
        let held = |key: rows::Key| Key {
            w,
            d: key.0 as u8,
            o: key.1 as u32,
        };
        for order in warehouse.orders.iter().filter(|one| is_later(&one.key)) {
            self.held(held(order.key)).order = Some(OrderRow {
                c: order.customer as u16,
                carrier: order.carrier.map(|carrier| carrier as u8),
                ol_cnt: order.ol_cnt as u8,
                all_local: order.is_all_local,
            });
        }
        for lines in warehouse.lines.iter().filter(|one| is_later(&one.key)) {
            let held = self.held(held(lines.key));
            (held.lines, held.delivered) = (lines.count as u32, lines.delivered as u32);
            held.cents = lines.amount;
        }
        for key in &warehouse.new_orders {
            self.held(held(*key)).is_new = true;
        }
    }

    fn add_customers(&mut self, warehouse: &Warehouse) {
        for customer in &warehouse.customers {
            let counted = Counted {
                payments: customer.payments,
                ytd_payment: customer.ytd_payment,
                deliveries: customer.deliveries,
            };
            if counted != Counted::LOADED {
                let (d, c) = customer.key;
                let key = (warehouse.id as u16, d as u8, c as u16);
                self.customers.insert(key, counted);
            }
        }
    }

    fn held(&mut self, key: Key) -> &mut Held {
        self.orders.entry(key).or_default()
    }

    /// Adds other warehouses.
    pub(in crate::tpcc) fn append(&mut self, other: Tables) {
        self.next_o_id.extend(other.next_o_id);
        self.ytd.extend(other.ytd);
        self.orders.extend(other.orders);
        self.customers.extend(other.customers);
        self.payments.extend(other.payments);
    }
}

fn payment(row: &rows::Payment) -> Payment {
    Payment {
        w: row.w as u16,
        d: row.d as u8,
        c_w: row.c_w as u16,
        c_d: row.c_d as u8,
        c: row.c as u16,
        cents: row.cents as u32,
    }
}

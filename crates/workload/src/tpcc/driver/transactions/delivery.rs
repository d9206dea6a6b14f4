//! Delivery (2.7): the oldest new order of each district, all in one transaction.
//!
//! The oldest orders are found district by district and locked; what follows is one statement for all districts. Each statement
//! names every district once; a skipped district has an order number that does not exist.

use crate::tpcc::driver::session::Session;
use crate::tpcc::driver::sql::{self, Prepare, int};
use crate::tpcc::driver::stop::{Finish, Stop, Wrong};
use crate::tpcc::ledger::{self, Write};
use datagen::tpcc::DISTRICTS;
use load::Failure;
use wire::{Connection, Param, Statement};

const ALL: usize = DISTRICTS as usize;
/// No order and no customer has this number.
const NONE: u32 = 0;

const OLDEST: &str = "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
     ORDER BY no_o_id LIMIT 1 FOR UPDATE";

/// Rows of one warehouse, one condition for each district.
fn each_district(warehouse: &str, district: &str, id: &str) -> String {
    let of = |number: u64| format!("({district} = {number} AND {id} = ?)");
    let districts: Vec<String> = (1..=DISTRICTS).map(of).collect();
    format!("{warehouse} = ? AND ({})", districts.join(" OR "))
}

fn delete() -> String {
    let rows = each_district("no_w_id", "no_d_id", "no_o_id");
    format!("DELETE FROM new_order WHERE {rows}")
}

fn set_carrier() -> String {
    let rows = each_district("o_w_id", "o_d_id", "o_id");
    format!("UPDATE orders SET o_carrier_id = ? WHERE {rows}")
}

/// Locks, and so takes no snapshot: the customers, which are locked next, may have changed since.
fn sums() -> String {
    let rows = each_district("o_w_id", "o_d_id", "o_id");
    format!(
        "SELECT STRAIGHT_JOIN o_d_id, o_c_id, SUM(ol_amount), COUNT(*) FROM orders, order_line \
         WHERE {rows} AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         GROUP BY o_d_id, o_c_id FOR UPDATE"
    )
}

fn set_delivered() -> String {
    let rows = each_district("ol_w_id", "ol_d_id", "ol_o_id");
    format!("UPDATE order_line SET ol_delivery_d = NOW() WHERE {rows}")
}

fn add_to_balances() -> String {
    let rows = each_district("c_w_id", "c_d_id", "c_id");
    let amount = |number: u64| format!("WHEN {number} THEN ?");
    let amounts: Vec<String> = (1..=DISTRICTS).map(amount).collect();
    let amounts = amounts.join(" ");
    format!(
        "UPDATE customer SET c_balance = c_balance + 0.01 * CASE c_d_id {amounts} END, \
         c_delivery_cnt = c_delivery_cnt + 1 WHERE {rows}"
    )
}

pub(in crate::tpcc::driver) struct Statements {
    oldest: Statement,
    delete: Statement,
    set_carrier: Statement,
    sums: Statement,
    set_delivered: Statement,
    add_to_balances: Statement,
}

impl Statements {
    pub(super) async fn prepare(prepare: &mut Prepare<'_>) -> Result<Statements, Failure> {
        Ok(Statements {
            oldest: prepare.sql(OLDEST).await?,
            delete: prepare.sql(&delete()).await?,
            set_carrier: prepare.sql(&set_carrier()).await?,
            sums: prepare.sql(&sums()).await?,
            set_delivered: prepare.sql(&set_delivered()).await?,
            add_to_balances: prepare.sql(&add_to_balances()).await?,
        })
    }
}

/// What is delivered, by district. An order number of 0 marks a district without new orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Delivered {
    orders: [u32; ALL],
    customers: [u32; ALL],
    cents: [i64; ALL],
    /// Lines of all orders.
    lines: u64,
}

/// A transaction that runs.
struct Running<'s> {
    connection: &'s mut Connection,
    statements: &'s Statements,
    warehouse: u32,
}

pub(in crate::tpcc::driver) async fn run(
    session: &mut Session,
    statements: &Statements,
    warehouse: u32,
    carrier: u8,
) -> Result<Finish, Stop> {
    let mut running = Running {
        connection: &mut session.connection,
        statements,
        warehouse,
    };
    let orders = running.oldest().await?;
    let count = orders.iter().filter(|order| **order != NONE).count() as u64;
    if count == 0 {
        session.book.delivered_nothing();
        return Ok(Finish::Read(None));
    }
    running.delete(&orders, count).await?;
    running.set_carrier(&orders, carrier, count).await?;
    let delivered = running.sums(&orders, count).await?;
    running.set_delivered(&delivered).await?;
    running.add_to_balances(&delivered, count).await?;
    Ok(Finish::Commit(Write::Delivery(ledger::Delivery {
        w: warehouse as u16,
        carrier,
        orders,
    })))
}

impl Running<'_> {
    /// Locks the oldest new order of each district.
    async fn oldest(&mut self) -> Result<[u32; ALL], Stop> {
        let mut orders = [NONE; ALL];
        for (order, district) in orders.iter_mut().zip(1u8..) {
            let params = [int(self.warehouse), int(district)];
            sql::rows(self.connection, &self.statements.oldest, &params, |row| {
                *order = row.int(0)? as u32;
                Ok(())
            })
            .await?;
        }
        Ok(orders)
    }

    /// Deletes one row in each district.
    async fn delete(&mut self, orders: &[u32; ALL], count: u64) -> Result<(), Stop> {
        let params = self.keys(orders);
        let statement = &self.statements.delete;
        sql::change(self.connection, statement, &params, count, Wrong::NewOrder).await?;
        Ok(())
    }

    async fn set_carrier(
        &mut self,
        orders: &[u32; ALL],
        carrier: u8,
        count: u64,
    ) -> Result<(), Stop> {
        let mut params = vec![int(carrier)];
        params.extend(self.keys(orders));
        let statement = &self.statements.set_carrier;
        sql::change(self.connection, statement, &params, count, Wrong::Orders).await?;
        Ok(())
    }

    async fn sums(&mut self, orders: &[u32; ALL], count: u64) -> Result<Delivered, Stop> {
        let params = self.keys(orders);
        let mut delivered = Delivered {
            orders: *orders,
            ..Delivered::default()
        };
        let rows = sql::rows(self.connection, &self.statements.sums, &params, |row| {
            let place = row.int(0)? as usize - 1;
            *delivered.customers.get_mut(place).ok_or(Wrong::Value)? = row.int(1)? as u32;
            delivered.cents[place] = row.cents(2)?;
            delivered.lines += row.int(3)? as u64;
            Ok(())
        });
        if rows.await? == count {
            Ok(delivered)
        } else {
            Err(Wrong::Orders.into())
        }
    }

    async fn set_delivered(&mut self, delivered: &Delivered) -> Result<(), Stop> {
        let params = self.keys(&delivered.orders);
        let statement = &self.statements.set_delivered;
        sql::change(
            self.connection,
            statement,
            &params,
            delivered.lines,
            Wrong::OrderLine,
        )
        .await?;
        Ok(())
    }

    async fn add_to_balances(&mut self, delivered: &Delivered, count: u64) -> Result<(), Stop> {
        let mut params: Vec<Param> = delivered.cents.map(int).to_vec();
        params.extend(self.keys(&delivered.customers));
        let statement = &self.statements.add_to_balances;
        sql::change(self.connection, statement, &params, count, Wrong::Customer).await?;
        Ok(())
    }

    /// The parameters of [`each_district`].
    fn keys(&self, ids: &[u32; ALL]) -> Vec<Param<'static>> {
        let ids = ids.iter().map(|id| int(*id));
        std::iter::once(int(self.warehouse)).chain(ids).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_each_district_once() {
        let text = delete();
        for district in 1..=10 {
            assert_eq!(text.matches(&format!("no_d_id = {district} ")).count(), 1);
        }
        assert_eq!(text.matches('?').count(), 11);
        assert_eq!(add_to_balances().matches('?').count(), 21);
    }
}

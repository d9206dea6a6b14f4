//! Order-Status (2.6): reads a customer's last order.

use super::customer::Find;
use crate::tpcc::driver::inputs::OrderStatus;
use crate::tpcc::driver::session::Session;
use crate::tpcc::driver::sql::{self, Prepare, Row, int};
use crate::tpcc::driver::stop::{Finish, Saw, Stop, Wrong};
use load::Failure;
use wire::Statement;

const BY_ID: &str = "SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer \
     WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const BY_NAME: &str = "SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer \
     WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";
const LAST: &str = "SELECT o_id, o_ol_cnt, o_entry_d, o_carrier_id FROM orders \
     WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1";
const LINES: &str = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
     WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";

pub(in crate::tpcc::driver) struct Statements {
    find: Find,
    last: Statement,
    lines: Statement,
}

impl Statements {
    pub(super) async fn prepare(prepare: &mut Prepare<'_>) -> Result<Statements, Failure> {
        Ok(Statements {
            find: Find::prepare(prepare, BY_ID, BY_NAME).await?,
            last: prepare.sql(LAST).await?,
            lines: prepare.sql(LINES).await?,
        })
    }
}

pub(in crate::tpcc::driver) async fn run(
    session: &mut Session,
    statements: &Statements,
    input: &OrderStatus,
) -> Result<Finish, Stop> {
    let connection = &mut session.connection;
    let (w, d) = (int(input.warehouse), int(input.district));
    let place = (input.warehouse, input.district);
    let find = &statements.find;
    let customer = find
        .one(connection, place, input.customer, read_customer)
        .await?;
    let key = [w, d, int(customer)];
    let last = &statements.last;
    let (order, count) = sql::one(connection, last, &key, Wrong::Orders, |row| {
        Ok((row.int(0)?, row.int(1)?))
    })
    .await?;
    let lines = sql::rows(connection, &statements.lines, &[w, d, int(order)], |row| {
        row.int(0)?;
        row.int(1)?;
        row.int(2)?;
        row.cents(3)?;
        Ok(())
    })
    .await?;
    if lines as i64 == count {
        Ok(Finish::Read(Some(Saw {
            warehouse: input.warehouse,
            district: input.district,
            next: order as u32 + 1,
        })))
    } else {
        Err(Wrong::OrderLine.into())
    }
}

/// Returns C_ID.
fn read_customer(row: &Row) -> Result<i64, Wrong> {
    row.cents(1)?;
    row.text(2)?;
    row.text(3)?;
    row.text(4)?;
    row.int(0)
}

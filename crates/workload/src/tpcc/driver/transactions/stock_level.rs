//! Stock-Level (2.8): counts items of the last 20 orders that are low in stock.

use crate::tpcc::driver::inputs::StockLevel;
use crate::tpcc::driver::session::Session;
use crate::tpcc::driver::sql::{self, Prepare, int};
use crate::tpcc::driver::stop::{Finish, Saw, Stop, Wrong};
use load::Failure;
use wire::Statement;

/// How many orders it looks at.
const ORDERS: i64 = 20;
const NEXT: &str = "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?";
const LOW: &str = "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock \
     WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? \
     AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?";

pub(in crate::tpcc::driver) struct Statements {
    next: Statement,
    low: Statement,
}

impl Statements {
    pub(super) async fn prepare(prepare: &mut Prepare<'_>) -> Result<Statements, Failure> {
        Ok(Statements {
            next: prepare.sql(NEXT).await?,
            low: prepare.sql(LOW).await?,
        })
    }
}

pub(in crate::tpcc::driver) async fn run(
    session: &mut Session,
    statements: &Statements,
    input: &StockLevel,
) -> Result<Finish, Stop> {
    let connection = &mut session.connection;
    let (w, d) = (int(input.warehouse), int(input.district));
    let next = sql::one(
        connection,
        &statements.next,
        &[w, d],
        Wrong::District,
        |row| row.int(0),
    )
    .await?;
    let params = [w, d, int(next - ORDERS), int(next), w, int(input.threshold)];
    sql::one(connection, &statements.low, &params, Wrong::Stock, |row| {
        row.int(0)
    })
    .await?;
    Ok(Finish::Read(Some(Saw {
        warehouse: input.warehouse,
        district: input.district,
        next: next as u32,
    })))
}

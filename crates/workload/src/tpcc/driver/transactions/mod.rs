//! The five transactions, each in a file of its own, over statements that a terminal prepares once.
//!
//! Boundaries: they end without their COMMIT or ROLLBACK, which the driver sends.

mod customer;
pub(super) mod delivery;
pub(super) mod new_order;
pub(super) mod order_status;
pub(super) mod payment;
pub(super) mod stock_level;

use super::sql::Prepare;
use load::Failure;
use wire::Connection;

/// The number of prepared statements of one terminal: 24, and those by the number of lines of an order or of distinct items.
pub(super) const STATEMENTS: usize = 24 + new_order::STATEMENTS_BY_SIZE;

/// The statements of all transactions, prepared on one connection.
pub(super) struct Prepared {
    pub(super) new_order: new_order::Statements,
    pub(super) payment: payment::Statements,
    pub(super) order_status: order_status::Statements,
    pub(super) delivery: delivery::Statements,
    pub(super) stock_level: stock_level::Statements,
}

impl Prepared {
    pub(super) async fn on(connection: &mut Connection) -> Result<Prepared, Failure> {
        let prepare = &mut Prepare(connection);
        Ok(Prepared {
            new_order: new_order::Statements::prepare(prepare).await?,
            payment: payment::Statements::prepare(prepare).await?,
            order_status: order_status::Statements::prepare(prepare).await?,
            delivery: delivery::Statements::prepare(prepare).await?,
            stock_level: stock_level::Statements::prepare(prepare).await?,
        })
    }
}

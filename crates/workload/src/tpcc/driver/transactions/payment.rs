//! Payment (2.5), in seven round trips. It locks the warehouse, which all payments of a warehouse share, as late as it can.

use super::customer::Find;
use crate::tpcc::driver::inputs::Payment;
use crate::tpcc::driver::session::Session;
use crate::tpcc::driver::sql::{self, Prepare, Row, int};
use crate::tpcc::driver::stop::{Finish, Stop, Wrong};
use crate::tpcc::ledger::{self, Write};
use load::Failure;
use wire::{Connection, Param, Statement};

const DISTRICT: &str = "UPDATE district SET d_ytd = d_ytd + 0.01 * ? WHERE d_w_id = ? AND d_id = ?";
const WAREHOUSE: &str = "UPDATE warehouse SET w_ytd = w_ytd + 0.01 * ? WHERE w_id = ?";
const BY_ID: &str = "SELECT c_id, c_credit, IF(c_credit = 'BC', c_data, ''), c_first, c_middle, c_last, c_street_1, c_street_2, \
     c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount, c_balance FROM customer \
     WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE";
const BY_NAME: &str = "SELECT c_id, c_credit, IF(c_credit = 'BC', c_data, ''), c_first, c_middle, c_last, c_street_1, c_street_2, \
     c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount, c_balance FROM customer \
     WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first FOR UPDATE";
const PAY: &str = "UPDATE customer SET c_balance = c_balance - 0.01 * ?, c_ytd_payment = c_ytd_payment + 0.01 * ?, \
     c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const PAY_BAD: &str = "UPDATE customer SET c_balance = c_balance - 0.01 * ?, c_ytd_payment = c_ytd_payment + 0.01 * ?, \
     c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const NAMES: &str = "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip, \
     d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM warehouse, district \
     WHERE w_id = ? AND d_w_id = ? AND d_id = ?";
const HISTORY: &str = "INSERT INTO history \
     (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
     VALUES (?, ?, ?, ?, ?, NOW(), 0.01 * ?, ?)";

/// The length of C_DATA.
const DATA_MAX: usize = 500;

pub(in crate::tpcc::driver) struct Statements {
    district: Statement,
    warehouse: Statement,
    find: Find,
    pay: Statement,
    pay_bad: Statement,
    names: Statement,
    history: Statement,
}

impl Statements {
    pub(super) async fn prepare(prepare: &mut Prepare<'_>) -> Result<Statements, Failure> {
        Ok(Statements {
            district: prepare.sql(DISTRICT).await?,
            warehouse: prepare.sql(WAREHOUSE).await?,
            find: Find::prepare(prepare, BY_ID, BY_NAME).await?,
            pay: prepare.sql(PAY).await?,
            pay_bad: prepare.sql(PAY_BAD).await?,
            names: prepare.sql(NAMES).await?,
            history: prepare.sql(HISTORY).await?,
        })
    }
}

/// The customer who pays.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Payer {
    id: u32,
    /// C_DATA of a customer with bad credit.
    bad_data: Option<Vec<u8>>,
}

/// A transaction that runs.
struct Running<'s> {
    connection: &'s mut Connection,
    statements: &'s Statements,
    input: &'s Payment,
}

pub(in crate::tpcc::driver) async fn run(
    session: &mut Session,
    statements: &Statements,
    input: &Payment,
) -> Result<Finish, Stop> {
    let mut running = Running {
        connection: &mut session.connection,
        statements,
        input,
    };
    running.add_to_district().await?;
    let payer = running.payer().await?;
    running.pay(&payer).await?;
    running.add_to_warehouse().await?;
    let data = running.names().await?;
    running.note(payer.id, &data).await?;
    Ok(Finish::Commit(write(input, payer.id)))
}

impl Running<'_> {
    async fn add_to_district(&mut self) -> Result<(), Stop> {
        let input = self.input;
        let params = [int(input.cents), int(input.warehouse), int(input.district)];
        let statement = &self.statements.district;
        sql::change(self.connection, statement, &params, 1, Wrong::District).await?;
        Ok(())
    }

    async fn add_to_warehouse(&mut self) -> Result<(), Stop> {
        let params = [int(self.input.cents), int(self.input.warehouse)];
        let statement = &self.statements.warehouse;
        sql::change(self.connection, statement, &params, 1, Wrong::Warehouse).await?;
        Ok(())
    }

    /// Locks the customer; by name, all of that name.
    async fn payer(&mut self) -> Result<Payer, Stop> {
        let input = self.input;
        let place = (input.customer_warehouse, input.customer_district);
        let find = &self.statements.find;
        find.one(self.connection, place, input.customer, payer_of)
            .await
    }

    async fn pay(&mut self, payer: &Payer) -> Result<(), Stop> {
        let input = self.input;
        let cents = int(input.cents);
        let [w, d, c] = [
            int(input.customer_warehouse),
            int(input.customer_district),
            int(payer.id),
        ];
        match &payer.bad_data {
            None => {
                let params = [cents, cents, w, d, c];
                let statement = &self.statements.pay;
                sql::change(self.connection, statement, &params, 1, Wrong::Customer).await?
            }
            Some(old) => {
                let new = bad_data(input, payer.id, old);
                let params = [cents, cents, Param::Bytes(&new), w, d, c];
                let statement = &self.statements.pay_bad;
                sql::change(self.connection, statement, &params, 1, Wrong::Customer).await?
            }
        };
        Ok(())
    }

    /// Reads the addresses of the warehouse and of the district. Returns H_DATA.
    async fn names(&mut self) -> Result<Vec<u8>, Stop> {
        let (w, d) = (int(self.input.warehouse), int(self.input.district));
        let statement = &self.statements.names;
        sql::one(
            self.connection,
            statement,
            &[w, w, d],
            Wrong::Warehouse,
            |row| Ok(history_data(row.text(0)?, row.text(6)?)),
        )
        .await
    }

    async fn note(&mut self, customer: u32, data: &[u8]) -> Result<(), Stop> {
        let input = self.input;
        let params = [
            int(customer),
            int(input.customer_district),
            int(input.customer_warehouse),
            int(input.district),
            int(input.warehouse),
            int(input.cents),
            Param::Bytes(data),
        ];
        let statement = &self.statements.history;
        sql::change(self.connection, statement, &params, 1, Wrong::History).await?;
        Ok(())
    }
}

fn write(input: &Payment, customer: u32) -> Write {
    Write::Payment(ledger::Payment {
        w: input.warehouse as u16,
        d: input.district,
        c_w: input.customer_warehouse as u16,
        c_d: input.customer_district,
        c: customer as u16,
        cents: input.cents as u32,
    })
}

fn payer_of(row: &Row) -> Result<Payer, Wrong> {
    row.text(3)?;
    row.cents(15)?;
    let is_bad = row.text(1)? == b"BC";
    Ok(Payer {
        id: row.int(0)? as u32,
        bad_data: is_bad
            .then(|| row.text(2).map(<[u8]>::to_vec))
            .transpose()?,
    })
}

/// C_DATA of a customer with bad credit: the payment in front, cut to 500 characters (2.5.2.2).
fn bad_data(input: &Payment, customer: u32, old: &[u8]) -> Vec<u8> {
    let (c_d, c_w) = (input.customer_district, input.customer_warehouse);
    let (d, w) = (input.district, input.warehouse);
    let (whole, rest) = (input.cents / 100, input.cents % 100);
    let front = format!("{customer} {c_d} {c_w} {d} {w} {whole}.{rest:02} ");
    let mut new = front.into_bytes();
    new.extend_from_slice(old);
    new.truncate(DATA_MAX);
    new
}

/// H_DATA: both names, four blanks between them (2.5.2.2).
fn history_data(warehouse: &[u8], district: &[u8]) -> Vec<u8> {
    [warehouse, b"    ", district].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::inputs::Customer;

    const INPUT: Payment = Payment {
        warehouse: 3,
        district: 4,
        customer_warehouse: 5,
        customer_district: 6,
        customer: Customer::Id(7),
        cents: 123_405,
    };

    #[test]
    fn bad_credit_puts_the_payment_in_front_and_keeps_500_characters() {
        assert_eq!(bad_data(&INPUT, 7, b"old"), b"7 6 5 4 3 1234.05 old");
        let full = bad_data(&INPUT, 7, &[b'x'; 500]);
        assert_eq!(full.len(), 500);
        assert!(full.starts_with(b"7 6 5 4 3 1234.05 xxx"));
    }

    #[test]
    fn history_holds_both_names_with_four_blanks_between() {
        assert_eq!(history_data(b"here", b"there"), b"here    there");
        assert_eq!(history_data(&[b'w'; 10], &[b'd'; 10]).len(), 24);
    }
}

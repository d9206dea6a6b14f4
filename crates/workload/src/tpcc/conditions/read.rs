//! Streams of rows in the order of their keys, from one snapshot.
//!
//! Boundaries: no joins, and sums only within a primary key's prefix, so that no server needs a temporary table.

use super::judge::{Customer, District, Key, Lines, Order, Warehouse};
use server::{ServerError, Session};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

/// Reads one group of warehouses in one transaction.
pub(super) struct Reader<'a> {
    session: &'a mut Session,
    schema: &'a str,
    /// The warehouses that should exist are 1 to this one.
    warehouses: u32,
}

/// Sums of H_AMOUNT in cents.
#[derive(Default)]
pub(super) struct Payments {
    /// By h_w_id and h_d_id.
    received: BTreeMap<(i64, i64), i64>,
    /// By h_c_w_id, and then h_c_d_id and h_c_id.
    made: HashMap<i64, HashMap<Key, i64>>,
}

impl<'a> Reader<'a> {
    /// Takes a snapshot.
    pub(super) fn begin(
        session: &'a mut Session,
        schema: &'a str,
        warehouses: u32,
    ) -> Result<Reader<'a>, ServerError> {
        // Other isolation levels silently take no snapshot.
        session.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        session.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        Ok(Reader {
            session,
            schema,
            warehouses,
        })
    }

    pub(super) fn end(self) -> Result<(), ServerError> {
        self.session.execute("COMMIT").map(drop)
    }

    /// The payments that the warehouses of a group received, and those that their customers made. history has no key, so this reads
    /// it once.
    pub(super) fn payments(
        &mut self,
        group: &RangeInclusive<u32>,
        with_strays: bool,
    ) -> Result<Payments, ServerError> {
        let (schema, last) = (self.schema, self.warehouses);
        let within = |column: &str| {
            let (from, to) = (group.start(), group.end());
            match with_strays {
                true => format!("{column} <= {to} OR {column} > {last}"),
                false => format!("{column} BETWEEN {from} AND {to}"),
            }
        };
        let sql = format!(
            "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount FROM {schema}.history WHERE {} OR {}",
            within("h_w_id"),
            within("h_c_w_id")
        );
        let mut payments = Payments::default();
        self.each(&sql, |[w, d, c_w, c_d, c], amount| {
            *payments.received.entry((w, d)).or_default() += amount;
            let made = payments.made.entry(c_w).or_default();
            *made.entry((c_d, c)).or_default() += amount;
        })?;
        Ok(payments)
    }

    /// Everything that the conditions say about one warehouse.
    pub(super) fn warehouse(
        &mut self,
        id: i64,
        payments: &Payments,
    ) -> Result<Warehouse, ServerError> {
        let received = payments.received.range((id, i64::MIN)..=(id, i64::MAX));
        Ok(Warehouse {
            id,
            ytd: self.ytd(id)?,
            districts: self.districts(id)?,
            orders: self.orders(id)?,
            new_orders: self.new_orders(id)?,
            lines: self.lines(id)?,
            customers: self.customers(id)?,
            received: received.map(|((_, d), cents)| (*d, *cents)).collect(),
            made: payments.made.get(&id).cloned().unwrap_or_default(),
        })
    }

    /// Warehouses that should not exist but that some row names.
    pub(super) fn strays(&mut self, payments: &Payments) -> Result<BTreeSet<i64>, ServerError> {
        let last = self.warehouses;
        let received = payments.received.keys().map(|(w, _)| *w);
        let paid = received.chain(payments.made.keys().copied());
        let mut strays: BTreeSet<i64> = paid.filter(|w| *w < 1 || *w > i64::from(last)).collect();
        for (table, column) in [
            ("warehouse", "w_id"),
            ("district", "d_w_id"),
            ("customer", "c_w_id"),
            ("orders", "o_w_id"),
            ("new_order", "no_w_id"),
            ("order_line", "ol_w_id"),
        ] {
            let schema = self.schema;
            let sql = format!(
                "SELECT DISTINCT {column}, 0 FROM {schema}.{table} WHERE {column} < 1 OR {column} > {last}"
            );
            self.each(&sql, |[w], _| {
                strays.insert(w);
            })?;
        }
        Ok(strays)
    }

    fn ytd(&mut self, w: i64) -> Result<Option<i64>, ServerError> {
        let schema = self.schema;
        let sql = format!("SELECT w_id, w_ytd FROM {schema}.warehouse WHERE w_id = {w}");
        let mut ytd = None;
        self.each(&sql, |[_], cents| ytd = Some(cents))?;
        Ok(ytd)
    }

    fn districts(&mut self, w: i64) -> Result<BTreeMap<i64, District>, ServerError> {
        let schema = self.schema;
        let sql =
            format!("SELECT d_id, d_next_o_id, d_ytd FROM {schema}.district WHERE d_w_id = {w}");
        let mut districts = BTreeMap::new();
        self.each(&sql, |[d, next_o_id], ytd| {
            districts.insert(d, District { ytd, next_o_id });
        })?;
        Ok(districts)
    }

    fn orders(&mut self, w: i64) -> Result<Vec<Order>, ServerError> {
        let schema = self.schema;
        let sql = format!(
            "SELECT o_d_id, o_id, o_c_id, o_ol_cnt, o_carrier_id IS NOT NULL, 0 FROM {schema}.orders WHERE o_w_id = {w} ORDER BY o_d_id, o_id"
        );
        let mut orders = Vec::new();
        self.each(&sql, |[d, o, customer, ol_cnt, has_carrier], _| {
            orders.push(Order {
                key: (d, o),
                customer,
                ol_cnt,
                has_carrier: has_carrier != 0,
            });
        })?;
        Ok(orders)
    }

    fn new_orders(&mut self, w: i64) -> Result<Vec<Key>, ServerError> {
        let schema = self.schema;
        let sql = format!(
            "SELECT no_d_id, no_o_id, 0 FROM {schema}.new_order WHERE no_w_id = {w} ORDER BY no_d_id, no_o_id"
        );
        let mut new_orders = Vec::new();
        self.each(&sql, |[d, o], _| new_orders.push((d, o)))?;
        Ok(new_orders)
    }

    fn lines(&mut self, w: i64) -> Result<Vec<Lines>, ServerError> {
        let schema = self.schema;
        let sql = format!(
            "SELECT ol_d_id, ol_o_id, COUNT(*), COUNT(ol_delivery_d), SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) FROM {schema}.order_line WHERE ol_w_id = {w} GROUP BY ol_w_id, ol_d_id, ol_o_id ORDER BY ol_w_id, ol_d_id, ol_o_id"
        );
        let mut lines = Vec::new();
        self.each(&sql, |[d, o, count, delivered], amount| {
            lines.push(Lines {
                key: (d, o),
                count,
                delivered,
                amount,
            });
        })?;
        Ok(lines)
    }

    fn customers(&mut self, w: i64) -> Result<Vec<Customer>, ServerError> {
        let schema = self.schema;
        let sql = format!(
            "SELECT c_d_id, c_id, c_balance, c_ytd_payment FROM {schema}.customer WHERE c_w_id = {w} ORDER BY c_d_id, c_id"
        );
        let mut customers = Vec::new();
        self.session.each(&sql, &mut |row| {
            customers.push(Customer {
                key: (whole(row[0]), whole(row[1])),
                balance: cents(row[2]),
                ytd_payment: cents(row[3]),
            });
        })?;
        Ok(customers)
    }

    /// Streams rows of `N` whole numbers and an amount.
    fn each<const N: usize>(
        &mut self,
        sql: &str,
        mut take: impl FnMut([i64; N], i64),
    ) -> Result<(), ServerError> {
        self.session.each(sql, &mut |row| {
            let numbers = std::array::from_fn(|column| whole(row[column]));
            take(numbers, cents(row[N]));
        })
    }
}

/// A whole number; NULL is 0, as in an empty sum.
pub(in crate::tpcc) fn whole(cell: Option<&[u8]>) -> i64 {
    let Some(text) = cell else { return 0 };
    let (is_negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0, |number, digit| 10 * number + i64::from(digit - b'0'));
    if is_negative { -number } else { number }
}

/// The cents of a decimal with up to two digits after the point; NULL is 0, as in an empty sum.
pub(in crate::tpcc) fn cents(cell: Option<&[u8]>) -> i64 {
    let Some(text) = cell else { return 0 };
    let point = text.iter().position(|&byte| byte == b'.');
    let (units, fraction) = text.split_at(point.unwrap_or(text.len()));
    let digit = |place: usize| i64::from(fraction.get(place).map_or(0, |digit| digit - b'0'));
    let cents = 100 * whole(Some(units)).abs() + 10 * digit(1) + digit(2);
    if text.starts_with(b"-") {
        -cents
    } else {
        cents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_as_whole_cents() {
        for (text, expected) in [
            ("0", 0),
            ("0.00", 0),
            ("-10.00", -1_000),
            ("-0.05", -5),
            ("12.3", 1_230),
            ("300000.00", 30_000_000),
            ("123456789012.34", 12_345_678_901_234),
        ] {
            assert_eq!(cents(Some(text.as_bytes())), expected, "{text}");
        }
        assert_eq!((cents(None), whole(None)), (0, 0));
        assert_eq!(whole(Some(b"-32768")), -32_768);
    }
}

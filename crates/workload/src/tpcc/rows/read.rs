//! Streams of rows in the order of their keys, from one snapshot.
//!
//! Boundaries: no joins, and sums only within a primary key's prefix, so that no server needs a temporary table.

use super::cells::{Cells, cents, numbers, whole};
use super::{Customer, District, Key, Lines, Order, Payment, Warehouse};
use server::{ServerError, Session};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

/// Reads one group of warehouses in one transaction.
pub(super) struct Reader<'a> {
    session: &'a mut Session,
    schema: &'a str,
    /// The warehouses that should exist are 1 to this one.
    warehouses: u32,
}

/// The rows of history, by warehouse. Amounts are in cents.
#[derive(Default)]
pub(super) struct Payments {
    /// By h_w_id and h_d_id.
    received: BTreeMap<(i64, i64), i64>,
    /// By h_c_w_id, and then h_c_d_id and h_c_id.
    made: HashMap<i64, HashMap<Key, i64>>,
    /// Customers whose payment of the load was read.
    loaded: HashSet<(i64, i64, i64)>,
    /// The other rows, by h_w_id.
    later: HashMap<i64, Vec<Payment>>,
}

impl Payments {
    fn add(&mut self, payment: Payment) {
        let (w, c_w, of) = (payment.w, payment.c_w, (payment.c_d, payment.c));
        *self.received.entry((w, payment.d)).or_default() += payment.cents;
        let made = self.made.entry(c_w).or_default();
        *made.entry(of).or_default() += payment.cents;
        if !payment.is_as_loaded() || !self.loaded.insert((c_w, of.0, of.1)) {
            self.later.entry(w).or_default().push(payment);
        }
    }
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
            if with_strays {
                format!("{column} <= {to} OR {column} > {last}")
            } else {
                format!("{column} BETWEEN {from} AND {to}")
            }
        };
        let sql = format!(
            "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount FROM {schema}.history WHERE {} OR {}",
            within("h_w_id"),
            within("h_c_w_id")
        );
        let mut payments = Payments::default();
        self.session.each(&sql, &mut |row| {
            let [w, d, c_w, c_d, c] = numbers(row);
            payments.add(Payment {
                w,
                d,
                c_w,
                c_d,
                c,
                cents: cents(row[5]),
            });
        })?;
        Ok(payments)
    }

    /// Everything about one warehouse. Takes its payments out of `payments`.
    pub(super) fn warehouse(
        &mut self,
        id: i64,
        payments: &mut Payments,
    ) -> Result<Warehouse, ServerError> {
        let received = payments.received.range((id, i64::MIN)..=(id, i64::MAX));
        Ok(Warehouse {
            id,
            is_stray: id < 1 || id > self.warehouses.into(),
            ytd: self.ytd(id)?,
            districts: self.districts(id)?,
            orders: self.orders(id)?,
            new_orders: self.new_orders(id)?,
            lines: self.lines(id)?,
            customers: self.customers(id)?,
            received: received.map(|((_, d), cents)| (*d, *cents)).collect(),
            made: payments.made.remove(&id).unwrap_or_default(),
            later: payments.later.remove(&id).unwrap_or_default(),
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
                "SELECT DISTINCT {column} FROM {schema}.{table} WHERE {column} < 1 OR {column} > {last}"
            );
            self.session.each(&sql, &mut |row| {
                strays.insert(whole(row[0]));
            })?;
        }
        Ok(strays)
    }

    /// What `of` makes of each row of a query.
    fn rows<T, C: Default + Extend<T>>(
        &mut self,
        sql: &str,
        of: impl Fn(Cells) -> T,
    ) -> Result<C, ServerError> {
        let mut all = C::default();
        self.session.each(sql, &mut |row| all.extend([of(row)]))?;
        Ok(all)
    }

    fn ytd(&mut self, w: i64) -> Result<Option<i64>, ServerError> {
        let schema = self.schema;
        let sql = format!("SELECT w_ytd FROM {schema}.warehouse WHERE w_id = {w}");
        let found: Vec<i64> = self.rows(&sql, |row| cents(row[0]))?;
        Ok(found.last().copied())
    }

    fn districts(&mut self, w: i64) -> Result<BTreeMap<i64, District>, ServerError> {
        let schema = self.schema;
        let sql =
            format!("SELECT d_id, d_next_o_id, d_ytd FROM {schema}.district WHERE d_w_id = {w}");
        self.rows(&sql, |row| {
            let ([d, next_o_id], ytd) = (numbers(row), cents(row[2]));
            (d, District { ytd, next_o_id })
        })
    }

    fn orders(&mut self, w: i64) -> Result<Vec<Order>, ServerError> {
        let schema = self.schema;
        let sql = format!(
            "SELECT o_d_id, o_id, o_c_id, o_ol_cnt, o_all_local, o_carrier_id FROM {schema}.orders WHERE o_w_id = {w} ORDER BY o_d_id, o_id"
        );
        self.rows(&sql, |row| {
            let [d, o, customer, ol_cnt, all_local] = numbers(row);
            Order {
                key: (d, o),
                customer,
                ol_cnt,
                is_all_local: all_local != 0,
                carrier: row[5].map(|cell| whole(Some(cell))),
            }
        })
    }

    fn new_orders(&mut self, w: i64) -> Result<Vec<Key>, ServerError> {
        let schema = self.schema;
        let sql = format!(
            "SELECT no_d_id, no_o_id FROM {schema}.new_order WHERE no_w_id = {w} ORDER BY no_d_id, no_o_id"
        );
        self.rows(&sql, |row| {
            let [d, o] = numbers(row);
            (d, o)
        })
    }

    fn lines(&mut self, w: i64) -> Result<Vec<Lines>, ServerError> {
        let schema = self.schema;
        let sql = format!(
            "SELECT ol_d_id, ol_o_id, COUNT(*), COUNT(ol_delivery_d), SUM(ol_amount), SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) FROM {schema}.order_line WHERE ol_w_id = {w} GROUP BY ol_w_id, ol_d_id, ol_o_id ORDER BY ol_w_id, ol_d_id, ol_o_id"
        );
        self.rows(&sql, |row| {
            let [d, o, count, delivered] = numbers(row);
            Lines {
                key: (d, o),
                count,
                delivered,
                amount: cents(row[4]),
                delivered_amount: cents(row[5]),
            }
        })
    }

    fn customers(&mut self, w: i64) -> Result<Vec<Customer>, ServerError> {
        let schema = self.schema;
        let sql = format!(
            "SELECT c_d_id, c_id, c_payment_cnt, c_delivery_cnt, c_balance, c_ytd_payment FROM {schema}.customer WHERE c_w_id = {w} ORDER BY c_d_id, c_id"
        );
        self.rows(&sql, |row| {
            let [d, c, payments, deliveries] = numbers(row);
            Customer {
                key: (d, c),
                payments,
                deliveries,
                balance: cents(row[4]),
                ytd_payment: cents(row[5]),
            }
        })
    }
}

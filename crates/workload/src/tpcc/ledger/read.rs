//! Reads the tables after a load. No transaction runs meanwhile, so the connections need no common snapshot.

use super::check::Before;
use super::facts::Payment;
use super::tables::{Counted, CustomerKey, Held, Key, OrderRow, Tables};
use crate::tpcc::conditions::{cents, whole};
use datagen::tpcc::FIRST_NEW_ORDER;
use server::{ServerError, Session};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

/// More connections are not faster on the intended machines.
const READERS_MAX: usize = 8;

/// Opens a connection in the schema of the tables.
pub type Connect<'a> = &'a (dyn Fn() -> Result<Session, ServerError> + Sync);

type Row<'a> = &'a [Option<&'a [u8]>];

/// D_NEXT_O_ID of each district.
///
/// # Errors
/// The server refuses the statement or is lost.
pub fn next_orders(session: &mut Session) -> Result<Before, ServerError> {
    let mut next = Before::new();
    let sql = "SELECT d_w_id, d_id, d_next_o_id FROM district";
    session.each(sql, &mut |row| {
        let [w, d, o] = numbers(row);
        next.insert((w as u16, d as u8), o as u32);
    })?;
    Ok(next)
}

impl Tables {
    /// Reads what the transactions of a load may have written in the warehouses 1 to `warehouses`: history in one connection, as it
    /// has no key, and the warehouses in others.
    ///
    /// # Errors
    /// The server refuses a statement or is lost.
    pub fn read(connect: Connect, warehouses: u32) -> Result<Tables, ServerError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicU32::new(1);
        let of_warehouses = || -> Result<Tables, ServerError> {
            let (mut session, mut tables) = (connect()?, Tables::default());
            loop {
                let w = next.fetch_add(1, Ordering::Relaxed);
                if w > warehouses {
                    return Ok(tables);
                }
                tables.read_warehouse(&mut session, w)?;
            }
        };
        std::thread::scope(|scope| {
            let history = scope.spawn(|| payments(&mut connect()?));
            let readers: Vec<_> = (0..cores.min(READERS_MAX))
                .map(|_| scope.spawn(of_warehouses))
                .collect();
            let mut tables = Tables::default();
            for reader in readers {
                tables.append(joined(reader)?);
            }
            tables.payments = joined(history)?;
            Ok(tables)
        })
    }

    fn read_warehouse(&mut self, session: &mut Session, w: u32) -> Result<(), ServerError> {
        let key = |d: i64, o: i64| Key {
            w: w as u16,
            d: d as u8,
            o: o as u32,
        };
        let sql = format!("SELECT d_id, d_next_o_id, d_ytd FROM district WHERE d_w_id = {w}");
        session.each(&sql, &mut |row| {
            let [d, next] = numbers(row);
            self.next_o_id.insert((w as u16, d as u8), next as u32);
            self.ytd.insert((w as u16, d as u8), cents(row[2]));
        })?;
        let sql = format!(
            "SELECT o_d_id, o_id, o_c_id, o_ol_cnt, o_all_local, o_carrier_id FROM orders WHERE o_w_id = {w} AND o_id >= {FIRST_NEW_ORDER}"
        );
        session.each(&sql, &mut |row| {
            let [d, o, c, ol_cnt, all_local] = numbers(row);
            self.held(key(d, o)).order = Some(OrderRow {
                c: c as u16,
                carrier: row[5].map(|cell| whole(Some(cell)) as u8),
                ol_cnt: ol_cnt as u8,
                all_local: all_local != 0,
            });
        })?;
        let sql = format!(
            "SELECT ol_d_id, ol_o_id, COUNT(*), COUNT(ol_delivery_d), SUM(ol_amount) FROM order_line WHERE ol_w_id = {w} AND ol_o_id >= {FIRST_NEW_ORDER} GROUP BY ol_w_id, ol_d_id, ol_o_id"
        );
        session.each(&sql, &mut |row| {
            let [d, o, lines, delivered] = numbers(row);
            let held = self.held(key(d, o));
            (held.lines, held.delivered) = (lines as u32, delivered as u32);
            held.cents = cents(row[4]);
        })?;
        let sql = format!("SELECT no_d_id, no_o_id FROM new_order WHERE no_w_id = {w}");
        session.each(&sql, &mut |row| {
            let [d, o] = numbers(row);
            self.held(key(d, o)).is_new = true;
        })?;
        let sql = format!(
            "SELECT c_d_id, c_id, c_payment_cnt, c_delivery_cnt, c_ytd_payment FROM customer WHERE c_w_id = {w} AND (c_payment_cnt <> 1 OR c_delivery_cnt <> 0 OR c_ytd_payment <> 10)"
        );
        session.each(&sql, &mut |row| {
            let [d, c, payments, deliveries] = numbers(row);
            let counted = Counted {
                payments,
                ytd_payment: cents(row[4]),
                deliveries,
            };
            let customer = (w as u16, d as u8, c as u16);
            self.customers.insert(customer, counted);
        })
    }

    fn held(&mut self, key: Key) -> &mut Held {
        self.orders.entry(key).or_default()
    }

    /// Adds other warehouses.
    fn append(&mut self, other: Tables) {
        self.next_o_id.extend(other.next_o_id);
        self.ytd.extend(other.ytd);
        self.orders.extend(other.orders);
        self.customers.extend(other.customers);
        self.payments.extend(other.payments);
    }
}

/// The rows of history that the load did not make. The load made one of 10.00 for each customer, at its own district.
fn payments(session: &mut Session) -> Result<Vec<Payment>, ServerError> {
    let (mut payments, mut loaded) = (Vec::new(), HashSet::new());
    let sql = "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history";
    session.each(sql, &mut |row| {
        let [w, d, c_w, c_d, c] = numbers(row);
        let payment = Payment {
            w: w as u16,
            d: d as u8,
            c_w: c_w as u16,
            c_d: c_d as u8,
            c: c as u16,
            cents: cents(row[5]) as u32,
        };
        if !is_of_load(&payment) || !loaded.insert(place(&payment)) {
            payments.push(payment);
        }
    })?;
    Ok(payments)
}

fn is_of_load(payment: &Payment) -> bool {
    let at_home = (payment.w, payment.d) == (payment.c_w, payment.c_d);
    at_home && i64::from(payment.cents) == Counted::LOADED.ytd_payment
}

fn place(payment: &Payment) -> CustomerKey {
    (payment.c_w, payment.c_d, payment.c)
}

/// The first cells of a row as whole numbers.
fn numbers<const N: usize>(row: Row) -> [i64; N] {
    std::array::from_fn(|column| whole(row[column]))
}

fn joined<T>(reader: std::thread::ScopedJoinHandle<T>) -> T {
    match reader.join() {
        Ok(read) => read,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

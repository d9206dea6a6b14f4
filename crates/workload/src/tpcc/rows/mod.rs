//! Reads the tables after a load or between two, for the conditions and for the audit of what clients remember.
//!
//! Purpose: one pass over the tables, with several connections, each on a consistent snapshot. Transactions may run meanwhile. SQL
//! only streams rows in the order of their keys. Boundaries: `conditions` and `ledger` judge what is read.

pub(super) mod cells;
mod read;

use crate::held;
use crate::loader::Connect;
use read::Reader;
use server::{ServerError, Session};
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Warehouses of one snapshot: enough to scan history seldom, few enough to hold the payments of their customers.
const GROUP_MAX: u32 = 32;
/// H_AMOUNT of the payments that the load makes, in cents.
const LOADED_PAYMENT: i64 = 1_000;

/// A row of a district: the district, and the order or customer in it.
pub(super) type Key = (i64, i64);

/// The rows of one warehouse. Lists are in the order of their keys; amounts are in cents.
#[derive(Clone, Debug, Default)]
pub(super) struct Warehouse {
    pub id: i64,
    /// It should not exist, but some row names it.
    pub is_stray: bool,
    /// W_YTD; None if the warehouse has no row.
    pub ytd: Option<i64>,
    pub districts: BTreeMap<i64, District>,
    pub orders: Vec<Order>,
    pub new_orders: Vec<Key>,
    pub lines: Vec<Lines>,
    pub customers: Vec<Customer>,
    /// Payments received, by district.
    pub received: BTreeMap<i64, i64>,
    /// Payments made by its customers.
    pub made: HashMap<Key, i64>,
    /// Payments received, without the one of 10.00 that the load made for each customer.
    pub later: Vec<Payment>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct District {
    pub ytd: i64,
    pub next_o_id: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub key: Key,
    pub customer: i64,
    pub ol_cnt: i64,
    pub is_all_local: bool,
    pub carrier: Option<i64>,
}

/// The lines of one order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    pub key: Key,
    pub count: i64,
    /// How many have a delivery date.
    pub delivered: i64,
    /// The sum of all, and of those with a delivery date.
    pub amount: i64,
    pub delivered_amount: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Customer {
    pub key: Key,
    /// C_PAYMENT_CNT and C_DELIVERY_CNT.
    pub payments: i64,
    pub deliveries: i64,
    pub balance: i64,
    pub ytd_payment: i64,
}

/// A row of history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payment {
    /// Where it was made.
    pub w: i64,
    pub d: i64,
    /// Whose payment it is.
    pub c_w: i64,
    pub c_d: i64,
    pub c: i64,
    pub cents: i64,
}

impl Payment {
    /// Whether the load makes such a payment, once for each customer, at its own district.
    fn is_as_loaded(&self) -> bool {
        (self.w, self.d) == (self.c_w, self.c_d) && self.cents == LOADED_PAYMENT
    }
}

/// Hands the warehouses 1 to `warehouses` to `take`, and then those that should not exist but that some row names. Several threads
/// call it.
///
/// # Errors
/// The server refuses a statement or is lost.
pub(super) fn scan(
    connect: Connect<'_>,
    schema: &str,
    warehouses: u32,
    take: &(dyn Fn(&Warehouse) + Sync),
) -> Result<(), ServerError> {
    let readers = crate::connections() as u32;
    let each = warehouses.div_ceil(readers).clamp(1, GROUP_MAX);
    let groups = Mutex::new(groups(warehouses, each));
    let failed = AtomicBool::new(false);
    let read = || -> Result<(), ServerError> {
        let mut session = None;
        while let Some(group) = held(&groups).pop() {
            if failed.load(Relaxed) {
                return Ok(());
            }
            let session = match &mut session {
                Some(session) => session,
                none => none.insert(connect()?),
            };
            scan_group(session, schema, warehouses, group, take)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let start = |_| scope.spawn(|| read().inspect_err(|_| failed.store(true, Relaxed)));
        let started: Vec<_> = (0..readers.min(warehouses)).map(start).collect();
        let ended = started.into_iter().map(|reader| match reader.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}

/// The warehouses in groups of `each`, the first group last, since it is taken from the end.
fn groups(warehouses: u32, each: u32) -> Vec<RangeInclusive<u32>> {
    let starts = (1..=warehouses).step_by(each as usize);
    let group = |first: u32| first..=(first + each - 1).min(warehouses);
    let mut groups: Vec<_> = starts.map(group).collect();
    groups.reverse();
    groups
}

/// Reads a group in one snapshot. The first group also reads warehouses that should not exist.
fn scan_group(
    session: &mut Session,
    schema: &str,
    warehouses: u32,
    group: RangeInclusive<u32>,
    take: &(dyn Fn(&Warehouse) + Sync),
) -> Result<(), ServerError> {
    let mut reader = Reader::begin(session, schema, warehouses)?;
    let with_strays = *group.start() == 1;
    let mut payments = reader.payments(&group, with_strays)?;
    let strays = if with_strays {
        reader.strays(&payments)?
    } else {
        Default::default()
    };
    for id in group.map(i64::from).chain(strays) {
        take(&reader.warehouse(id, &mut payments)?);
    }
    reader.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_every_warehouse_once() {
        for (warehouses, each) in [(1, 1), (10, 5), (11, 5), (3, 32)] {
            let groups = groups(warehouses, each);
            assert!(
                groups
                    .iter()
                    .all(|group| group.clone().count() <= each as usize)
            );
            let all: Vec<u32> = groups.into_iter().rev().flatten().collect();
            assert_eq!(all, (1..=warehouses).collect::<Vec<_>>());
        }
    }
}

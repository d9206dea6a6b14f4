//! The facts of writing transactions, compact.

use crate::tpcc::inputs::Counts;
use std::collections::HashMap;

/// Times are kept in steps of 0.1 ms: 32 bits last 119 hours.
const STEP_NS: u64 = 100_000;

/// A fact and when it was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted<T> {
    pub what: T,
    pub(super) at: u32,
}

impl<T> Noted<T> {
    /// `at_ns` counts from the start of the load.
    pub fn new(what: T, at_ns: u64) -> Noted<T> {
        let at = (at_ns / STEP_NS).min(u32::MAX.into()) as u32;
        Noted { what, at }
    }

    /// Seconds since the start of the load.
    pub fn at_s(&self) -> f64 {
        (u64::from(self.at) * STEP_NS) as f64 / 1e9
    }

    /// The same time with another fact.
    pub fn with<U>(&self, what: U) -> Noted<U> {
        Noted { what, at: self.at }
    }
}

/// What a writing transaction leaves in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    NewOrder(NewOrder),
    Payment(Payment),
    Delivery(Delivery),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    pub w: u16,
    pub d: u8,
    pub o: u32,
    pub c: u16,
    /// O_OL_CNT.
    pub lines: u8,
    /// O_ALL_LOCAL.
    pub all_local: bool,
    /// The sum of OL_AMOUNT in cents, without tax and discount.
    pub cents: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Payment {
    /// Where it is made.
    pub w: u16,
    pub d: u8,
    /// Whose payment it is.
    pub c_w: u16,
    pub c_d: u8,
    pub c: u16,
    pub cents: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub w: u16,
    pub carrier: u8,
    /// The delivered O_ID of each district; 0 if the district had no new order.
    pub orders: [u32; 10],
}

/// The largest D_NEXT_O_ID that readers saw, by warehouse and district, and when they saw it first.
pub type Seen = HashMap<(u16, u8), Noted<u32>>;

/// What books noted.
#[derive(Default)]
pub struct Facts {
    /// Acknowledged transactions, with the time of the acknowledgement.
    pub orders: Vec<Noted<NewOrder>>,
    pub payments: Vec<Noted<Payment>>,
    pub deliveries: Vec<Noted<Delivery>>,
    /// Transactions that were rolled back after their keys were known.
    pub refused: Vec<Write>,
    /// All transactions that were rolled back.
    pub refused_count: u64,
    /// Transactions without an answer, with the time when COMMIT was sent.
    pub unknown: Vec<Noted<Write>>,
    pub seen: Seen,
    /// Deliveries that found no new order in any district.
    pub empty_deliveries: u64,
    pub inputs: Counts,
}

impl Facts {
    pub(super) fn acknowledge(&mut self, write: Noted<Write>) {
        match write.what {
            Write::NewOrder(order) => self.orders.push(write.with(order)),
            Write::Payment(payment) => self.payments.push(write.with(payment)),
            Write::Delivery(delivery) => self.deliveries.push(write.with(delivery)),
        }
    }

    pub(super) fn refuse(&mut self, write: Option<Noted<Write>>) {
        self.refused_count += 1;
        self.refused.extend(write.map(|write| write.what));
    }

    pub(super) fn see(&mut self, district: (u16, u8), next: Noted<u32>) {
        let largest = self.seen.entry(district).or_insert(next);
        let is_earlier = next.what == largest.what && next.at < largest.at;
        if next.what > largest.what || is_earlier {
            *largest = next;
        }
    }

    /// Adds what a book noted. Its acknowledged transactions are in the store.
    pub(super) fn append(&mut self, other: Facts) {
        self.refused.extend(other.refused);
        self.refused_count += other.refused_count;
        self.unknown.extend(other.unknown);
        for (district, next) in other.seen {
            self.see(district, next);
        }
        self.empty_deliveries += other.empty_deliveries;
        self.inputs.append(&other.inputs);
    }

    /// Deliveries, and how many of them skipped a district, since it had no new order.
    pub(crate) fn skipped_deliveries(&self) -> (u64, u64) {
        let skips = |noted: &&Noted<Delivery>| noted.what.orders.contains(&0);
        let skipped = self.deliveries.iter().filter(skips).count() as u64;
        let all = self.deliveries.len() as u64;
        (all + self.empty_deliveries, skipped + self.empty_deliveries)
    }

    /// The number of acknowledged transactions.
    pub fn acknowledged(&self) -> u64 {
        (self.orders.len() + self.payments.len() + self.deliveries.len()) as u64
    }
}

//! The audit of the inputs that terminals draw: their shares (5.5.1.5), and how items, customers and names are distributed (2.1.6).
//!
//! Purpose: a load that draws other inputs than the standard is another load, and its trial is invalid. Boundaries: the driver draws
//! and reports each transaction once; `datagen` knows the distributions.
//!
//! The standard's ranges are for runs of hours. A shorter run with right inputs leaves them by chance, so each range is widened
//! to what right inputs leave with a probability below one in a million.

mod goodness;

use datagen::tpcc::{self, Constants, LAST_NAME_MAX};
use record::InputCheck;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};

/// Inputs of fewer transactions are not judged (5.5.1.5).
pub const FEWEST: u64 = 10_000;
/// The probability that right inputs fail one check.
const FALSE_ALARM: f64 = 1e-6;
/// The normal quantile of half of it, for both sides.
const Z: f64 = 4.891_64;
/// A share is not judged if fewer than this many hits are expected: the approximation would be off.
const FEWEST_HITS: f64 = 20.0;
/// Order lines of a New-Order (2.4.1.3).
const LINES: RangeInclusive<usize> = 5..=15;

/// What a terminal drew for one transaction.
pub enum Input<'a> {
    NewOrder {
        /// C_ID.
        c: u32,
        /// Whether its last line has an unused item.
        rolls_back: bool,
        /// Lines whose supply warehouse is not the home warehouse.
        remote_lines: u8,
        /// OL_I_ID of each line, the unused item included.
        items: &'a [u32],
    },
    Payment {
        /// Whether the customer belongs to another warehouse.
        is_remote: bool,
        customer: Customer,
    },
    OrderStatus {
        customer: Customer,
    },
}

/// How a terminal names a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Customer {
    /// C_ID.
    Id(u32),
    /// The number of a last name, 0 to 999.
    LastName(u16),
}

/// How often each number was drawn, by all terminals together.
pub struct Inputs {
    items: Histogram,
    customers: Histogram,
    last_names: Histogram,
}

impl Default for Inputs {
    fn default() -> Inputs {
        Inputs {
            items: Histogram::of(1, tpcc::ITEMS),
            customers: Histogram::of(1, tpcc::CUSTOMERS_PER_DISTRICT),
            last_names: Histogram::of(0, LAST_NAME_MAX + 1),
        }
    }
}

impl Inputs {
    pub(super) fn add(&self, input: &Input) {
        match input {
            Input::NewOrder { c, items, .. } => {
                self.customers.add(*c);
                items.iter().for_each(|item| self.items.add(*item));
            }
            Input::Payment { customer, .. } | Input::OrderStatus { customer } => match customer {
                Customer::Id(c) => self.customers.add(*c),
                Customer::LastName(number) => self.last_names.add((*number).into()),
            },
        }
    }

    /// The three distributions against their exact probabilities.
    fn checks(&self, run: &Constants) -> impl Iterator<Item = InputCheck> {
        let (item, customer, last_name) = (run.item, run.customer, run.last_name);
        let all = [
            ("items", &self.items, tpcc::ITEM_A, item),
            ("customers", &self.customers, tpcc::CUSTOMER_A, customer),
            ("last names", &self.last_names, tpcc::LAST_NAME_A, last_name),
        ];
        all.into_iter().filter_map(|(name, drawn, a, c)| {
            let counts = drawn.counts();
            let last = drawn.first + counts.len() as u64 - 1;
            let mass = tpcc::mass(a, c.into(), drawn.first, last);
            Some(InputCheck {
                name: format!("{name} (p of chi-squared)"),
                observed: goodness::p_value(&counts, &mass)?,
                low: FALSE_ALARM,
                high: 1.0,
                samples: counts.iter().copied().map(u64::from).sum(),
                is_advisory: false,
            })
        })
    }
}

/// Counts of the numbers from `first` on.
struct Histogram {
    first: u64,
    counts: Box<[AtomicU32]>,
}

impl Histogram {
    fn of(first: u64, numbers: u64) -> Histogram {
        Histogram {
            first,
            counts: (0..numbers).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Ignores other numbers: an unused item has one.
    #[inline]
    fn add(&self, number: u32) {
        let place = u64::from(number).wrapping_sub(self.first) as usize;
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counts(&self) -> Vec<u32> {
        let counts = self.counts.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// Numbers of transactions and lines of one terminal, or of all.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    new_orders: u64,
    rollbacks: u64,
    /// New-Orders by their number of lines.
    by_lines: [u64; *LINES.end() + 1],
    lines: u64,
    remote_lines: u64,
    payments: u64,
    remote_payments: u64,
    payments_by_name: u64,
    order_status: u64,
    order_status_by_name: u64,
}

impl Counts {
    pub(super) fn add(&mut self, input: &Input) {
        match input {
            Input::NewOrder {
                rolls_back,
                remote_lines,
                items,
                ..
            } => {
                self.new_orders += 1;
                self.rollbacks += u64::from(*rolls_back);
                self.lines += items.len() as u64;
                self.remote_lines += u64::from(*remote_lines);
                self.by_lines[items.len().min(*LINES.end())] += 1;
            }
            Input::Payment {
                is_remote,
                customer,
            } => {
                self.payments += 1;
                self.remote_payments += u64::from(*is_remote);
                self.payments_by_name += u64::from(customer.is_by_name());
            }
            Input::OrderStatus { customer } => {
                self.order_status += 1;
                self.order_status_by_name += u64::from(customer.is_by_name());
            }
        }
    }

    pub(super) fn append(&mut self, other: &Counts) {
        let by_lines = self.by_lines.iter_mut().zip(other.by_lines);
        by_lines.for_each(|(sum, count)| *sum += count);
        self.new_orders += other.new_orders;
        self.rollbacks += other.rollbacks;
        self.lines += other.lines;
        self.remote_lines += other.remote_lines;
        self.payments += other.payments;
        self.remote_payments += other.remote_payments;
        self.payments_by_name += other.payments_by_name;
        self.order_status += other.order_status;
        self.order_status_by_name += other.order_status_by_name;
    }

    /// The shares of 5.5.1.5.
    fn checks(&self, warehouses: u32) -> impl Iterator<Item = InputCheck> {
        let has_remote = warehouses > 1;
        let lines = share("remote lines (%)", self.remote_lines, self.lines, 1.0, 0.05);
        let payments = share(
            "remote payments (%)",
            self.remote_payments,
            self.payments,
            15.0,
            1.0,
        );
        [
            share("rollbacks (%)", self.rollbacks, self.new_orders, 1.0, 0.1),
            self.mean_lines(),
            self.line_counts(),
            lines.filter(|_| has_remote),
            payments.filter(|_| has_remote),
            share(
                "payments by name (%)",
                self.payments_by_name,
                self.payments,
                60.0,
                3.0,
            ),
            share(
                "order status by name (%)",
                self.order_status_by_name,
                self.order_status,
                60.0,
                3.0,
            ),
        ]
        .into_iter()
        .flatten()
    }

    /// From 9.5 to 10.5 lines.
    fn mean_lines(&self) -> Option<InputCheck> {
        let orders = self.new_orders as f64;
        // The variance of a uniform draw from 11 numbers is (11^2 - 1) / 12 = 10.
        let width = f64::max(0.5, Z * (10.0 / orders).sqrt());
        (self.new_orders > 0).then(|| InputCheck {
            name: "order lines (mean)".into(),
            observed: self.lines as f64 / orders,
            low: 10.0 - width,
            high: 10.0 + width,
            samples: self.new_orders,
            is_advisory: false,
        })
    }

    /// Each number of lines has a share of 1 in 11, within one percentage point.
    fn line_counts(&self) -> Option<InputCheck> {
        let share = 1.0 / LINES.count() as f64;
        let off = |count: &u64| (*count as f64 / self.new_orders as f64 - share).abs() * 100.0;
        let deviation = (share * (1.0 - share) / self.new_orders as f64).sqrt() * 100.0;
        let is_judged = share * self.new_orders as f64 >= FEWEST_HITS;
        is_judged.then(|| InputCheck {
            name: "order lines (largest deviation of a count from 9.09 %, points)".into(),
            observed: self.by_lines[LINES].iter().map(off).fold(0.0, f64::max),
            low: 0.0,
            high: f64::max(1.0, Z * deviation),
            samples: self.new_orders,
            is_advisory: false,
        })
    }
}

impl Customer {
    fn is_by_name(&self) -> bool {
        matches!(self, Customer::LastName(_))
    }
}

/// A share in percent that must be `nominal`, give or take `band`, or what chance allows. None if there are too few to judge.
///
/// The quantiles of the binomial distribution are those of the normal one, corrected for its skewness (Cornish and Fisher 1938).
fn share(name: &str, hits: u64, of: u64, nominal: f64, band: f64) -> Option<InputCheck> {
    let (n, p) = (of as f64, nominal / 100.0);
    let deviation = (n * p * (1.0 - p)).sqrt();
    let skew = (Z * Z - 1.0) / 6.0 * (1.0 - 2.0 * p);
    let percent = |count: f64| 100.0 * count / n;
    (n * p >= FEWEST_HITS).then(|| InputCheck {
        name: name.into(),
        observed: percent(hits as f64),
        low: f64::min(nominal - band, percent(n * p - Z * deviation + skew)),
        high: f64::max(nominal + band, percent(n * p + Z * deviation + skew)),
        samples: of,
        is_advisory: false,
    })
}

/// Deliveries that found a district without a new order: above 1 %, and above one, the standard requires a report (2.7.4.2).
pub fn skipped(deliveries: u64, skipped: u64) -> Option<InputCheck> {
    let percent = |count: u64| 100.0 * count as f64 / deliveries as f64;
    (deliveries > 0).then(|| InputCheck {
        name: "skipped deliveries (%)".into(),
        observed: percent(skipped),
        low: 0.0,
        high: f64::max(1.0, percent(1)),
        samples: deliveries,
        is_advisory: true,
    })
}

/// Checks all inputs of a load with the constants `run`.
///
/// # Errors
/// Why they cannot be judged: `transactions`, of any kind, are too few.
pub fn check(
    transactions: u64,
    counts: &Counts,
    inputs: &Inputs,
    run: &Constants,
    warehouses: u32,
) -> Result<Vec<InputCheck>, String> {
    if transactions < FEWEST {
        return Err(format!(
            "{transactions} transactions are too few to judge the inputs, which needs {FEWEST}"
        ));
    }
    Ok(counts
        .checks(warehouses)
        .chain(inputs.checks(run))
        .collect())
}

#[cfg(test)]
mod tests;

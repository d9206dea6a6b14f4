//! The inputs of transactions, drawn as the standard says (2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1).
//!
//! Goal: inputs depend on the seed, the number of the operation and the terminal's home, and on nothing else.

use super::terminal::Home;
use crate::tpcc::inputs::{Customer, Input};
use crate::tpcc::ledger::Book;
use datagen::random::{Random, between, hash, stream};
use datagen::tpcc::{Constants, DISTRICTS, ITEMS};

/// An item number that is not in use: the last line of a New-Order that will be rolled back (2.4.1.5).
pub(super) const UNUSED_ITEM: u32 = ITEMS as u32 + 1;
/// The largest number of lines of an order.
pub(super) const LINES_MAX: usize = 15;

pub(super) const LINES_MIN: usize = 5;
/// Keep the streams of inputs and of waits independent of each other and of the mix.
const INPUTS: u64 = 0x696e_7075_7473;
const WAITS: u64 = 0x7761_6974_7300;

/// Draws inputs. The constants of NURand are drawn once for all terminals of a run (2.1.6).
#[derive(Clone, Debug)]
pub struct Inputs {
    warehouses: u32,
    constants: Constants,
    inputs: u64,
    waits: u64,
}

/// The inputs of New-Order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    pub warehouse: u32,
    pub district: u8,
    pub customer: u32,
    lines: [Line; LINES_MAX],
    count: u8,
    /// 1 % carry an unused item number on their last line.
    pub is_rolled_back: bool,
}

/// A line of a new order. An item may occur several times in an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub item: u32,
    /// The supplying warehouse.
    pub supply: u32,
    pub quantity: u8,
}

/// The inputs of Payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    pub warehouse: u32,
    pub district: u8,
    /// The customer's home.
    pub customer_warehouse: u32,
    pub customer_district: u8,
    pub customer: Customer,
    /// The amount in cents.
    pub cents: i64,
}

/// The inputs of Order-Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    pub warehouse: u32,
    pub district: u8,
    pub customer: Customer,
}

/// The inputs of Stock-Level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    pub warehouse: u32,
    pub district: u8,
    pub threshold: u8,
}

impl NewOrder {
    /// 5 to 15 lines.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..usize::from(self.count)]
    }

    /// An order of the first customer of the first district.
    #[cfg(test)]
    pub(super) fn of(warehouse: u32, lines: &[Line]) -> NewOrder {
        let mut all = [Line::default(); LINES_MAX];
        all[..lines.len()].copy_from_slice(lines);
        NewOrder {
            warehouse,
            district: 1,
            customer: 1,
            lines: all,
            count: lines.len() as u8,
            is_rolled_back: false,
        }
    }

    /// O_ALL_LOCAL: whether the home warehouse supplies every line.
    pub fn is_all_local(&self) -> bool {
        self.lines()
            .iter()
            .all(|line| line.supply == self.warehouse)
    }

    /// For the audit of inputs.
    pub(super) fn note(&self, book: &mut Book) {
        let items: [u32; LINES_MAX] = self.lines.map(|line| line.item);
        let is_remote = |line: &&Line| line.supply != self.warehouse;
        book.input(Input::NewOrder {
            c: self.customer,
            rolls_back: self.is_rolled_back,
            remote_lines: self.lines().iter().filter(is_remote).count() as u8,
            items: &items[..usize::from(self.count)],
        });
    }
}

impl Payment {
    pub(super) fn note(&self, book: &mut Book) {
        book.input(Input::Payment {
            is_remote: self.customer_warehouse != self.warehouse,
            customer: self.customer,
        });
    }
}

impl OrderStatus {
    pub(super) fn note(&self, book: &mut Book) {
        let customer = self.customer;
        book.input(Input::OrderStatus { customer });
    }
}

impl Inputs {
    pub(super) fn new(warehouses: u32, load: &Constants, seed: u64) -> Inputs {
        Inputs {
            warehouses,
            constants: Constants::run(seed, load),
            inputs: hash(seed ^ INPUTS),
            waits: hash(seed ^ WAITS),
        }
    }

    /// The constants of this run.
    pub fn constants(&self) -> &Constants {
        &self.constants
    }

    pub fn new_order(&self, number: u64, home: Home) -> NewOrder {
        let random = &mut self.random(number);
        let (district, customer) = (district(random), self.constants.draw_customer(random));
        let count = between(random, LINES_MIN as u64, LINES_MAX as u64) as usize;
        let is_rolled_back = percent(random) <= 1;
        let mut lines = [Line::default(); LINES_MAX];
        for line in &mut lines[..count] {
            *line = self.line(random, home.warehouse);
        }
        if is_rolled_back {
            lines[count - 1].item = UNUSED_ITEM;
        }
        NewOrder {
            warehouse: home.warehouse,
            district,
            customer,
            lines,
            count: count as u8,
            is_rolled_back,
        }
    }

    /// Another warehouse supplies 1 % of the lines, if there is one.
    fn line(&self, random: &mut Random, home: u32) -> Line {
        let item = self.constants.draw_item(random);
        let supply = match percent(random) {
            1 => self.other(random, home),
            _ => home,
        };
        Line {
            item,
            supply,
            quantity: between(random, 1, 10) as u8,
        }
    }

    /// 15 % pay for a customer of another warehouse, if there is one.
    pub fn payment(&self, number: u64, home: Home) -> Payment {
        let random = &mut self.random(number);
        let own = district(random);
        let (customer_warehouse, customer_district) = if percent(random) <= 85 {
            (home.warehouse, own)
        } else {
            (self.other(random, home.warehouse), district(random))
        };
        Payment {
            warehouse: home.warehouse,
            district: own,
            customer_warehouse,
            customer_district,
            customer: self.customer(random),
            cents: between(random, 100, 500_000) as i64,
        }
    }

    pub fn order_status(&self, number: u64, home: Home) -> OrderStatus {
        let random = &mut self.random(number);
        OrderStatus {
            warehouse: home.warehouse,
            district: district(random),
            customer: self.customer(random),
        }
    }

    /// O_CARRIER_ID of a delivery.
    pub fn carrier(&self, number: u64) -> u8 {
        between(&mut self.random(number), 1, 10) as u8
    }

    pub fn stock_level(&self, number: u64, home: Home) -> StockLevel {
        StockLevel {
            warehouse: home.warehouse,
            district: home.district,
            threshold: between(&mut self.random(number), 10, 20) as u8,
        }
    }

    /// The stream of an operation's waits.
    pub(super) fn waits(&self, number: u64) -> Random {
        stream(self.waits, number)
    }

    fn random(&self, number: u64) -> Random {
        stream(self.inputs, number)
    }

    /// 60 % by last name, 40 % by number.
    fn customer(&self, random: &mut Random) -> Customer {
        if percent(random) <= 60 {
            Customer::LastName(self.constants.draw_last_name(random))
        } else {
            Customer::Id(self.constants.draw_customer(random))
        }
    }

    /// Any of the other warehouses; the only one if there are no others.
    fn other(&self, random: &mut Random, home: u32) -> u32 {
        if self.warehouses == 1 {
            return home;
        }
        let other = between(random, 1, u64::from(self.warehouses) - 1) as u32;
        other + u32::from(other >= home)
    }
}

fn district(random: &mut Random) -> u8 {
    between(random, 1, DISTRICTS) as u8
}

/// 1 to 100.
fn percent(random: &mut Random) -> u64 {
    between(random, 1, 100)
}

#[cfg(test)]
mod tests;

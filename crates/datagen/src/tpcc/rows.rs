//! The columns of each row (4.3.3.1).
//!
//! Goal: a row depends on the seed, its table and its number alone. Amounts are whole cents and fractions whole ten-thousandths, so
//! that no rounding is involved.

use super::names::syllables;
use super::random::Constants;
use super::table::{NEW_ORDERS_PER_DISTRICT, Table, place};
use super::{CUSTOMERS_PER_DISTRICT, FIRST_NEW_ORDER, ITEMS};
use crate::random::{Random, below, between, hash, stream};
use crate::text::Text;

/// The time of every date column. It is fixed, so that the same seed gives the same bytes.
pub const LOADED_AT: &str = "2025-01-01 00:00:00";
/// Customers with these first numbers have the last name of their number (4.3.3.1).
const NAMED_IN_ORDER: u64 = 1_000;

/// Writes the rows of one table.
pub(super) struct Rows {
    table: Table,
    /// The seed of the table's streams.
    seed: u64,
    /// The seed of the streams that fix the number of an order's lines.
    line_seed: u64,
    constants: Constants,
    customers: Permutation,
}

impl Rows {
    pub(super) fn new(table: Table, seed: u64) -> Rows {
        Rows {
            table,
            seed: hash(seed ^ tag(table.name())),
            line_seed: line_seed(seed),
            constants: Constants::load(seed),
            customers: Permutation::new(hash(seed ^ tag("permutation"))),
        }
    }

    /// Appends unit `n`, from 0, and returns the number of its rows.
    #[inline]
    pub(super) fn append(&mut self, text: &mut Text, n: u64) -> u64 {
        let random = &mut stream(self.seed, n);
        match self.table {
            Table::Item => item(text, random, n),
            Table::Warehouse => warehouse(text, random, n),
            Table::District => district(text, random, n),
            Table::Customer => customer(text, random, n, &self.constants),
            Table::History => history(text, random, n),
            Table::NewOrder => new_order(text, n),
            Table::Orders => {
                let customer = self.customers.of(n);
                order(text, random, n, customer, lines(self.line_seed, n));
            }
            Table::OrderLine => return order_lines(text, random, n, lines(self.line_seed, n)),
            Table::Stock => stock(text, random, n),
        }
        1
    }
}

fn tag(name: &str) -> u64 {
    name.bytes()
        .fold(0, |tag, byte| hash(tag ^ u64::from(byte)))
}

pub(super) fn line_seed(seed: u64) -> u64 {
    hash(seed ^ tag("lines"))
}

/// O_OL_CNT of order `n`, from 0: 5 to 15. `order_line` needs it without its order.
#[inline]
pub(super) fn lines(line_seed: u64, n: u64) -> u64 {
    between(&mut stream(line_seed, n), 5, 15)
}

fn item(text: &mut Text, random: &mut Random, n: u64) {
    text.number(n + 1);
    text.number(between(random, 1, 10_000));
    text.letters(random, 14, 24);
    text.cents(between(random, 100, 10_000));
    text.original_data(random);
    text.end_row();
}

/// Name, two streets, city, state and zip of a warehouse or a district.
fn named_address(text: &mut Text, random: &mut Random) {
    text.letters(random, 6, 10);
    address(text, random);
}

fn address(text: &mut Text, random: &mut Random) {
    for _ in 0..3 {
        text.letters(random, 10, 20);
    }
    text.state(random);
    text.zip(random);
}

fn warehouse(text: &mut Text, random: &mut Random, n: u64) {
    text.number(n + 1);
    named_address(text, random);
    text.fraction(between(random, 0, 2_000));
    text.cents(30_000_000);
    text.end_row();
}

fn district(text: &mut Text, random: &mut Random, n: u64) {
    let (warehouse, district, _) = place(n, 1);
    text.number(district);
    text.number(warehouse);
    named_address(text, random);
    text.fraction(between(random, 0, 2_000));
    text.cents(3_000_000);
    text.number(CUSTOMERS_PER_DISTRICT + 1);
    text.end_row();
}

fn customer(text: &mut Text, random: &mut Random, n: u64, constants: &Constants) {
    let (warehouse, district, customer) = place(n, CUSTOMERS_PER_DISTRICT);
    let name = match customer {
        ..=NAMED_IN_ORDER => customer as u16 - 1,
        _ => constants.draw_last_name(random),
    };
    text.number(customer);
    text.number(district);
    text.number(warehouse);
    text.letters(random, 8, 16);
    text.word("OE");
    text.joined(syllables(name));
    address(text, random);
    text.phone(random);
    text.word(LOADED_AT);
    text.word(if below(random, 10) == 0 { "BC" } else { "GC" });
    text.cents(5_000_000);
    text.fraction(between(random, 0, 5_000));
    text.word("-10.00");
    text.word("10.00");
    text.number(1);
    text.number(0);
    text.letters(random, 300, 500);
    text.end_row();
}

fn history(text: &mut Text, random: &mut Random, n: u64) {
    let (warehouse, district, customer) = place(n, CUSTOMERS_PER_DISTRICT);
    text.number(customer);
    for _ in 0..2 {
        text.number(district);
        text.number(warehouse);
    }
    text.word(LOADED_AT);
    text.word("10.00");
    text.letters(random, 12, 24);
    text.end_row();
}

fn new_order(text: &mut Text, n: u64) {
    let (warehouse, district, number) = place(n, NEW_ORDERS_PER_DISTRICT);
    text.number(FIRST_NEW_ORDER - 1 + number);
    text.number(district);
    text.number(warehouse);
    text.end_row();
}

fn order(text: &mut Text, random: &mut Random, n: u64, customer: u64, lines: u64) {
    let (warehouse, district, order) = place(n, CUSTOMERS_PER_DISTRICT);
    text.number(order);
    text.number(district);
    text.number(warehouse);
    text.number(customer);
    text.word(LOADED_AT);
    if order < FIRST_NEW_ORDER {
        text.number(between(random, 1, 10));
    } else {
        text.null();
    }
    text.number(lines);
    text.number(1);
    text.end_row();
}

fn order_lines(text: &mut Text, random: &mut Random, n: u64, lines: u64) -> u64 {
    let (warehouse, district, order) = place(n, CUSTOMERS_PER_DISTRICT);
    let is_delivered = order < FIRST_NEW_ORDER;
    for line in 1..=lines {
        text.number(order);
        text.number(district);
        text.number(warehouse);
        text.number(line);
        text.number(between(random, 1, ITEMS));
        text.number(warehouse);
        if is_delivered {
            text.word(LOADED_AT)
        } else {
            text.null()
        }
        text.number(5);
        if is_delivered {
            text.word("0.00")
        } else {
            text.cents(between(random, 1, 999_999))
        }
        text.letters(random, 24, 24);
        text.end_row();
    }
    lines
}

fn stock(text: &mut Text, random: &mut Random, n: u64) {
    text.number(n % ITEMS + 1);
    text.number(n / ITEMS + 1);
    text.number(between(random, 10, 100));
    for _ in 0..10 {
        text.letters(random, 24, 24);
    }
    for _ in 0..3 {
        text.number(0);
    }
    text.original_data(random);
    text.end_row();
}

/// The customers of a district's orders: a random permutation, another one in each district.
struct Permutation {
    seed: u64,
    /// Its district, counted over all warehouses from 0.
    district: Option<u64>,
    customers: Vec<u16>,
}

impl Permutation {
    fn new(seed: u64) -> Permutation {
        Permutation {
            seed,
            district: None,
            customers: Vec::new(),
        }
    }

    /// The customer of order `n`, counted over all districts from 0.
    fn of(&mut self, n: u64) -> u64 {
        let district = n / CUSTOMERS_PER_DISTRICT;
        if self.district != Some(district) {
            self.district = Some(district);
            self.shuffle(district);
        }
        u64::from(self.customers[(n % CUSTOMERS_PER_DISTRICT) as usize])
    }

    /// Fisher and Yates.
    fn shuffle(&mut self, district: u64) {
        let random = &mut stream(self.seed, district);
        self.customers.clear();
        self.customers.extend(1..=CUSTOMERS_PER_DISTRICT as u16);
        for last in (1..self.customers.len()).rev() {
            let other = below(random, last as u64 + 1) as usize;
            self.customers.swap(last, other);
        }
    }
}

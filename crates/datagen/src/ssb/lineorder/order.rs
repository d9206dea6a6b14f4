//! Orders and their lines as integers.
//!
//! Goal: any range of orders; the number of their lines without generating them. Non-goal: text.

use std::ops::Range;

use crate::ssb::calendar::{DAYS, DIGITS};
use crate::ssb::scale::{DATES, Ssb};
use crate::ssb::stream::{Stream, Uniform, jump};

/// The largest number of lines in an order.
pub(super) const MOST_LINES: usize = 7;

pub(super) const PRIORITIES: [&str; 5] =
    ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"];
pub(super) const SHIP_MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "TRUCK", "MAIL", "FOB", "SHIP"];

/// The last order date is 151 days before the end of the calendar: TPC-H ships within 121 days and delivers within 30 more.
const ORDER_DATE: Uniform = Uniform::new(0, DAYS as u64 - 152);
const PRIORITY: Uniform = Uniform::new(0, PRIORITIES.len() as u64 - 1);
const LINES: Uniform = Uniform::new(1, MOST_LINES as u64);
const QUANTITY: Uniform = Uniform::new(1, 50);
const DISCOUNT: Uniform = Uniform::new(0, 10);
const TAX: Uniform = Uniform::new(0, 8);
const COMMIT_DAYS: Uniform = Uniform::new(30, 90);
const SHIP_MODE: Uniform = Uniform::new(0, SHIP_MODES.len() as u64 - 1);

const LINE_COUNT: Stream = Stream::new(1_434_868_289);
/// Each row of date also advances the streams of orders: the reference generator uses one table number for both.
const ORDER_DRAWS_BEFORE: u64 = DATES;
/// Each order takes as many draws from the line streams as the largest order needs.
const NEXT_ORDER: u64 = jump(MOST_LINES as u64);

/// Every third customer key has no orders (as in TPC-H).
const IDLE_CUSTOMER: u32 = 3;

/// An order line: one row of lineorder. Amounts of money are in cents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    pub part: u32,
    pub supplier: u32,
    pub quantity: u32,
    pub extended_price: u32,
    /// Percent.
    pub discount: u32,
    pub revenue: u32,
    pub supply_cost: u32,
    /// Percent.
    pub tax: u32,
    /// Days after 1992-01-01.
    pub commit_day: u32,
    pub(super) ship_mode: u32,
}

/// An order: the fields that its rows have in common, and its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub key: u64,
    pub customer: u32,
    /// Days after 1992-01-01.
    pub day: u32,
    pub total_price: u32,
    pub(super) priority: u32,
    count: usize,
    lines: [Line; MOST_LINES],
}

impl Order {
    /// The order's lines, one to seven.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// The order date as eight digits YYYYMMDD.
    pub fn date(&self) -> &'static [u8; 8] {
        &DIGITS[self.day as usize]
    }
}

/// Iterates over a range of orders.
#[derive(Debug, Clone)]
pub struct Orders {
    numbers: Range<u64>,
    customers: u32,
    customer: Uniform,
    part: Uniform,
    supplier: Uniform,
    order: OrderStreams,
    line: LineStreams,
}

/// The streams with one draw per order.
#[derive(Debug, Clone)]
struct OrderStreams {
    day: Stream,
    customer: Stream,
    priority: Stream,
    count: Stream,
}

/// The streams with [`MOST_LINES`] draws per order.
#[derive(Debug, Clone, Copy)]
struct LineStreams {
    part: Stream,
    supplier: Stream,
    quantity: Stream,
    discount: Stream,
    tax: Stream,
    commit: Stream,
    ship_mode: Stream,
}

impl LineStreams {
    #[inline(always)]
    fn each(self, change: impl Fn(Stream) -> Stream) -> LineStreams {
        LineStreams {
            part: change(self.part),
            supplier: change(self.supplier),
            quantity: change(self.quantity),
            discount: change(self.discount),
            tax: change(self.tax),
            commit: change(self.commit),
            ship_mode: change(self.ship_mode),
        }
    }
}

impl Orders {
    /// The orders in the range `numbers`, numbered from 0.
    pub fn new(ssb: &Ssb, numbers: Range<u64>) -> Orders {
        let skipped = ORDER_DRAWS_BEFORE + numbers.start;
        let order = OrderStreams {
            day: Stream::new(1_066_728_069).after(skipped),
            customer: Stream::new(851_767_375).after(skipped),
            priority: Stream::new(591_449_447).after(skipped),
            count: LINE_COUNT.after(skipped),
        };
        let line = LineStreams {
            part: Stream::new(1_808_217_256),
            supplier: Stream::new(2_095_021_727),
            quantity: Stream::new(209_208_115),
            discount: Stream::new(554_590_007),
            tax: Stream::new(721_958_466),
            commit: Stream::new(904_914_315),
            ship_mode: Stream::new(675_466_456),
        };
        Orders {
            customers: ssb.customers as u32,
            customer: Uniform::new(1, ssb.customers),
            part: Uniform::new(1, ssb.part_keys),
            supplier: Uniform::new(1, ssb.suppliers),
            order,
            line: line.each(|stream| stream.after(MOST_LINES as u64 * numbers.start)),
            numbers,
        }
    }

    /// Draws the next customer that has orders.
    #[inline(always)]
    fn customer(&mut self) -> u32 {
        let mut key = self.order.customer.draw(self.customer) as u32;
        // A customer without orders is replaced by the next key, or by the one before where that is past the last customer.
        let mut up = true;
        while key.is_multiple_of(IDLE_CUSTOMER) {
            key = if up {
                (key + 1).min(self.customers)
            } else {
                key - 1
            };
            up = !up;
        }
        key
    }

    #[inline(always)]
    fn line(&self, streams: &mut LineStreams, day: u32) -> Line {
        let part = streams.part.draw(self.part) as u32;
        let quantity = streams.quantity.draw(QUANTITY) as u32;
        let discount = streams.discount.draw(DISCOUNT) as u32;
        let price = price(part);
        let extended_price = price * quantity;
        Line {
            part,
            supplier: streams.supplier.draw(self.supplier) as u32,
            quantity,
            extended_price,
            discount,
            revenue: extended_price * (100 - discount) / 100,
            supply_cost: 6 * price / 10,
            tax: streams.tax.draw(TAX) as u32,
            commit_day: day + streams.commit.draw(COMMIT_DAYS) as u32,
            ship_mode: streams.ship_mode.draw(SHIP_MODE) as u32,
        }
    }
}

impl Iterator for Orders {
    type Item = Order;

    #[inline(always)]
    fn next(&mut self) -> Option<Order> {
        let number = self.numbers.next()? + 1;
        let day = self.order.day.draw(ORDER_DATE) as u32;
        let customer = self.customer();
        let priority = self.order.priority.draw(PRIORITY) as u32;
        let count = self.order.count.draw(LINES) as usize;
        let mut streams = self.line;
        self.line = streams.each(|stream| stream.jumped(NEXT_ORDER));
        let mut order = Order {
            key: key(number),
            customer,
            day,
            total_price: 0,
            priority,
            count,
            lines: Default::default(),
        };
        for line in &mut order.lines[..count] {
            *line = self.line(&mut streams, day);
            order.total_price += line.revenue * (100 + line.tax) / 100;
        }
        Some(order)
    }
}

/// The order key: eight keys are used, the next 24 are left free for updates (as in TPC-H).
fn key(number: u64) -> u64 {
    (number >> 3 << 5) | (number & 7)
}

/// The price of a part, a function of its key (as in TPC-H).
#[inline(always)]
fn price(part: u32) -> u32 {
    90_000 + part / 10 % 20_001 + part % 1_000 * 100
}

/// The number of lines in these orders (numbered from 0).
pub(crate) fn line_counts(numbers: Range<u64>) -> u64 {
    // Several positions of the stream advance in parallel, because each draw depends on the previous one.
    const LANES: u64 = 8;
    const FACTOR: u64 = jump(LANES);
    let count = numbers.end.saturating_sub(numbers.start);
    let first = LINE_COUNT.after(ORDER_DRAWS_BEFORE + numbers.start);
    let mut lanes: [Stream; LANES as usize] = std::array::from_fn(|lane| first.after(lane as u64));
    let mut lines = 0;
    for _ in 0..count / LANES {
        for lane in &mut lanes {
            lines += { *lane }.draw(LINES);
            *lane = lane.jumped(FACTOR);
        }
    }
    lines
        + lanes
            .iter()
            .take((count % LANES) as usize)
            .map(|lane| { *lane }.draw(LINES))
            .sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn line_count_matches_the_generated_orders(start in 0u64..100_000, count in 0u64..200) {
            let ssb = Ssb::new(1.0).unwrap();
            let lines: usize = Orders::new(&ssb, start..start + count).map(|order| order.lines().len()).sum();
            prop_assert_eq!(line_counts(start..start + count), lines as u64);
        }

        #[test]
        fn foreign_keys_of_lines_exist_in_the_dimensions(scale in 0.0001f64..20.0, at in 0.0f64..1.0) {
            let ssb = Ssb::new(scale).unwrap();
            let start = (ssb.orders as f64 * at) as u64;
            for order in Orders::new(&ssb, start..(start + 100).min(ssb.orders)) {
                prop_assert!((1..=ssb.customers).contains(&u64::from(order.customer)));
                for line in order.lines() {
                    prop_assert!((1..=ssb.parts).contains(&u64::from(line.part)));
                    prop_assert!((1..=ssb.suppliers).contains(&u64::from(line.supplier)));
                    prop_assert!(line.commit_day < DAYS as u32);
                }
            }
        }
    }
}

//! Compares the rows of one warehouse with each other. Pure: no server is needed to test it.

use super::When;
use super::violation::{Row, Violation, Violations, money};
use crate::tpcc::rows::{Customer, District, Key, Lines, Order, Warehouse};
use datagen::tpcc::{DISTRICTS, FIRST_NEW_ORDER};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Adds what does not hold.
pub(super) fn judge(warehouse: &Warehouse, when: When, found: &mut Violations) {
    let should_exist = !warehouse.is_stray;
    let mut judge = Judge {
        warehouse,
        districts: BTreeMap::new(),
        delivered: HashMap::new(),
        found,
    };
    judge.orders();
    judge.heads(should_exist);
    judge.of_districts(should_exist, when);
    judge.customers();
}

struct Judge<'a> {
    warehouse: &'a Warehouse,
    districts: BTreeMap<i64, Sums>,
    /// Amounts of delivered lines, by customer.
    delivered: HashMap<Key, i64>,
    found: &'a mut Violations,
}

/// Sums over the orders of one district.
#[derive(Clone, Copy, Default)]
struct Sums {
    orders: i64,
    last_order: i64,
    /// Sum of O_OL_CNT.
    ol_cnt: i64,
    lines: i64,
    new_orders: i64,
    /// The first and the last new order, or 0.
    first_new: i64,
    last_new: i64,
}

/// An order with its partners; at least one of the three exists.
struct Merged {
    key: Key,
    order: Option<Order>,
    is_new: bool,
    lines: Option<Lines>,
}

impl Judge<'_> {
    fn note(&mut self, condition: u8, district: Option<i64>, row: Option<Row>, says: String) {
        self.found.push(Violation {
            condition,
            warehouse: self.warehouse.id,
            district,
            row,
            says,
        });
    }

    /// Conditions 5, 6 and 7, and the sums for the others.
    fn orders(&mut self) {
        let warehouse = self.warehouse;
        for merged in merge(&warehouse.orders, &warehouse.new_orders, &warehouse.lines) {
            self.add(&merged);
            self.carrier(&merged);
            self.line_count(&merged);
            self.delivery_dates(&merged);
        }
    }

    fn add(&mut self, merged: &Merged) {
        let (district, number) = merged.key;
        let sums = self.districts.entry(district).or_default();
        if let Some(order) = merged.order {
            sums.orders += 1;
            sums.last_order = number;
            sums.ol_cnt += order.ol_cnt;
            let amount = merged.lines.map_or(0, |lines| lines.delivered_amount);
            *self
                .delivered
                .entry((district, order.customer))
                .or_default() += amount;
        }
        if merged.is_new {
            sums.new_orders += 1;
            sums.last_new = number;
            if sums.new_orders == 1 {
                sums.first_new = number;
            }
        }
        sums.lines += merged.lines.map_or(0, |lines| lines.count);
    }

    fn note_order(&mut self, condition: u8, (district, number): Key, says: impl Into<String>) {
        let row = Some(Row::Order(number));
        self.note(condition, Some(district), row, says.into());
    }

    fn carrier(&mut self, merged: &Merged) {
        let says = match (merged.order, merged.is_new) {
            (None, true) => "new_order has a row but orders has none",
            (Some(order), true) if order.carrier.is_some() => {
                "o_carrier_id is not NULL but new_order has a row"
            }
            (Some(order), false) if order.carrier.is_none() => {
                "o_carrier_id is NULL but new_order has no row"
            }
            _ => return,
        };
        self.note_order(5, merged.key, says);
    }

    fn line_count(&mut self, merged: &Merged) {
        let lines = merged.lines.map_or(0, |lines| lines.count);
        let ol_cnt = merged.order.map(|order| order.ol_cnt);
        let says = match ol_cnt {
            Some(count) if count != lines => {
                format!("o_ol_cnt is {count} but order_line has {lines} rows")
            }
            None if lines > 0 => format!("order_line has {lines} rows but orders has none"),
            _ => return,
        };
        self.note_order(6, merged.key, says);
    }

    fn delivery_dates(&mut self, merged: &Merged) {
        let Some(lines) = merged.lines else {
            return;
        };
        let (count, delivered) = (lines.count, lines.delivered);
        let says = match merged.order.map(|order| order.carrier.is_some()) {
            Some(true) if delivered < count => format!(
                "o_carrier_id is not NULL but ol_delivery_d is NULL in {} of {count} lines",
                count - delivered
            ),
            Some(false) if delivered > 0 => format!(
                "o_carrier_id is NULL but ol_delivery_d is not NULL in {delivered} of {count} lines"
            ),
            None if delivered > 0 => format!(
                "orders has no row but ol_delivery_d is not NULL in {delivered} of {count} lines"
            ),
            _ => return,
        };
        self.note_order(7, merged.key, says);
    }

    /// Conditions 1 and 8.
    fn heads(&mut self, should_exist: bool) {
        let ytd = self.warehouse.ytd;
        let (of_districts, received) = (
            self.warehouse.districts.values().map(|one| one.ytd).sum(),
            self.warehouse.received.values().sum(),
        );
        let has_districts = should_exist || !self.warehouse.districts.is_empty();
        let has_payments = should_exist || !self.warehouse.received.is_empty();
        for (condition, is_named, sum, what) in [
            (1, has_districts, of_districts, "the sum of d_ytd"),
            (8, has_payments, received, "the sum of h_amount"),
        ] {
            if let Some(says) = unequal("w_ytd", "warehouse", ytd, sum, what, is_named) {
                self.note(condition, None, None, says);
            }
        }
    }

    /// Conditions 2, 3, 4, 9 and 11.
    fn of_districts(&mut self, should_exist: bool, when: When) {
        let mut ids: BTreeSet<i64> = self.districts.keys().copied().collect();
        ids.extend(self.warehouse.districts.keys());
        ids.extend(self.warehouse.received.keys());
        if should_exist {
            ids.extend(1..=DISTRICTS as i64);
        }
        for id in ids {
            let sums = self.districts.get(&id).copied().unwrap_or_default();
            let head = self.warehouse.districts.get(&id);
            let is_expected = should_exist && (1..=DISTRICTS as i64).contains(&id);
            let has_orders = sums.orders + sums.new_orders > 0;
            if is_expected || head.is_some() || has_orders {
                self.last_order(id, sums);
                self.new_orders_have_no_gap(id, sums);
                self.delivered_orders(id, sums, when);
            }
            if sums.ol_cnt != sums.lines {
                let says = format!(
                    "the sum of o_ol_cnt is {} but order_line has {} rows",
                    sums.ol_cnt, sums.lines
                );
                self.note(4, Some(id), None, says);
            }
            let received = self.warehouse.received.get(&id);
            let ytd = head.map(|one| one.ytd);
            let sum = received.copied().unwrap_or(0);
            let is_named = is_expected || received.is_some();
            let what = "the sum of h_amount";
            if let Some(says) = unequal("d_ytd", "district", ytd, sum, what, is_named) {
                self.note(9, Some(id), None, says);
            }
        }
    }

    fn last_order(&mut self, id: i64, sums: Sums) {
        let head = self.warehouse.districts.get(&id);
        let Some(District { next_o_id, .. }) = head.copied() else {
            let says = format!(
                "district has no row but orders has {} and new_order has {}",
                sums.orders, sums.new_orders
            );
            return self.note(2, Some(id), None, says);
        };
        let last = next_o_id - 1;
        for (what, is_there, found) in [
            ("o_id", true, sums.last_order),
            ("no_o_id", sums.new_orders > 0, sums.last_new),
        ] {
            if is_there && last != found {
                let says = format!("d_next_o_id - 1 is {last} but the largest {what} is {found}");
                self.note(2, Some(id), None, says);
            }
        }
    }

    fn new_orders_have_no_gap(&mut self, id: i64, sums: Sums) {
        let span = sums.last_new - sums.first_new + 1;
        if sums.new_orders > 0 && span != sums.new_orders {
            let says = format!(
                "no_o_id goes from {} to {}, which are {span}, but new_order has {} rows",
                sums.first_new, sums.last_new, sums.new_orders
            );
            self.note(3, Some(id), None, says);
        }
    }

    fn delivered_orders(&mut self, id: i64, sums: Sums, when: When) {
        let expected = FIRST_NEW_ORDER as i64 - 1;
        let difference = sums.orders - sums.new_orders;
        if when == When::AfterLoad && difference != expected {
            let says = format!(
                "orders has {} rows and new_order {}, a difference of {difference} but not of {expected}",
                sums.orders, sums.new_orders
            );
            self.note(11, Some(id), None, says);
        }
    }

    /// Conditions 10 and 12. Amounts that belong to no customer are those that are left.
    fn customers(&mut self) {
        let mut delivered = std::mem::take(&mut self.delivered);
        let mut made = self.warehouse.made.clone();
        for customer in &self.warehouse.customers {
            let delivered = delivered.remove(&customer.key).unwrap_or(0);
            let made = made.remove(&customer.key).unwrap_or(0);
            let Customer {
                balance,
                ytd_payment,
                ..
            } = *customer;
            if balance != delivered - made {
                let says = format!(
                    "c_balance is {} but delivered lines less payments are {} - {}",
                    money(balance),
                    money(delivered),
                    money(made)
                );
                self.note_customer(10, customer.key, says);
            }
            if balance + ytd_payment != delivered {
                let says = format!(
                    "c_balance + c_ytd_payment is {} + {} but delivered lines are {}",
                    money(balance),
                    money(ytd_payment),
                    money(delivered)
                );
                self.note_customer(12, customer.key, says);
            }
        }
        let strays: BTreeSet<Key> = delivered.keys().chain(made.keys()).copied().collect();
        for key in strays {
            self.stray_customer(key, delivered.get(&key).copied(), made.get(&key).copied());
        }
    }

    fn stray_customer(&mut self, key: Key, delivered: Option<i64>, made: Option<i64>) {
        let amount = |cents: Option<i64>| money(cents.unwrap_or(0));
        let says = format!(
            "customer has no row but delivered lines less payments are {} - {}",
            amount(delivered),
            amount(made)
        );
        self.note_customer(10, key, says);
        if delivered.is_some() {
            let says = format!(
                "customer has no row but orders has, with delivered lines of {}",
                amount(delivered)
            );
            self.note_customer(12, key, says);
        }
    }

    fn note_customer(&mut self, condition: u8, (district, number): Key, says: String) {
        let row = Some(Row::Customer(number));
        self.note(condition, Some(district), row, says);
    }
}

/// Compares a year-to-date amount with the sum that it must equal. `is_named`: whether the row should exist.
fn unequal(
    column: &str,
    table: &str,
    ytd: Option<i64>,
    sum: i64,
    what: &str,
    is_named: bool,
) -> Option<String> {
    match ytd {
        Some(ytd) if ytd != sum => Some(format!(
            "{column} is {} but {what} is {}",
            money(ytd),
            money(sum)
        )),
        None if is_named => Some(format!("{table} has no row but {what} is {}", money(sum))),
        _ => None,
    }
}

/// Merges three streams in the order of their keys.
fn merge<'a>(
    orders: &'a [Order],
    new_orders: &'a [Key],
    lines: &'a [Lines],
) -> impl Iterator<Item = Merged> + use<'a> {
    let mut orders = orders.iter().copied().peekable();
    let mut new_orders = new_orders.iter().copied().peekable();
    let mut lines = lines.iter().copied().peekable();
    std::iter::from_fn(move || {
        let keys = [
            orders.peek().map(|order| order.key),
            new_orders.peek().copied(),
            lines.peek().map(|lines| lines.key),
        ];
        let key = keys.into_iter().flatten().min()?;
        Some(Merged {
            key,
            order: orders.next_if(|order| order.key == key),
            is_new: new_orders.next_if(|new| *new == key).is_some(),
            lines: lines.next_if(|lines| lines.key == key),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A warehouse as it is loaded, with ten lines to an order.
    fn loaded() -> Warehouse {
        let keys = || (1..=10).flat_map(|d| (1..=3_000).map(move |n| (d, n)));
        let is_new = |key: &Key| key.1 >= 2_101;
        let order = |key: Key| Order {
            key,
            customer: 3_001 - key.1,
            ol_cnt: 10,
            is_all_local: true,
            carrier: (!is_new(&key)).then_some(1),
        };
        let lines = |key: Key| Lines {
            key,
            count: 10,
            delivered: if is_new(&key) { 0 } else { 10 },
            amount: 0,
            delivered_amount: 0,
        };
        let customer = |key: Key| Customer {
            key,
            payments: 1,
            deliveries: 0,
            balance: -1_000,
            ytd_payment: 1_000,
        };
        let district = District {
            ytd: 3_000_000,
            next_o_id: 3_001,
        };
        Warehouse {
            id: 4,
            ytd: Some(30_000_000),
            districts: (1..=10).map(|d| (d, district)).collect(),
            orders: keys().map(order).collect(),
            new_orders: keys().filter(is_new).collect(),
            lines: keys().map(lines).collect(),
            customers: keys().map(customer).collect(),
            received: (1..=10).map(|d| (d, 3_000_000)).collect(),
            made: keys().map(|key| (key, 1_000)).collect(),
            ..Warehouse::default()
        }
    }

    fn found(warehouse: &Warehouse, when: When) -> Vec<String> {
        let mut found = Violations::default();
        judge(warehouse, when, &mut found);
        found.sorted().sentences()
    }

    /// The sentences after one change of the loaded warehouse.
    fn after(change: impl FnOnce(&mut Warehouse)) -> Vec<String> {
        let mut warehouse = loaded();
        change(&mut warehouse);
        found(&warehouse, When::AfterLoad)
    }

    #[test]
    fn a_warehouse_as_loaded_violates_nothing() {
        assert_eq!(after(|_| {}), Vec::<String>::new());
    }

    #[test]
    fn condition_11_holds_only_after_the_load() {
        let mut warehouse = loaded();
        // A delivery of order 2101 of district 1, without amounts.
        warehouse.new_orders.remove(0);
        warehouse.orders[2_100].carrier = Some(1);
        warehouse.lines[2_100].delivered = 10;
        assert_eq!(found(&warehouse, When::Later), Vec::<String>::new());
        let after_load = found(&warehouse, When::AfterLoad);
        assert_eq!(
            after_load,
            [
                "condition 11: warehouse 4, district 1: orders has 3000 rows and new_order 899, a difference of 2101 but not of 2100"
            ]
        );
    }

    #[test]
    fn a_delivery_moves_its_amount_to_the_balance() {
        let deliver = |paid: i64| {
            move |warehouse: &mut Warehouse| {
                warehouse.lines[0].delivered_amount = 1_234;
                // Order 1 of district 1 is of customer 3000, the last one of the district.
                warehouse.customers[2_999].balance += paid;
            }
        };
        assert_eq!(after(deliver(1_234)), Vec::<String>::new());
        assert_eq!(
            after(deliver(0)),
            [
                "condition 10: warehouse 4, district 1, customer 3000: c_balance is -10.00 but delivered lines less payments are 12.34 - 10.00",
                "condition 12: warehouse 4, district 1, customer 3000: c_balance + c_ytd_payment is -10.00 + 10.00 but delivered lines are 12.34"
            ]
        );
    }

    #[test]
    fn a_district_without_new_orders_is_consistent() {
        let all_delivered = |warehouse: &mut Warehouse| {
            warehouse.new_orders.retain(|key| key.0 != 2);
            for n in 3_000..6_000 {
                warehouse.orders[n].carrier = Some(1);
                warehouse.lines[n].delivered = 10;
            }
        };
        let mut warehouse = loaded();
        all_delivered(&mut warehouse);
        assert_eq!(found(&warehouse, When::Later), Vec::<String>::new());
    }

    #[test]
    fn a_missing_warehouse_and_missing_districts_are_found() {
        let empty = Warehouse {
            id: 2,
            ..Warehouse::default()
        };
        let says = found(&empty, When::Later);
        for condition in [1, 2, 8, 9] {
            let start = format!("condition {condition}: warehouse 2");
            assert!(says.iter().any(|one| one.starts_with(&start)), "{says:?}");
        }
        let stray = Warehouse {
            is_stray: true,
            ..empty
        };
        assert_eq!(found(&stray, When::Later), Vec::<String>::new());
    }

    #[test]
    fn orphans_are_found_whichever_table_they_are_in() {
        for (condition, change) in [
            (
                5,
                (|w| w.new_orders.push((10, 3_001))) as fn(&mut Warehouse),
            ),
            (6, |w| {
                w.lines.push(Lines {
                    key: (10, 3_001),
                    ..w.lines[0]
                })
            }),
            (10, |w| {
                w.made.insert((10, 3_001), 5);
            }),
            (9, |w| {
                w.received.insert(11, 5);
            }),
            (2, |w| {
                w.orders.push(Order {
                    key: (11, 1),
                    ..w.orders[0]
                })
            }),
        ] {
            let says = after(change);
            let start = format!("condition {condition}: warehouse 4, district 1");
            assert!(says.iter().any(|one| one.starts_with(&start)), "{says:?}");
        }
    }
}

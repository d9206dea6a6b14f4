//! Right inputs pass, each planted fault is named.

use super::*;
use crate::tpcc::ledger::Ledger;
use datagen::random::{Random, below, stream};

const RUN: Constants = Constants {
    last_name: 173,
    customer: 259,
    item: 7911,
};

/// Draws the inputs of one transaction. Each field is a script; the default is right.
struct Terminal {
    item: fn(&mut Random) -> u32,
    customer: fn(&mut Random) -> u32,
    last_name: fn(&mut Random) -> u16,
    lines: fn(&mut Random) -> u64,
    /// Of 1,000 each.
    rollbacks: u64,
    remote_lines: u64,
    remote_payments: u64,
    by_name: u64,
}

impl Default for Terminal {
    fn default() -> Terminal {
        Terminal {
            item: |random| RUN.draw_item(random),
            customer: |random| RUN.draw_customer(random),
            last_name: |random| RUN.draw_last_name(random),
            lines: |random| 5 + below(random, 11),
            rollbacks: 10,
            remote_lines: 10,
            remote_payments: 150,
            by_name: 600,
        }
    }
}

impl Terminal {
    /// The checks after these numbers of New-Order, Payment and Order-Status.
    fn checks(&self, [new_orders, payments, order_status]: [u64; 3]) -> Vec<InputCheck> {
        let ledger = Ledger::new();
        let (mut book, random) = (ledger.book(), &mut stream(12, 0));
        for _ in 0..new_orders {
            let lines = (self.lines)(random);
            let items: Vec<u32> = (0..lines).map(|_| (self.item)(random)).collect();
            let remote = items
                .iter()
                .filter(|_| below(random, 1000) < self.remote_lines);
            let remote_lines = remote.count() as u8;
            book.input(Input::NewOrder {
                c: (self.customer)(random),
                rolls_back: below(random, 1000) < self.rollbacks,
                remote_lines,
                items: &items,
            });
        }
        for _ in 0..payments {
            let is_remote = below(random, 1000) < self.remote_payments;
            let customer = self.names(random);
            book.input(Input::Payment {
                is_remote,
                customer,
            });
        }
        for _ in 0..order_status {
            let customer = self.names(random);
            book.input(Input::OrderStatus { customer });
        }
        drop(book);
        let transactions = new_orders + payments + order_status;
        check(
            transactions,
            &ledger.take().unwrap().inputs,
            ledger.inputs(),
            &RUN,
            2,
        )
        .unwrap()
    }

    fn names(&self, random: &mut Random) -> Customer {
        match below(random, 1000) < self.by_name {
            true => Customer::LastName((self.last_name)(random)),
            false => Customer::Id((self.customer)(random)),
        }
    }

    /// The names of the failed checks of a short run: 10,000 transactions.
    fn failed(&self) -> Vec<String> {
        let checks = self.checks(SHORT);
        let failed = checks.into_iter().filter(|check| !check.passed());
        failed.map(|check| check.name).collect()
    }
}

const SHORT: [u64; 3] = [5_000, 4_500, 500];
const LONG: [u64; 3] = [250_000, 100_000, 20_000];

#[test]
fn right_inputs_pass_in_a_short_run_and_in_a_long_one() {
    assert_eq!(Terminal::default().failed(), [""; 0]);
    let long = Terminal::default().checks(LONG);
    assert_eq!(long.len(), 10, "{long:?}");
    assert!(long.iter().all(InputCheck::passed), "{long:?}");
}

#[test]
fn the_ranges_of_a_long_run_are_those_of_the_standard() {
    let long = Terminal::default().checks(LONG);
    let range = |name: &str| {
        let check = long.iter().find(|check| check.name == name).unwrap();
        (check.low, check.high)
    };
    assert_eq!(range("rollbacks (%)"), (0.9, 1.1));
    assert_eq!(range("order lines (mean)"), (9.5, 10.5));
    assert_eq!(range("remote lines (%)"), (0.95, 1.05));
    assert_eq!(range("remote payments (%)"), (14.0, 16.0));
    assert_eq!(range("payments by name (%)"), (57.0, 63.0));
}

#[test]
fn uniform_items_are_found() {
    let uniform = Terminal {
        item: |random| 1 + below(random, tpcc::ITEMS) as u32,
        ..Terminal::default()
    };
    assert_eq!(uniform.failed(), ["items (p of chi-squared)"]);
}

#[test]
fn items_of_one_half_are_found() {
    let half = Terminal {
        item: |random| 1 + (RUN.draw_item(random) - 1) % 50_000,
        ..Terminal::default()
    };
    assert_eq!(half.failed(), ["items (p of chi-squared)"]);
}

#[test]
fn swapped_constants_are_found() {
    const SWAPPED: Constants = Constants {
        last_name: 173,
        customer: RUN.item,
        item: RUN.customer,
    };
    let swapped = Terminal {
        item: |random| SWAPPED.draw_item(random),
        customer: |random| SWAPPED.draw_customer(random),
        ..Terminal::default()
    };
    let expected = ["items (p of chi-squared)", "customers (p of chi-squared)"];
    assert_eq!(swapped.failed(), expected);
}

#[test]
fn names_drawn_with_the_constant_of_the_load_are_found() {
    let of_load = Terminal {
        last_name: |random| {
            let load = Constants {
                last_name: RUN.last_name - 65,
                ..RUN
            };
            load.draw_last_name(random)
        },
        ..Terminal::default()
    };
    assert_eq!(of_load.failed(), ["last names (p of chi-squared)"]);
}

#[test]
fn wrong_shares_are_found() {
    let right = Terminal::default;
    let twice = Terminal {
        rollbacks: 20,
        ..right()
    };
    assert_eq!(twice.failed(), ["rollbacks (%)"]);
    let local = Terminal {
        remote_lines: 0,
        remote_payments: 0,
        ..right()
    };
    assert_eq!(local.failed(), ["remote lines (%)", "remote payments (%)"]);
    let by_id = Terminal {
        by_name: 400,
        ..right()
    };
    let expected = ["payments by name (%)", "order status by name (%)"];
    assert_eq!(by_id.failed(), expected);
}

#[test]
fn orders_of_ten_lines_only_have_the_right_mean_and_are_found() {
    let ten = Terminal {
        lines: |_| 10,
        ..Terminal::default()
    };
    let failed = ten.failed();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].contains("largest deviation"), "{failed:?}");
}

#[test]
fn one_warehouse_has_no_remote_shares() {
    let ledger = Ledger::new();
    let mut counts = Counts::default();
    for _ in 0..FEWEST {
        counts.add(&Input::Payment {
            is_remote: false,
            customer: Customer::Id(1),
        });
    }
    let checks = check(FEWEST, &counts, ledger.inputs(), &RUN, 1).unwrap();
    assert!(checks.iter().all(|check| !check.name.contains("remote")));
}

#[test]
fn fewer_than_ten_thousand_transactions_are_not_judged() {
    let ledger = Ledger::new();
    let why = check(9_999, &Counts::default(), ledger.inputs(), &RUN, 1).unwrap_err();
    assert!(why.contains("9999 transactions are too few"), "{why}");
}

/// As with `weights = { new-order = 1 }`.
#[test]
fn numbers_that_a_mix_hardly_draws_are_not_judged() {
    for payments in [0, 1] {
        let checks = Terminal::default().checks([FEWEST, payments, 0]);
        let is_judged = |name: &str| checks.iter().any(|check| check.name.starts_with(name));
        assert!(is_judged("items") && is_judged("customers"), "{checks:?}");
        assert!(!is_judged("last names"), "{checks:?}");
        assert!(checks.iter().all(InputCheck::passed), "{checks:?}");
    }
}

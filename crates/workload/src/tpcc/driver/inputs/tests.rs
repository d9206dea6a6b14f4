//! Inputs by their distributions. Faults of other tools are named where a test would find them.

use super::*;
use datagen::tpcc::{CUSTOMER_A, CUSTOMERS_PER_DISTRICT, ITEM_A, LAST_NAME_A, LAST_NAME_MAX, mass};
use proptest::prelude::*;

const DRAWS: u64 = 100_000;
const HOME: Home = Home {
    warehouse: 2,
    district: 7,
};

fn inputs(warehouses: u32) -> Inputs {
    Inputs::new(warehouses, &Constants::load(1), 11)
}

fn orders(warehouses: u32) -> impl Iterator<Item = NewOrder> {
    let inputs = inputs(warehouses);
    (0..DRAWS).map(move |number| inputs.new_order(number, HOME))
}

fn payments(warehouses: u32) -> impl Iterator<Item = Payment> {
    let inputs = inputs(warehouses);
    (0..DRAWS).map(move |number| inputs.payment(number, HOME))
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

/// Panics unless the share is within four standard deviations of the expected one.
fn assert_share(count: usize, of: usize, expected: f64) {
    let deviation = (expected * (1.0 - expected) / of as f64).sqrt();
    let share = share(count, of);
    assert!(
        (share - expected).abs() < 4.0 * deviation,
        "{share} instead of {expected}"
    );
}

/// Panics unless the counts follow the probabilities: chi-squared, at 5 standard deviations of its normal approximation.
fn assert_follows(counts: &[u32], mass: &[f64]) {
    let draws: u32 = counts.iter().sum();
    let square = |(&count, share): (&u32, &f64)| {
        let expected = share * f64::from(draws);
        match expected > 0.0 {
            true => (f64::from(count) - expected).powi(2) / expected,
            false => f64::from(count) * 1e9,
        }
    };
    let statistic: f64 = counts.iter().zip(mass).map(square).sum();
    let freedom = mass.iter().filter(|share| **share > 0.0).count() as f64 - 1.0;
    let limit = freedom + 5.0 * (2.0 * freedom).sqrt();
    assert!(statistic < limit, "{statistic} above {limit}");
}

fn counts(values: impl Iterator<Item = u32>, size: usize) -> Vec<u32> {
    let mut counts = vec![0; size];
    values.for_each(|value| counts[value as usize] += 1);
    counts
}

#[test]
fn one_percent_of_orders_carry_an_unused_item_on_the_last_line_only() {
    let mut rolled_back = 0;
    for order in orders(3) {
        let [earlier @ .., last] = order.lines() else {
            panic!("an order has lines")
        };
        assert!(
            earlier
                .iter()
                .all(|line| (1..=100_000).contains(&line.item))
        );
        assert_eq!(last.item == UNUSED_ITEM, order.is_rolled_back);
        assert!(last.item > 0, "sysbench-tpcc sends -1, on the line before");
        rolled_back += usize::from(order.is_rolled_back);
    }
    assert_share(rolled_back, DRAWS as usize, 0.01);
}

#[test]
fn orders_have_5_to_15_lines_equally_often() {
    let lines = counts(orders(3).map(|order| order.lines().len() as u32), 16);
    assert_follows(&lines[5..], &[1.0 / 11.0; 11]);
}

#[test]
fn one_percent_of_lines_come_from_the_other_warehouses_equally_often() {
    let lines: Vec<Line> = orders(5).flat_map(|order| order.lines().to_vec()).collect();
    let remote = lines.iter().filter(|line| line.supply != HOME.warehouse);
    assert_share(remote.clone().count(), lines.len(), 0.01);
    let supplies = counts(remote.map(|line| line.supply), 6);
    assert_eq!((supplies[0], supplies[2]), (0, 0));
    assert_follows(
        &[supplies[1], supplies[3], supplies[4], supplies[5]],
        &[0.25; 4],
    );
}

#[test]
fn an_order_is_all_local_only_if_every_line_is() {
    let mixed = orders(5).filter(|order| {
        order
            .lines()
            .iter()
            .any(|line| line.supply != HOME.warehouse)
    });
    let mut seen = 0;
    for order in mixed {
        assert!(!order.is_all_local());
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn with_one_warehouse_everything_is_local() {
    let home = Home {
        warehouse: 1,
        district: 1,
    };
    let inputs = inputs(1);
    for number in 0..20_000 {
        assert!(inputs.new_order(number, home).is_all_local());
        assert_eq!(inputs.payment(number, home).customer_warehouse, 1);
    }
}

#[test]
fn items_and_customers_follow_nurand_and_not_a_uniform_distribution() {
    let inputs = inputs(3);
    let Constants {
        customer,
        item,
        last_name,
    } = *inputs.constants();
    let lines = orders(3).flat_map(|order| order.lines().to_vec());
    let items = counts(
        lines
            .filter(|line| line.item != UNUSED_ITEM)
            .map(|line| line.item - 1),
        100_000,
    );
    assert_follows(&items, &mass(ITEM_A, item.into(), 1, ITEMS));
    let customers = counts(orders(3).map(|order| order.customer - 1), 3_000);
    let of_customers = mass(CUSTOMER_A, customer.into(), 1, CUSTOMERS_PER_DISTRICT);
    assert_follows(&customers, &of_customers);
    let (mut by_id, mut by_name) = (vec![0; 3_000], vec![0; 1_000]);
    for payment in payments(3) {
        match payment.customer {
            Customer::Id(id) => by_id[id as usize - 1] += 1,
            Customer::LastName(name) => by_name[usize::from(name)] += 1,
        }
    }
    assert_follows(&by_id, &of_customers);
    assert_follows(
        &by_name,
        &mass(LAST_NAME_A, last_name.into(), 0, LAST_NAME_MAX),
    );
}

#[test]
fn an_item_may_occur_several_times_in_an_order() {
    let repeats = |order: &NewOrder| {
        let mut items: Vec<u32> = order.lines().iter().map(|line| line.item).collect();
        items.sort_unstable();
        items.windows(2).any(|pair| pair[0] == pair[1])
    };
    assert!(
        orders(1).filter(repeats).count() > 100,
        "CockroachDB and go-tpc forbid it"
    );
}

#[test]
fn constants_are_drawn_once_for_all_terminals_and_by_the_rule_of_the_standard() {
    let load = Constants::load(1);
    for seed in 0..200 {
        let inputs = Inputs::new(4, &load, seed);
        let delta = inputs.constants().last_name.abs_diff(load.last_name);
        assert!((65..=119).contains(&delta) && delta != 96 && delta != 112);
    }
}

#[test]
fn fifteen_percent_of_payments_are_for_customers_of_the_other_warehouses() {
    let all: Vec<Payment> = payments(4).collect();
    let remote: Vec<&Payment> = all
        .iter()
        .filter(|one| one.customer_warehouse != HOME.warehouse)
        .collect();
    assert_share(remote.len(), all.len(), 0.15);
    let warehouses = counts(remote.iter().map(|one| one.customer_warehouse), 5);
    assert_follows(
        &[warehouses[1], warehouses[3], warehouses[4]],
        &[1.0 / 3.0; 3],
    );
    let districts = counts(
        remote
            .iter()
            .map(|one| u32::from(one.customer_district) - 1),
        10,
    );
    assert_follows(&districts, &[0.1; 10]);
    let home = all
        .iter()
        .filter(|one| one.customer_warehouse == HOME.warehouse);
    for one in home {
        assert_eq!(one.customer_district, one.district);
    }
}

#[test]
fn sixty_percent_of_payments_and_order_statuses_are_by_name() {
    let is_by_name = |customer: Customer| matches!(customer, Customer::LastName(_));
    let payments = payments(2).filter(|one| is_by_name(one.customer)).count();
    assert_share(payments, DRAWS as usize, 0.6);
    let inputs = inputs(2);
    let statuses =
        (0..DRAWS).filter(|&number| is_by_name(inputs.order_status(number, HOME).customer));
    assert_share(statuses.count(), DRAWS as usize, 0.6);
}

#[test]
fn amounts_are_whole_cents_from_1_to_5000_and_not_whole_dollars() {
    let cents: Vec<i64> = payments(2).map(|one| one.cents).collect();
    assert!(cents.iter().all(|cents| (100..=500_000).contains(cents)));
    let whole = cents.iter().filter(|cents| **cents % 100 == 0).count();
    assert_share(whole, cents.len(), 0.01);
    let mean = cents.iter().sum::<i64>() as f64 / cents.len() as f64;
    assert!((mean / 250_050.0 - 1.0).abs() < 0.01, "{mean}");
}

#[test]
fn a_terminal_keeps_its_warehouse_and_stock_level_its_district() {
    let inputs = inputs(9);
    for number in 0..1_000 {
        assert_eq!(inputs.new_order(number, HOME).warehouse, HOME.warehouse);
        assert_eq!(inputs.payment(number, HOME).warehouse, HOME.warehouse);
        assert_eq!(inputs.order_status(number, HOME).warehouse, HOME.warehouse);
        let level = inputs.stock_level(number, HOME);
        assert_eq!((level.warehouse, level.district), (2, 7));
        assert!((10..=20).contains(&level.threshold));
        assert!((1..=10).contains(&inputs.carrier(number)));
    }
}

proptest! {
    #[test]
    fn a_retry_repeats_its_inputs(number: u64, warehouses in 1u32..20, client in 0u32..300) {
        let home = Home::of(client, warehouses);
        let (first, again) = (inputs(warehouses), inputs(warehouses));
        prop_assert_eq!(first.new_order(number, home), again.new_order(number, home));
        prop_assert_eq!(first.payment(number, home), again.payment(number, home));
        prop_assert_eq!(first.order_status(number, home), again.order_status(number, home));
        prop_assert_eq!(first.carrier(number), again.carrier(number));
    }

    #[test]
    fn every_input_names_rows_that_exist(number: u64, warehouses in 1u32..20, client in 0u32..300) {
        let order = inputs(warehouses).new_order(number, Home::of(client, warehouses));
        prop_assert!((1..=10).contains(&order.district) && (1..=3_000).contains(&order.customer));
        for line in order.lines() {
            prop_assert!((1..=warehouses).contains(&line.supply) && (1..=10).contains(&line.quantity));
        }
    }
}

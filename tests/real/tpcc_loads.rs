//! Tests of timed loads of TPC-C on real servers: the tables agree with each other and with what was done.
//!
//! Tiers: default, all.

use crate::real::tpcc_loaded::{Loaded, clients, shared};
use std::time::Duration;

/// Panics unless the tables agree with each other, as they do whatever ran before.
fn assert_sums_agree(server: &Loaded) {
    let zero = [
        (
            "W_YTD is the sum of D_YTD",
            "SELECT COUNT(*) FROM warehouse WHERE w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)",
        ),
        (
            "W_YTD is the sum of H_AMOUNT",
            "SELECT COUNT(*) FROM warehouse WHERE w_ytd <> (SELECT SUM(h_amount) FROM history WHERE h_w_id = w_id)",
        ),
        (
            "D_NEXT_O_ID follows the last order",
            "SELECT COUNT(*) FROM district WHERE d_next_o_id - 1 <> (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)",
        ),
        (
            "S_QUANTITY is from 10 to 100",
            "SELECT COUNT(*) FROM stock WHERE s_quantity NOT BETWEEN 10 AND 100",
        ),
        (
            "S_YTD is what new orders took",
            "SELECT (SELECT SUM(s_ytd) FROM stock) - (SELECT IFNULL(SUM(ol_quantity), 0) FROM order_line WHERE ol_o_id > 3000)",
        ),
        (
            "S_ORDER_CNT counts new lines",
            "SELECT (SELECT SUM(s_order_cnt) FROM stock) - (SELECT COUNT(*) FROM order_line WHERE ol_o_id > 3000)",
        ),
        (
            "S_REMOTE_CNT counts remote lines",
            "SELECT (SELECT SUM(s_remote_cnt) FROM stock) - (SELECT COUNT(*) FROM order_line WHERE ol_supply_w_id <> ol_w_id)",
        ),
        (
            "OL_AMOUNT is quantity by price",
            "SELECT COUNT(*) FROM order_line, item WHERE ol_o_id > 3000 AND i_id = ol_i_id AND ol_amount <> ol_quantity * i_price",
        ),
        (
            "an order without carrier is a new order",
            "SELECT (SELECT COUNT(*) FROM orders WHERE o_carrier_id IS NULL) - (SELECT COUNT(*) FROM new_order)",
        ),
        (
            "balances and payments are deliveries",
            "SELECT CAST(100 * ((SELECT SUM(c_balance) + SUM(c_ytd_payment) FROM customer) - (SELECT SUM(ol_amount) FROM order_line WHERE ol_delivery_d IS NOT NULL)) AS SIGNED)",
        ),
        (
            "C_PAYMENT_CNT counts history",
            "SELECT (SELECT SUM(c_payment_cnt) FROM customer) - (SELECT COUNT(*) FROM history)",
        ),
        (
            "H_DATA holds both names",
            "SELECT (SELECT COUNT(*) FROM history, warehouse, district WHERE w_id = h_w_id AND d_w_id = h_w_id AND d_id = h_d_id AND h_data = CONCAT(w_name, '    ', d_name)) - (SELECT SUM(c_payment_cnt - 1) FROM customer)",
        ),
    ];
    for (rule, sql) in zero {
        assert_eq!(server.number(sql), 0, "{rule}");
    }
}

#[test]
fn after_a_closed_loop_the_tables_agree_with_each_other_and_with_what_was_done() {
    let server = shared();
    let Some(server) = &*server else { return };
    let history = server.number("SELECT COUNT(*) FROM history");
    let (driven, facts) = server.drive("", clients(8), Duration::from_secs(4));
    let [orders, payments, _, deliveries, _] =
        [0, 1, 2, 3, 4].map(|one| driven.tallies[one].done());
    assert_eq!(
        facts.orders.len() as u64 + facts.refused.len() as u64,
        orders
    );
    assert_eq!(facts.payments.len() as u64, payments);
    assert_eq!(facts.deliveries.len() as u64, deliveries);
    assert!(orders > 0 && deliveries > 0, "{:?}", driven.tallies);
    assert_eq!(
        server.number("SELECT COUNT(*) FROM history") - history,
        payments as i64
    );
    assert_sums_agree(server);
}

#[test]
fn open_loop_runs_the_same_transactions() {
    let server = shared();
    let Some(server) = &*server else { return };
    let load = load::Load::Open(load::Open {
        arrivals: load::arrivals::Arrivals::Poisson { rate: 60.0 },
        workers: 6,
        queue: 10_000,
        when_full: load::WhenFull::Stop,
    });
    let (driven, facts) = server.drive("mix = \"weights\"", load, Duration::from_secs(3));
    assert!(driven.started > 20, "{}", driven.started);
    assert_eq!(facts.payments.len() as u64, driven.tallies[1].done());
    assert_sums_agree(server);
}

#[test]
fn deferred_deliveries_are_answered_at_once_and_completed_in_the_background() {
    let server = shared();
    let Some(server) = &*server else { return };
    // A delivery takes ten orders. With fewer new ones there would soon be nothing to deliver, and nothing for the ledger.
    let keys =
        "delivery = \"deferred\"\nmix = \"weights\"\nweights = { new-order = 10, delivery = 1 }";
    let (driven, facts) = server.drive(keys, clients(4), Duration::from_secs(3));
    let (queued, completed) = (driven.tallies[3].done(), driven.tallies[5].done());
    assert!(queued > 0);
    // A terminal may queue one while the workers end.
    assert!(
        queued - completed <= 4,
        "{queued} queued, {completed} completed"
    );
    assert_eq!(facts.deliveries.len() as u64, completed);
    assert_sums_agree(server);
}

fn runs_on(build: &'static str) {
    let Some(server) = Loaded::of(build, 1) else {
        return;
    };
    let (driven, facts) = server.drive("", clients(4), Duration::from_secs(8));
    assert!(
        driven.tallies.iter().all(|tally| tally.done() > 0),
        "{:?}",
        driven.tallies
    );
    assert!(facts.orders.len() > 2);
    assert_sums_agree(&server);
    assert_eq!(
        server.number("SELECT COUNT(*) FROM order_line WHERE ol_supply_w_id <> 1"),
        0
    );
}

#[test]
#[cfg(tier_all)]
fn the_transactions_run_on_mysql_5_6_14() {
    runs_on("mysql@5.6.14");
}

#[test]
#[cfg(tier_all)]
fn the_transactions_run_on_mysql_5_5_34() {
    runs_on("mysql@5.5.34");
}

#[test]
#[cfg(tier_all)]
fn the_transactions_run_on_mysql_8_0_33() {
    runs_on("mysql@8.0.33");
}

#[test]
#[cfg(tier_all)]
fn the_transactions_run_on_mysql_9_7() {
    runs_on("mysql@9.7");
}

#[test]
#[cfg(tier_all)]
fn the_transactions_run_on_mariadb_11_8() {
    runs_on("mariadb@11.8");
}

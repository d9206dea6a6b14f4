//! Tests of the five transactions of TPC-C on real servers: what they leave in the tables, and how they end.
//!
//! Each fault that is known of another tool has a test here or beside the code of its transaction.
//!
//! Tier: default.

use crate::real::tpcc_loaded::{
    DELIVERY, Loaded, NEW_ORDER, ORDER_STATUS, PAYMENT, Terminal, shared,
};
use load::Outcome;
use std::collections::HashMap;
use std::sync::Mutex;
use workload::tpcc::driver::NewOrder;
use workload::tpcc::inputs::Customer;
use workload::tpcc::ledger;

/// S_QUANTITY, S_YTD, S_ORDER_CNT, S_REMOTE_CNT.
type Stock = [i64; 4];

fn stock(server: &Loaded) -> HashMap<(i64, i64), Stock> {
    let rows = server
        .numbers("SELECT s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM stock");
    let entry = |row: Vec<i64>| ((row[0], row[1]), [row[2], row[3], row[4], row[5]]);
    rows.into_iter().map(entry).collect()
}

/// What an order takes from the stock, line by line.
fn take(stock: &mut HashMap<(i64, i64), Stock>, order: &NewOrder) {
    for line in order.lines() {
        let row = stock
            .get_mut(&(line.supply.into(), line.item.into()))
            .unwrap();
        let left = row[0] - i64::from(line.quantity);
        row[0] = if left >= 10 { left } else { left + 91 };
        row[1] += i64::from(line.quantity);
        row[2] += 1;
        row[3] += i64::from(line.supply != order.warehouse);
    }
}

fn run_new_orders(terminal: &mut Terminal, numbers: std::ops::Range<u64>) -> Vec<NewOrder> {
    let mut committed = Vec::new();
    for number in numbers {
        assert_eq!(terminal.run(NEW_ORDER, number), Outcome::Done);
        committed.push(terminal.driver.inputs().new_order(number, terminal.home));
    }
    committed.retain(|order| !order.is_rolled_back);
    committed
}

#[test]
fn new_orders_leave_in_the_stock_what_their_lines_say_and_rollbacks_leave_nothing() {
    let server = shared();
    let Some(server) = &*server else { return };
    let mut expected = stock(server);
    let (mut near, mut far) = (server.terminal(0), server.terminal(1));
    let orders = [
        run_new_orders(&mut near, 0..250),
        run_new_orders(&mut far, 250..500),
    ]
    .concat();
    assert!(orders.len() < 500, "some were rolled back");
    let remote = |order: &NewOrder| {
        order
            .lines()
            .iter()
            .any(|line| line.supply != order.warehouse)
    };
    let repeats = |order: &NewOrder| {
        let lines = order.lines();
        (1..lines.len()).any(|place| {
            let earlier = lines[..place].iter();
            earlier
                .clone()
                .any(|line| (line.item, line.supply) == (lines[place].item, lines[place].supply))
        })
    };
    assert!(orders.iter().any(remote) && orders.iter().any(repeats));
    orders.iter().for_each(|order| take(&mut expected, order));
    let seen = stock(server);
    for (key, row) in &expected {
        assert_eq!(&seen[key], row, "warehouse and item {key:?}");
    }
    let facts = far.close();
    let orders_of_far = orders.iter().filter(|order| order.warehouse == 2).count();
    assert_eq!(facts.orders.len(), orders_of_far);
    assert_eq!(facts.refused_count as usize, 250 - orders_of_far);
}

#[test]
fn an_order_is_written_with_its_lines_and_its_number() {
    let server = shared();
    let Some(server) = &*server else { return };
    let mut terminal = server.terminal(1);
    let number = (1_000..).find(|&number| {
        let order = terminal.driver.inputs().new_order(number, terminal.home);
        !order.is_all_local() && !order.is_rolled_back
    });
    let number = number.unwrap();
    let order = terminal.driver.inputs().new_order(number, terminal.home);
    let district = format!("d_w_id = 2 AND d_id = {}", order.district);
    let id = server.number(&format!(
        "SELECT d_next_o_id FROM district WHERE {district}"
    ));
    assert_eq!(terminal.run(NEW_ORDER, number), Outcome::Done);
    let next = server.number(&format!(
        "SELECT d_next_o_id FROM district WHERE {district}"
    ));
    assert_eq!(next, id + 1);
    let key = |table: &str| {
        format!(
            "{table}_w_id = 2 AND {table}_d_id = {} AND {table}_o_id = {id}",
            order.district
        )
    };
    let head = server.numbers(&format!(
        "SELECT o_c_id, o_ol_cnt, o_all_local, o_carrier_id IS NULL FROM orders WHERE o_w_id = 2 AND o_d_id = {} AND o_id = {id}",
        order.district
    ));
    assert_eq!(
        head,
        [[order.customer.into(), order.lines().len() as i64, 0, 1]]
    );
    assert_eq!(
        server.number(&format!(
            "SELECT COUNT(*) FROM new_order WHERE {}",
            key("no")
        )),
        1
    );
    let lines = server.numbers(&format!(
        "SELECT ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_delivery_d IS NULL, ol_amount = ol_quantity * i_price, \
         ol_dist_info = s_dist_{:02} FROM order_line JOIN item ON i_id = ol_i_id \
         JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id WHERE {} ORDER BY ol_number",
        order.district,
        key("ol")
    ));
    let expected: Vec<Vec<i64>> = order
        .lines()
        .iter()
        .zip(1..)
        .map(|(line, number)| {
            vec![
                number,
                line.item.into(),
                line.supply.into(),
                line.quantity.into(),
                1,
                1,
                1,
            ]
        })
        .collect();
    assert_eq!(lines, expected, "amounts without tax and discount");
    let facts = terminal.close();
    let noted = facts.orders.first().unwrap().what;
    let cents = server.number(&format!(
        "SELECT CAST(SUM(ol_amount) * 100 AS SIGNED) FROM order_line WHERE {}",
        key("ol")
    ));
    assert_eq!((i64::from(noted.o), i64::from(noted.cents)), (id, cents));
}

#[test]
fn a_rollback_order_does_the_work_of_its_valid_lines_first_and_counts_as_done() {
    let server = shared();
    let Some(server) = &*server else { return };
    let mut terminal = server.terminal(0);
    let inputs = terminal.driver.inputs();
    let (number, order) = (0..)
        .map(|number| (number, inputs.new_order(number, terminal.home)))
        .find(|(_, order)| order.is_rolled_back)
        .unwrap();
    let written = || {
        let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update')";
        let rows = server.session().query(sql).unwrap().rows;
        let value = |row: &Vec<Option<Vec<u8>>>| -> u64 {
            String::from_utf8(row[1].clone().unwrap())
                .unwrap()
                .parse()
                .unwrap()
        };
        rows.iter().map(value).sum::<u64>()
    };
    let before = written();
    assert_eq!(terminal.run(NEW_ORDER, number), Outcome::Done);
    // The district, the order, the new order; the stock and the line of each valid line.
    let valid = order.lines().len() as u64 - 1;
    assert!(
        written() - before >= 3 + 2 * valid,
        "go-tpc rolls back before the stock work"
    );
    let facts = terminal.close();
    assert_eq!((facts.refused_count, facts.orders.len()), (1, 0));
}

/// C_BALANCE and C_YTD_PAYMENT in cents, C_PAYMENT_CNT, C_DELIVERY_CNT.
fn account(server: &Loaded, payment: &ledger::Payment) -> Vec<i64> {
    let sql = format!(
        "SELECT CAST(c_balance * 100 AS SIGNED), CAST(c_ytd_payment * 100 AS SIGNED), c_payment_cnt, c_delivery_cnt \
         FROM customer WHERE c_w_id = {} AND c_d_id = {} AND c_id = {}",
        payment.c_w, payment.c_d, payment.c
    );
    server.numbers(&sql).remove(0)
}

/// Runs one payment of a customer with this credit, and returns what was noted of it, and the account before and after.
fn pay(server: &Loaded, credit: &str, by_name: bool) -> (ledger::Payment, Vec<i64>, Vec<i64>) {
    for number in 5_000.. {
        let mut terminal = server.terminal(0);
        let input = terminal.driver.inputs().payment(number, terminal.home);
        let customer = match (input.customer, by_name) {
            (Customer::Id(id), false) => i64::from(id),
            (Customer::LastName(name), true) => in_the_middle(
                server,
                input.customer_warehouse,
                input.customer_district,
                name,
            ),
            _ => continue,
        };
        let mut payment = ledger::Payment {
            w: input.warehouse as u16,
            d: input.district,
            c_w: input.customer_warehouse as u16,
            c_d: input.customer_district,
            c: customer as u16,
            cents: input.cents as u32,
        };
        let sql = format!(
            "SELECT c_credit FROM customer WHERE c_w_id = {} AND c_d_id = {} AND c_id = {customer}",
            payment.c_w, payment.c_d
        );
        if server.text(&sql) != credit {
            continue;
        }
        let before = account(server, &payment);
        assert_eq!(terminal.run(PAYMENT, number), Outcome::Done);
        let after = account(server, &payment);
        let noted = terminal.close().payments.first().unwrap().what;
        assert_eq!(noted, payment, "the customer in the middle");
        payment.cents = noted.cents;
        return (payment, before, after);
    }
    unreachable!()
}

/// The customer at position n / 2, rounded up, of those with a name in the order of their first names.
fn in_the_middle(server: &Loaded, warehouse: u32, district: u8, name: u16) -> i64 {
    let ids = server.numbers(&format!(
        "SELECT c_id FROM customer WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_last = '{}' ORDER BY c_first",
        datagen::tpcc::last_name(name)
    ));
    ids[ids.len().div_ceil(2) - 1][0]
}

#[test]
fn a_payment_lowers_the_balance_and_adds_to_the_year_of_customer_district_and_warehouse() {
    let server = shared();
    let Some(server) = &*server else { return };
    let ytd = || {
        server.numbers("SELECT CAST(SUM(d_ytd) * 100 AS SIGNED) FROM district UNION ALL SELECT CAST(SUM(w_ytd) * 100 AS SIGNED) FROM warehouse")
    };
    for by_name in [false, true] {
        let before_ytd = ytd();
        let (payment, before, after) = pay(server, "GC", by_name);
        let cents = i64::from(payment.cents);
        let expected = [
            before[0] - cents,
            before[1] + cents,
            before[2] + 1,
            before[3],
        ];
        assert_eq!(after, expected, "HammerDB adds the amount to the balance");
        let added: Vec<i64> = ytd()
            .iter()
            .zip(before_ytd)
            .map(|(now, then)| now[0] - then[0])
            .collect();
        assert_eq!(added, [cents, cents]);
    }
}

#[test]
fn a_payment_writes_history_and_the_data_of_a_customer_with_bad_credit() {
    let server = shared();
    let Some(server) = &*server else { return };
    for by_name in [false, true] {
        let (payment, _, _) = pay(server, "BC", by_name);
        let ledger::Payment {
            w,
            d,
            c_w,
            c_d,
            c,
            cents,
        } = payment;
        let (whole, rest) = (cents / 100, cents % 100);
        let data = server.text(&format!(
            "SELECT c_data FROM customer WHERE c_w_id = {c_w} AND c_d_id = {c_d} AND c_id = {c}"
        ));
        assert!(
            data.starts_with(&format!("{c} {c_d} {c_w} {d} {w} {whole}.{rest:02} ")),
            "{data}"
        );
        assert!((300..=500).contains(&data.len()));
        let history = server.number(&format!(
            "SELECT COUNT(*) FROM history, warehouse, district WHERE h_c_id = {c} AND h_c_d_id = {c_d} AND h_c_w_id = {c_w} \
             AND h_d_id = {d} AND h_w_id = {w} AND h_amount = {whole}.{rest:02} AND w_id = {w} AND d_w_id = {w} AND d_id = {d} \
             AND h_data = CONCAT(w_name, '    ', d_name)"
        ));
        // Other tests on the shared server may draw the same payment.
        assert!(history >= 1);
    }
}

/// The oldest new order of each district of the first warehouse.
fn oldest(server: &Loaded) -> Vec<i64> {
    let sql =
        "SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = 1 GROUP BY no_d_id ORDER BY no_d_id";
    server.numbers(sql).iter().map(|row| row[0]).collect()
}

#[test]
fn a_delivery_takes_the_oldest_order_of_each_district_and_pays_its_customer() {
    let server = shared();
    let Some(server) = &*server else { return };
    let mut terminal = server.terminal(0);
    let before = oldest(server);
    let of_order = |district: usize, id: i64| {
        server.numbers(&format!(
            "SELECT CAST(c_balance * 100 AS SIGNED), c_delivery_cnt, IFNULL(o_carrier_id, 0), \
             (SELECT CAST(SUM(ol_amount) * 100 AS SIGNED) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = {district} AND ol_o_id = {id}), \
             (SELECT SUM(ol_delivery_d IS NULL) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = {district} AND ol_o_id = {id}) \
             FROM orders, customer WHERE o_w_id = 1 AND o_d_id = {district} AND o_id = {id} \
             AND c_w_id = 1 AND c_d_id = {district} AND c_id = o_c_id"
        ))
        .remove(0)
    };
    let accounts = |ids: &[i64]| -> Vec<Vec<i64>> {
        (1..)
            .zip(ids)
            .map(|(district, id)| of_order(district, *id))
            .collect()
    };
    let then = accounts(&before);
    assert_eq!(terminal.run(DELIVERY, 4), Outcome::Done);
    let carrier = i64::from(terminal.driver.inputs().carrier(4));
    for (was, is) in then.iter().zip(accounts(&before)) {
        let (cents, lines) = (was[3], was[4]);
        assert!(was[2] == 0 && lines >= 5);
        assert_eq!(is, [was[0] + cents, was[1] + 1, carrier, cents, 0]);
    }
    let expected: Vec<i64> = before.iter().map(|id| id + 1).collect();
    assert_eq!(oldest(server), expected);
    let noted = terminal.close().deliveries.first().unwrap().what;
    assert_eq!(noted.orders.map(i64::from).to_vec(), before);
}

#[test]
fn deliveries_at_the_same_time_lock_and_never_take_the_same_order() {
    let server = shared();
    let Some(server) = &*server else { return };
    let before = oldest(server);
    let orders: Mutex<Vec<i64>> = Mutex::default();
    std::thread::scope(|scope| {
        for client in [0, 2, 4, 6] {
            let orders = &orders;
            scope.spawn(move || {
                let mut terminal = server.terminal(client);
                for number in 0..5 {
                    while let Outcome::Retry(_) = terminal.run(DELIVERY, number) {}
                }
                let facts = terminal.close();
                assert_eq!(facts.deliveries.len(), 5);
                let first = facts
                    .deliveries
                    .iter()
                    .map(|one| i64::from(one.what.orders[0]));
                orders.lock().unwrap().extend(first);
            });
        }
    });
    let mut orders = orders.into_inner().unwrap();
    orders.sort_unstable();
    assert_eq!(orders, (before[0]..before[0] + 20).collect::<Vec<_>>());
}

#[test]
fn order_status_reads_the_largest_order_of_its_customer() {
    let server = shared();
    let Some(server) = &*server else { return };
    for number in 0..20 {
        let mut terminal = server.terminal(0);
        let input = terminal.driver.inputs().order_status(number, terminal.home);
        let customer = match input.customer {
            Customer::Id(id) => i64::from(id),
            Customer::LastName(name) => in_the_middle(server, 1, input.district, name),
        };
        let last = server.number(&format!(
            "SELECT MAX(o_id) FROM orders WHERE o_w_id = 1 AND o_d_id = {} AND o_c_id = {customer}",
            input.district
        ));
        assert_eq!(terminal.run(ORDER_STATUS, number), Outcome::Done);
        let seen = terminal.close().seen[&(1, input.district)];
        assert_eq!(
            i64::from(seen.what),
            last + 1,
            "sysbench-tpcc reads another order"
        );
    }
}

#[test]
fn a_locked_row_is_waited_for_and_the_transaction_rolled_back_and_repeated() {
    let server = shared();
    let Some(server) = &*server else { return };
    let wait = ["SET SESSION innodb_lock_wait_timeout = 1".to_string()];
    let mut terminal = server.terminal_with(0, &wait);
    let mut other = server.session();
    other.execute("BEGIN").unwrap();
    other
        .execute("UPDATE warehouse SET w_ytd = w_ytd WHERE w_id = 1")
        .unwrap();
    let history = "SELECT COUNT(*) FROM history";
    let (before, ytd) = (
        server.number(history),
        "SELECT CAST(SUM(d_ytd) * 100 AS SIGNED) FROM district",
    );
    let before_ytd = server.number(ytd);
    assert_eq!(terminal.run(PAYMENT, 1), Outcome::Retry(1205));
    assert_eq!(
        server.number(ytd),
        before_ytd,
        "the update of the district is rolled back"
    );
    other.execute("ROLLBACK").unwrap();
    assert_eq!(terminal.run(PAYMENT, 1), Outcome::Done);
    assert_eq!(server.number(history), before + 1);
    let facts = terminal.close();
    assert_eq!((facts.refused_count, facts.payments.len()), (1, 1));
}

#[test]
fn a_missing_row_fails_with_its_own_code_and_leaves_nothing_behind() {
    let server = shared();
    let Some(server) = &*server else { return };
    let mut terminal = server.terminal(1);
    let order = terminal.driver.inputs().new_order(2, terminal.home);
    assert!(!order.is_rolled_back);
    let mut session = server.session();
    let item = order.lines()[0].item;
    session
        .execute(&format!("UPDATE item SET i_id = -i_id WHERE i_id = {item}"))
        .unwrap();
    let next = "SELECT SUM(d_next_o_id) FROM district";
    let before = server.number(next);
    assert_eq!(terminal.run(NEW_ORDER, 2), Outcome::Failed(60_108));
    session
        .execute(&format!(
            "UPDATE item SET i_id = -i_id WHERE i_id = -{item}"
        ))
        .unwrap();
    assert_eq!(server.number(next), before);
    assert_eq!(terminal.run(NEW_ORDER, 2), Outcome::Done);
}

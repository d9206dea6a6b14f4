//! Every fault, planted in tables in memory.

use super::*;
use crate::tpcc::ledger::tables::{Counted, Held, Key, OrderRow};
use crate::tpcc::ledger::{Book, Delivery, Ledger, NewOrder, Payment, Write};

const MS: u64 = 1_000_000;

/// Two districts of warehouse 1 after a load, and clients that work on them.
struct World {
    tables: Tables,
    before: Before,
    crashes_s: Vec<CrashS>,
    clients: Vec<fn(&mut Book)>,
}

impl World {
    fn new() -> World {
        let districts = [(1, 1), (1, 2)];
        World {
            tables: Tables {
                next_o_id: districts.map(|district| (district, 3001)).into(),
                ytd: districts.map(|district| (district, 3_000_000)).into(),
                ..Tables::default()
            },
            before: districts.map(|district| (district, 3001)).into(),
            crashes_s: Vec::new(),
            clients: Vec::new(),
        }
    }

    /// A client that does this.
    fn client(mut self, does: fn(&mut Book)) -> World {
        self.clients.push(does);
        self
    }

    fn crash(self, at_s: f64) -> World {
        self.crash_until(at_s, at_s)
    }

    /// A crash, and when the next process was launched.
    fn crash_until(mut self, at_s: f64, launched_s: f64) -> World {
        self.crashes_s.push(at_s..launched_s);
        self
    }

    /// The order is in the tables.
    fn has_order(mut self, order: NewOrder) -> World {
        let row = OrderRow {
            c: order.c,
            carrier: None,
            ol_cnt: order.lines,
            all_local: order.all_local,
        };
        let held = Held {
            order: Some(row),
            lines: order.lines.into(),
            delivered: 0,
            cents: order.cents.into(),
            is_new: true,
        };
        self.tables.orders.insert(key(order.o), held);
        let next = self.tables.next_o_id.get_mut(&(1, 1)).unwrap();
        *next = (*next).max(order.o + 1);
        self
    }

    /// The payment is in all three tables.
    fn has_payment(self, payment: Payment) -> World {
        self.has_history(payment).has_paid(payment)
    }

    /// The payment is in history and in the district.
    fn has_history(mut self, payment: Payment) -> World {
        self.tables.payments.push(payment);
        *self.tables.ytd.get_mut(&(1, 1)).unwrap() += i64::from(payment.cents);
        self
    }

    /// The payment is in the customer.
    fn has_paid(mut self, payment: Payment) -> World {
        let customer = self.customer(payment.c);
        customer.payments += 1;
        customer.ytd_payment += i64::from(payment.cents);
        self
    }

    /// The order is delivered by carrier 7 to its customer.
    fn has_delivered(mut self, o: u32) -> World {
        let c = self.deliver(o);
        self.customer(c).deliveries += 1;
        self
    }

    /// The order is delivered, and the customer does not know. Returns the customer.
    fn deliver(&mut self, o: u32) -> u16 {
        let held = self.tables.orders.get_mut(&key(o)).unwrap();
        held.is_new = false;
        held.delivered = held.lines;
        let row = held.order.as_mut().unwrap();
        row.carrier = Some(7);
        row.c
    }

    fn customer(&mut self, c: u16) -> &mut Counted {
        let customers = &mut self.tables.customers;
        customers.entry((1, 1, c)).or_insert(Counted::LOADED)
    }

    fn order(&mut self, o: u32) -> &mut Held {
        self.tables.orders.get_mut(&key(o)).unwrap()
    }

    fn check(&self) -> AuditNote {
        let ledger = Ledger::new();
        for does in &self.clients {
            does(&mut ledger.book());
        }
        check(
            &ledger.take().unwrap(),
            &self.before,
            &self.tables,
            &self.crashes_s,
        )
    }
}

fn key(o: u32) -> Key {
    Key { w: 1, d: 1, o }
}

/// An order of district 1 by customer 5.
fn order(o: u32) -> NewOrder {
    NewOrder {
        w: 1,
        d: 1,
        o,
        c: 5,
        lines: 10,
        all_local: true,
        cents: 12_345,
    }
}

/// The same number for another customer.
fn reissued(o: u32) -> NewOrder {
    NewOrder { c: 6, ..order(o) }
}

/// A payment in district 1 by customer 5.
fn payment(cents: u32) -> Payment {
    Payment {
        w: 1,
        d: 1,
        c_w: 1,
        c_d: 1,
        c: 5,
        cents,
    }
}

/// A delivery of one order of district 1.
fn delivery(o: u32) -> Delivery {
    let mut orders = [0; 10];
    orders[0] = o;
    Delivery {
        w: 1,
        carrier: 7,
        orders,
    }
}

fn acknowledge(book: &mut Book, write: Write, at_ms: u64) {
    book.sent(write, at_ms * MS);
    book.acknowledged(at_ms * MS);
}

/// The counts: acknowledged, lost, ghosts, partly applied, seen but lost, unknown, of them kept.
fn counts(note: &AuditNote) -> [u64; 7] {
    [
        note.acknowledged,
        note.lost,
        note.ghosts,
        note.partly_applied,
        note.seen_but_lost,
        note.unknown,
        note.unknown_kept,
    ]
}

/// An order, a payment and a delivery that were acknowledged.
fn works(book: &mut Book) {
    acknowledge(book, Write::NewOrder(order(3001)), 1);
    acknowledge(book, Write::Payment(payment(2_500)), 2);
    acknowledge(book, Write::Delivery(delivery(3001)), 3);
}

fn worked() -> World {
    let world = World::new().client(works).has_order(order(3001));
    world.has_payment(payment(2_500)).has_delivered(3001)
}

#[test]
fn tables_that_hold_what_was_acknowledged_pass() {
    let note = worked().check();
    assert_eq!(counts(&note), [3, 0, 0, 0, 0, 0, 0], "{note:?}");
    assert_eq!((note.findings.len(), note.violations.len()), (0, 0));
    assert_eq!(note.loss_window_s, None);
}

#[test]
fn a_lost_order_is_named_with_its_keys_and_the_loss_lasts_until_the_crash() {
    let world = World::new().client(|book| {
        acknowledge(book, Write::NewOrder(order(3001)), 1_000);
        acknowledge(book, Write::NewOrder(order(3002)), 1_500);
    });
    let note = world.has_order(order(3001)).crash(2.0).check();
    assert_eq!(counts(&note), [2, 1, 0, 0, 0, 0, 0]);
    assert_eq!(note.loss_window_s, Some(0.5));
    let expected =
        "lost: order 3002 of warehouse 1, district 1, customer 5, acknowledged at 1.500 s";
    assert_eq!(note.findings, [expected]);
}

/// The server answers until the signal reaches it, and clients note an answer later than it was sent.
#[test]
fn what_is_noted_just_after_a_crash_belongs_to_it_and_not_to_the_next_one() {
    let world = World::new()
        .client(|book| {
            acknowledge(book, Write::NewOrder(order(3001)), 1_005);
            acknowledge(book, Write::NewOrder(order(3002)), 1_010);
        })
        .client(|book| book.saw(1, 1, 3002, 999 * MS))
        .crash_until(1.0, 1.25)
        .crash_until(31.0, 31.25);
    let note = world.has_order(order(3001)).check();
    assert_eq!(counts(&note), [2, 1, 0, 0, 0, 0, 0], "{note:?}");
    assert_eq!(note.loss_window_s, Some(0.0));
}

#[test]
fn without_a_known_crash_the_loss_lasts_until_the_last_acknowledgement() {
    let world = World::new().client(|book| {
        acknowledge(book, Write::NewOrder(order(3001)), 1_000);
        acknowledge(book, Write::Payment(payment(100)), 1_250);
    });
    let note = world.has_payment(payment(100)).check();
    assert_eq!(note.loss_window_s, Some(0.25));
}

#[test]
fn a_number_that_was_given_out_again_after_a_crash_is_one_lost_order() {
    let world = World::new().client(|book| {
        acknowledge(book, Write::NewOrder(order(3001)), 1_000);
        acknowledge(book, Write::NewOrder(reissued(3001)), 5_000);
    });
    let note = world.has_order(reissued(3001)).crash(1.25).check();
    assert_eq!(counts(&note), [2, 1, 0, 0, 0, 0, 0]);
    assert_eq!(note.loss_window_s, Some(0.25));
}

#[test]
fn the_same_order_twice_under_one_number_is_one_lost_order() {
    let world = World::new().client(|book| {
        acknowledge(book, Write::NewOrder(order(3001)), 1_000);
        acknowledge(book, Write::NewOrder(order(3001)), 5_000);
    });
    let note = world.has_order(order(3001)).crash(1.25).check();
    assert_eq!(counts(&note), [2, 1, 0, 0, 0, 0, 0]);
    assert_eq!(note.loss_window_s, Some(0.25), "the earlier one is lost");
}

#[test]
fn a_refused_order_that_is_present_is_a_ghost() {
    let world = World::new().client(|book| {
        book.sent(Write::NewOrder(order(3001)), MS);
        book.refused();
    });
    let note = world.has_order(order(3001)).check();
    assert_eq!(counts(&note), [0, 0, 1, 0, 0, 0, 0]);
    assert_eq!((note.refused, note.violations.len()), (1, 0));
}

#[test]
fn the_number_of_a_refused_order_may_be_used_by_the_next_one() {
    let world = World::new().client(|book| {
        book.sent(Write::NewOrder(order(3001)), MS);
        book.refused();
        acknowledge(book, Write::NewOrder(order(3001)), 2);
    });
    let note = world.has_order(order(3001)).check();
    assert_eq!(counts(&note), [1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn unknown_transactions_may_be_kept_or_not() {
    let world = || {
        World::new().client(|book| {
            book.sent(Write::NewOrder(order(3001)), MS);
            book.unknown();
            book.sent(Write::Payment(payment(700)), MS);
            book.unknown();
        })
    };
    assert_eq!(counts(&world().check()), [0, 0, 0, 0, 0, 2, 0]);
    let one = world().has_order(order(3001));
    assert_eq!(counts(&one.check()), [0, 0, 0, 0, 0, 2, 1]);
    let both = world().has_order(order(3001)).has_payment(payment(700));
    assert_eq!(counts(&both.check()), [0, 0, 0, 0, 0, 2, 2]);
}

#[test]
fn an_unknown_delivery_is_kept_or_not() {
    let world = || {
        let world = World::new().client(|book| {
            acknowledge(book, Write::NewOrder(order(3001)), 1);
            book.sent(Write::Delivery(delivery(3001)), 2 * MS);
        });
        world.has_order(order(3001))
    };
    assert_eq!(counts(&world().check()), [1, 0, 0, 0, 0, 1, 0]);
    let kept = world().has_delivered(3001);
    assert_eq!(counts(&kept.check()), [1, 0, 0, 0, 0, 1, 1]);
}

#[test]
fn an_order_without_one_of_its_lines_is_partly_applied() {
    for is_known in [true, false] {
        let does: fn(&mut Book) = match is_known {
            true => |book| acknowledge(book, Write::NewOrder(order(3001)), 1),
            false => |book| book.sent(Write::NewOrder(order(3001)), MS),
        };
        let mut world = World::new().client(does).has_order(order(3001));
        world.order(3001).lines -= 1;
        assert_eq!(world.check().partly_applied, 1);
        world.order(3001).lines += 1;
        world.order(3001).cents -= 1;
        assert_eq!(world.check().partly_applied, 1);
    }
}

/// Seen on Galera: the update of the district was rolled back, and the rest of the transaction was committed (bench/results/p9).
#[test]
fn an_order_that_its_district_has_not_counted_is_partly_applied() {
    let world = World::new().client(|book| {
        acknowledge(book, Write::NewOrder(order(3001)), 1);
    });
    let mut world = world.has_order(order(3001));
    world.tables.next_o_id.insert((1, 1), 3001);
    let note = world.check();
    assert_eq!(counts(&note), [1, 0, 0, 1, 0, 0, 0]);
    let expected = "partly applied: order 3001 of warehouse 1, district 1 is there, but its district has d_next_o_id 3001";
    assert_eq!(note.findings, [expected]);
    world.order(3001).lines -= 1;
    assert_eq!(world.check().partly_applied, 1, "one transaction");
}

#[test]
fn lines_without_their_order_are_partly_applied() {
    let world = World::new().client(|book| {
        acknowledge(book, Write::NewOrder(order(3001)), 1);
    });
    let mut world = world.has_order(order(3001));
    world.order(3001).order = None;
    assert_eq!(counts(&world.check()), [1, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn an_order_that_no_client_wrote_is_a_violation() {
    let mut world = worked().has_order(order(3002));
    let note = world.check();
    let expected = "written by no client: order 3002 of warehouse 1, district 1";
    assert_eq!(note.violations, [expected]);
    world.before = world.before.keys().map(|key| (*key, 3003)).collect();
    assert_eq!(world.check().violations, [""; 0], "an earlier load's");
}

#[test]
fn a_lost_payment_is_counted() {
    let world = World::new().client(|book| {
        acknowledge(book, Write::Payment(payment(700)), 1);
        acknowledge(book, Write::Payment(payment(700)), 2);
    });
    let note = world.has_payment(payment(700)).crash(0.003).check();
    assert_eq!(counts(&note), [2, 1, 0, 0, 0, 0, 0]);
    assert_eq!(note.loss_window_s, Some(0.002));
}

#[test]
fn a_refused_payment_that_is_present_is_a_ghost_and_an_unwritten_one_a_violation() {
    let world = World::new().client(|book| {
        book.sent(Write::Payment(payment(700)), MS);
        book.refused();
    });
    let note = world
        .has_payment(payment(700))
        .has_payment(payment(900))
        .check();
    assert_eq!(counts(&note), [0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(note.violations.len(), 1);
    assert!(note.violations[0].contains("payment of 900 cents"));
}

#[test]
fn a_payment_in_some_of_its_tables_is_partly_applied_and_not_lost() {
    let paid = || World::new().client(|book| acknowledge(book, Write::Payment(payment(700)), 1));
    let only_customer = paid().has_paid(payment(700));
    assert_eq!(counts(&only_customer.check()), [1, 0, 0, 1, 0, 0, 0]);
    let without_customer = paid().has_history(payment(700));
    assert_eq!(counts(&without_customer.check()), [1, 0, 0, 1, 0, 0, 0]);
    let mut only_district = paid();
    only_district.tables.ytd.insert((1, 1), 3_000_700);
    assert_eq!(counts(&only_district.check()), [1, 0, 0, 1, 0, 0, 0]);
    let mut other_amount = paid().has_payment(payment(700));
    other_amount.customer(5).ytd_payment -= 1;
    assert_eq!(counts(&other_amount.check()), [1, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn a_delivery_that_is_gone_is_lost_and_half_of_one_is_partly_applied() {
    let delivers: fn(&mut Book) = |book| {
        let both = Delivery {
            orders: [3001, 3001, 0, 0, 0, 0, 0, 0, 0, 0],
            ..delivery(3001)
        };
        acknowledge(book, Write::Delivery(both), 9);
    };
    let second = Key {
        w: 1,
        d: 2,
        o: 3001,
    };
    let world = || {
        let world = World::new().client(delivers).client(|book| {
            acknowledge(book, Write::NewOrder(order(3001)), 1);
            let other = NewOrder {
                d: 2,
                ..order(3001)
            };
            acknowledge(book, Write::NewOrder(other), 1);
        });
        let mut world = world.has_order(order(3001));
        let held = *world.order(3001);
        world.tables.orders.insert(second, held);
        world.tables.next_o_id.insert((1, 2), 3002);
        world
    };
    assert_eq!(counts(&world().check()), [3, 1, 0, 0, 0, 0, 0]);
    let half = world().has_delivered(3001);
    assert_eq!(counts(&half.check()), [3, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn a_delivery_without_dates_or_unknown_to_its_customer_is_partly_applied() {
    let mut without_dates = worked();
    without_dates.order(3001).delivered = 0;
    assert_eq!(without_dates.check().partly_applied, 1);
    let mut still_new = worked();
    still_new.order(3001).is_new = true;
    assert_eq!(still_new.check().partly_applied, 1);
    let mut uncounted = worked();
    uncounted.customer(5).deliveries = 0;
    assert_eq!(uncounted.check().partly_applied, 1);
}

#[test]
fn an_order_that_was_delivered_again_after_a_crash_is_one_lost_delivery() {
    let world = World::new().client(|book| {
        acknowledge(book, Write::NewOrder(order(3001)), 1);
        acknowledge(book, Write::Delivery(delivery(3001)), 2);
        acknowledge(book, Write::Delivery(delivery(3001)), 900);
    });
    let world = world.has_order(order(3001)).has_delivered(3001).crash(0.5);
    let note = world.check();
    assert_eq!(counts(&note), [3, 1, 0, 0, 0, 0, 0]);
    assert_eq!(note.loss_window_s, Some(0.498));
}

#[test]
fn an_order_that_a_reader_saw_and_that_is_gone_is_seen_but_lost() {
    let world = || {
        World::new()
            .client(|book| book.sent(Write::NewOrder(order(3001)), 100 * MS))
            .client(|book| book.saw(1, 1, 3002, 200 * MS))
            .crash(0.5)
    };
    let gone = world().check();
    assert_eq!(counts(&gone), [0, 0, 0, 0, 1, 1, 0]);
    let expected =
        "seen by a reader, but lost: order 3001 of warehouse 1, district 1, seen at 0.200 s";
    assert_eq!(gone.findings, [expected]);
    let kept = world().has_order(order(3001)).check();
    assert_eq!(counts(&kept), [0, 0, 0, 0, 0, 1, 1]);
    let again = world().client(|book| acknowledge(book, Write::NewOrder(reissued(3001)), 900));
    let note = again.has_order(reissued(3001)).check();
    assert_eq!(
        counts(&note),
        [1, 0, 0, 0, 1, 1, 0],
        "a new order has its number"
    );
}

#[test]
fn only_the_first_faults_of_a_kind_have_a_sentence() {
    let world = World::new().client(|book| {
        for o in 3001..3021 {
            acknowledge(book, Write::NewOrder(order(o)), 1);
        }
    });
    let note = world.check();
    assert_eq!((note.lost, note.findings.len()), (20, 5));
}

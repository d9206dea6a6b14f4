//! Deliveries: all orders of one are delivered, or none; and customers count what was delivered to them.

use super::findings::{Fault, Findings};
use crate::tpcc::ledger::facts::{Delivery, Facts, Noted, Write};
use crate::tpcc::ledger::tables::{Counted, CustomerKey, Key, Tables};
use std::collections::HashMap;

struct Claim {
    delivery: Delivery,
    at_s: f64,
    is_acknowledged: bool,
}

impl Claim {
    fn from_delivery(noted: &Noted<Delivery>, is_acknowledged: bool) -> Claim {
        Claim {
            delivery: noted.what,
            at_s: noted.at_s(),
            is_acknowledged,
        }
    }

    fn keys(&self) -> impl Iterator<Item = Key> {
        let Delivery { w, orders, .. } = self.delivery;
        let delivered = (1..).zip(orders).filter(|(_, o)| *o != 0);
        delivered.map(move |(d, o)| Key { w, d, o })
    }

    fn named(&self) -> String {
        let Delivery { w, carrier, .. } = self.delivery;
        let orders: Vec<String> = self.keys().map(|key| key.o.to_string()).collect();
        format!(
            "delivery of warehouse {w} by carrier {carrier}, orders {}",
            orders.join(" ")
        )
    }
}

/// How much of the delivery of one order is in the tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    Part,
    None,
}

pub(super) fn check(facts: &Facts, tables: &Tables, findings: &mut Findings) {
    let claims = claims(facts);
    let mut owners: HashMap<Key, usize> = HashMap::new();
    for (place, claim) in claims.iter().enumerate() {
        for key in claim.keys() {
            if extent(tables, key, claim.delivery.carrier) == Extent::Whole {
                owners.insert(key, place);
            }
        }
    }
    for (place, claim) in claims.iter().enumerate() {
        let of_order = |key: Key| match extent(tables, key, claim.delivery.carrier) {
            Extent::Whole if owners[&key] != place => Extent::None,
            other => other,
        };
        let extents: Vec<Extent> = claim.keys().map(of_order).collect();
        let are_all = |extent| extents.iter().all(|one| *one == extent);
        match claim.is_acknowledged {
            true if are_all(Extent::Whole) => {}
            false if are_all(Extent::Whole) => findings.unknown_kept += 1,
            true if are_all(Extent::None) => findings.lose(claim.at_s, || claim.named()),
            false if are_all(Extent::None) => {}
            _ => findings.add(Fault::PartlyApplied, || claim.named()),
        }
    }
    customers(tables, findings);
}

/// The latest last: where several fit one order, it is the owner.
fn claims(facts: &Facts) -> Vec<Claim> {
    let acknowledged = facts
        .deliveries
        .iter()
        .map(|noted| Claim::from_delivery(noted, true));
    let unknown = facts.unknown.iter().filter_map(|noted| match noted.what {
        Write::Delivery(delivery) => Some(Claim::from_delivery(&noted.with(delivery), false)),
        _ => None,
    });
    let mut claims: Vec<Claim> = acknowledged.chain(unknown).collect();
    claims.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    claims
}

/// An order that another carrier has delivered was not delivered by this one.
fn extent(tables: &Tables, key: Key, carrier: u8) -> Extent {
    let Some(held) = tables.orders.get(&key) else {
        return Extent::None;
    };
    let taken = held.order.and_then(|row| row.carrier);
    match taken {
        Some(other) if other != carrier => Extent::None,
        Some(_) if held.delivered == held.lines && !held.is_new => Extent::Whole,
        None if held.delivered == 0 && held.is_new => Extent::None,
        _ => Extent::Part,
    }
}

/// C_DELIVERY_CNT is the number of the customer's orders that were delivered since the load.
fn customers(tables: &Tables, findings: &mut Findings) {
    let mut delivered: HashMap<CustomerKey, i64> = HashMap::new();
    for (key, held) in &tables.orders {
        if let Some(row) = held.order.filter(|row| row.carrier.is_some()) {
            *delivered.entry((key.w, key.d, row.c)).or_default() += 1;
        }
    }
    let counted = |key: &CustomerKey| {
        let counted = tables.customers.get(key).unwrap_or(&Counted::LOADED);
        counted.deliveries
    };
    let with_orders = delivered.keys();
    let others = tables.customers.keys();
    let others = others.filter(|key| !delivered.contains_key(*key));
    for key in with_orders.chain(others) {
        let orders = delivered.get(key).copied().unwrap_or(0);
        let (counted, (w, d, c)) = (counted(key), key);
        for _ in 0..counted.abs_diff(orders) {
            findings.add(Fault::PartlyApplied, || format!(
                "c_delivery_cnt of customer {c}, warehouse {w}, district {d}, is {counted} but {orders} of its orders were delivered"
            ));
        }
    }
}

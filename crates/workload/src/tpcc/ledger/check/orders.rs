//! New-Orders: each is there whole or not at all.

use super::Before;
use super::findings::{Fault, Findings};
use crate::tpcc::ledger::facts::{Facts, NewOrder, Noted, Write};
use crate::tpcc::ledger::tables::{Held, Key, OrderRow, Tables};
use std::collections::HashMap;

/// When the transaction that a present order belongs to was acknowledged, in seconds since the start of the load. For an unknown
/// one, when it was sent.
pub(super) type Owners = HashMap<Key, f64>;

/// What the clients know of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Acknowledged,
    Unknown,
    Refused,
}

/// A transaction that may have written the order with its key.
#[derive(Clone, Copy)]
struct Claim {
    order: NewOrder,
    at_s: f64,
    standing: Standing,
}

impl NewOrder {
    fn key(&self) -> Key {
        Key {
            w: self.w,
            d: self.d,
            o: self.o,
        }
    }

    /// Whether the row of orders is this transaction's.
    fn is(&self, row: &OrderRow) -> bool {
        (self.c, self.lines, self.all_local) == (row.c, row.ol_cnt, row.all_local)
    }

    /// Whether its lines are all there.
    fn is_whole(&self, held: &Held) -> bool {
        held.lines == u32::from(self.lines) && held.cents == i64::from(self.cents)
    }
}

impl Key {
    pub(super) fn named(&self) -> String {
        let Key { w, d, o } = self;
        format!("order {o} of warehouse {w}, district {d}")
    }
}

pub(super) fn check(
    facts: &Facts,
    before: &Before,
    tables: &Tables,
    findings: &mut Findings,
) -> Owners {
    let mut owners = Owners::new();
    let claims = claims(facts);
    for claims in claims.chunk_by(|one, other| one.order.key() == other.order.key()) {
        let key = claims[0].order.key();
        let held = tables.orders.get(&key).copied().unwrap_or_default();
        let next = tables.next_o_id.get(&(key.w, key.d)).copied();
        if let Some(at_s) = settle(key, claims, &held, next, findings) {
            owners.insert(key, at_s);
        }
    }
    let is_claimed = |key: &Key| {
        let place = claims.binary_search_by_key(key, |claim| claim.order.key());
        place.is_ok()
    };
    for key in tables.orders.keys() {
        let first = before.get(&(key.w, key.d));
        if first.is_some_and(|first| key.o >= *first) && !is_claimed(key) {
            findings.add(Fault::Foreign, || key.named());
        }
    }
    owners
}

/// By key, the latest first, refused ones last.
fn claims(facts: &Facts) -> Vec<Claim> {
    let claim = |standing| {
        move |noted: &Noted<NewOrder>| Claim {
            order: noted.what,
            at_s: noted.at_s(),
            standing,
        }
    };
    let acknowledged = facts.orders.iter().map(claim(Standing::Acknowledged));
    let unknown = facts.unknown.iter().filter_map(|noted| match noted.what {
        Write::NewOrder(order) => Some(claim(Standing::Unknown)(&noted.with(order))),
        _ => None,
    });
    let refused = facts.refused.iter().filter_map(|write| match write {
        Write::NewOrder(order) => Some(claim(Standing::Refused)(&Noted::new(*order, 0))),
        _ => None,
    });
    let mut claims: Vec<Claim> = acknowledged.chain(unknown).chain(refused).collect();
    claims.sort_by(|one, other| {
        let by_key = one.order.key().cmp(&other.order.key());
        by_key.then(other.at_s.total_cmp(&one.at_s))
    });
    claims
}

/// Decides whose order the tables hold, and what is lost therefore. Returns when the owner was acknowledged. `next`: D_NEXT_O_ID of
/// the district.
fn settle(
    key: Key,
    claims: &[Claim],
    held: &Held,
    next: Option<u32>,
    findings: &mut Findings,
) -> Option<f64> {
    let owner = held.order.and_then(|row| owner(claims, &row));
    let is_owner = |place: usize| owner == Some(place);
    // The rest of a transaction without its row of orders, or with a row that fits none.
    let is_torn = owner.is_none() && *held != Held::default();
    let mut is_torn_found = false;
    for (place, claim) in claims.iter().enumerate() {
        let named = || format!("{}, customer {}", key.named(), claim.order.c);
        match claim.standing {
            Standing::Refused if is_owner(place) => findings.add(Fault::Ghost, named),
            Standing::Refused => {}
            _ if is_owner(place) => {
                findings.unknown_kept += u64::from(claim.standing == Standing::Unknown);
                let uncounted = next.filter(|next| *next <= key.o);
                if !claim.order.is_whole(held) {
                    findings.add(Fault::PartlyApplied, || lines_of(&claim.order, held));
                } else if let Some(next) = uncounted {
                    findings.add(Fault::PartlyApplied, || uncounted_by(key, next));
                }
            }
            _ if is_torn && !is_torn_found => {
                is_torn_found = true;
                findings.add(Fault::PartlyApplied, || lines_of(&claim.order, held));
            }
            Standing::Acknowledged => findings.lose(claim.at_s, named),
            Standing::Unknown => {}
        }
    }
    owner.map(|place| claims[place].at_s)
}

/// The place of the latest claim that fits the row. A refused New-Order did only a part of its lines.
fn owner(claims: &[Claim], row: &OrderRow) -> Option<usize> {
    let fits = |claim: &Claim| claim.standing != Standing::Refused && claim.order.is(row);
    let is_ghost = |claim: &Claim| claim.standing == Standing::Refused && claim.order.c == row.c;
    let place = claims.iter().position(fits);
    place.or_else(|| claims.iter().position(is_ghost))
}

fn uncounted_by(key: Key, next: u32) -> String {
    let named = key.named();
    format!("{named} is there, but its district has d_next_o_id {next}")
}

fn lines_of(order: &NewOrder, held: &Held) -> String {
    let row = match held.order {
        Some(row) => format!("orders has o_ol_cnt {} of customer {}", row.ol_cnt, row.c),
        None => "orders has no row".to_owned(),
    };
    format!(
        "{} has {} lines with {} cents and customer {}, but {row} and order_line has {} rows with {} cents",
        order.key().named(),
        order.lines,
        order.cents,
        order.c,
        held.lines,
        held.cents
    )
}

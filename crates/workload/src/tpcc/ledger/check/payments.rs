//! Payments: each has its row of history, and the customer and the district have its amount.
//!
//! A row of history has no number, but its keys and its amount tell payments apart. Of equal ones, the latest are taken as present.

use super::findings::{Fault, Findings};
use crate::tpcc::ledger::facts::{Facts, Payment, Write};
use crate::tpcc::ledger::tables::{Counted, CustomerKey, District, LOADED_YTD, Tables};
use std::collections::HashMap;

/// Equal payments, by what the clients know of them.
#[derive(Default)]
struct Claims {
    /// When they were acknowledged, in seconds since the start of the load.
    acknowledged_s: Vec<f64>,
    unknown: usize,
    refused: usize,
    rows: usize,
}

impl Payment {
    fn customer(&self) -> CustomerKey {
        (self.c_w, self.c_d, self.c)
    }

    fn named(&self) -> String {
        let Payment {
            w,
            d,
            c_w,
            c_d,
            c,
            cents,
        } = self;
        format!(
            "payment of {cents} cents by customer {c} of warehouse {c_w}, district {c_d}, at warehouse {w}, district {d}"
        )
    }
}

/// An acknowledged payment without a row of history.
struct Missing {
    payment: Payment,
    at_s: f64,
}

/// `is_fresh`: no earlier load has left rows of history.
pub(super) fn check(facts: &Facts, is_fresh: bool, tables: &Tables, findings: &mut Findings) {
    let mut missing = Vec::new();
    for (payment, claims) in claims(facts, &tables.payments) {
        settle(payment, claims, is_fresh, findings, &mut missing);
    }
    customers(tables, findings, &mut missing);
    districts(tables, findings, &mut missing);
    for Missing { payment, at_s } in missing {
        findings.lose(at_s, || payment.named());
    }
}

fn claims(facts: &Facts, rows: &[Payment]) -> HashMap<Payment, Claims> {
    let mut claims: HashMap<Payment, Claims> = HashMap::new();
    for noted in facts.payments.iter() {
        let of_payment = claims.entry(noted.what).or_default();
        of_payment.acknowledged_s.push(noted.at_s());
    }
    for noted in &facts.unknown {
        if let Write::Payment(payment) = noted.what {
            claims.entry(payment).or_default().unknown += 1;
        }
    }
    for write in &facts.refused {
        if let Write::Payment(payment) = write {
            claims.entry(*payment).or_default().refused += 1;
        }
    }
    for row in rows {
        claims.entry(*row).or_default().rows += 1;
    }
    claims
}

/// Gives the rows to acknowledged payments first, then to unknown, then to refused ones.
fn settle(
    payment: Payment,
    mut claims: Claims,
    is_fresh: bool,
    findings: &mut Findings,
    missing: &mut Vec<Missing>,
) {
    claims.acknowledged_s.sort_by(f64::total_cmp);
    let present = claims.rows.min(claims.acknowledged_s.len());
    let absent = claims.acknowledged_s.len() - present;
    let lost = claims.acknowledged_s[..absent].iter();
    missing.extend(lost.map(|&at_s| Missing { payment, at_s }));
    let rows = claims.rows - present;
    let kept = rows.min(claims.unknown);
    findings.unknown_kept += kept as u64;
    let rows = rows - kept;
    let ghosts = rows.min(claims.refused);
    (0..ghosts).for_each(|_| findings.add(Fault::Ghost, || payment.named()));
    if is_fresh {
        (ghosts..rows).for_each(|_| findings.add(Fault::Foreign, || payment.named()));
    }
}

/// C_PAYMENT_CNT and C_YTD_PAYMENT are those of the load and of the customer's rows of history.
fn customers(tables: &Tables, findings: &mut Findings, missing: &mut Vec<Missing>) {
    let mut expected: HashMap<CustomerKey, Counted> = HashMap::new();
    for payment in &tables.payments {
        let of_customer = expected
            .entry(payment.customer())
            .or_insert(Counted::LOADED);
        of_customer.payments += 1;
        of_customer.ytd_payment += i64::from(payment.cents);
    }
    let others = tables.customers.keys();
    let others: Vec<_> = others.filter(|key| !expected.contains_key(*key)).collect();
    for key in expected.keys().chain(others) {
        let expected = expected.get(key).unwrap_or(&Counted::LOADED);
        let found = tables.customers.get(key).unwrap_or(&Counted::LOADED);
        let more = found.payments - expected.payments;
        if more == 0 && found.ytd_payment == expected.ytd_payment {
            continue;
        }
        // Payments that the customer has but history has not are torn, not lost.
        for _ in 0..more.max(0) {
            take(missing, |one| one.payment.customer() == *key);
        }
        let (w, d, c) = key;
        for _ in 0..more.abs().max(1) {
            findings.add(Fault::PartlyApplied, || format!(
                "customer {c} of warehouse {w}, district {d} has c_payment_cnt {} and c_ytd_payment {} cents, but the load and history make {} and {}",
                found.payments, found.ytd_payment, expected.payments, expected.ytd_payment
            ));
        }
    }
}

/// D_YTD is that of the load and of the district's rows of history. A payment that is only in the district is torn, not lost.
fn districts(tables: &Tables, findings: &mut Findings, missing: &mut Vec<Missing>) {
    let mut expected: HashMap<District, i64> = HashMap::new();
    for payment in &tables.payments {
        let of_district = expected.entry((payment.w, payment.d)).or_insert(LOADED_YTD);
        *of_district += i64::from(payment.cents);
    }
    let is_found = findings.count(Fault::PartlyApplied) > 0;
    for (key, found) in &tables.ytd {
        let expected = expected.get(key).copied().unwrap_or(LOADED_YTD);
        let (w, d) = *key;
        let more = found - expected;
        let is_here = |one: &Missing| {
            (one.payment.w, one.payment.d) == *key && i64::from(one.payment.cents) == more
        };
        if more != 0 && (take(missing, is_here) || !is_found) {
            findings.add(Fault::PartlyApplied, || format!(
                "d_ytd of warehouse {w}, district {d} is {found} cents, but the load and history make {expected}"
            ));
        }
    }
}

/// Takes out one missing payment. Returns whether there was one.
fn take(missing: &mut Vec<Missing>, is_it: impl Fn(&Missing) -> bool) -> bool {
    let place = missing.iter().position(is_it);
    place.map(|place| missing.swap_remove(place)).is_some()
}

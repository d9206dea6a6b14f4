//! Compares what the clients remember with what the tables hold.
//!
//! Purpose: find every acknowledged transaction that is missing, every refused one that is there, and every one that is there in
//! parts. Pure: tests plant each fault in tables in memory. Boundaries: sums over whole tables are the conditions' matter.
//!
//! After a crash that lost orders, their numbers are given out again. So several transactions can claim one row, and it belongs
//! to the latest one that fits: no earlier one can have survived.

mod deliveries;
mod findings;
mod orders;
mod payments;
mod seen;
#[cfg(test)]
mod tests;

use super::facts::Facts;
use super::tables::{District, Tables};
use findings::Findings;
use record::AuditNote;
use std::collections::BTreeMap;
use std::ops::Range;

/// D_NEXT_O_ID before the load, by district.
pub type Before = BTreeMap<District, u32>;

/// From a crash until the next process was launched, in seconds since the start of the load. What clients note in between, the old
/// process has still answered.
type CrashS = Range<f64>;

/// Compares the facts with the tables. `crashes_s` are ascending.
pub fn check(facts: &Facts, before: &Before, tables: &Tables, crashes_s: &[CrashS]) -> AuditNote {
    let mut findings = Findings::default();
    let owners = orders::check(facts, before, tables, &mut findings);
    deliveries::check(facts, tables, &mut findings);
    payments::check(facts, is_fresh(before), tables, &mut findings);
    seen::check(facts, before, &owners, crashes_s, &mut findings);
    let loss_window_s = loss_window_s(&findings.lost_at_s, crashes_s, last_s(facts));
    AuditNote {
        acknowledged: facts.acknowledged(),
        refused: facts.refused_count,
        unknown: facts.unknown.len() as u64,
        loss_window_s,
        ..findings.note()
    }
}

/// Whether the tables were those of the load: then each row that no client wrote is an error.
fn is_fresh(before: &Before) -> bool {
    let first = datagen::tpcc::CUSTOMERS_PER_DISTRICT as u32 + 1;
    before.values().all(|next| *next == first)
}

/// The crash that took what was noted at this time.
fn after(crashes_s: &[CrashS], at_s: f64) -> Option<&CrashS> {
    crashes_s.iter().find(|crash| crash.end >= at_s)
}

/// When a client got its last acknowledgement.
fn last_s(facts: &Facts) -> f64 {
    let orders = facts.orders.iter().map(|one| one.at_s());
    let payments = facts.payments.iter().map(|one| one.at_s());
    let deliveries = facts.deliveries.iter().map(|one| one.at_s());
    orders.chain(payments).chain(deliveries).fold(0.0, f64::max)
}

/// From the oldest lost acknowledgement to the crash that lost it, the longest of all crashes. Where no crash is known, until the
/// last acknowledgement.
fn loss_window_s(lost_at_s: &[f64], crashes_s: &[CrashS], last_s: f64) -> Option<f64> {
    let window = |at_s: &f64| {
        let crash = after(crashes_s, *at_s).or(crashes_s.last());
        let crash_s = crash.map_or(last_s, |crash| crash.start);
        f64::max(0.0, crash_s - at_s)
    };
    lost_at_s.iter().map(window).reduce(f64::max)
}

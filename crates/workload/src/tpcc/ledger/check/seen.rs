//! Orders that a reader saw committed and that are gone.

use super::findings::{Fault, Findings};
use super::orders::Owners;
use super::{Before, CrashS, after};
use crate::tpcc::ledger::facts::Facts;
use crate::tpcc::ledger::tables::Key;

/// A reader that saw a D_NEXT_O_ID saw all orders below it committed. Each must be there, and not have been written after the
/// crash that followed: then its number was given out again.
pub(super) fn check(
    facts: &Facts,
    before: &Before,
    owners: &Owners,
    crashes_s: &[CrashS],
    findings: &mut Findings,
) {
    for (&(w, d), seen) in &facts.seen {
        let Some(&first) = before.get(&(w, d)) else {
            continue;
        };
        let seen_s = seen.at_s();
        let crash = after(crashes_s, seen_s);
        let is_kept = |key: &Key| {
            let owner_s = owners.get(key);
            owner_s.is_some_and(|at_s| crash.is_none_or(|crash| *at_s <= crash.end))
        };
        for o in first..seen.what {
            let key = Key { w, d, o };
            if !is_kept(&key) {
                findings.add(Fault::SeenButLost, || {
                    format!("{}, seen at {seen_s:.3} s", key.named())
                });
            }
        }
    }
}

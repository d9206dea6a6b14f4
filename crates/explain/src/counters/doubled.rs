//! Counters that count a row twice while a feature is used, and so look like more work.
//!
//! Purpose: a warning wherever such a counter is listed. With multi-range read a row is found by its index entry and
//! read by its position afterwards, and each of the two counts. Which counters of which server do was measured
//! (tests/real/doubled.rs, docs/COUNTERS.md).

use crate::side::{Side, VERSION};
use record::{RoundSelector, Trial};

/// The side on which a counter counts double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubled {
    Of,
    To,
    Both,
}

impl Doubled {
    /// `counts each row twice under MRR, which A used; it is not more work`
    pub fn words(self) -> &'static str {
        match self {
            Doubled::Of => "counts each row twice under MRR, which A used; it is not more work",
            Doubled::To => "counts each row twice under MRR, which B used; it is not more work",
            Doubled::Both => {
                "counts each row twice under MRR, which both used; it is not more work"
            }
        }
    }
}

/// MySQL does not count a multi-range read of a range in `Handler_mrr_init`; the plan shows it.
const PLANS: [&str; 3] = ["Using MRR", "Rowid-ordered scan", "Key-ordered scan"];
const INITS: &str = "Handler_mrr_init";

/// Counters that count rows twice in MySQL; MariaDB counts them once.
pub const COUNTERS: [&str; 3] = ["Handler_read_key", "Innodb_rows_read", "dml_reads"];

pub(crate) fn doubled(counter: &str, of: &Side, to: &Side) -> Option<Doubled> {
    if !COUNTERS.contains(&counter) {
        return None;
    }
    match (counts_twice(of), counts_twice(to)) {
        (true, true) => Some(Doubled::Both),
        (true, false) => Some(Doubled::Of),
        (false, true) => Some(Doubled::To),
        (false, false) => None,
    }
}

/// Whether it used multi-range read on a server that counts its rows twice.
fn counts_twice(side: &Side) -> bool {
    let begun = side.counter(&[INITS]);
    let has_begun = begun.is_some_and(|(_, values)| values.iter().any(|value| *value > 0.0));
    let uses_mrr = has_begun || PLANS.iter().any(|words| side.a_plan_holds(words));
    uses_mrr && !is_mariadb(side)
}

/// Recognised by the version, or by counters that only MariaDB has.
fn is_mariadb(side: &Side) -> bool {
    let is_mariadb = |version: &str| version.contains("MariaDB");
    side.setting(VERSION).is_some_and(is_mariadb)
        || side.counter(&["Handler_mrr_rowid_refills"]).is_some()
}

/// Whether `COUNTERS` count rows twice in the rounds of this name of these trials.
pub fn counts_rows_twice(trials: &[&Trial], round: &str) -> bool {
    let selector = RoundSelector {
        name: round.to_string(),
        index: None,
    };
    counts_twice(&Side::of(trials, Some(&selector), None))
}

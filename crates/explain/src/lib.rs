//! What the counters, settings and plans of MySQL-family servers mean, and which of them explain a difference.
//!
//! Purpose: all knowledge of servers that a report needs, applied to a record. Boundaries: `observe` queries servers,
//! `stats` makes figures and verdicts, `report` makes wording and layout.

mod counters;
pub mod plan;
mod side;
mod stalls;
mod why;

pub use counters::causes::telling_settings;
pub use counters::cost::{Cost, Explains};
pub use counters::doubled::{COUNTERS as DOUBLED_COUNTERS, Doubled, counts_rows_twice};
pub use counters::meanings::meaning;
pub use counters::misses::Misses;
pub use counters::rank::Difference;
pub use plan::uses::{PlanTime, PlanUse, QueryPlans, RowUse, query_plans};
pub use plan::{PlanStep, StepChange, plan_holds};
pub use side::SideName;
pub use side::times::TimesVerdict;
pub use side::unintended::{Intended, Unintended, is_of_an_instance};
pub use stalls::{NamedCause, StallCause, StallEvidence, stall_causes};
pub use why::limits::LimitReason;
pub use why::reason::{Because, Evidence, Reason};
pub use why::{Explanation, Finding, RowName, Why, explain_claim, explain_largest};

use record::{Judged, Question, Trial};

/// Judges every claim of the question, plans included: see [`stats::judge`].
pub fn judge(question: &Question, trials: &[Trial]) -> Vec<Judged> {
    stats::judge(question, trials, &plan_holds)
}

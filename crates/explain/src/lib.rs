//! What the counters, settings and plans of MySQL-family servers mean, and which of them explain a difference.
//!
//! Purpose: all knowledge of servers that a report needs, applied to a record. Boundaries: `observe` queries servers,
//! `stats` makes figures and verdicts, `report` makes wording and layout.

mod causes;
mod cost;
mod doubled;
mod limits;
mod meanings;
mod misses;
pub mod plan;
mod plan_uses;
mod rank;
mod reason;
mod side;
mod stalls;
mod times;
mod unintended;
mod why;

pub use causes::telling_settings;
pub use cost::Cost;
pub use doubled::{COUNTERS as DOUBLED_COUNTERS, Doubled, counts_rows_twice};
pub use limits::LimitReason;
pub use meanings::meaning;
pub use misses::Misses;
pub use plan::{PlanStep, StepChange, plan_holds};
pub use plan_uses::{PlanTime, PlanUse, QueryPlans, RowUse, query_plans};
pub use rank::Difference;
pub use reason::{Because, Evidence, Explains, Reason, SideName};
pub use stalls::{NamedCause, StallCause, StallEvidence, stall_causes};
pub use times::TimesVerdict;
pub use unintended::{Intended, Unintended, is_of_an_instance};
pub use why::{Explanation, Finding, RowName, Why, explain_claim, explain_largest};

use record::{Judged, Question, Trial};

/// Judges every claim of the question, plans included: see [`stats::judge`].
pub fn judge(question: &Question, trials: &[Trial]) -> Vec<Judged> {
    stats::judge(question, trials, &plan_holds)
}

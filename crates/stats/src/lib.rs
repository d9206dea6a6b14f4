//! Figures with their intervals, and verdicts: all from recorded trials alone.
//!
//! Purpose: each rule for numbers (docs/METHODOLOGY.md), implemented once. Boundaries: no I/O; crate `record` has the words, crate
//! `report` draws, crate `explain` explains differences.
//!
//! Only trials that are done count. The unit is the trial, so every interval is over blocks.
//!
//! ```
//! // Seconds of two servers in four blocks: the ratio of the first to the second, with its 95 % interval.
//! let ratio = stats::LogMean::of_ratios(&[1.1, 1.2, 1.1, 1.2], &[1.0, 1.1, 1.0, 1.1]).unwrap();
//! let (low, high) = ratio.ci().unwrap();
//! assert!(low < ratio.geometric() && ratio.geometric() < high && low > 1.05);
//! ```

mod compare;
#[cfg(test)]
mod fixture;
mod inference;
mod judge;
mod load;
mod noise;
mod series;
mod tables;
mod values;

pub use compare::across::{Across, LeftOut, across};
pub use compare::contrast::{Compared, Contrast, TOLERANCE, against_first};
pub use inference::benjamini::discoveries;
pub use inference::estimate::{Estimate, mean};
pub use inference::holm::rejected;
pub use inference::moderated;
pub use inference::ratio::{CONFIDENCE, Comparison, LogMean, MARGIN};
pub use judge::basis::{Basis, FailedShares, Losses, LostTransactions, Progress, incomplete};
pub use judge::decide::are_equivalent;
pub use judge::plans::{PlanChange, PlanHolds, plan_changes};
pub use judge::same_work::{OtherWork, Work};
pub use judge::{judge, needs_query_counters, undecided};
pub use load::accounts::{mostly_failed, spoiled, summed, too_long, total};
pub use load::around_events::{Around, Span, around};
pub use load::generator::client_link::{CpuUse, LinkUse};
pub use load::generator::short_slices::short_slices;
pub use load::measured::measured;
pub use load::percentiles::{percentiles, quantile_ms};
pub use load::recovery::add_recovered;
pub use load::stability::backlog;
pub use load::stall::calm_seconds;
pub use load::steady::throughput_after;
pub use load::summary::{RULES, summarise, summary};
pub use noise::budget::{Budget, SliceNoise, Spent};
pub use noise::control::{Control, Twice, control};
pub use noise::power::{Power, effect, level, power};
pub use noise::slice_noise::SliceFigures;
pub use noise::variance::{Variance, variance};
pub use series::running::Usual;
pub use series::snia;
pub use tables::drift::{Drift, drifts};
pub use tables::loads::{LatencyEstimates, LoadRow, loads};
pub use tables::predictions::{PredictedBlock, Prediction, predictions};
pub use tables::recoveries::{Recovery, recoveries};
pub use tables::round_scaling::{RoundPoint, RoundScaling, round_scaling};
pub use tables::scaling::{Scaling, ScalingPoint, scaling};
pub use tables::table::{QueryRow, RoundCell, Row, queries, rows, table};
pub use tables::workers::{BestWorkers, best_workers};
pub use tables::{queueing, resource_use};
pub use values::cells::{
    RowKey, by_key, each_once, lack_the_same, matching, rounds as matching_rounds, row_key,
};

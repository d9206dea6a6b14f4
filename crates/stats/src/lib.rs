//! Figures with their intervals, and verdicts: all from recorded trials alone.
//!
//! Purpose: each rule for numbers (docs/METHODOLOGY.md), implemented once. Boundaries: no I/O; crate `record` has the words, crate
//! `report` draws, crate `explain` explains differences.
//!
//! Only trials that are done count. The unit is the trial, so every interval is over blocks.
//!
//! ```
//! // Seconds of two servers in four blocks: the ratio of the first to the second, with its 95 % interval.
//! let (ratio, interval, _) = stats::compare(&[1.1, 1.2, 1.1, 1.2], &[1.0, 1.1, 1.0, 1.1], stats::MARGIN);
//! let (low, high) = interval.unwrap();
//! assert!(low < ratio && ratio < high && low > 1.05);
//! ```

mod accounts;
mod across;
mod answers;
mod around;
mod basis;
mod batches;
mod benjamini;
mod cells;
mod change;
mod conformance;
mod contrast;
mod control;
mod decide;
mod engine;
mod estimate;
mod finding;
#[cfg(test)]
mod fixture;
mod holm;
mod judge;
mod late;
mod lender;
mod likeness;
mod line;
pub mod link;
mod load_value;
mod loads;
pub mod moderated;
#[cfg(test)]
mod noise;
mod own_stalls;
mod percentiles;
mod period;
mod plans;
mod power;
mod predictions;
#[cfg(test)]
mod published_tests;
pub mod queueing;
mod ratio;
mod recovery;
mod resolution;
mod round_scaling;
mod running;
mod scaling;
mod series_of;
mod shift;
mod sight;
pub mod snia;
mod spread;
mod stability;
mod stale;
mod stall;
mod steady;
mod summary;
mod table;
mod trigamma;
pub mod used;
mod variance;
mod work;
mod workers;

pub use accounts::{mostly_failed, spoiled, too_long, total};
pub use across::{Across, LeftOut, across};
pub use around::{Around, Span, around};
pub use basis::{Basis, FailedShares, Progress, incomplete};
pub use benjamini::discoveries;
pub use cells::{RowKey, lack_the_same, matching, rounds as matching_rounds, row_key};
pub use contrast::{Compared, Contrast, TOLERANCE, against_first};
pub use control::{Control, Twice, control};
pub use holm::rejected;
pub use loads::{LatencyEstimates, LoadRow, loads};
pub use percentiles::{percentiles, quantile_ms};
pub use power::{Power, power};
pub use predictions::{PredictedBlock, Prediction, predictions};
pub use recovery::{Recoveries, add_recovered, recoveries};
pub use round_scaling::{RoundPoint, RoundScaling, round_scaling};
pub use running::Usual;
pub use scaling::{Scaling, ScalingPoint, scaling};
pub use stability::backlog;
pub use stall::calm_seconds;
pub use steady::throughput_after;
pub use summary::{RULES, measured, summarise, summary};
pub use variance::{Variance, variance};
pub use work::{OtherWork, Work};
pub use workers::{BestWorkers, best_workers};

pub use estimate::Estimate;
pub use judge::{PlanHolds, judge, needs_query_counters, undecided};
pub use plans::{PlanChange, plan_changes};
pub use ratio::{CONFIDENCE, Comparison, LogMean, MARGIN, compare, compare_throughput, is_same};
pub use table::{QueryRow, RoundCell, Row, queries, rows, table};

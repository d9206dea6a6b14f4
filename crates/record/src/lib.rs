//! The record of a run: the question, what was measured and where.
//!
//! Purpose: the vocabulary that the protocol writes, every report reads, and crates share. Boundaries: no I/O (`store` keeps it in
//! a file), no statistics (`stats`), nothing of servers or SQL dialects. Counters, settings and plans are opaque names and
//! texts here; crate `explain` interprets them.

pub mod answer_hash;
mod audit;
mod calendar;
pub mod claim;
pub mod environment;
pub mod event;
mod flag;
pub mod histogram;
mod histogram_sum;
pub mod load;
mod load_factor;
mod looks;
pub mod names;
pub mod number;
pub mod plan;
mod query_error;
pub mod run;
mod sharing;
mod state;
pub mod summary;
pub mod trial;
pub mod visible;
mod word;

pub use audit::{AuditFigure, AuditNote, InputCheck};
pub use calendar::Moment;
pub use claim::{
    BlocksUsed, Bound, Cell, Claim, DecidedAfter, Direction, Finding, Judged, Limit, Percentile,
    RoundSelector, Subject, Value, Verdict,
};
pub use environment::{Conditions, Environment, ServerIdentity};
pub use flag::{Flag, FlagKind};
pub use histogram::PackedHistogram;
pub use histogram_sum::HistogramSum;
pub use load::{
    Arrivals, CARRIED, CARRIED_ERRORS, EffectNote, EngineNote, EngineStall, ErrorCount, ErrorKind,
    HistogramNote, Kind, LiveSample, LiveTrial, Loaded, Mode, OpenNote, RateRange, Requirement,
    ShardStart, Standard, UNCOUNTED, Unfinished, Warmup, done_series,
};
pub use load_factor::LoadFactor;
pub use looks::{Ended, Look, Looks};
pub use number::{grouped, percent, separated};
pub use plan::{FormKind, PlanForm};
pub use query_error::QueryError;

pub use run::{Factor, Question, Run, Slim, WorkloadNote};
pub use sharing::{ShardNote, Sharing};
pub use state::{State, StateKind};
pub use summary::{
    Account, AtEdge, Conformance, Conforming, EngineCheck, Latency, LevelShift, Moved, Offered,
    OwnStalls, Percentiles, Period, SAMPLES_ABOVE, SAMPLES_ABOVE_MIN, SPANS_ABOVE, Seen, Shape,
    Sight, StaleReads, Stall, Steady, Summary,
};
pub use trial::{
    Answer, Coldness, Counters, DatasetNote, EventNote, LimitNote, Query, Role, Round, Trial,
    TrialKey, TrialState,
};

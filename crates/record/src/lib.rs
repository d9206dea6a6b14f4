//! The record of a run: the question, what was measured and where.
//!
//! Purpose: the vocabulary that the protocol writes, every report reads, and crates share. Boundaries: no I/O (`store` keeps it in
//! a file), no statistics (`stats`), nothing of servers or SQL dialects. Counters, settings and plans are opaque names and
//! texts here; crate `explain` interprets them.

pub mod claim;
mod family;
pub mod histogram;
mod key;
pub mod load;
pub mod run;
pub mod summary;
mod text;
pub mod trial;

pub use claim::{
    BlocksUsed, Bound, Cell, Claim, DecidedAfter, Direction, Finding, Judged, Limit, RoundSelector,
    Subject, Value, Verdict,
};
pub use family::kind::LatencyKind;
pub use family::load_factor::LoadFactor;
pub use family::percentile::{Percentile, SAMPLES_ABOVE, SAMPLES_ABOVE_MIN, SPANS_ABOVE};
pub use family::state::{State, StateKind};
pub use family::{Counters, names};
pub use histogram::{HistogramSum, PackedHistogram};
pub use key::{Role, TrialKey};
pub use load::{
    Arrivals, CARRIED, CARRIED_ERRORS, EffectNote, EngineNote, EngineStall, ErrorCount, ErrorKind,
    HELD_MS, HistogramNote, LiveSample, LiveTrial, Loaded, Mode, OpenNote, RateRange, Requirement,
    RowsNote, ShardStart, Slices, Standard, UNCOUNTED, Unfinished, Warmup, done_series,
};
pub use run::environment::{self, Conditions, Environment, ServerIdentity};
pub use run::looks::{Ended, Look, Looks};
pub use run::sharing::{ShardNote, Sharing};
pub use run::{Factor, Question, Run, Slim, WorkloadNote};
pub use summary::{
    Account, AtEdge, Conformance, Conforming, EngineCheck, Latency, LevelShift, Moved, Offered,
    OwnStalls, Percentiles, Period, Seen, Shape, Sight, StaleReads, Stall, Steady, Summary,
};
pub use text::calendar::Moment;
pub use text::number::{self, for_count, grouped, percent, plural, separated};
pub use text::visible;
pub use text::word::{listed, name_of};
pub use trial::audit::{AuditFigure, AuditNote, InputCheck};
pub use trial::event::{self, EventNote};
pub use trial::flag::{Flag, FlagKind};
pub use trial::plan::{FormKind, PlanForm};
pub use trial::query_error::QueryError;
pub use trial::{
    Answer, Coldness, DatasetNote, LimitNote, Query, Round, Trial, TrialState, answer_hash,
};

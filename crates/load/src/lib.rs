//! The load engine: issues operations in closed or open loop, at a low CPU cost, so that the machine is left to the server.
//!
//! Goals: every operation has a scheduled, a start and an end time; closed and open loop run the same workload; the engine does not
//! allocate, format or block on the hot path. Non-goals: protocols (crate `wire`), workloads (crate `workload`), storing results
//! (crate `record`).

pub mod arrivals;
pub mod drive;
pub mod executor;
pub mod io;
mod pacer;
mod recorder;
pub mod seam;
mod share;

pub use drive::{
    Closed, Drivable, Drive, DriveError, Driven, Load, Needs, Open, OwnStall, RECONNECT_FOR, Ready,
    Second, WINDOW_S, Watch, Window, cores, drive,
};
pub use executor::pin;
pub use io::{Aligned, Backend, Cut, Endpoint, Io, OnSilence, Stopper, Stream, Transfer};
pub use pacer::WhenFull;
pub use recorder::{Ending, Fault, Kind, Tally};
pub use seam::{
    Background, Effects, Failure, Left, Outcome, Pauses, Placement, Request, Requirement, Standard,
    Workload,
};
pub use share::Share;

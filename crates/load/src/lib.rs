//! The load engine: issues operations in closed or open loop, at a low CPU cost, so that the machine is left to the server.
//!
//! Goals: every operation has a scheduled, a start and an end time; closed and open loop run the same workload; the engine does not
//! allocate, format or block on the hot path. Non-goals: protocols (crate `wire`), workloads (crate `workload`), storing results
//! (crate `record`).
//!
//! ```
//! use load::{Drive, Failure, Io, Load, Outcome, Request, Watch, Workload, drive};
//! use std::sync::atomic::AtomicBool;
//! use std::time::Duration;
//!
//! /// Its operations do nothing.
//! struct Idle;
//!
//! impl Workload for Idle {
//!     type Session = ();
//!     fn operations(&self) -> Vec<String> {
//!         vec!["nothing".into()]
//!     }
//!     fn pick(&self, _number: u64) -> u16 {
//!         0
//!     }
//!     async fn open(&self, _io: &Io, _client: u32) -> Result<(), Failure> {
//!         Ok(())
//!     }
//!     async fn operate(&self, _session: &mut (), _request: &Request) -> Outcome {
//!         Outcome::Done
//!     }
//!     async fn close(&self, _session: ()) {}
//! }
//!
//! let twice = Drive::new(Load::closed(2), Duration::from_millis(20));
//! let driven = drive(&Idle, &twice, &AtomicBool::new(false), Watch::default())?;
//! assert!(driven.tallies[0].done() > 0);
//! # Ok::<(), load::DriveError>(())
//! ```

pub mod arrivals;
pub mod drive;
pub mod executor;
pub mod io;
mod null;
mod pacer;
mod recorder;
pub mod seam;
mod share;

pub use drive::{
    Closed, Drivable, Drive, DriveError, Driven, Latencies, Load, Needs, Open, OwnStall,
    RECONNECT_FOR, Ready, Second, Took, Turn, Turns, WINDOW_S, Watch, Window, cores, drive,
};
pub use executor::pin;
pub use io::{Aligned, Backend, Cut, Endpoint, Io, OnSilence, Stopper, Stream, Transfer};
pub use null::null;
pub use pacer::WhenFull;
pub use recorder::{Carried, Ending, Fault, LatencyKind, Tally};
pub use seam::{
    Background, Effects, Failure, Left, Outcome, Pauses, Placement, Request, Requirement, Standard,
    Workload,
};
pub use share::Share;

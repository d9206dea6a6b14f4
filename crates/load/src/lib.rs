//! The load engine: who asks for operations and when, at a cost that leaves the machine to the server.
//!
//! Goals: every operation has a scheduled, a started and an ended time; closed and open loop drive the same workload;
//! nothing is allocated, formatted or waited for on an operation's way but what its workload does. Non-goals: any
//! protocol (crate `wire`), any workload, keeping results (crate `record`).

pub mod arrivals;
pub mod drive;
pub mod executor;
pub mod io;
mod pacer;
mod recorder;
pub mod seam;

pub use drive::{
    Closed, Drivable, Drive, DriveError, Driven, Load, Needs, Open, RECONNECT_FOR, Second, Watch,
    Window, cores, drive,
};
pub use executor::pin;
pub use io::{Backend, Endpoint, Io, Stopper, Stream};
pub use pacer::WhenFull;
pub use recorder::{Ending, Fault, Kind, Tally};
pub use seam::{Failure, Outcome, Placement, Request, Workload};

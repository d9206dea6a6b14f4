//! Observes a server: status counters, query plans, profiles, effective settings, resource use, and samples per second.
//!
//! Counter readings can be subtracted, without the cost of the reading itself, and plans can be compared. It does not
//! interpret the values (crates `record` and `explain`), and knows nothing of workloads.

pub mod counters;
pub mod foreign;
mod plans;
pub mod process;
pub mod profile;
mod reading;
mod sampler;
mod states;
pub mod variables;

pub use counters::Observer;
pub use plans::{Explainer, Plan};
pub use process::ServerProcess;
pub use reading::Reading;
pub use sampler::{Edges, Gap, Live, PidOf, Prepared, Sample, Sampled, Sampler, Targets};
pub use states::{StateReader, States};

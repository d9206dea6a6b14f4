//! What a server tells about its work: counters, plans, profiles, effective settings, and each second's sample of them.
//!
//! Goal: readings that can be subtracted, with the cost of looking taken out, and plans that can be compared.
//! Non-goals: judging them (`record::stats`), timing anything, knowing any workload.

pub mod counters;
pub mod plans;
pub mod process;
pub mod profile;
pub mod sampler;
pub mod variables;

pub use counters::{Observer, Reading};
pub use plans::{Explainer, Plan};
pub use process::ServerProcess;
pub use sampler::{PidOf, Prepared, Sample, Sampled, Sampler, Targets};

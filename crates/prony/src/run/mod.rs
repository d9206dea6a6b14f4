//! Executes an experiment: from the checked file to the finished record.
//!
//! Purpose: provide servers and datasets, measure the trials in the order of the plan, save each at once, and leave nothing behind
//! after any failure. Outside this module: the order of trials (`spec::plan`), statistics (`record`), rendering (`report`).

mod answers;
mod audit;
mod changes;
mod clients;
mod cold;
mod conduct;
mod connections;
pub(crate) mod dataset;
mod device_queue;
mod ended;
pub mod event;
mod expected;
pub(crate) mod folder;
mod hints;
pub(crate) mod history;
mod in_place;
mod known;
pub(crate) mod layout;
pub(crate) mod limits;
mod looks;
mod measure;
mod neighbours;
mod news;
mod page_cache;
mod place;
mod plans;
mod pool;
mod precondition;
pub(crate) mod preflight;
pub(crate) mod prepare;
mod progress;
mod provision;
pub(crate) mod recording;
mod redo_log;
mod remaining;
mod round;
mod rounds;
pub(crate) mod servers;
mod sessions;
pub(crate) mod settings;
pub(crate) mod shards;
pub(crate) mod space;
pub(crate) mod timed;
mod trial;
pub(crate) mod volume;
pub mod watch;
mod workloads;

pub use changes::Changes;
pub(crate) use conduct::conduct;
pub use conduct::{Conducted, Means, Request, conduct_with};
pub(crate) use expected::Expected;
pub(crate) use neighbours::is_measuring;
pub use progress::Progress;
pub use servers::Provide;
pub use shards::Shards;
pub use volume::Power;
pub use workloads::Workloads;

#[cfg(test)]
mod tests;

use host::interrupt;

/// Why a run ended early. Finished trials are saved, and the run can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The experiment or the command line is wrong, or requests what is impossible here: exit status 2.
    #[error("{0}")]
    Usage(String),
    /// The same, with the place in the experiment file.
    #[error("{0}")]
    Spec(Box<spec::SpecError>),
    /// A server lacks a feature that a trial needs. The trial is recorded as not available, and the run continues.
    #[error("{0}")]
    NotAvailable(String),
    /// A server, the disk or another resource failed: exit status 3.
    #[error("{0}")]
    Failed(String),
    /// Ctrl-C or SIGTERM: exit status 130.
    #[error("interrupted")]
    Interrupted,
}

impl From<spec::SpecError> for RunError {
    fn from(error: spec::SpecError) -> RunError {
        RunError::Spec(Box::new(error))
    }
}

impl From<host::LeaseError> for RunError {
    fn from(error: host::LeaseError) -> RunError {
        RunError::Failed(error.to_string())
    }
}

impl From<server::ServerError> for RunError {
    fn from(error: server::ServerError) -> RunError {
        RunError::Failed(error.to_string())
    }
}

fn stop_if_interrupted() -> Result<(), RunError> {
    if interrupt::asked() {
        Err(RunError::Interrupted)
    } else {
        Ok(())
    }
}

fn stored(error: store::StoreError) -> RunError {
    RunError::Failed(error.to_string())
}

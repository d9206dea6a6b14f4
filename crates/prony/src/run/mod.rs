//! Executes an experiment: from the checked file to the finished record.
//!
//! Purpose: provide servers and datasets, measure the trials in the order of the plan, save each at once, and leave nothing behind
//! after any failure. Outside this module: the order of trials (`spec::plan`), statistics (`record`), rendering (`report`).

mod audit;
mod conduct;
pub(crate) mod drive;
pub mod event;
pub(crate) mod machine;
pub(crate) mod measure;
mod place;
pub(crate) mod plan;
pub(crate) mod prepare;
mod progress;
pub(crate) mod results;
pub(crate) mod settings;
pub(crate) mod shards;
pub mod watch;

pub(crate) use conduct::conduct;
pub use conduct::{Conducted, conduct_with};
pub use machine::changes::Changes;
pub(crate) use machine::neighbours::is_measuring;
pub use machine::volume::Power;
pub(crate) use plan::Expected;
pub use plan::{Means, Provide, Request, Shards, Workloads};
pub use progress::Progress;

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
    /// A server refused a statement of the user's: exit status 3. Its log says nothing more.
    #[error("{0}")]
    Written(String),
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

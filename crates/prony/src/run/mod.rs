//! The protocol: from a checked experiment to a finished record.
//!
//! Goal: provision servers and datasets, measure trial after trial as the plan says, save each at once, and leave
//! nothing behind, whatever fails. Non-goals: deciding what comes next (`plan`), statistics (`record`), drawing (`report`).

pub mod answers;
mod clients;
pub mod cold;
pub mod conduct;
mod connections;
pub mod dataset;
pub mod event;
pub mod folder;
mod hints;
pub mod in_place;
mod known;
pub mod limits;
mod measure;
pub mod neighbours;
mod news;
pub mod place;
mod plans;
pub mod preflight;
pub mod prepare;
pub mod progress;
mod provision;
pub mod round;
mod rounds;
pub mod servers;
pub mod settings;
pub mod timed;
pub mod trial;
pub mod watch;
pub mod workloads;

pub use conduct::{Conducted, Means, Request, conduct, conduct_with};
pub use progress::Progress;
pub use servers::Provide;
pub use workloads::Workloads;

#[cfg(test)]
mod tests;

use host::interrupt;

/// Why a run did not come to its end. What was finished before is saved and can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The experiment or the command line asks for what cannot be: exit status 2.
    #[error("{0}")]
    Asked(String),
    /// The same, with the place in the experiment file.
    #[error("{0}")]
    Spec(Box<spec::SpecError>),
    /// A server lacks what a cell of the matrix asks of it: the cell stays empty, and the run goes on.
    #[error("{0}")]
    Lacking(String),
    /// Something outside failed: exit status 3.
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

fn stored(error: record::StoreError) -> RunError {
    RunError::Failed(error.to_string())
}

//! Where a trial is measured: a target with its data, its limits and its leases.
//!
//! Purpose: rounds, timed loads, events and audits run on a place and need not know whether it is a server or a folder.
//! Everything that a place makes lies below one leased folder. Outside this module: what is measured (`rounds`, `timed`).

mod in_folder;
mod on_server;

pub use in_folder::FolderPlace;
pub use on_server::ServerPlace;

use super::dataset::Ready;
use super::event::{Action, PreparedEvents};
use super::servers::Provided;
use host::{Lease, Leases};
use load::Needs;
use observe::Prepared;
use record::{DatasetNote, Flag, Trial};
use server::ServerError;
use spec::plan::PlannedTrial;
use std::sync::Arc;
use workload::{Audited, Target, Workload};

/// What a place is made from.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A server of the experiment with its dataset.
    Server(&'a Provided, &'a Ready),
    /// An empty folder.
    Folder,
}

impl Source<'_> {
    /// Bytes of the loaded data, which relative settings refer to.
    pub fn data_bytes(&self) -> u64 {
        self.dataset().map_or(0, |dataset| dataset.data_bytes)
    }

    /// How the data was loaded.
    pub fn dataset(&self) -> Option<DatasetNote> {
        match self {
            Source::Server(_, ready) => Some(ready.note.clone()),
            Source::Folder => None,
        }
    }
}

/// The place of a trial, or of the trials of a series.
pub enum Place<'a> {
    Server(Box<ServerPlace<'a>>),
    Folder(FolderPlace),
}

impl<'a> Place<'a> {
    /// A place below the leased folder. Nothing is copied or started yet.
    pub fn new(
        planned: PlannedTrial,
        source: Source<'a>,
        workload: Arc<dyn Workload>,
        leases: Leases,
        lease: Lease,
    ) -> Place<'a> {
        match source {
            Source::Server(server, ready) => {
                let place = ServerPlace::new(planned, server, ready, workload, leases, lease);
                Place::Server(Box::new(place))
            }
            Source::Folder => Place::Folder(FolderPlace::new(lease)),
        }
    }

    /// The next trial of a series runs on the target as the one before left it.
    pub fn continue_with(&mut self, planned: PlannedTrial) {
        if let Place::Server(place) = self {
            place.continue_with(planned);
        }
    }

    /// Puts the data in its place, unless an earlier trial of the series did. Flags what this target cannot do.
    pub fn prepare(&mut self, trial: &mut Trial) -> Result<(), ServerError> {
        match self {
            Place::Server(place) => place.prepare(trial),
            Place::Folder(place) => place.prepare(),
        }
    }

    /// The server.
    ///
    /// # Errors
    /// The place is a folder.
    pub fn server(&mut self) -> Result<&mut ServerPlace<'a>, ServerError> {
        match self {
            Place::Server(place) => Ok(place),
            Place::Folder(_) => Err(ServerError::Unusable(
                "rounds of queries need a server, and this workload runs on a folder".into(),
            )),
        }
    }

    /// Starts the target where it is not running, and preloads the tables if `preload`.
    pub fn start(&mut self, trial: &mut Trial, preload: bool) -> Result<(), ServerError> {
        match self {
            Place::Server(place) => place.start_for_a_load(trial, preload),
            Place::Folder(_) => Ok(()),
        }
    }

    /// Calls `with` with the target that a driver of this load needs.
    pub fn with_target<T>(&self, with: impl FnOnce(&Target) -> T) -> Result<T, ServerError> {
        match self {
            Place::Server(place) => place.with_target(with),
            Place::Folder(place) => Ok(with(&Target::Folder(place.data()))),
        }
    }

    /// Whether the target admits what the load needs.
    pub fn admits(&self, planned: &PlannedTrial, needs: &Needs) -> Result<(), ServerError> {
        match self {
            Place::Server(place) => place.admits(planned, needs),
            Place::Folder(_) => Ok(()),
        }
    }

    /// The sampler, with a connection of its own where the target is a server.
    pub fn prepare_sampler(&self) -> Result<Prepared, ServerError> {
        match self {
            Place::Server(place) => place.prepare_sampler(),
            Place::Folder(place) => place.prepare_sampler(),
        }
    }

    /// The planned events, each with connections of its own.
    pub fn prepare_events(&self, actions: &[Action]) -> Result<PreparedEvents, ServerError> {
        match self {
            Place::Server(place) => place.prepare_events(actions),
            Place::Folder(_) => Ok(PreparedEvents::none()),
        }
    }

    /// Calls `with` with what an audit inspects.
    pub fn audited<T>(&self, with: impl FnOnce(Audited) -> T) -> Result<T, ServerError> {
        match self {
            Place::Server(place) => Ok(with(Audited::Server(&mut place.session()?))),
            Place::Folder(place) => Ok(with(Audited::Folder(place.data()))),
        }
    }

    /// # Errors
    /// A server that ended during the trial, or was replaced by another one.
    pub fn still_runs(&self) -> Result<(), ServerError> {
        match self {
            Place::Server(place) => place.still_runs(),
            Place::Folder(_) => Ok(()),
        }
    }

    /// A limit that the trial was not held to until its end.
    pub fn lost_limit(&self) -> Option<Flag> {
        match self {
            Place::Server(place) => place.lost_limit(),
            Place::Folder(_) => None,
        }
    }

    /// Why a trial failed, with the server's own last words where it is gone.
    pub fn explain(&self, error: &ServerError) -> String {
        match self {
            Place::Server(place) => place.explain(error),
            Place::Folder(_) => error.to_string(),
        }
    }

    /// The lines of the server's log; empty where there is none.
    pub fn log(&self) -> Vec<String> {
        match self {
            Place::Server(place) => place.log(),
            Place::Folder(_) => Vec::new(),
        }
    }
}

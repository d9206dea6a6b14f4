//! Where a trial is measured: a target with its data, its limits and its leases.
//!
//! Purpose: rounds, timed loads, events and audits run on a place and need not know whether it is a server or a folder.
//! All files of a place are below one leased folder. Outside this module: what is measured (`rounds`, `timed`).

pub(crate) mod beats;
mod caught_up;
pub(crate) mod coldness;
mod disks;
mod in_folder;
pub(crate) mod live;
mod on_server;
pub(crate) mod sessions;

pub(super) use in_folder::FolderPlace;
pub(super) use on_server::{Process, ServerPlace};

use super::Progress;
use super::event::{Action, PreparedEvents};
use super::prepare::dataset::Ready;
use super::prepare::servers::Provided;
use super::results::recording::Recording;
use beats::PreparedBeats;
use host::{Entered, Lease, Leases};
use load::Needs;
use observe::Prepared;
use record::{DatasetNote, Flag, FlagKind, Trial};
use server::{ServerError, Session};
use spec::plan::PlannedTrial;
use std::sync::Arc;
use workload::{Audited, Connect, Target, Workload};

/// What a place is made from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// A server of the experiment with its dataset.
    Server(&'a Provided, &'a Ready),
    /// An empty folder.
    Folder,
}

impl Source<'_> {
    /// Bytes of the loaded data, which relative settings refer to.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.dataset().map_or(0, |dataset| dataset.data_bytes)
    }

    /// How the data was loaded.
    pub(crate) fn dataset(&self) -> Option<DatasetNote> {
        match self {
            Source::Server(_, ready) => Some(ready.note.clone()),
            Source::Folder => None,
        }
    }
}

/// The place of a trial, or of the trials of a series.
pub(crate) enum Place<'a> {
    Server(Box<ServerPlace<'a>>),
    Folder(Box<FolderPlace>),
}

impl<'a> Place<'a> {
    /// A place below the leased folder. Nothing is copied or started yet.
    ///
    /// # Errors
    /// The nodes of a cluster cannot be made.
    pub(crate) fn new(
        planned: PlannedTrial,
        source: Source<'a>,
        workload: Arc<dyn Workload>,
        leases: Leases,
        lease: Lease,
    ) -> Result<Place<'a>, ServerError> {
        Ok(match source {
            Source::Server(server, ready) => {
                let place = ServerPlace::new(planned, server, ready, workload, leases, lease)?;
                Place::Server(Box::new(place))
            }
            Source::Folder => {
                let place = FolderPlace::new(planned, workload, leases, lease);
                Place::Folder(Box::new(place))
            }
        })
    }

    /// Continues a series: the next trial runs on the target as the previous one left it.
    pub(crate) fn continue_with(&mut self, planned: PlannedTrial) {
        match self {
            Place::Server(place) => place.continue_with(planned),
            Place::Folder(place) => place.continue_with(planned),
        }
    }

    /// Copies the data, unless an earlier trial of the series did. Flags settings that this target does not support.
    pub(crate) fn prepare(
        &mut self,
        trial: &mut Trial,
        progress: &Progress,
    ) -> Result<(), ServerError> {
        match self {
            Place::Server(place) => place.prepare(trial, progress),
            Place::Folder(place) => place.prepare(trial, progress),
        }
    }

    /// The server.
    ///
    /// # Errors
    /// The place is a folder.
    pub(crate) fn server(&mut self) -> Result<&mut ServerPlace<'a>, ServerError> {
        match self {
            Place::Server(place) => Ok(place),
            Place::Folder(_) => Err(ServerError::Unusable(
                "rounds of queries need a server, but this workload runs on a folder".into(),
            )),
        }
    }

    /// Starts the target if it is not running, and reads the tables into memory if `preload`.
    pub(crate) fn start(&mut self, trial: &mut Trial, preload: bool) -> Result<(), ServerError> {
        match self {
            Place::Server(place) => place.start_for_a_load(trial, preload),
            Place::Folder(place) => place.start(trial),
        }
    }

    /// Calls `with` with the target that a driver of this load needs.
    pub(crate) fn with_target<T>(&self, with: impl FnOnce(&Target) -> T) -> Result<T, ServerError> {
        match self {
            Place::Server(place) => place.with_target(with),
            Place::Folder(place) => Ok(with(&Target::Folder(&place.data()))),
        }
    }

    /// Checks that the target allows what the load needs.
    pub(crate) fn admits(&self, planned: &PlannedTrial, needs: &Needs) -> Result<(), ServerError> {
        match self {
            Place::Server(place) => place.admits(planned, needs),
            Place::Folder(_) => Ok(()),
        }
    }

    /// The sampler, with its own connection if the target is a server.
    pub(crate) fn prepare_sampler(&self) -> Result<Prepared, ServerError> {
        match self {
            Place::Server(place) => place.prepare_sampler(),
            Place::Folder(place) => place.prepare_sampler(),
        }
    }

    /// The samplers of the further nodes of a server, with their numbers.
    pub(crate) fn prepare_further_samplers(&self) -> Result<Vec<(u32, Prepared)>, ServerError> {
        match self {
            Place::Server(place) => place.prepare_further_samplers(),
            Place::Folder(_) => Ok(Vec::new()),
        }
    }

    /// How many nodes of a server, from the first on, the clients of a load use.
    pub(crate) fn nodes_in_use(&self) -> u32 {
        match self {
            Place::Server(place) => place.nodes_in_use(),
            Place::Folder(_) => 1,
        }
    }

    /// The speed of the clients' link in bits per second, if there is a link and its speed is known.
    pub(crate) fn link_bits_per_s(&self) -> Option<u64> {
        match self {
            Place::Server(place) => place.clients_link()?.bits_per_s,
            Place::Folder(_) => None,
        }
    }

    /// What measures how old reads on each node are; None for one node.
    pub(crate) fn prepare_beats(&self) -> Result<Option<PreparedBeats>, ServerError> {
        match self {
            Place::Server(place) => place.prepare_beats(),
            Place::Folder(_) => Ok(None),
        }
    }

    /// The planned events, each with its own connections.
    pub(crate) fn prepare_events(&self, actions: &[Action]) -> Result<PreparedEvents, ServerError> {
        match self {
            Place::Server(place) => place.prepare_events(actions),
            Place::Folder(place) => place.prepare_events(actions),
        }
    }

    /// Calls `with` with what an audit inspects: all nodes of a server that run.
    ///
    /// # Errors
    /// A node does not catch up with the others.
    pub(crate) fn audited<T>(&self, with: impl FnOnce(Audited) -> T) -> Result<T, ServerError> {
        match self {
            Place::Server(place) => {
                let nodes = place.audited_nodes()?;
                let each = nodes.iter();
                let each = each.map(|(number, connect)| (*number, connect as Connect));
                let each: Vec<(u32, Connect)> = each.collect();
                let [(_, connect), further @ ..] = each.as_slice() else {
                    return Err(ServerError::Lost("no node of the server runs".into()));
                };
                Ok(with(Audited::Server { connect, further }))
            }
            Place::Folder(place) => Ok(with(Audited::Folder(&place.data()))),
        }
    }

    /// A connection to a server of one node; None on any other target.
    pub(crate) fn single_session(&self) -> Result<Option<Session>, ServerError> {
        match self {
            Place::Server(place) => place.single_session(),
            Place::Folder(_) => Ok(None),
        }
    }

    /// # Errors
    /// The server ended during the trial, or was replaced by another one.
    pub(crate) fn still_runs(&self) -> Result<(), ServerError> {
        match self {
            Place::Server(place) => place.still_runs(),
            Place::Folder(_) => Ok(()),
        }
    }

    /// A flag if a limit was no longer in force at the end of the trial.
    pub(crate) fn lost_limit(&self) -> Option<Flag> {
        match self {
            Place::Server(place) => place.lost_limit(),
            Place::Folder(place) => place.lost_limit(),
        }
    }

    /// Moves prony into the limits of a folder, whose I/O it generates, until the returned value is dropped. A server has its own.
    pub(crate) fn enter_limits(&self) -> Result<Option<Entered>, ServerError> {
        match self {
            Place::Server(_) => Ok(None),
            Place::Folder(place) => place.enter(),
        }
    }

    /// A flag if a cluster has no quorum at the end of a load, before cut links are healed.
    pub(crate) fn lost_quorum(&self) -> Option<Flag> {
        match self {
            Place::Server(place) => place.lost_quorum(),
            Place::Folder(_) => None,
        }
    }

    /// Brings back what `set` and `cut` events have changed. A target that stays changed serves no other trial.
    pub(crate) fn restore(&self, trial: &mut Trial) {
        let restored = match self {
            Place::Server(place) => place.restore(),
            Place::Folder(place) => place.restore(),
        };
        if let Err(error) = restored {
            let says = format!("the changes of a \"set\" event could not be reverted: {error}");
            trial.flag(FlagKind::EventLeft, says);
        }
    }

    /// Brings the power back after a cut that ended a load of files, and completes its event. A server got it back with its event.
    pub(crate) fn power_back(&self, trial: &mut Trial) -> Result<(), ServerError> {
        match self {
            Place::Server(_) => Ok(()),
            Place::Folder(place) => place.power_back(trial),
        }
    }

    /// Why a trial failed. If the server is gone, with the cause from its log.
    pub(crate) fn explain(&self, error: &ServerError) -> String {
        match self {
            Place::Server(place) => place.explain(error),
            Place::Folder(_) => error.to_string(),
        }
    }

    /// The recording of the disk. None if it is not recorded.
    pub(crate) fn recording(&self) -> Option<Recording> {
        match self {
            Place::Server(place) => place.recording(),
            Place::Folder(_) => None,
        }
    }

    /// The lines of the server's log. Empty without a log.
    pub(crate) fn log(&self) -> Vec<String> {
        match self {
            Place::Server(place) => place.log(),
            Place::Folder(_) => Vec::new(),
        }
    }
}

//! Where a trial is measured: a target with its data, its limits and its leases.
//!
//! Purpose: rounds, timed loads, events and audits run on a place and need not know whether it is a server or a folder. What only
//! a server has does nothing by default. All files of a place are below one leased folder. Outside this module: what is measured (`rounds`, `timed`).

pub(crate) mod beats;
mod caught_up;
pub(crate) mod changed;
pub(crate) mod coldness;
mod disks;
mod in_folder;
pub(crate) mod live;
mod on_server;
pub(crate) mod sessions;

pub(super) use on_server::{Process, ServerPlace, Shared};

use super::Progress;
use super::event::{Action, PreparedEvents};
use super::prepare::dataset::Ready;
use super::prepare::servers::Provided;
use super::results::recording::Recording;
use beats::PreparedBeats;
use host::{Entered, Lease, Leases};
use in_folder::FolderPlace;
use load::Needs;
use observe::Prepared;
use record::{AuditNote, DatasetNote, Flag, FlagKind, Trial};
use server::{ServerError, Session};
use spec::plan::PlannedTrial;
use std::sync::Arc;
use workload::{AuditError, Audited, Target, Workload};

/// What a place is made from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// A server of the experiment with its dataset.
    Server(&'a Provided, &'a Ready),
    /// An empty folder.
    Folder,
}

impl<'a> Source<'a> {
    /// A place below the leased folder, or on the server that another trial of `shared` has. Nothing is copied or started yet.
    ///
    /// # Errors
    /// The nodes of a cluster cannot be made.
    pub(crate) fn place(
        self,
        planned: PlannedTrial,
        workload: Arc<dyn Workload>,
        leases: Leases,
        lease: Lease,
        shared: Option<&Shared>,
    ) -> Result<Box<AnyPlace<'a>>, ServerError> {
        Ok(match self {
            Source::Server(server, ready) => {
                let own = (leases, lease);
                Box::new(ServerPlace::new(
                    planned, server, ready, workload, own, shared,
                )?)
            }
            Source::Folder => Box::new(FolderPlace::new(planned, workload, leases, lease)),
        })
    }

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

/// A place of either kind.
pub(crate) type AnyPlace<'a> = dyn Place<'a> + 'a;

/// Looks at the data of a place.
pub(crate) type Look<'l> = Box<dyn FnOnce(Audited) -> Result<Option<AuditNote>, AuditError> + 'l>;

/// The place of a trial, or of the trials of a series.
pub(crate) trait Place<'a>: Nodes {
    /// Continues a series: the next trial runs on the target as the previous one left it.
    fn continue_with(&mut self, planned: PlannedTrial);

    /// Copies or makes the data, unless an earlier trial of the series did. Flags settings that this target does not support.
    fn prepare(&mut self, trial: &mut Trial, progress: &Progress) -> Result<(), ServerError>;

    /// The server.
    ///
    /// # Errors
    /// The place is a folder.
    fn server(&mut self) -> Result<&mut ServerPlace<'a>, ServerError> {
        Err(ServerError::Unusable(
            "rounds of queries need a server, but this workload runs on a folder".into(),
        ))
    }

    /// Starts the target if it is not running, with its limits. After a start, reads the tables into memory if `preload`.
    fn start(&mut self, trial: &mut Trial, preload: bool) -> Result<(), ServerError>;

    /// The target that a driver of this load needs.
    ///
    /// # Errors
    /// The server has no address, as with SQLite.
    fn target(&self) -> Result<Target, ServerError>;

    /// Checks that the target allows what the load needs.
    fn admits(&self, _planned: &PlannedTrial, _needs: &Needs) -> Result<(), ServerError> {
        Ok(())
    }

    /// The sampler of the machine and the target's disk, with its own connection if the target is a server.
    fn prepare_sampler(&self) -> Result<Prepared, ServerError>;

    /// The planned events, each with its own connections.
    fn prepare_events(&self, actions: &[Action]) -> Result<PreparedEvents, ServerError>;

    /// Lets `look` see what an audit inspects: all nodes of a server that run, or the folder.
    ///
    /// # Errors
    /// A node does not catch up with the others.
    fn audited(&self, look: Look) -> Result<Result<Option<AuditNote>, AuditError>, ServerError>;

    /// # Errors
    /// The server ended during the trial, or was replaced by another one.
    fn still_runs(&self) -> Result<(), ServerError> {
        Ok(())
    }

    /// A flag if somebody changed settings of the server during the trial.
    fn changed_settings(&self) -> Option<Flag> {
        None
    }

    /// A flag if a limit was no longer in force at the end of the trial.
    fn lost_limit(&self) -> Option<Flag>;

    /// Moves prony into the limits of a folder, whose I/O it generates, until the returned value is dropped. A server has its own.
    ///
    /// # Errors
    /// The kernel refuses it.
    fn enter_limits(&self) -> Result<Option<Entered>, ServerError> {
        Ok(None)
    }

    /// Brings back what `set` and `cut` events have changed.
    ///
    /// # Errors
    /// A sentence: the target is not as the file says any more.
    fn restored(&self) -> Result<(), String>;

    /// The same. A target that stays changed serves no other trial.
    fn restore(&self, trial: &mut Trial) {
        if let Err(error) = self.restored() {
            let says = format!("the changes of a \"set\" event could not be reverted: {error}");
            trial.flag(FlagKind::EventLeft, says);
        }
    }

    /// Brings the power back after a cut that ended a load of files, and completes its event. A server got it back with its event.
    fn power_back(&self, _trial: &mut Trial) -> Result<(), ServerError> {
        Ok(())
    }

    /// Why a trial failed. If the server is gone, with the cause from its log.
    fn explain(&self, error: &ServerError) -> String {
        error.to_string()
    }

    /// The recording of the disk. None if it is not recorded.
    fn recording(&self) -> Option<Recording> {
        None
    }
}

/// What a load does with the nodes of its server. A folder has none.
pub(crate) trait Nodes {
    /// The samplers of the further nodes, with their numbers.
    fn prepare_further_samplers(&self) -> Result<Vec<(u32, Prepared)>, ServerError> {
        Ok(Vec::new())
    }

    /// How many nodes, from the first on, the clients of a load use.
    fn nodes_in_use(&self) -> u32 {
        1
    }

    /// The speed of the clients' link in bits per second, if there is a link and its speed is known.
    fn link_bits_per_s(&self) -> Option<u64> {
        None
    }

    /// What measures how old reads on each node are; None for a server that prony does not start, and for one node.
    fn prepare_beats(&self) -> Result<Option<PreparedBeats>, ServerError> {
        Ok(None)
    }

    /// A connection to a server of one node; None on any other target.
    fn single_session(&self) -> Result<Option<Session>, ServerError> {
        Ok(None)
    }

    /// A flag if no node takes part in the cluster any more at the end of a load, and one sees no majority. Asked before cut links are healed.
    fn lost_quorum(&self) -> Option<Flag> {
        None
    }

    /// The lines of the nodes' logs. Empty without a log, and if prony cannot read it.
    fn log(&self) -> Vec<String> {
        Vec::new()
    }
}

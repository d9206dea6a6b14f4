//! What all trials of a run share.

use super::seat::Seat;
use crate::run::Progress;
use crate::run::audit::answers::Samples;
use crate::run::event::Action;
use crate::run::machine::neighbours::Neighbours;
use crate::run::prepare::typos::Typos;
use crate::run::shards::Meeting;
use host::{Home, Leases};
use spec::Protocol;
use std::path::Path;
use std::sync::Mutex;

/// What all trials of a run share.
#[derive(Clone, Copy)]
pub(crate) struct Bench<'a> {
    pub home: &'a Home,
    pub leases: &'a Leases,
    pub progress: &'a Progress,
    pub protocol: &'a Protocol,
    pub neighbours: &'a Neighbours,
    /// The niceness of the run.
    pub nice: i32,
    /// What each event of the file does.
    pub actions: &'a [Action],
    /// The seed of the run.
    pub seed: u64,
    /// The other shards of the load; None for a whole load.
    pub meeting: Option<&'a Mutex<Meeting>>,
    /// The folder for the servers' logs.
    pub logs: &'a Path,
    /// What is wrong in the user's own statements.
    pub typos: &'a Typos<'a>,
    /// What shows where two answers differ.
    pub samples: &'a Samples,
    /// The trial's place in a group that takes turns in slices.
    pub seat: Option<&'a Seat>,
}

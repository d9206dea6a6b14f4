//! What ends the running statement of an event: KILL QUERY, and if that is not enough the end of its connection.
//!
//! Purpose: both follow the event's session, which is opened anew after an outage. Boundaries: `watch` makes stoppers.

use crate::lock;
use crate::run::watch::Stopper;
use server::Cutter;
use std::sync::{Arc, Mutex};

/// Shared by an event and by what cancels it.
#[derive(Clone)]
pub(super) struct Stops {
    // Two locks, because sending KILL QUERY to a hung server blocks.
    stopper: Arc<Mutex<Stopper>>,
    cutter: Arc<Mutex<Option<Cutter>>>,
}

impl Stops {
    pub(super) fn new(stopper: Stopper, cutter: Option<Cutter>) -> Stops {
        Stops {
            stopper: Arc::new(Mutex::new(stopper)),
            cutter: Arc::new(Mutex::new(cutter)),
        }
    }

    /// Stops the statements of a new session from now on.
    pub(super) fn replace(&self, stopper: Stopper, cutter: Option<Cutter>) {
        *lock(&self.stopper) = stopper;
        *lock(&self.cutter) = cutter;
    }

    /// Stops the statement that the session is executing.
    pub(super) fn stop(&self) {
        lock(&self.stopper)();
    }

    /// Ends the connection. Returns false if it cannot be ended.
    pub(super) fn cut(&self) -> bool {
        lock(&self.cutter).as_ref().map(Cutter::cut).is_some()
    }
}

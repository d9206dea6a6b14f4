//! The server of a place with its data and its limits; several places may have connections of their own to one.
//!
//! Purpose: the server runs until the last of its places has ended. Outside this module: connections (`on_server`), which trials share
//! a server (`run::plan::sharing`).

use crate::lock;
use crate::run::machine::changes::Changes;
use crate::run::machine::limits::Held;
use crate::run::place::disks::Disks;
use host::{Lease, Leases};
use server::{Server, ServerError, StartRequest, Started};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

pub(super) struct Hosted {
    pub instance: Server,
    /// The limits of the server, from its first start. Dropped before the disks that they limit.
    pub held: OnceLock<Held>,
    pub changes: Arc<Changes>,
    pub disks: Disks,
    pub leases: Leases,
    is_filled: AtomicBool,
    is_started: AtomicBool,
    _lease: Lease,
}

impl Hosted {
    /// Below the leased folder. Nothing is copied or started yet.
    pub(super) fn new(instance: Server, data_bytes: u64, leases: Leases, lease: Lease) -> Hosted {
        Hosted {
            instance,
            disks: Disks::below(lease.path()),
            held: OnceLock::new(),
            changes: Arc::new(Changes::new(data_bytes)),
            leases,
            is_filled: AtomicBool::new(false),
            is_started: AtomicBool::new(false),
            _lease: lease,
        }
    }

    /// Whether its data has to be copied. True once.
    pub(super) fn is_unfilled(&self) -> bool {
        !self.is_filled.swap(true, Relaxed)
    }

    /// Starts the server. None if another place has started it.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn start(
        &self,
        settings: Vec<(String, String)>,
    ) -> Result<Option<Started>, ServerError> {
        if self.is_started.load(Relaxed) {
            return Ok(None);
        }
        let groups = self.held.get().map(|held| held.group.lock().joins());
        let groups = groups.unwrap_or_default();
        let started = self.instance.start(|node| StartRequest {
            data_folder: self.disks.data_of(node),
            settings: settings.clone(),
            groups: groups.clone(),
        })?;
        self.is_started.store(true, Relaxed);
        Ok(Some(started))
    }

    /// Stops the server, so that the next start is a new one.
    pub(super) fn stop(&self) -> Result<(), ServerError> {
        self.is_started.store(false, Relaxed);
        self.instance.stop()
    }
}

impl Drop for Hosted {
    /// Kills a server that prony started. Its data is not needed any more, so a clean shutdown would waste time.
    fn drop(&mut self) {
        if let Some(held) = self.held.get() {
            held.group.lock().lift_disk();
        }
        let _ = if self.instance.first().abilities().restart {
            self.instance.kill()
        } else {
            self.instance.stop()
        };
    }
}

/// The server of trials that take turns on it. The first one makes it, and it ends with the last one.
#[derive(Default)]
pub(crate) struct Shared(Mutex<Weak<Hosted>>);

impl Shared {
    /// The server, made if no trial has it.
    pub(super) fn hosted(
        &self,
        make: impl FnOnce() -> Result<Hosted, ServerError>,
    ) -> Result<Arc<Hosted>, ServerError> {
        let mut known = lock(&self.0);
        if let Some(hosted) = known.upgrade() {
            return Ok(hosted);
        }
        let hosted = Arc::new(make()?);
        *known = Arc::downgrade(&hosted);
        Ok(hosted)
    }
}

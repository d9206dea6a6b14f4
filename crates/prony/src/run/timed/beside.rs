//! What goes on beside the load: the sampler and the planned events, both on the load's own clock.
//!
//! Goal: everything that connects does so before the load begins, so that a full server refuses it there and not in the
//! middle. Non-goals: the sampler's and the events' own work (`observe::sampler`, `run::event`).

use crate::run::event::{Action, Events, Happened, PreparedEvents};
use crate::run::place::Place;
use observe::Prepared;
use observe::{Sample, Sampled, Sampler};
use server::ServerError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The values of the last second that the sampler read, by series.
#[derive(Clone, Default)]
pub struct Latest(Arc<Mutex<BTreeMap<String, f64>>>);

impl Latest {
    pub fn take(&self) -> BTreeMap<String, f64> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, sample: &Sample) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sample.values.clone();
    }
}

pub struct Beside {
    prepared: Option<(Prepared, PreparedEvents)>,
    running: Option<(Sampler, Events)>,
    measured_from_s: u32,
    pub latest: Latest,
}

/// What was seen beside a load.
#[derive(Default)]
pub struct Seen {
    pub sampled: Sampled,
    pub happened: Happened,
}

impl Beside {
    pub fn prepare(
        place: &Place,
        actions: &[Action],
        measured_from_s: u32,
    ) -> Result<Beside, ServerError> {
        Ok(Beside {
            prepared: Some((place.prepare_sampler()?, place.prepare_events(actions)?)),
            running: None,
            measured_from_s,
            latest: Latest::default(),
        })
    }

    /// When the load begins.
    pub fn begin(&mut self, origin: Instant) {
        let Some((sampler, events)) = self.prepared.take() else {
            return;
        };
        let latest = self.latest.clone();
        let live = Box::new(move |sample: Sample| latest.put(&sample));
        let sampler = sampler.start(origin, self.measured_from_s, live);
        self.running = Some((sampler, events.begin(origin)));
    }

    /// When the load has ended, before the server does.
    pub fn end(self) -> Seen {
        let Some((sampler, events)) = self.running else {
            return Seen::default();
        };
        Seen {
            happened: events.cancel(),
            sampled: sampler.stop(),
        }
    }
}

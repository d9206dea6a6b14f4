//! The sampler and the planned events, which run during the load and on its clock.
//!
//! Purpose: open all connections before the load begins, so that a full server refuses them then and not during the load. Outside this
//! module: the work of the sampler (`observe::sampler`) and of the events (`run::event`).

use crate::run::event::{Action, Events, Happened, PreparedEvents, Uptime};
use crate::run::place::Place;
use observe::Prepared;
use observe::{Sample, Sampled, Sampler};
use server::ServerError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The sampler's most recent values, by series.
#[derive(Clone, Default)]
pub(super) struct Latest(Arc<Mutex<BTreeMap<String, f64>>>);

impl Latest {
    pub(super) fn take(&self) -> BTreeMap<String, f64> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, sample: &Sample) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sample.values.clone();
    }
}

/// The sampler and the events of a load, before or after its start.
pub(super) struct Concurrent {
    prepared: Option<(Prepared, PreparedEvents)>,
    running: Option<(Sampler, Events)>,
    measured_from_s: u32,
    pub latest: Latest,
    pub uptime: Arc<Uptime>,
}

/// What the sampler and the events recorded.
#[derive(Default)]
pub(super) struct Observed {
    pub sampled: Sampled,
    pub happened: Happened,
}

impl Concurrent {
    pub(super) fn prepare(
        place: &Place,
        actions: &[Action],
        measured_from_s: u32,
    ) -> Result<Concurrent, ServerError> {
        let (sampler, events) = (place.prepare_sampler()?, place.prepare_events(actions)?);
        Ok(Concurrent {
            uptime: events.uptime().clone(),
            prepared: Some((sampler, events)),
            running: None,
            measured_from_s,
            latest: Latest::default(),
        })
    }

    /// Starts the sampler and the events when the load begins.
    pub(super) fn begin(&mut self, origin: Instant) {
        let Some((sampler, events)) = self.prepared.take() else {
            return;
        };
        let (latest, observed) = (self.latest.clone(), events.observed().clone());
        let live = Box::new(move |sample: Sample| {
            observed.put(sample.values);
            latest.put(&sample);
        });
        let sampler = sampler.start(origin, self.measured_from_s, live);
        self.running = Some((sampler, events.begin(origin)));
    }

    /// Stops both when the load has ended. Call it before the server stops.
    pub(super) fn end(self) -> Observed {
        let Some((sampler, events)) = self.running else {
            return Observed::default();
        };
        let happened = events.cancel();
        let mut sampled = sampler.stop();
        let used = observe::process::over(&sampled.series, self.measured_from_s);
        sampled.counters.extend(used);
        Observed { sampled, happened }
    }
}

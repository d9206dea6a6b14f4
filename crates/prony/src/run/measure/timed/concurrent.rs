//! The sampler and the planned events, which run during the load and on its clock.
//!
//! Purpose: open all connections before the load begins, so that a full server refuses them then and not during the load. Outside this
//! module: the work of the sampler (`observe::sampler`) and of the events (`run::event`).

use crate::run::event::{Action, Events, Happened, PreparedEvents, Uptime};
use crate::run::place::Place;
use crate::run::place::beats::{Beats, PreparedBeats, Series};
use observe::{Prepared, Sample, Sampled, Sampler};
use record::names::{LINK_RECEIVED, LINK_SENT};
use server::ServerError;
use stats::link::{CpuUse, LinkUse};
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

/// The samplers of further nodes, before or after the start of a load.
#[derive(Default)]
struct Further {
    prepared: Vec<(u32, Prepared)>,
    running: Vec<(u32, Sampler)>,
    prepared_beats: Option<PreparedBeats>,
    beats: Option<Beats>,
}

impl Further {
    fn begin(&mut self, origin: Instant, measured_from_s: u32) {
        let begun = self.prepared.drain(..).map(|(number, prepared)| {
            let sampler = prepared.start(origin, measured_from_s, Box::new(|_| ()));
            (number, sampler)
        });
        self.running = begun.collect();
        let beats = self.prepared_beats.take();
        self.beats = beats.and_then(|beats| beats.begin(origin));
    }

    /// What they sampled. Their flags are not kept: a node may be down on purpose.
    fn end(self) -> BTreeMap<u32, Series> {
        let mut all = self.beats.map(Beats::end).unwrap_or_default();
        for (number, sampler) in self.running {
            all.entry(number).or_default().extend(sampler.stop().series);
        }
        all
    }
}

/// The number of the first node, whose series are those of the server.
const FIRST_NODE: u32 = 1;

/// The sampler and the events of a load, before or after its start.
pub(super) struct Concurrent {
    prepared: Option<(Prepared, PreparedEvents)>,
    running: Option<(Sampler, Events)>,
    /// Those of the further nodes, with their numbers.
    further: Further,
    measured_from_s: u32,
    link_bits_per_s: Option<u64>,
    pub latest: Latest,
    pub uptime: Arc<Uptime>,
}

/// What the sampler and the events recorded.
#[derive(Default)]
pub(super) struct Observed {
    pub sampled: Sampled,
    /// Of the further nodes, by their number.
    pub further: BTreeMap<u32, Series>,
    pub happened: Happened,
    /// The sentence that says so, if the clients' link was the limit.
    pub full_link: Option<String>,
}

/// The measured seconds of a series.
fn measured<'s>(series: &'s Series, name: &str, from_s: u32) -> &'s [Option<f64>] {
    let all = series.get(name).map_or(&[][..], Vec::as_slice);
    all.get(from_s as usize..).unwrap_or_default()
}

/// The mean of the measured seconds of a series.
fn mean(series: &Series, name: &str, from_s: u32) -> Option<f64> {
    let seconds = measured(series, name, from_s).iter();
    let known: Vec<f64> = seconds.flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// What was used of the processors: by the nodes, or where they are not on this machine by everything on it. `further` are the series of
/// all nodes but the first.
fn cpu_use(first: &Series, further: &BTreeMap<u32, Series>, from_s: u32) -> Option<CpuUse> {
    let processors = std::thread::available_parallelism().ok()?.get() as f64;
    let nodes = std::iter::once(first).chain(further.values());
    let of_nodes = nodes.filter_map(|series| mean(series, "server cpu", from_s));
    let of_nodes = of_nodes.reduce(|sum, cores| sum + cores);
    let of_machine = || mean(first, "machine cpu", from_s);
    let nodes = of_nodes.map(|cores| CpuUse::Nodes(cores / processors));
    nodes.or_else(|| of_machine().map(|cores| CpuUse::Machine(cores / processors)))
}

impl Concurrent {
    pub(super) fn prepare(
        place: &Place,
        actions: &[Action],
        measured_from_s: u32,
    ) -> Result<Concurrent, ServerError> {
        let (sampler, events) = (place.prepare_sampler()?, place.prepare_events(actions)?);
        let further = Further {
            prepared: place.prepare_further_samplers()?,
            prepared_beats: place.prepare_beats()?,
            ..Further::default()
        };
        Ok(Concurrent {
            further,
            uptime: events.uptime().clone(),
            prepared: Some((sampler, events)),
            running: None,
            measured_from_s,
            link_bits_per_s: place.link_bits_per_s(),
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
        self.further.begin(origin, self.measured_from_s);
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
        let mut further = self.further.end();
        sampled
            .series
            .extend(further.remove(&FIRST_NODE).unwrap_or_default());
        let full_link = self.link_bits_per_s.and_then(|bits_per_s| {
            let measured = |name: &str| measured(&sampled.series, name, self.measured_from_s);
            let used = LinkUse::of(measured(LINK_RECEIVED), measured(LINK_SENT), bits_per_s)?;
            used.is_the_limit(cpu_use(&sampled.series, &further, self.measured_from_s))
        });
        Observed {
            sampled,
            further,
            happened,
            full_link,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, cores: [Option<f64>; 3]) -> Series {
        Series::from([(name.to_string(), cores.to_vec())])
    }

    #[test]
    fn the_processors_are_those_of_all_nodes_where_they_are_known() {
        let processors = std::thread::available_parallelism().unwrap().get() as f64;
        let mut first = series("machine cpu", [Some(9.0), Some(2.0), Some(2.0)]);
        let none = BTreeMap::new();
        let machine = CpuUse::Machine(2.0 / processors);
        assert_eq!(cpu_use(&first, &none, 1), Some(machine));
        first.extend(series("server cpu", [Some(9.0), Some(0.5), None]));
        let second = series("server cpu", [Some(9.0), Some(0.2), Some(0.4)]);
        let further = BTreeMap::from([(2, second)]);
        let Some(CpuUse::Nodes(share)) = cpu_use(&first, &further, 1) else {
            panic!("the nodes are known");
        };
        assert!((share * processors - 0.8).abs() < 1e-9, "{share}");
    }
}

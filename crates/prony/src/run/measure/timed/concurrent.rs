//! The sampler and the planned events, which run during the load and on its clock.
//!
//! Purpose: open all connections before the load begins, so that a full server refuses them then and not during the load. Outside this
//! module: the work of the sampler (`observe::sampler`) and of the events (`run::event`).

use crate::lock;
use crate::run::event::{Action, Events, Happened, PreparedEvents, Uptime};
use crate::run::place::AnyPlace;
use crate::run::place::beats::{Beats, PreparedBeats, Series};
use observe::{Edges, Prepared, Sample, Sampled, Sampler};
use record::names::{LINK_RECEIVED, LINK_SENT};
use record::{Counters, Flag, FlagKind};
use server::ServerError;
use stats::{CpuUse, LinkUse};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The sampler's most recent values, by series.
#[derive(Clone, Default)]
pub(super) struct Latest(Arc<Mutex<BTreeMap<String, f64>>>);

impl Latest {
    pub(super) fn take(&self) -> BTreeMap<String, f64> {
        std::mem::take(&mut lock(&self.0))
    }

    fn put(&self, sample: &Sample) {
        *lock(&self.0) = sample.values.clone();
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

    /// Their series, and what else each of them sampled. Their flags are not kept: a node may be down on purpose.
    fn end(self) -> (BTreeMap<u32, Series>, BTreeMap<u32, Sampled>) {
        let mut all = self.beats.map(Beats::end).unwrap_or_default();
        let mut sampled = BTreeMap::new();
        for (number, sampler) in self.running {
            let mut one = sampler.stop();
            let series = std::mem::take(&mut one.series);
            all.entry(number).or_default().extend(series);
            sampled.insert(number, one);
        }
        (all, sampled)
    }
}

/// The servers' counters of all nodes that clients use: the sums of those that all have. An error if one of them does not cover the whole
/// load: the operations of the others cannot be distinguished.
fn counters_of_all(
    first: &Sampled,
    further: &BTreeMap<u32, Sampled>,
    in_use: u32,
) -> Result<Counters, String> {
    let others = further.range(..=in_use);
    let mut all = std::iter::once((&FIRST_NODE, first)).chain(others.clone());
    let gap = all.find_map(|(number, node)| Some((number, node.gaps.first()?)));
    if let Some((number, gap)) = gap.filter(|_| in_use > 1) {
        return Err(format!(
            "clients used {in_use} nodes, and the counters of node {number} have a gap from second {} on ({}), so no counters are recorded",
            gap.from_s, gap.cause
        ));
    }
    let mut sums = first.counters.clone();
    for (_, node) in others {
        sums.retain(|name, sum| add(sum, node.counters.get(name)));
    }
    Ok(sums)
}

/// Whether there is a value to add.
fn add(sum: &mut i64, own: Option<&i64>) -> bool {
    *sum += own.unwrap_or(&0);
    own.is_some()
}

/// The resource use of the processes of these nodes. They share the devices of this machine.
fn used_by_all(
    first: &Series,
    further: &BTreeMap<u32, Series>,
    in_use: u32,
    from_s: u32,
) -> Counters {
    let mut used = observe::process::over(first, from_s);
    let others = (FIRST_NODE + 1..=in_use).filter_map(|number| further.get(&number));
    for series in others {
        let own = observe::process::over(series, from_s);
        used.retain(|name, sum| !name.starts_with(OF_PROCESS) || add(sum, own.get(name)));
    }
    used
}

/// How the names of counters of a server's process begin; others are of the machine.
const OF_PROCESS: &str = "server ";

/// The number of the first node, whose series are those of the server.
const FIRST_NODE: u32 = 1;

/// The sampler and the events of a load, before or after its start.
pub(super) struct Concurrent {
    prepared: Option<(Prepared, PreparedEvents)>,
    running: Option<(Sampler, Events)>,
    /// Instead of both, for a load in slices: what samples at their edges.
    pub edges: Option<Arc<Mutex<Edges>>>,
    /// Those of the further nodes, with their numbers.
    further: Further,
    measured_from_s: u32,
    /// How many nodes clients use.
    nodes_in_use: u32,
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
    stats::mean(&known)
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
        place: &AnyPlace,
        actions: &[Action],
        measured_from_s: u32,
        is_in_slices: bool,
    ) -> Result<Concurrent, ServerError> {
        let (sampler, events) = (place.prepare_sampler()?, place.prepare_events(actions)?);
        let further = Further {
            prepared: place.prepare_further_samplers()?,
            prepared_beats: place.prepare_beats()?,
            ..Further::default()
        };
        let uptime = events.uptime().clone();
        let (prepared, edges) = match is_in_slices {
            true => (None, Some(Arc::new(Mutex::new(sampler.at_edges())))),
            false => (Some((sampler, events)), None),
        };
        Ok(Concurrent {
            further,
            uptime,
            prepared,
            running: None,
            edges,
            measured_from_s,
            nodes_in_use: place.nodes_in_use(),
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

    /// What was sampled at the edges of slices.
    fn of_edges(edges: &Mutex<Edges>, measured_from_s: u32) -> Observed {
        let mut edges = lock(edges);
        let mut sampled = edges.sampled();
        let used = observe::process::over(&sampled.series, measured_from_s);
        sampled.counters.extend(used);
        Observed {
            sampled,
            ..Observed::default()
        }
    }

    /// Stops both when the load has ended. Call it before the server stops.
    pub(super) fn end(self) -> Observed {
        if let Some(edges) = &self.edges {
            return Concurrent::of_edges(edges, self.measured_from_s);
        }
        let Some((sampler, events)) = self.running else {
            return Observed::default();
        };
        let happened = events.cancel();
        let mut sampled = sampler.stop();
        let (mut further, of_further) = self.further.end();
        let in_use = self.nodes_in_use;
        match counters_of_all(&sampled, &of_further, in_use) {
            Ok(counters) => {
                sampled.counters = counters;
                let from_s = self.measured_from_s;
                let used = used_by_all(&sampled.series, &further, in_use, from_s);
                sampled.counters.extend(used);
            }
            Err(text) => {
                sampled.counters = Counters::new();
                sampled.flags.push(Flag {
                    kind: FlagKind::SamplerAbsent,
                    text,
                });
            }
        }
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

    fn sampled(counters: &[(&str, i64)], gap: bool) -> Sampled {
        let counters = counters
            .iter()
            .map(|(name, moved)| (name.to_string(), *moved));
        Sampled {
            counters: counters.collect(),
            gaps: Vec::from_iter(gap.then(|| observe::Gap {
                from_s: 3,
                until_s: Some(5),
                cause: "gone away".into(),
            })),
            ..Sampled::default()
        }
    }

    #[test]
    fn counters_are_those_of_all_nodes_that_clients_use() {
        let first = sampled(&[("Com_update", 100), ("Com_stmt_fetch", 1)], false);
        let second = BTreeMap::from([(2, sampled(&[("Com_update", 90)], false))]);
        let both = counters_of_all(&first, &second, 2).unwrap();
        assert_eq!(both, Counters::from([("Com_update".into(), 190)]));
        assert_eq!(counters_of_all(&first, &second, 1).unwrap(), first.counters);
        let down = BTreeMap::from([(2, sampled(&[("Com_update", 9)], true))]);
        let text = counters_of_all(&first, &down, 2).unwrap_err();
        assert!(
            text.contains("the counters of node 2 have a gap from second 3 on"),
            "{text}"
        );
        let alone = sampled(&[("Com_update", 9)], true);
        assert!(
            counters_of_all(&alone, &BTreeMap::new(), 1).is_ok(),
            "its seconds are known"
        );
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

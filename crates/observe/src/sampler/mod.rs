//! The sampler: records every second what the server, its process and the machine do during a timed load.
//!
//! Its series are aligned with the load's seconds. A second that could not be read is absent, never shifted or estimated. Its
//! own cost is known (`sampler cpu`, bench/results/sampler.md). The load's own samples come from the crate `load`.
//!
//! It has two threads, so that a hung server costs only the server's values: one queries the server ([`status`]), the other
//! reads /proc, merges both and publishes the samples ([`collector`]).

mod collector;
mod column;
mod edges;
mod levels;
mod machine;
mod status;
mod sums;
mod ticks;

use crate::foreign;
use collector::Collector;
pub use edges::Edges;
use host::Interface;
use machine::Machine;
use record::{Counters, Flag, FlagKind, State};
use server::{Connector, ServerError};
use status::{Cut, Status};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use ticks::Ticks;

/// Returns the server's current process id, which changes with a restart; None while it is down.
pub type PidOf = Box<dyn Fn() -> Option<u32> + Send>;

/// What to sample.
#[derive(Default)]
pub struct Targets {
    /// None for a server without SHOW GLOBAL STATUS; then only /proc is read.
    pub connector: Option<Connector>,
    /// Whether metrics may be enabled in this server (never in an external one).
    pub configure: bool,
    /// Looks up the server's process; None if the server is not on this machine.
    pub server_pid: Option<PidOf>,
    /// The disk with this folder is sampled.
    pub data_folder: Option<PathBuf>,
    /// The interface by which clients reach the server; None for sockets and the loopback interface.
    pub interface: Option<Interface>,
}

/// The values of one second, published as soon as it is over.
pub struct Sample<'a> {
    /// Seconds since the origin, from 0.
    pub second: u32,
    /// Values by the name of their series; unavailable ones are absent.
    pub values: &'a BTreeMap<String, f64>,
}

/// The result of a sampler.
#[derive(Debug, Default)]
pub struct Sampled {
    /// Series by name, one value for each whole second: counters as rates per second, gauges as of the end of the second. prony's own names
    /// and the states are always included, the server's own values only if they changed at all.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
    /// The server's counters from the first measured second to the end, without the sampler's own cost, and without the seconds of the
    /// series [`record::UNCOUNTED`].
    pub counters: Counters,
    pub flags: Vec<Flag>,
    pub gaps: Vec<Gap>,
    /// The statements that prony sent to servers while the counters counted; None where nothing was counted.
    pub own_statements: Option<i64>,
}

/// Seconds in which the server's status could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    pub from_s: u32,
    /// None: to the end of the load.
    pub until_s: Option<u32>,
    pub cause: String,
}

impl Sampled {
    /// A sentence if other clients sent the server many statements, which its counters include, or if it did not get those of prony.
    pub fn foreign_clients(&self) -> Option<String> {
        foreign::in_load(&self.counters, self.own_statements?)
    }
}

impl Gap {
    /// The flag for a trial whose outages do not explain the gap.
    pub fn flag(&self) -> Flag {
        let Gap { from_s, cause, .. } = self;
        let until = match self.until_s {
            Some(until_s) => format!("until second {until_s}"),
            None => "to the end".to_string(),
        };
        absent(format!(
            "the server's status is missing from second {from_s} {until}, and so are its counters: {cause}"
        ))
    }
}

/// Called once per second on the sampler's thread; its CPU time counts as the sampler's.
pub type Live = Box<dyn FnMut(Sample) + Send>;

/// A connected sampler with known cost. It does nothing until it is started.
pub struct Prepared {
    status: Option<Status>,
    machine: Machine,
    every: Duration,
}

impl Prepared {
    /// Connects and reads the counters three times, which takes about 20 ms.
    pub fn new(targets: Targets) -> Result<Prepared, ServerError> {
        let status = targets
            .connector
            .map(|connector| Status::open(connector, targets.configure))
            .transpose()?;
        Ok(Prepared {
            status,
            machine: Machine::new(
                targets.server_pid,
                targets.data_folder.as_deref(),
                targets.interface,
            ),
            every: Duration::from_secs(1),
        })
    }

    /// Starts sampling at `origin` and each whole second after it. `counters` count from second `measured_from_s` on.
    pub fn start(self, origin: Instant, measured_from_s: u32, live: Live) -> Sampler {
        let ticks = Ticks {
            origin,
            every: self.every,
        };
        let (news, received) = channel();
        let cut = Cut::default();
        let (end_status, status_ends) = channel::<()>();
        let watches_status = self.status.is_some();
        if let Some(status) = self.status {
            let (news, cut) = (news.clone(), cut.clone());
            // Not joined: if it hangs in a connection attempt, it ends by itself later.
            std::thread::spawn(move || {
                status.watch(ticks, measured_from_s, &status_ends, &news, &cut);
            });
        }
        let collector = Collector {
            ticks,
            machine: self.machine,
            received,
            end_status: watches_status.then_some(end_status),
            cut,
            live,
        };
        Sampler {
            news,
            thread: Some(std::thread::spawn(move || collector.run())),
        }
    }
}

/// The server's values of one second.
#[derive(Default)]
struct StatusValues {
    /// Counters, per second.
    rates: BTreeMap<String, f64>,
    levels: BTreeMap<String, f64>,
    states: BTreeMap<State, f64>,
}

/// What the status thread collected until its end.
#[derive(Default)]
struct StatusEnd {
    counters: Counters,
    flags: Vec<Flag>,
    gaps: Vec<Gap>,
    /// The seconds that the counters do not cover.
    uncounted: Vec<Range<u32>>,
    own_statements: Option<i64>,
}

/// Messages to the collector thread.
enum News {
    /// The server's values of a second; empty if they could not be read.
    Status {
        /// The tick at the end of the second.
        tick: u32,
        values: StatusValues,
        /// CPU time of the status thread since it started.
        cpu: Duration,
    },
    /// The status thread has ended.
    StatusEnded(StatusEnd),
    Stop,
}

/// A running sampler. It ends when it is stopped or dropped.
pub struct Sampler {
    news: Sender<News>,
    thread: Option<JoinHandle<Sampled>>,
}

impl Sampler {
    /// Ends the sampler within a few seconds, even if the server hangs, and returns the samples. Call it before stopping the
    /// server, because it reads the counters one last time.
    pub fn stop(mut self) -> Sampled {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Sampled> {
        let thread = self.thread.take()?;
        let _ = self.news.send(News::Stop);
        thread.join().ok()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

fn absent(text: String) -> Flag {
    Flag {
        kind: FlagKind::SamplerAbsent,
        text,
    }
}

#[cfg(test)]
mod tests;

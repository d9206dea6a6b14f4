//! The sampler: each second what the server, its process and the machine did, beside a timed load.
//!
//! Goal: series that line up with the load's seconds; a second that could not be read is absent, never shifted or made up; a
//! known cost (`sampler cpu`, bench/results/sampler.md). Non-goals: the load's own seconds (`crates/load`), judging.
//!
//! Two threads, so that a server that does not answer costs its own figures alone: one asks the server ([`status`]), the other
//! reads /proc, puts both together and tells ([`collector`]).

mod collector;
mod column;
mod levels;
mod machine;
mod status;
mod ticks;

use collector::Collector;
use machine::Machine;
use record::{Counters, Flag, FlagKind};
use server::{Connector, ServerError};
use status::{Cut, Status};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use ticks::Ticks;

/// The process id of a server now, which a restart changes; None while it is down.
pub type PidOf = Box<dyn Fn() -> Option<u32> + Send>;

/// What is looked at.
#[derive(Default)]
pub struct Targets {
    /// None for a server without SHOW GLOBAL STATUS: then only /proc is read.
    pub connector: Option<Connector>,
    /// Whether this server may be told to count more (never an external one).
    pub configure: bool,
    /// The server's process as it is now; None where the server is not on this machine.
    pub server_pid: Option<PidOf>,
    /// The device below it is looked at.
    pub data_folder: Option<PathBuf>,
}

/// One second, as soon as it is over.
pub struct Sample<'a> {
    /// From 0, since the origin.
    pub second: u32,
    /// By the series' names; what could not be read is not in it.
    pub values: &'a BTreeMap<String, f64>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Sampled {
    /// By name, one value for each whole second: amounts of the machine and of its server as rates a second, levels as they stood at
    /// the second's end. prony's own names always, the server's where they moved at all.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
    /// The server's counters from the second that measuring begins with to the end, without what the sampler moved.
    pub counters: Counters,
    pub flags: Vec<Flag>,
}

/// Called once a second, from the sampler's own thread: what it takes is the sampler's cost.
pub type Live = Box<dyn FnMut(Sample) + Send>;

/// A sampler whose connection is open and whose cost is known. It does nothing until it is started.
pub struct Prepared {
    status: Option<Status>,
    machine: Machine,
    every: Duration,
}

impl Prepared {
    /// Connects and reads the counters three times, some 20 ms.
    pub fn new(targets: Targets) -> Result<Prepared, ServerError> {
        let status = targets
            .connector
            .map(|connector| Status::open(connector, targets.configure))
            .transpose()?;
        Ok(Prepared {
            status,
            machine: Machine::new(targets.server_pid, targets.data_folder.as_deref()),
            every: Duration::from_secs(1),
        })
    }

    /// Reads at `origin` and at each whole second after it. `counters` count from second `measured_from_s` on.
    pub fn start(self, origin: Instant, measured_from_s: u32, live: Live) -> Sampler {
        let ticks = Ticks {
            origin,
            every: self.every,
        };
        let (news, told) = channel();
        let cut = Cut::default();
        let (end_status, status_ends) = channel::<()>();
        let watches_status = self.status.is_some();
        if let Some(status) = self.status {
            let (news, cut) = (news.clone(), cut.clone());
            // Not joined: one that hangs in a connection attempt is left behind, and ends with it.
            std::thread::spawn(move || {
                status.watch(ticks, measured_from_s, &status_ends, &news, &cut);
            });
        }
        let collector = Collector {
            ticks,
            machine: self.machine,
            told,
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

/// What the sampler's threads tell the one that collects.
enum News {
    /// The server's part of a second; empty where it could not be read.
    Status {
        /// The reading at its end.
        tick: u32,
        rates: BTreeMap<String, f64>,
        levels: BTreeMap<String, f64>,
        /// The processor time of the thread that read it, since it began.
        cpu: Duration,
    },
    /// The thread that asks the server has ended.
    StatusEnded {
        counters: Counters,
        flags: Vec<Flag>,
    },
    Stop,
}

/// A sampler at work, until it is stopped or dropped.
pub struct Sampler {
    news: Sender<News>,
    thread: Option<JoinHandle<Sampled>>,
}

impl Sampler {
    /// Ends it, within some seconds whatever the server does, and gives what was sampled. To be called before the server is stopped:
    /// the counters are read once more.
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

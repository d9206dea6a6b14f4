//! The checked experiment, the input of all other modules.
//!
//! Plain data in file order. Only checks that need a server remain.

pub(crate) mod condition;
pub mod event;
pub(crate) mod place;
pub(crate) mod question;
pub(crate) mod served;

use crate::load::{LoadPatch, LoadSpec, OpenSpec, RateSpec, SearchSpec};
use crate::machine::host::HostPatch;
use crate::machine::limits::LimitsPatch;
use crate::server::build::BuildSpec;
use crate::server::cluster::{ClusterPatch, ClusterSpec, Routing, Topology};
use crate::text::setting::{Pairs, Setting};
use event::EventSpec;
use std::time::Duration;

/// What a workload runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    Server,
    /// A folder of a file system, without any server.
    Folder,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The file's stem: `old-blocks-time`.
    pub name: String,
    /// The file verbatim, except for masked passwords of DSNs and for a trace, which is included in full.
    pub source: String,
    /// What was passed over in files that it names, as sentences.
    pub remarks: Vec<String>,
    pub title: String,
    pub question: String,
    pub published: Option<String>,
    /// Empty where the workload runs on a folder.
    pub servers: Vec<ServerSpec>,
    /// The sections at the top level of the file. They apply to every trial.
    pub base: Patch,
    /// Whether the servers run without the limits of the file and its levels (`--no-limits`).
    pub unlimited: bool,
    /// In file order, `variant` included; then `clients`, `rate` and `workers` if the load has lists of them.
    pub factors: Vec<FactorSpec>,
    /// `ssb`
    pub workload: String,
    pub load: LoadSpec,
    pub protocol: Protocol,
    pub observe: Observe,
    pub events: Vec<EventSpec>,
    pub claims: Vec<record::Claim>,
}

impl Experiment {
    /// The search for the maximum rate, if the file requests one.
    pub fn search(&self) -> Option<&SearchSpec> {
        match &self.load {
            LoadSpec::Open(OpenSpec {
                rate: RateSpec::Find(search),
                ..
            }) => Some(search),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    pub name: String,
    pub build: BuildSpec,
    /// The server whose snapshot this one starts from.
    pub dataset_from: Option<String>,
    pub settings: Pairs<Setting>,
    /// What its nodes form; None: it has one node, or prony does not start it.
    pub cluster: Option<ClusterSpec>,
    /// Which nodes clients use.
    pub routing: Routing,
}

impl ServerSpec {
    /// The nodes that prony starts, or the hosts of its DSN.
    pub fn nodes(&self) -> u32 {
        match (&self.cluster, &self.build) {
            (Some(cluster), _) => cluster.nodes,
            (None, BuildSpec::External(dsn)) => 1 + dsn.others.len() as u32,
            (None, _) => 1,
        }
    }

    /// Whether its nodes have links that prony made.
    pub fn has_links(&self) -> bool {
        self.cluster.is_some_and(|cluster| {
            cluster.link_bits_per_s.is_some() || cluster.client_link_bits_per_s.is_some()
        })
    }

    /// What its nodes form, where prony starts them.
    pub fn topology(&self) -> Option<Topology> {
        self.cluster.map(|cluster| cluster.topology)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct FactorSpec {
    pub name: String,
    pub levels: Vec<LevelSpec>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LevelSpec {
    pub name: String,
    pub patch: Patch,
    /// Restricts the level to trials in which each of these factors (`server` included) has one of these levels.
    pub only: Pairs<Vec<String>>,
    /// By server name: sections that replace those of `patch`.
    pub on: Pairs<Patch>,
}

/// What a level, a server or the file's top level changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// Server configuration. None: no such section.
    pub settings: Option<Pairs<Setting>>,
    /// SET SESSION on each connection.
    pub session: Option<Pairs<Setting>>,
    /// Only in levels: `server = { build = ... }`, which replaces the server's own.
    pub build: Option<BuildSpec>,
    /// Only in levels: the keys of `server` about its nodes.
    pub cluster: ClusterPatch,
    /// Keys of the workload's own section, already checked by the workload.
    pub workload: Option<toml::Table>,
    pub load: Option<LoadPatch>,
    pub limits: Option<LimitsPatch>,
    /// Where the server's data lies.
    pub host: Option<HostPatch>,
    /// The subset of the protocol's rounds to run.
    pub rounds: Option<Vec<RoundKind>>,
    pub observe: Option<ObservePatch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundKind {
    Cold,
    Hot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One round is all queries in order.
    Round,
    /// One round is one query: cold after a restart of its own, then hot.
    Query,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Empty for a timed load.
    pub rounds: Vec<RoundKind>,
    pub unit: Unit,
    /// The largest number of blocks of a cell.
    pub blocks: u32,
    /// When the claims are judged and which cells go on; None for a fixed number of blocks.
    pub looks: Option<record::Looks>,
    /// Whether one cell is measured twice in each of two or more blocks: the A/A control.
    pub control: bool,
    /// Whether trials that shared the machine with another prony process count.
    pub shared_machine: bool,
    /// Timed load only: whether trials of less than 20 s are wanted.
    pub short: bool,
    /// A query that takes longer is cancelled and recorded as timed out.
    pub query_timeout: Option<Duration>,
    /// The queries to run, in the order of the workload; empty: all.
    pub queries: Vec<String>,
    /// Timed load only: the measured duration of a trial.
    pub time: Option<Duration>,
    pub warmup: WarmupSpec,
    /// The tables are read into memory before each started server's first trial.
    pub preload: bool,
    /// Trials that differ only in clients, workers or rate run in ascending order on one started server.
    pub series: bool,
    /// Timed load only: how long a client tries to reopen a lost connection before it gives up; None: the default of crate `load`.
    pub reconnect: Option<Duration>,
    /// How servers that are compared take turns; None: trials one after another.
    pub slices: Option<SliceSpec>,
    /// Timed load in slices only: the budget that chooses what the file does not state.
    pub within: Option<Within>,
}

/// Shorter loads vary more within a trial than between trials.
pub(crate) const SHORTEST: Duration = Duration::from_secs(20);

/// A budget of time for all blocks, without loading the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    pub budget: Duration,
    /// Whether it chooses the measured time of a trial. Until then `time` is the least that it chooses.
    pub chooses_time: bool,
    /// Whether it chooses the number of blocks.
    pub chooses_blocks: bool,
}

/// What a server measures in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceSpec {
    /// Timed load: slices of this middle length.
    Time(Duration),
    /// Timed load: slices of a quarter of a second, or longer if the operations of the first ones need it.
    Auto,
    /// Rounds: a query; with `unit = "query"` all rounds of it.
    Query,
}

/// The part of a timed load that is not measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmupSpec {
    None,
    /// This duration, before the measured time.
    Fixed(Duration),
    /// This share of the protocol's time, from 0 to below 1.
    Share(f64),
    /// Until the change points of the per-second series show a steady state.
    Find,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observe {
    pub plans: Plans,
    /// Queries whose SHOW PROFILE is recorded.
    pub profile: Vec<String>,
    /// Texts that plans must contain or lack; otherwise the trial is invalid.
    pub checks: Vec<PlanCheck>,
}

/// How query plans are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plans {
    Off,
    /// EXPLAIN after each round.
    #[default]
    Explain,
    /// Also EXPLAIN ANALYZE, or its equivalent, after the last round of the trial.
    Analyze,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanCheck {
    /// None: every query of the trial.
    pub query: Option<String>,
    pub expected: Expected,
}

/// A text of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    Holds(String),
    Lacks(String),
}

/// Changes that a level makes to `[observe]`. None: unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservePatch {
    pub plans: Option<Plans>,
    pub profile: Option<Vec<String>>,
    /// Added to the checks of the file and of other levels.
    pub checks: Vec<PlanCheck>,
}

impl Observe {
    /// Applies a patch. Checks need plans, so they switch them on.
    pub(crate) fn patched(mut self, patch: &ObservePatch) -> Observe {
        self.plans = patch.plans.unwrap_or(self.plans);
        self.profile = patch.profile.clone().unwrap_or(self.profile);
        self.checks.extend(patch.checks.iter().cloned());
        if !self.checks.is_empty() && self.plans == Plans::Off {
            self.plans = Plans::Explain;
        }
        self
    }
}

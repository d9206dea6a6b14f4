//! The checked experiment, which everything else uses.
//!
//! Plain data in the file's order. Nothing is left to check but what only a server can tell.

use super::limits::LimitsPatch;
use super::load::{LoadPatch, LoadSpec, OpenSpec, RateSpec, SearchSpec};
use std::path::PathBuf;
use std::time::Duration;

/// What a workload runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    Server,
    /// A folder of a file system, without any server.
    Folder,
}

/// (key, value) in the file's order.
pub type Pairs<V> = Vec<(String, V)>;

#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The file's stem: `old-blocks-time`.
    pub name: String,
    /// The file to the letter, but for the passwords of DSNs and for a trace, which stands in it whole.
    pub source: String,
    pub title: String,
    pub question: String,
    pub published: Option<String>,
    /// Empty where the workload runs on a folder.
    pub servers: Vec<ServerSpec>,
    /// The sections at the file's top level: they hold in every trial.
    pub base: Patch,
    /// In the file's order, `variant` among them; behind them `clients`, `rate` and `workers`, where the load has lists.
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
    /// The search for the largest rate, where the file asks for one.
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
    /// Start from the snapshot that this other server of the file made.
    pub dataset_from: Option<String>,
    pub settings: Pairs<Setting>,
}

/// Where a server comes from, as it is written: `mysql@5.6.14`, `mariadb`, `path:/opt/mysql`, `mysql://...`, `sqlite`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildSpec {
    Mysql(String),
    /// None: the distribution's, or one that is installed.
    MariaDb(Option<String>),
    Path(PathBuf),
    External(Dsn),
    Sqlite,
}

/// `mysql://user:password@host:port,host:port/schema?socket=/path&tls=required`
#[derive(Clone, PartialEq, Eq)]
pub struct Dsn {
    pub user: String,
    /// Never printed: `Debug` and `Display` leave it out.
    pub password: Option<String>,
    pub host: String,
    pub port: u16,
    /// Further nodes of the same cluster. The clients of a timed load are dealt out to all of them; everything else of
    /// prony's goes to the first.
    pub others: Vec<(String, u16)>,
    pub schema: Option<String>,
    pub socket: Option<PathBuf>,
    pub tls_required: bool,
}

impl std::fmt::Debug for Dsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Without the password, fit for records and messages.
impl std::fmt::Display for Dsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "mysql://{}@{}:{}", self.user, self.host, self.port)?;
        for (host, port) in &self.others {
            write!(f, ",{host}:{port}")?;
        }
        if let Some(schema) = &self.schema {
            write!(f, "/{schema}")?;
        }
        if let Some(socket) = &self.socket {
            write!(f, "?socket={}", socket.display())?;
        }
        Ok(())
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
    /// The level exists only where each of these factors (`server` is one) has one of these levels.
    pub only: Pairs<Vec<String>>,
    /// By server name: sections that replace those of `patch`.
    pub on: Pairs<Patch>,
}

/// What a level, a server or the file's top level changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// Server configuration. None: the section is not given.
    pub settings: Option<Pairs<Setting>>,
    /// SET SESSION on each connection.
    pub session: Option<Pairs<Setting>>,
    /// Of levels alone: `server = { build = ... }`, instead of the server's own.
    pub build: Option<BuildSpec>,
    /// Keys of the workload's own section, already checked by the workload.
    pub workload: Option<toml::Table>,
    pub load: Option<LoadPatch>,
    pub limits: Option<LimitsPatch>,
    /// Of these rounds alone; fewer of a kind than the protocol has.
    pub rounds: Option<Vec<RoundKind>>,
    pub observe: Option<ObservePatch>,
}

/// The value of a server setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// As the server takes it: `1`, `64M`, `ON`.
    Literal(String),
    /// A factor of the loaded data's bytes: `"data / 8"`, `"data * 4"`.
    OfData(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundKind {
    Cold,
    Hot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// All queries in order are one round.
    Round,
    /// Each query by itself: cold after a restart of its own, then hot.
    Query,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Empty for a timed load.
    pub rounds: Vec<RoundKind>,
    pub unit: Unit,
    pub blocks: u32,
    /// A query that takes longer is stopped and noted as such.
    pub query_timeout: Option<Duration>,
    /// Statements of the workload that are run, in the workload's own order; empty: all of them.
    pub queries: Vec<String>,
    /// Of a timed load: what is measured of a trial.
    pub time: Option<Duration>,
    pub warmup: WarmupSpec,
    /// The tables are read into memory before each started server's first trial.
    pub preload: bool,
    /// Trials that differ only in clients, workers or rate run one after the other on one started server, ascending.
    pub series: bool,
    /// Of a timed load: how long a client tries to reopen a lost connection before it gives up; None: the engine's default.
    pub reconnect: Option<Duration>,
}

/// What of a timed load is not measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmupSpec {
    None,
    /// So long before the protocol's time.
    Fixed(Duration),
    /// This share of the protocol's time, from 0 to below 1.
    Share(f64),
    /// The change points of the series decide.
    Find,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observe {
    pub plans: Plans,
    /// Names of queries whose SHOW PROFILE is kept.
    pub profile: Vec<String>,
    /// What plans have to hold or lack; a trial with a plan that does not is invalid.
    pub checks: Vec<PlanCheck>,
}

/// What is asked of each query's plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plans {
    Off,
    /// EXPLAIN, after each round.
    #[default]
    Explain,
    /// And once more with what an execution of it counts, after the trial's last round.
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

/// What a level changes of `[observe]`. None: left as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservePatch {
    pub plans: Option<Plans>,
    pub profile: Option<Vec<String>>,
    /// These come to those of the file and of other levels: a switch that is on is checked whatever else varies.
    pub checks: Vec<PlanCheck>,
}

impl Observe {
    /// A check needs plans, so it switches them on.
    pub fn patched(mut self, patch: &ObservePatch) -> Observe {
        self.plans = patch.plans.unwrap_or(self.plans);
        self.profile = patch.profile.clone().unwrap_or(self.profile);
        self.checks.extend(patch.checks.iter().cloned());
        if !self.checks.is_empty() && self.plans == Plans::Off {
            self.plans = Plans::Explain;
        }
        self
    }
}

/// Something that happens beside the load.
#[derive(Clone, Debug, PartialEq)]
pub struct EventSpec {
    /// The key that names its kind: `sql`.
    pub kind: String,
    /// Its place among the file's events, from 0.
    pub index: usize,
    pub when: EventTime,
    /// Only in trials with these levels; empty: in all.
    pub only: Pairs<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// Once, so long after the beginning of each round or timed load.
    At(Duration),
    /// Again and again during it.
    Every(Duration),
}

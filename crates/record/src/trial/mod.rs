//! One measured trial: its rounds or its timed load, its flags, its audit.
//!
//! Purpose: plain data that serialises. Boundary: judging is in `claim` and `stats`.

pub mod answer_hash;
pub(crate) mod audit;
pub mod event;
pub(crate) mod flag;
pub(crate) mod plan;
pub(crate) mod query_error;

pub use crate::family::Counters;
pub use crate::key::{Role, TrialKey};
pub use event::EventNote;

use crate::load::Slices;
use crate::summary::EngineCheck;
use flag::{Flag, FlagKind};
use query_error::QueryError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrialState {
    /// Measured whole; counts in the statistics.
    Done,
    /// Measured, but something makes the figures unusable (a wrong answer): shown, never counted.
    Invalid,
    /// Could not be finished; the flags have the reason.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub key: TrialKey,
    pub state: TrialState,
    pub flags: Vec<Flag>,
    /// Nanoseconds since the Unix epoch.
    pub started_ns: i64,
    pub ended_ns: i64,
    /// Seconds that the server took from its start to its first answer, by start within the trial.
    pub start_s: Vec<f64>,
    pub rounds: Vec<Round>,
    /// The timed load, instead of rounds. Kept in separate tables, so JSON leaves it out.
    #[serde(skip)]
    pub load: Option<Box<crate::load::Loaded>>,
    /// What the audit after a timed load found; none if the workload has no audit. Kept in a separate table.
    #[serde(skip)]
    pub audit: Option<audit::AuditNote>,
    /// Effective settings of the first node, as the server itself reports them.
    pub settings: BTreeMap<String, String>,
    /// Effective settings of further nodes, by their number from 2; empty for a server of one node.
    #[serde(default)]
    pub node_settings: BTreeMap<u32, BTreeMap<String, String>>,
    /// Every plan text seen in this trial, by its hash.
    pub plans: BTreeMap<String, String>,
    /// The same plans in the finer forms that the server has.
    #[serde(default)]
    pub plan_forms: Vec<plan::PlanForm>,
    pub events: Vec<EventNote>,
    /// The server's resource limits; empty if it had the whole machine.
    #[serde(default)]
    pub limits: Vec<LimitNote>,
    /// Bytes of the loaded data with its indexes, that relative settings refer to.
    pub data_bytes: u64,
    /// How the tables were loaded; none in records of an older prony.
    #[serde(default)]
    pub dataset: Option<DatasetNote>,
}

impl Trial {
    /// A trial without measurements. `started_ns` counts from the Unix epoch.
    pub fn unmeasured(key: TrialKey, started_ns: i64) -> Trial {
        Trial {
            key,
            state: TrialState::Done,
            flags: Vec::new(),
            started_ns,
            ended_ns: started_ns,
            start_s: Vec::new(),
            rounds: Vec::new(),
            load: None,
            audit: None,
            settings: BTreeMap::new(),
            node_settings: BTreeMap::new(),
            plans: BTreeMap::new(),
            plan_forms: Vec::new(),
            events: Vec::new(),
            limits: Vec::new(),
            data_bytes: 0,
            dataset: None,
        }
    }

    /// Adds a flag, unless the trial has it already.
    pub fn flag(&mut self, kind: FlagKind, text: impl Into<String>) {
        let flag = Flag {
            kind,
            text: text.into(),
        };
        if !self.flags.contains(&flag) {
            self.flags.push(flag);
        }
    }

    /// Adds a flag with each of these texts.
    pub fn flag_each(
        &mut self,
        kind: FlagKind,
        texts: impl IntoIterator<Item = impl Into<String>>,
    ) {
        for text in texts {
            self.flag(kind.clone(), text);
        }
    }

    /// Its first flag of this kind.
    pub fn flagged(&self, kind: FlagKind) -> Option<&Flag> {
        self.flags.iter().find(|flag| flag.kind == kind)
    }

    /// Adds a flag and marks the trial invalid: its figures are not what its name says. A failed trial stays failed.
    pub fn invalidate(&mut self, kind: FlagKind, text: impl Into<String>) {
        match self.state {
            TrialState::Done => self.take_out(TrialState::Invalid, kind, text.into()),
            TrialState::Invalid | TrialState::Failed => self.flag(kind, text),
        }
    }

    /// Flags what the load generator did to the figures.
    pub fn flag_engine(&mut self, engine: &EngineCheck) {
        if let Some(reason) = &engine.invalid {
            self.invalidate(FlagKind::EngineLimit, reason.clone());
        }
        match &engine.stalls {
            Some(stalls) if stalls.is_invalid => {
                self.invalidate(FlagKind::GeneratorStalled, stalls.text.clone());
            }
            Some(stalls) => self.flag(FlagKind::GeneratorStalled, stalls.text.clone()),
            None => {}
        }
    }

    /// Adds a flag with this reason and marks the trial failed: it could not be finished.
    pub fn fail(&mut self, reason: impl Into<String>) {
        self.take_out(TrialState::Failed, FlagKind::TrialFailed, reason.into());
    }

    /// Why the trial does not count; none if it does, or where no reason is recorded.
    pub fn reason(&self) -> Option<&str> {
        let first = self
            .flags
            .first()
            .filter(|_| self.state != TrialState::Done);
        first.map(|flag| flag.text.as_str())
    }

    /// Whether the server lacks what the trial needs, so that there are no figures. A trial with figures may carry the flag too,
    /// for settings that are not available.
    pub fn is_not_available(&self) -> bool {
        self.not_applied().is_some() && self.rounds.is_empty() && self.load.is_none()
    }

    /// Whether it has figures that count.
    pub fn is_valid(&self) -> bool {
        self.state == TrialState::Done && !self.is_not_available()
    }

    /// How its load was divided; None for a load without a break, and without a load.
    pub fn slices(&self) -> Option<&Slices> {
        self.load.as_ref()?.engine.slices.as_ref()
    }

    /// Whether it took turns with others, in slices or query by query.
    pub fn took_turns(&self) -> bool {
        self.slices().is_some() || self.flagged(FlagKind::TookTurns).is_some()
    }

    /// Whether it took turns with others on one server.
    pub fn shares_server(&self) -> bool {
        self.flagged(FlagKind::SharedServer).is_some()
    }

    /// Whether a query of it failed, so that not everything was measured.
    pub fn lacks_queries(&self) -> bool {
        self.rounds.iter().any(Round::lacks_queries)
    }

    /// Whether its server ran without the limits of the experiment (`--no-limits`).
    pub fn is_unlimited(&self) -> bool {
        self.flagged(FlagKind::LimitsNotApplied).is_some()
    }

    /// Why the trial was not measured as its name says: its server lacks a feature, or its settings could not be applied. Its figures
    /// are shown, but compared with nothing. None if everything was applied.
    pub fn not_applied(&self) -> Option<&str> {
        let flag = self.flagged(FlagKind::NotAvailable)?;
        Some(&flag.text)
    }

    /// The settings of the file that are not in force because prony does not configure the server. Trials with the same ones differ in
    /// none of them, so they can be compared.
    pub fn settings_not_applied(&self) -> BTreeSet<&str> {
        let flags = self.flags.iter();
        let of_settings = flags.filter(|flag| flag.kind == FlagKind::SettingNotApplied);
        of_settings.map(|flag| flag.text.as_str()).collect()
    }

    /// Sets the state, with its reason before the flags that only warn.
    fn take_out(&mut self, state: TrialState, kind: FlagKind, text: String) {
        let reason = Flag { kind, text };
        self.flags.retain(|flag| *flag != reason);
        self.flags.insert(0, reason);
        self.state = state;
    }
}

/// A dataset as it was loaded on one build of a server. A trial that starts from a kept snapshot has the times of the load that
/// made the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatasetNote {
    pub fingerprint: String,
    /// The build, its version and its binary.
    pub server: String,
    /// When the tables were loaded; on an external server, before the run, and before each timed load.
    pub rows: u64,
    /// Whether the server has estimated `rows`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rows_estimated: bool,
    /// The share of sampled rows that differ from the loaded ones (0 to 1), on an external server before the run or the timed load; none
    /// where no sample was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<f64>,
    /// Size of the tables with their indexes, as the server reports it.
    pub data_bytes: u64,
    /// Index size as the server reports it; none if it was not requested.
    #[serde(default)]
    pub index_bytes: Option<u64>,
    /// From the first row to the last commit, without indexes that were built afterwards; none if the tables were there already.
    pub load_s: Option<f64>,
    /// Seconds of the indexes that were built after the rows, by table; empty if the rows came with them.
    #[serde(default)]
    pub index_s: BTreeMap<String, f64>,
    /// How the rows were loaded, or `already there`.
    pub method: String,
    /// Events that the user's statements have made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// The collations of the text columns of the user's tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collations: Vec<String>,
    /// A hash of how the user's own tables are defined: engines, columns, indexes; none where prony defines them, and for dumps in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definitions: Option<String>,
    /// A hash of the triggers, the foreign keys and the names of the views beside these tables; none where prony defines them, and in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<String>,
    /// Where the tables lay in the trial: `xfs on /dev/sdb`. None on an external server, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
}

impl DatasetNote {
    /// How the fingerprint begins of tables that are the user's own on a running server.
    pub const THEIRS: &str = "schema-";

    /// Whether the tables are the user's own on a running server, which prony only reads.
    pub fn is_theirs(&self) -> bool {
        self.definitions.is_some() && self.fingerprint.starts_with(Self::THEIRS)
    }

    /// Whether the user's own tables hold other rows now, or are defined otherwise.
    pub fn has_changed(&self, now: &DatasetNote) -> bool {
        let are_theirs = self.is_theirs() && now.is_theirs();
        let other_objects = self.objects.is_some() && self.objects != now.objects;
        let are_other = self.definitions != now.definitions || other_objects;
        (are_theirs && are_other) || self.has_other_rows(now)
    }

    /// Whether both are the user's own tables with another number of rows. Estimates differ from one look to the next.
    pub fn has_other_rows(&self, other: &DatasetNote) -> bool {
        let are_theirs = self.is_theirs() && other.is_theirs();
        let are_counted = !self.rows_estimated && !other.rows_estimated;
        are_theirs && are_counted && self.rows != other.rows
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// `cold`, `hot`, or `lukewarm` where a cold round was requested and not reached.
    pub name: String,
    /// The number within its name, from 1: cold 1, hot 1, hot 2.
    pub index: u32,
    pub started_ns: i64,
    pub ended_ns: i64,
    /// Seconds: with one client the sum of the queries' times, without the protocol's own work between them. With several clients the time
    /// from their common start to the end of the last one, added up over the passes of the round.
    pub elapsed_s: f64,
    /// The evidence that a cold round was cold (rule 6).
    pub coldness: Option<Coldness>,
    pub queries: Vec<Query>,
    /// Over the whole round: with one client the sum over its queries, with several all that there is.
    pub counters: Counters,
}

impl Round {
    /// Whether it was requested under this name: a `lukewarm` round was requested as `cold`.
    pub fn is_called(&self, requested: &str) -> bool {
        self.name == requested || (requested == "cold" && self.name == "lukewarm")
    }

    /// The number of its clients, 1 without any query.
    pub fn clients(&self) -> u32 {
        let clients = self.queries.iter().map(|query| query.client);
        clients.max().unwrap_or(1)
    }

    /// The queries of this name; without a name all.
    pub fn selected(&self, name: Option<&str>) -> impl Iterator<Item = &Query> {
        let is_selected = move |query: &&Query| name.is_none_or(|name| name == query.name);
        self.queries.iter().filter(is_selected)
    }

    /// Whether a query was not answered at all, so that the sum of the times says nothing.
    pub fn lacks_queries(&self) -> bool {
        self.queries.iter().any(Query::has_failed)
    }

    /// Whether one of its queries reached the time limit, so that its time is a lower bound.
    pub fn timed_out(&self) -> bool {
        self.queries
            .iter()
            .any(|query| query.timed_out_s().is_some())
    }

    /// Queries that were answered, over the round's time; none if a query failed.
    pub fn queries_per_hour(&self) -> Option<f64> {
        let all_answered = self.queries.iter().all(|query| query.error.is_none());
        (all_answered && self.elapsed_s > 0.0)
            .then(|| self.queries.len() as f64 * 3600.0 / self.elapsed_s)
    }
}

/// The evidence for a cold round, taken after the restart and the eviction, before the first query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coldness {
    /// Whether all available evidence shows that the round was cold.
    pub proved: bool,
    /// How the file cache was emptied: `drop_caches`, `fadvise`, or `none`.
    pub eviction: String,
    pub server_restarted: bool,
    /// Pages in the server's buffer pool before the first query; absent if the server does not report them.
    pub pool_pages: Option<u64>,
    /// Bytes of the data files that were in the page cache before the first query, and their size.
    pub resident_bytes: Option<u64>,
    pub file_bytes: Option<u64>,
    /// How often the round was made cold: once, or before each of its queries. None in older records.
    #[serde(default)]
    pub passes: Option<u32>,
    /// Bytes read during the round from the disk with the data folder.
    pub device_read_bytes: Option<u64>,
    /// Why it is not proved, in one sentence, where it is not.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    Ok,
    Wrong,
    /// There was nothing to compare with.
    Unchecked,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Query {
    pub name: String,
    /// The client that sent it, from 1.
    #[serde(default = "first_client")]
    pub client: u32,
    /// From sending the statement to having read the last row.
    pub elapsed_ns: u64,
    pub rows: u64,
    pub answer: Answer,
    /// SHA-256 of the rows in their canonical form, so that servers and rounds can be compared.
    pub answer_hash: String,
    /// Hash of the plan, a key of `Trial::plans`; none if it was not requested or failed.
    pub plan_hash: Option<String>,
    /// Empty with several concurrent clients, where the server's counters cannot be attributed to a query.
    pub counters: Counters,
    /// (stage, seconds), where a profile was requested and the server has one.
    pub profile: Vec<(String, f64)>,
    /// Why it has no answer. Its time is the limit where that stopped it, and means nothing where it failed.
    pub error: Option<QueryError>,
}

fn first_client() -> u32 {
    1
}

impl Query {
    /// Whether it has no answer and no bound of its time either.
    pub fn has_failed(&self) -> bool {
        self.error.is_some() && self.timed_out_s().is_none()
    }

    /// The time limit in seconds that stopped the query: its real time is unknown and longer.
    pub fn timed_out_s(&self) -> Option<f64> {
        match self.error {
            Some(QueryError::TimedOut { limit_s }) => Some(limit_s),
            _ => None,
        }
    }
}

/// A resource limit of a trial's server: IOPS, bytes per second, bytes of memory or CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitNote {
    /// The name in the experiment file: `read_iops`.
    pub name: String,
    pub asked: f64,
    /// The result of a short measurement within the limits, before the server was started.
    pub measured: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_a_warning() -> Trial {
        let mut trial = Trial::unmeasured(TrialKey::default(), 0);
        trial.flag(FlagKind::CpuSteal, "3 % of the CPU time was taken");
        trial
    }

    #[test]
    fn the_reason_is_the_flag_that_took_the_trial_out_and_not_an_earlier_warning() {
        let mut trial = with_a_warning();
        assert_eq!((trial.state, trial.reason()), (TrialState::Done, None));

        trial.invalidate(FlagKind::WrongAnswer, "Q1 differs");
        trial.invalidate(FlagKind::WrongAnswer, "Q2 differs");
        assert_eq!(trial.reason(), Some("Q1 differs"));

        trial.fail("the server ended");
        trial.invalidate(FlagKind::WrongAnswer, "Q3 differs");
        assert_eq!(trial.state, TrialState::Failed);
        let texts: Vec<&str> = trial.flags.iter().map(|flag| flag.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "the server ended",
                "Q1 differs",
                "3 % of the CPU time was taken",
                "Q2 differs",
                "Q3 differs"
            ]
        );
    }

    #[test]
    fn a_warning_that_becomes_the_reason_is_not_repeated() {
        let mut trial = with_a_warning();
        trial.flag(FlagKind::WrongAnswer, "Q1 differs");
        trial.invalidate(FlagKind::WrongAnswer, "Q1 differs");
        assert_eq!(trial.reason(), Some("Q1 differs"));
        assert_eq!(trial.flags.len(), 2);
    }

    #[test]
    fn a_trigger_of_the_users_tables_is_a_change_unless_the_record_is_older() {
        let with = |objects: Option<&str>| DatasetNote {
            fingerprint: format!("{}shop", DatasetNote::THEIRS),
            definitions: Some("1f".into()),
            objects: objects.map(String::from),
            ..DatasetNote::default()
        };
        assert!(with(Some("3d")).has_changed(&with(Some("4c"))));
        assert!(!with(Some("3d")).has_changed(&with(Some("3d"))));
        assert!(!with(None).has_changed(&with(Some("3d"))));
    }
}

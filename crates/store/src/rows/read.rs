//! From rows back into the data model.

use super::column::{json, json_or_none, list, unreadable, word};
use super::counters::Lists;
use super::value::{self, FIRST_NODE};
use super::{audit, load, plans, slim};
use record::{
    Counters, EventNote, LimitNote, Loaded, Query, QueryError, Role, Round, Run, Trial, TrialKey,
    TrialState,
};
use rusqlite::{Connection, Result, Row};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How much of a trial is read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Depth<'s> {
    /// Without the queries' own counters, the series and histograms of timed loads, and all settings but these; with any of these,
    /// also those whose value is not the same in all trials.
    Times(&'s [&'s str]),
    /// Like `Times`, with all settings.
    Settings,
    Whole,
}

fn levels(row: &Row, column: usize) -> Result<Vec<(String, String)>> {
    let object: serde_json::Map<String, serde_json::Value> = json(row, column)?;
    let level =
        |(factor, level): (String, serde_json::Value)| Some((factor, level.as_str()?.to_string()));
    Ok(object.into_iter().filter_map(level).collect())
}

pub(crate) fn run(at: &Connection) -> Result<Run> {
    at.query_row(
        // The column of the part has the name that it had before loads were shared.
        "select id, experiment_toml, overrides_json, question_json, seed, shard, started_ns, environment_json, sharing_json from run",
        [],
        |row| {
            Ok(Run {
                id: row.get(0)?,
                experiment_toml: row.get(1)?,
                overrides: json(row, 2)?,
                question: json(row, 3)?,
                seed: row.get::<_, String>(4)?.parse().map_err(|e| unreadable(4, e))?,
                part: row.get(5)?,
                started_ns: row.get(6)?,
                environment: json(row, 7)?,
                sharing: json_or_none(row, 8)?,
                slim: slim::read(at)?,
            })
        },
    )
}

/// The keys of all trials except failed ones.
pub(crate) fn finished(at: &Connection) -> Result<Vec<TrialKey>> {
    let sql =
        "select block, server, levels_json, role from trial where state <> 'failed' order by id";
    list(at, sql, [], |row| {
        Ok(TrialKey {
            block: row.get(0)?,
            server: row.get(1)?,
            levels: levels(row, 2)?,
            role: word(row, 3)?,
        })
    })
}

/// The states of all trials except the control, failed ones among them.
pub(crate) fn states(at: &Connection) -> Result<Vec<TrialState>> {
    let sql = "select state from trial where role = 'measured' order by id";
    list(at, sql, [], |row| word(row, 0))
}

/// The trials of one role, in the order in which they ended.
pub(crate) fn trials<'c>(at: &'c Connection, role: Role, depth: Depth<'c>) -> Result<Vec<Trial>> {
    let settings = match depth {
        Depth::Times([]) => Some(BTreeSet::new()),
        Depth::Times(names) => Some(names_with(at, names)?),
        Depth::Settings | Depth::Whole => None,
    };
    let reader = Reader {
        at,
        depth,
        settings,
        lists: Lists::read(at)?,
        plans: plans::texts(at)?,
    };
    list(
        at,
        "select id, block, server, levels_json, state, flags_json, started_ns, ended_ns, start_s_json, data_bytes, plans_json, dataset_json
         from trial where role = ?1 order by id",
        [value::word(role)],
        |row| reader.trial(row, role),
    )
}

/// These names of settings, and those whose values differ between trials.
fn names_with(at: &Connection, names: &[&str]) -> Result<BTreeSet<String>> {
    let mut statement =
        at.prepare("select name from setting group by name having min(value) <> max(value)")?;
    let differing = statement.query_map([], |row| row.get::<_, String>(0))?;
    let names = names.iter().map(|name| Ok(name.to_string()));
    differing.chain(names).collect()
}

struct Reader<'c> {
    at: &'c Connection,
    depth: Depth<'c>,
    /// Names of the settings that are read; None for all.
    settings: Option<BTreeSet<String>>,
    lists: Lists,
    plans: HashMap<String, String>,
}

impl Reader<'_> {
    fn trial(&self, row: &Row, role: Role) -> Result<Trial> {
        let id = row.get(0)?;
        let mut node_settings = self.settings(id)?;
        Ok(Trial {
            load: self.load(id)?.map(Box::new),
            audit: audit::read(self.at, id)?,
            key: TrialKey {
                block: row.get(1)?,
                server: row.get(2)?,
                levels: levels(row, 3)?,
                role,
            },
            state: word(row, 4)?,
            flags: json(row, 5)?,
            started_ns: row.get(6)?,
            ended_ns: row.get(7)?,
            start_s: json(row, 8)?,
            rounds: self.rounds(id)?,
            settings: node_settings.remove(&FIRST_NODE).unwrap_or_default(),
            node_settings,
            plans: self.plans_of(json(row, 10)?),
            plan_forms: plans::forms(self.at, id)?,
            events: self.events(id)?,
            limits: self.limits(id)?,
            data_bytes: row.get::<_, i64>(9)? as u64,
            dataset: json_or_none(row, 11)?,
        })
    }

    fn load(&self, trial: i64) -> Result<Option<Loaded>> {
        match self.depth {
            Depth::Times(_) | Depth::Settings => load::brief(self.at, trial, &self.lists),
            Depth::Whole => load::whole(self.at, trial, &self.lists),
        }
    }

    fn plans_of(&self, hashes: Vec<String>) -> BTreeMap<String, String> {
        hashes
            .into_iter()
            .filter_map(|hash| self.plans.get_key_value(&hash))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    }

    fn rounds(&self, trial: i64) -> Result<Vec<Round>> {
        let sql =
            "select id, name, idx, started_ns, ended_ns, elapsed_s, proof_json, names, moved_json
             from round where trial = ?1 order by n";
        list(self.at, sql, [trial], |row| {
            Ok(Round {
                name: row.get(1)?,
                index: row.get(2)?,
                started_ns: row.get(3)?,
                ended_ns: row.get(4)?,
                elapsed_s: row.get(5)?,
                coldness: json_or_none(row, 6)?,
                queries: self.queries(row.get(0)?)?,
                counters: self.lists.unpack(row, 7)?,
            })
        })
    }

    fn queries(&self, round: i64) -> Result<Vec<Query>> {
        let mut counters = match self.depth {
            Depth::Times(_) | Depth::Settings => HashMap::new(),
            Depth::Whole => self.query_counters(round)?,
        };
        let sql = "select n, name, elapsed_ns, rows, answer, answer_hash, plan, profile_json, error, client
             from query where round = ?1 order by n";
        list(self.at, sql, [round], |row| {
            Ok(Query {
                name: row.get(1)?,
                elapsed_ns: row.get::<_, i64>(2)? as u64,
                rows: row.get::<_, i64>(3)? as u64,
                answer: word(row, 4)?,
                answer_hash: row.get(5)?,
                plan_hash: row.get(6)?,
                counters: counters.remove(&row.get(0)?).unwrap_or_default(),
                profile: json_or_none(row, 7)?.unwrap_or_default(),
                error: row.get::<_, Option<String>>(8)?.map(QueryError::from),
                client: row.get(9)?,
            })
        })
    }

    /// The counters of each query, by its place in the round.
    fn query_counters(&self, round: i64) -> Result<HashMap<i64, Counters>> {
        let mut statement = self
            .at
            .prepare_cached("select n, names, moved_json from query_counter where round = ?1")?;
        let counters =
            statement.query_map([round], |row| Ok((row.get(0)?, self.lists.unpack(row, 1)?)))?;
        counters.collect()
    }

    fn events(&self, trial: i64) -> Result<Vec<EventNote>> {
        let sql = "select at_ns, kind, text, ended_ns, node, numbers_json from event where trial = ?1 order by n";
        list(self.at, sql, [trial], |row| {
            Ok(EventNote {
                at_ns: row.get(0)?,
                ended_ns: row.get(3)?,
                kind: row.get(1)?,
                node: row.get(4)?,
                numbers: json_or_none(row, 5)?.unwrap_or_default(),
                text: row.get(2)?,
            })
        })
    }

    fn limits(&self, trial: i64) -> Result<Vec<LimitNote>> {
        let sql = "select name, asked, measured from trial_limit where trial = ?1 order by n";
        list(self.at, sql, [trial], |row| {
            Ok(LimitNote {
                name: row.get(0)?,
                asked: row.get(1)?,
                measured: row.get(2)?,
            })
        })
    }

    /// The settings by node. At the depth of times they are read one by one, since a server has twenty times as many.
    fn settings(&self, trial: i64) -> Result<BTreeMap<u32, BTreeMap<String, String>>> {
        let (names, which): (Vec<Option<&str>>, _) = match &self.settings {
            Some(names) => (
                names.iter().map(|name| Some(name.as_str())).collect(),
                "name = ?2",
            ),
            None => (vec![None], "?2 is null"),
        };
        let mut statement = self.at.prepare_cached(&format!(
            "select node, name, value from setting where trial = ?1 and {which}"
        ))?;
        let mut settings: BTreeMap<u32, BTreeMap<String, String>> = BTreeMap::new();
        for name in names {
            let mut rows = statement.query((trial, name))?;
            while let Some(row) = rows.next()? {
                let of_node = settings.entry(row.get(0)?).or_default();
                of_node.insert(row.get(1)?, row.get(2)?);
            }
        }
        Ok(settings)
    }
}

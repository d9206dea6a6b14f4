//! Counters as they lie in the file: the list of names once, and of the values only those that moved.
//!
//! A server has 400 counters of which a query moves 100. The list keeps "did not move" (0) and "absent" apart.

use crate::trial::Counters;
use rusqlite::{Connection, OptionalExtension, Result, params};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The row of the list and the JSON object of what moved; None where there is no counter at all.
pub(super) fn pack(at: &Connection, counters: &Counters) -> Result<Option<(i64, String)>> {
    if counters.is_empty() {
        return Ok(None);
    }
    let names: Vec<&String> = counters.keys().collect();
    let moved: BTreeMap<&String, i64> = counters
        .iter()
        .filter(|(_, v)| **v != 0)
        .map(|(k, v)| (k, *v))
        .collect();
    Ok(Some((
        list_id(at, &super::write::json(&names))?,
        super::write::json(&moved),
    )))
}

/// There are a few lists a run, so looking through them needs no index.
fn list_id(at: &Connection, names_json: &str) -> Result<i64> {
    let known = at
        .prepare_cached("select id from counter_names where names_json = ?1")?
        .query_row([names_json], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    at.prepare_cached("insert into counter_names (names_json) values (?1)")?
        .insert(params![names_json])
}

/// All lists of names of a file, each in ascending order.
pub(super) struct Lists(HashMap<i64, Vec<String>>);

impl Lists {
    pub(super) fn read(at: &Connection) -> Result<Lists> {
        let mut statement = at.prepare("select id, names_json from counter_names")?;
        let lists = statement.query_map([], |row| Ok((row.get(0)?, super::read::json(row, 1)?)))?;
        Ok(Lists(lists.collect::<Result<_>>()?))
    }

    /// The counters of a row, whose list and JSON stand in columns `names` and `names + 1`.
    pub(super) fn unpack(&self, row: &rusqlite::Row, names: usize) -> Result<Counters> {
        let Some(list) = row.get::<_, Option<i64>>(names)? else {
            return Ok(Counters::new());
        };
        let list = self.0.get(&list).map(Vec::as_slice).unwrap_or_default();
        let moved: BTreeMap<Cow<str>, i64> = super::read::json(row, names + 1)?;
        let mut moved = moved.into_iter().peekable();
        let mut value = |name: &String| {
            moved
                .next_if(|(of, _)| of == name.as_str())
                .map_or(0, |(_, value)| value)
        };
        Ok(list
            .iter()
            .map(|name| (name.clone(), value(name)))
            .collect())
    }
}

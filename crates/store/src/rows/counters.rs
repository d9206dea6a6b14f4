//! Counters in the file: the list of names once, and only the values that moved.
//!
//! A server has 400 counters of which a query moves 100. The list keeps "did not move" (0) and "absent" apart.

use super::{column, value};
use record::Counters;
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Unexpected, Visitor};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// The row of the list and the JSON object of the counters that moved; none without counters.
pub(crate) fn pack(
    at: &Connection,
    counters: &Counters,
) -> rusqlite::Result<Option<(i64, String)>> {
    if counters.is_empty() {
        return Ok(None);
    }
    let names: Vec<&String> = counters.keys().collect();
    let moved = counters.iter().filter(|(_, moved)| **moved != 0);
    let moved: BTreeMap<&String, &i64> = moved.collect();
    let list = list_id(at, &value::json(&names))?;
    Ok(Some((list, value::json(&moved))))
}

/// A run has a few lists, so that a scan needs no index.
fn list_id(at: &Connection, names_json: &str) -> rusqlite::Result<i64> {
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
pub(crate) struct Lists(HashMap<i64, Vec<String>>);

impl Lists {
    pub(crate) fn read(at: &Connection) -> rusqlite::Result<Lists> {
        let mut statement = at.prepare("select id, names_json from counter_names")?;
        let lists = statement.query_map([], |row| Ok((row.get(0)?, column::json(row, 1)?)))?;
        Ok(Lists(lists.collect::<rusqlite::Result<_>>()?))
    }

    /// The counters of a row, whose list and JSON are in the columns `names` and `names + 1`.
    pub(crate) fn unpack(&self, row: &rusqlite::Row, names: usize) -> rusqlite::Result<Counters> {
        let Some(list) = row.get::<_, Option<i64>>(names)? else {
            return Ok(Counters::new());
        };
        let list = self.0.get(&list).map(Vec::as_slice).unwrap_or_default();
        column::json_into(row, names + 1, Restore(list))
    }
}

/// Reads the object of moved counters over the list: all names, the others 0. Names are compared and not copied, because a
/// run of 200 trials has 80,000 that moved.
struct Restore<'l>(&'l [String]);

impl<'de> DeserializeSeed<'de> for Restore<'_> {
    type Value = Counters;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Counters, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Restore<'_> {
    type Value = Counters;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of counters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Counters, A::Error> {
        let (mut values, mut from) = (vec![0; self.0.len()], 0);
        while let Some(place) = object.next_key_seed(KeyPlace {
            names: self.0,
            from,
        })? {
            values[place] = object.next_value()?;
            from = place + 1;
        }
        Ok(self.0.iter().cloned().zip(values).collect())
    }
}

/// The place of a key in the list, from a place on: both are in ascending order.
struct KeyPlace<'l> {
    names: &'l [String],
    from: usize,
}

impl<'de> DeserializeSeed<'de> for KeyPlace<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyPlace<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a counter of the list, in ascending order")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<usize, E> {
        let ahead = self.names[self.from..].iter().position(|name| name == key);
        ahead
            .map(|ahead| self.from + ahead)
            .ok_or_else(|| E::invalid_value(Unexpected::Str(key), &self))
    }
}

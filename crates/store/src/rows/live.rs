//! The seconds of the running trial.
//!
//! They are for live display, so a commit does not wait for the disk: that would disturb the measurement. A killed prony
//! loses none of them; a power failure may lose some.

use super::column::{self, spoiled};
use super::value::{deflated, json};
use flate2::read::DeflateDecoder;
use record::{LiveSample, LiveTrial, TrialKey};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use std::io::Read;

/// Takes the place of this and later seconds of an earlier attempt, and of everything of another trial.
pub(crate) fn add(at: &Connection, key: &TrialKey, second: u32, sample: &LiveSample) -> Result<()> {
    let key = json(key);
    // All seconds belong to one trial, so one of them tells whose they are. A scan of all would take longer each second.
    let known = at
        .prepare_cached("select key_json from live limit 1")?
        .query_row([], |row| row.get::<_, String>(0))
        .optional()?;
    let from = if known.is_some_and(|known| known != key) {
        0
    } else {
        second
    };
    at.prepare_cached("delete from live where second >= ?1")?
        .execute([from])?;
    at.prepare_cached("insert into live values (?1, ?2, ?3)")?
        .execute(params![second, key, deflated(json(sample).as_bytes())])?;
    Ok(())
}

pub(crate) fn clear(at: &Connection, key: &TrialKey) -> Result<()> {
    at.prepare_cached("delete from live where key_json = ?1")?
        .execute([json(key)])?;
    Ok(())
}

pub(crate) fn read(at: &Connection) -> Result<Option<LiveTrial>> {
    let mut statement =
        at.prepare_cached("select second, packed, key_json from live order by second")?;
    let mut rows = statement.query([])?;
    let mut key = None;
    let mut seconds = Vec::new();
    while let Some(row) = rows.next()? {
        key.get_or_insert(column::json(row, 2)?);
        seconds.push((row.get(0)?, unpack(row, 1)?));
    }
    Ok(key.map(|key| LiveTrial { key, seconds }))
}

fn unpack(row: &Row, column: usize) -> Result<LiveSample> {
    let packed: Vec<u8> = row.get(column)?;
    let mut text = String::new();
    DeflateDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .map_err(|e| spoiled(column, e))?;
    serde_json::from_str(&text).map_err(|e| spoiled(column, e))
}

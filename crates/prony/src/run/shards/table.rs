//! The table in which the shards of a run meet, on the server under test.
//!
//! Purpose: one row per shard, written by that shard alone, so that no two ever wait for each other's row. Outside this module: what the
//! rows mean (`agree`). The table is used before each load only, because the server may be what an experiment stops.
//!
//! A shard that is there holds a lock of its own name (`GET_LOCK`), which the server releases when the connection ends, however the
//! process ends. A cluster may not support such locks; then a row is there that was written within the last [`FRESH_US`], or that says
//! until when its shard is busy.

use super::clock::NOW_US;
use server::{ServerError, Session};

/// prony's own schema for the meeting. Workloads whose tables change need schemas without other tables.
const SCHEMA: &str = "prony_shards";
const TABLE: &str = "prony_shards.shard";
/// How long a row without a lock counts as written by a shard that is there (µs).
const FRESH_US: i64 = 15_000_000;

/// What one shard tells the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// Random, so that two runs with the same numbers are told apart.
    pub token: String,
    pub number: u32,
    pub of: u32,
    /// The name of its own run; empty before it has one.
    pub run: String,
    pub machine: String,
    pub process: u32,
    /// Identifies the experiment, the command line and the release of prony.
    pub experiment: String,
    pub seed: u64,
    /// How far it has come. All shards count the same steps.
    pub step: u64,
    /// The token of its first shard; empty before all have met.
    pub party: String,
    /// What the first shard found at its last step that has a choice.
    pub choice: String,
    /// The last step at which it could not go along, and why.
    pub failed_step: u64,
    pub failed: String,
    /// Of the first shard: the last step with a common start, and the start on the server's clock (µs).
    pub start_step: u64,
    pub start_us: i64,
    /// Server's clock minus machine's, and the round trip that measured it (µs).
    pub offset_us: i64,
    pub round_trip_us: i64,
    /// It has given up the whole run, and why.
    pub gone: String,
    /// Whether the row was written after this process came (µs on the server's clock). Only read.
    pub seen_us: i64,
    /// Only read.
    pub is_there: bool,
}

/// The step of a shard that has measured all its trials.
pub(super) const DONE: u64 = i64::MAX as u64;

impl Row {
    /// Whether it takes part in a run: it is there, and has neither given up nor measured everything. Its connection may be open for a
    /// moment after that.
    pub(super) fn takes_part(&self) -> bool {
        self.is_there && self.gone.is_empty() && self.step != DONE
    }

    /// `shard 2/4 (host, process 17)`
    pub(super) fn name(&self) -> String {
        format!(
            "shard {}/{} ({}, process {})",
            self.number, self.of, self.machine, self.process
        )
    }
}

/// Makes the table if it does not exist, and prepares the session. Returns whether the session holds the shard's lock.
pub(super) fn open(session: &mut Session, token: &str) -> Result<bool, ServerError> {
    session.execute("SET SESSION time_zone = '+00:00'")?;
    session.execute("SET SESSION autocommit = 1")?;
    if session.query("SELECT NOW(6)").is_err() {
        return Err(ServerError::Unusable(
            "shards start together by the server's clock, and this server's has whole seconds only: use MySQL 5.6.4, MariaDB 5.3 or later".into(),
        ));
    }
    make(session).map_err(|error| match error {
        ServerError::Refused { code, message } => ServerError::Unusable(format!(
            "the shards cannot make the table {TABLE} in which they meet ({code} {message}); let the server's owner run: CREATE DATABASE {SCHEMA}; GRANT ALL ON {SCHEMA}.* TO this user"
        )),
        lost => lost,
    })?;
    let locked = session.query(&format!("SELECT GET_LOCK('{}', 0)", lock(token)));
    match locked {
        Ok(reply) => Ok(reply.first_text().as_deref() == Some("1")),
        Err(ServerError::Refused { .. }) => Ok(false),
        Err(lost) => Err(lost),
    }
}

fn make(session: &mut Session) -> Result<(), ServerError> {
    let there =
        format!("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{SCHEMA}'");
    if session.query(&there)?.first_text().as_deref() == Some("0") {
        session.execute(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"))?;
    }
    session.execute(&format!(
        "CREATE TABLE IF NOT EXISTS {TABLE} (token CHAR(16) NOT NULL PRIMARY KEY, shard_number INT NOT NULL, shards INT NOT NULL, run_name VARCHAR(255) NOT NULL, machine VARCHAR(255) NOT NULL, process BIGINT NOT NULL, experiment CHAR(16) NOT NULL, seed BIGINT UNSIGNED NOT NULL, step BIGINT NOT NULL, party CHAR(16) NOT NULL, choice VARCHAR(20) NOT NULL, failed_step BIGINT NOT NULL, failed VARCHAR(500) NOT NULL, start_step BIGINT NOT NULL, start_us BIGINT NOT NULL, offset_us BIGINT NOT NULL, round_trip_us BIGINT NOT NULL, gone VARCHAR(500) NOT NULL, locked INT NOT NULL, seen_us BIGINT NOT NULL)"
    ))?;
    Ok(())
}

/// Writes the shard's own row. Without a lock it counts for so much longer as the shard is `busy_us`.
pub(super) fn write(
    session: &mut Session,
    row: &Row,
    locked: bool,
    busy_us: i64,
) -> Result<(), ServerError> {
    session.execute(&format!(
        "REPLACE INTO {TABLE} VALUES ('{}', {}, {}, {}, {}, {}, '{}', {}, {}, '{}', '{}', {}, {}, {}, {}, {}, {}, {}, {}, {NOW_US} + {})",
        row.token,
        row.number,
        row.of,
        quoted(&row.run, 255),
        quoted(&row.machine, 255),
        row.process,
        row.experiment,
        row.seed,
        row.step,
        row.party,
        row.choice,
        row.failed_step,
        quoted(&row.failed, 500),
        row.start_step,
        row.start_us,
        row.offset_us,
        row.round_trip_us,
        quoted(&row.gone, 500),
        u8::from(locked),
        if locked { 0 } else { busy_us },
    ))?;
    Ok(())
}

/// The rows of all shards, of this run and of others.
pub(super) fn read(session: &mut Session) -> Result<Vec<Row>, ServerError> {
    let reply = session.query(&format!(
        "SELECT token, shard_number, shards, run_name, machine, process, experiment, seed, step, party, choice, failed_step, failed, start_step, start_us, offset_us, round_trip_us, gone, seen_us, \
         IF(locked = 1, IS_USED_LOCK(CONCAT('prony_shard_', token)) IS NOT NULL, seen_us > {NOW_US} - {FRESH_US}) FROM {TABLE}"
    ))?;
    Ok(reply.rows.iter().map(|cells| row(cells)).collect())
}

/// Removes rows that have not been written for an hour, of runs that have ended.
pub(super) fn tidy(session: &mut Session) -> Result<(), ServerError> {
    session.execute(&format!(
        "DELETE FROM {TABLE} WHERE seen_us < {NOW_US} - 3600000000 AND (locked = 0 OR IS_USED_LOCK(CONCAT('prony_shard_', token)) IS NULL)"
    ))?;
    Ok(())
}

fn lock(token: &str) -> String {
    format!("prony_shard_{token}")
}

fn row(cells: &[Option<Vec<u8>>]) -> Row {
    let text = |place: usize| {
        let cell = cells.get(place).and_then(Option::as_deref);
        String::from_utf8_lossy(cell.unwrap_or_default()).into_owned()
    };
    fn number<T: std::str::FromStr + Default>(text: &str) -> T {
        text.parse().unwrap_or_default()
    }
    Row {
        token: text(0),
        number: number(&text(1)),
        of: number(&text(2)),
        run: text(3),
        machine: text(4),
        process: number(&text(5)),
        experiment: text(6),
        seed: number(&text(7)),
        step: number(&text(8)),
        party: text(9),
        choice: text(10),
        failed_step: number(&text(11)),
        failed: text(12),
        start_step: number(&text(13)),
        start_us: number(&text(14)),
        offset_us: number(&text(15)),
        round_trip_us: number(&text(16)),
        gone: text(17),
        seen_us: number(&text(18)),
        is_there: text(19) == "1",
    }
}

/// A text as a literal, cut to this many characters.
fn quoted(text: &str, longest: usize) -> String {
    let plain = |c: char| match c {
        // Neither needs an escape, whatever the server's sql_mode.
        '\'' | '\\' => '`',
        c if c.is_ascii() && !c.is_ascii_control() => c,
        _ => '?',
    };
    let text: String = text.chars().take(longest).map(plain).collect();
    format!("'{text}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_literal() {
        assert_eq!(quoted("it's \\ ü\n", 9), "'it`s ` ??'");
        assert_eq!(quoted("abc", 2), "'ab'");
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let cells = [
            "a1",
            "2",
            "4",
            "r",
            "host",
            "17",
            "e",
            "18446744073709551615",
            "3",
            "p",
            "load",
            "2",
            "why",
            "1",
            "5",
            "-6",
            "7",
            "",
            "9",
            "1",
        ];
        let cells: Vec<_> = cells
            .iter()
            .map(|cell| Some(cell.as_bytes().to_vec()))
            .collect();
        let row = row(&cells);
        assert_eq!((row.number, row.of, row.seed), (2, 4, u64::MAX));
        assert_eq!((row.offset_us, row.is_there), (-6, true));
        assert_eq!(row.name(), "shard 2/4 (host, process 17)");
    }
}

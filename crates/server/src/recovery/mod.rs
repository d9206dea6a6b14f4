//! Reads what a server's log says about its recovery: redo, undo and torn pages, with times.
//!
//! Purpose: the phases of a recovery as numbers, for MySQL 5.5 to 9.7 and MariaDB 10.2 to 11.8. Boundaries: the log of several servers has
//! whole seconds, so the time of a line is when it appeared ([`LogWatch`]), not what it says.

mod watch;

use std::collections::BTreeMap;
pub use watch::LogWatch;

/// A line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// When it appeared, in seconds since the watch began.
    pub at_s: f64,
    pub text: String,
}

/// The phases of one recovery. What the log does not say is None.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecoveryLog {
    /// From the start of crash recovery until all redo records are applied (s).
    pub redo_s: Option<f64>,
    /// Redo log from the checkpoint to its end.
    pub redo_bytes: Option<u64>,
    /// The rollback of transactions that were not committed (s). It may continue while the server answers.
    pub undo_s: Option<f64>,
    /// Row changes that the rollback takes back.
    pub undo_rows: Option<u64>,
    /// Torn pages that the doublewrite buffer restored.
    pub doublewrite_pages: Option<u64>,
    /// Whether a rollback has begun and not ended.
    pub is_rolling_back: bool,
}

const BEGIN: &str = "Starting crash recovery";
/// What precedes the log sequence number of the checkpoint.
const CHECKPOINT: [&str; 3] = [
    "checkpoint LSN=",
    "checkpoint is at lsn = ",
    "progressed past the checkpoint lsn ",
];
/// What precedes the log sequence number at which the redo log ends; the last one counts.
const LOG_END: [&str; 2] = ["scanned up to log sequence number ", "End of log at LSN="];
/// The line after the start, for servers that do not log the former.
const STARTED: &str = " started; log sequence number ";
/// The end of the redo phase, the last one; other servers log only the phase after it, the first of these.
const APPLIED: &str = "Apply batch completed";
const AFTER_REDO: [&str; 3] = [
    "rollback segments are active",
    "rollback segments in ",
    "Waiting for the background threads to start",
];
const UNDO_BEGIN: &str = "Starting in background the rollback";
const UNDO_END: &str = "Rollback of non-prepared transactions completed";
const UNDO_ROWS: &str = "in total ";
const RESTORED: &str = "from the doublewrite buffer";

impl RecoveryLog {
    /// Reads the lines of one start. Empty if the server did not recover from a crash.
    pub fn from_lines(lines: &[LogLine]) -> RecoveryLog {
        let Some(begin) = lines.iter().position(|line| line.text.contains(BEGIN)) else {
            return RecoveryLog::default();
        };
        let recovery = &lines[begin..];
        let undo_begin = first(recovery, &[UNDO_BEGIN]);
        let undo_end = first(recovery, &[UNDO_END]);
        let redo_end = last(recovery, APPLIED).or_else(|| first(recovery, &AFTER_REDO));
        let between = |from: f64, until: f64| (until - from).max(0.0);
        RecoveryLog {
            redo_s: redo_end.map(|end| between(recovery[0].at_s, end)),
            redo_bytes: redo_bytes(lines),
            undo_s: undo_begin
                .zip(undo_end)
                .map(|(from, end)| between(from, end)),
            undo_rows: numbers_after(recovery, &[UNDO_ROWS]).last().copied(),
            doublewrite_pages: Some(restored_pages(lines)),
            is_rolling_back: undo_begin.is_some() && undo_end.is_none(),
        }
    }

    /// The known numbers by names that end in their unit.
    pub fn numbers(&self) -> BTreeMap<String, f64> {
        let counts = |count: Option<u64>| count.map(|count| count as f64);
        let all = [
            ("redo_s", self.redo_s),
            ("redo_bytes", counts(self.redo_bytes)),
            ("undo_s", self.undo_s),
            ("undo_rows", counts(self.undo_rows)),
            ("doublewrite_pages", counts(self.doublewrite_pages)),
        ];
        let known = all.into_iter();
        known
            .filter_map(|(name, value)| Some((name.to_string(), value?)))
            .collect()
    }
}

fn first(lines: &[LogLine], texts: &[&str]) -> Option<f64> {
    let is_it = |line: &&LogLine| texts.iter().any(|text| line.text.contains(text));
    lines.iter().find(is_it).map(|line| line.at_s)
}

fn last(lines: &[LogLine], text: &str) -> Option<f64> {
    let found = lines.iter().rfind(|line| line.text.contains(text));
    found.map(|line| line.at_s)
}

/// The numbers that follow any of these texts.
fn numbers_after(lines: &[LogLine], texts: &[&str]) -> Vec<u64> {
    let number = |line: &LogLine| {
        let rest = texts
            .iter()
            .find_map(|text| line.text.split_once(text).map(|(_, rest)| rest))?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    lines.iter().filter_map(number).collect()
}

fn redo_bytes(lines: &[LogLine]) -> Option<u64> {
    let checkpoint = *numbers_after(lines, &CHECKPOINT).first()?;
    let ends = numbers_after(lines, &LOG_END);
    let end = ends.last().copied();
    let end = end.or_else(|| numbers_after(lines, &[STARTED]).last().copied())?;
    end.checked_sub(checkpoint)
}

fn restored_pages(lines: &[LogLine]) -> u64 {
    let is_restored = |line: &&LogLine| {
        line.text.contains(RESTORED) && line.text.to_ascii_lowercase().contains("recovered")
    };
    lines.iter().filter(is_restored).count() as u64
}

#[cfg(test)]
mod tests;

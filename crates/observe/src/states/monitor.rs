//! The text of SHOW ENGINE INNODB STATUS: the only source of some states in MySQL 5.5, and in servers without enabled metrics.
//!
//! Its lines are the same in every version from 5.5 on, but for blanks. Its rates are not used: they count from the last reader.

use crate::reading::Reading;
use server::Session;

/// Names of the values that are read from the text.
pub(super) const LSN: &str = "monitor: log sequence number";
pub(super) const CHECKPOINT: &str = "monitor: last checkpoint";
pub(super) const HISTORY: &str = "monitor: history list length";

const LINES: [(&str, &str); 3] = [
    ("Log sequence number", LSN),
    ("Last checkpoint at", CHECKPOINT),
    ("History list length", HISTORY),
];

/// None if the server refuses (it needs the privilege PROCESS), or the text has none of the lines.
pub(super) fn read(session: &mut Session) -> Option<Reading> {
    let reply = session.query("SHOW ENGINE INNODB STATUS").ok()?;
    let text = reply.rows.first()?.last()?.as_ref()?;
    let found = parse(&String::from_utf8_lossy(text));
    (!found.is_empty()).then_some(found)
}

fn parse(text: &str) -> Reading {
    text.lines()
        .filter_map(|line| {
            let mut known = LINES.iter();
            known.find_map(|(begin, name)| {
                let value = line.strip_prefix(begin)?.trim().parse().ok()?;
                Some((name.to_string(), value))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_positions_and_history_are_read_with_any_number_of_blanks() {
        let text = "LOG\n---\nLog sequence number 1625987\nLog flushed up to   1625987\n\
                    Last checkpoint at           1625977\nHistory list length 34\n";
        let found = parse(text);
        assert_eq!(found[LSN] - found[CHECKPOINT], 10);
        assert_eq!(found[HISTORY], 34);
        assert_eq!(found.len(), 3);
    }
}

//! Optimizer hints that a server did not heed.
//!
//! Goal: an unknown hint, or one for a table that the query does not have, is told by name. Servers take such a hint as a
//! comment and say so in a warning alone. Non-goals: whether the server has hints at all (`preflight`); whether the plan is
//! the one that a hint asks for.

use crate::server::Session;
use record::Flag;

/// The flag of a hint that is not in force.
pub const UNHEEDED: &str = "hint_ignored";

/// Asks for the query's plan and for the warnings that come with it. Nothing is asked where the statement has no hint.
pub fn unheeded(session: &mut Session, name: &str, sql: &str) -> Vec<Flag> {
    if !sql.contains("/*+") || session.query(&format!("EXPLAIN {sql}")).is_err() {
        return Vec::new();
    }
    let Ok(reply) = session.query("SHOW WARNINGS") else {
        return Vec::new();
    };
    let rows = reply.rows.iter().filter_map(|row| {
        let text = |cell: &Option<Vec<u8>>| {
            String::from_utf8_lossy(cell.as_deref().unwrap_or_default()).into_owned()
        };
        match row.as_slice() {
            [level, code, message] => Some((text(level), text(code), text(message))),
            _ => None,
        }
    });
    flags(name, rows)
}

/// Notes hold the rewritten query; warnings say what was left out.
fn flags(name: &str, warnings: impl Iterator<Item = (String, String, String)>) -> Vec<Flag> {
    let left_out = warnings.filter(|(level, ..)| level == "Warning");
    left_out
        .map(|(_, code, message)| Flag {
            kind: UNHEEDED.into(),
            text: format!("{name}: {code} {message}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_told_and_the_rewritten_query_is_not() {
        let row = |level: &str, code: &str, message: &str| {
            (level.to_string(), code.to_string(), message.to_string())
        };
        let rows = [
            row(
                "Warning",
                "1064",
                "Optimizer hint syntax error near 'MRRR(t) */'",
            ),
            row("Note", "1003", "/* select#1 */ select 1"),
        ];
        let found = flags("Q3", rows.into_iter());
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].text,
            "Q3: 1064 Optimizer hint syntax error near 'MRRR(t) */'"
        );
    }
}

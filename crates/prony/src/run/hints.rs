//! Optimizer hints that a server did not heed.
//!
//! Goal: an unknown hint, or one for a table that the query does not have, is told by name. Servers take such a hint as a
//! comment and say so in a warning alone. Non-goals: whether the server has hints at all (`preflight`); whether the plan is
//! the one that a hint asks for.

use super::plans;
use super::round::{Live, Pass, Passed};
use record::{Flag, FlagKind};
use server::ServerError;
use workload::Dialect;

/// Of every query of the pass that has a hint: asks for its plan, and for the warnings that come with it.
pub fn look(pass: &Pass, live: &mut Live, passed: &mut Passed) -> Result<(), ServerError> {
    let dialect = Dialect::of(&live.session);
    for operation in pass.operations {
        let sql = operation.sql(dialect);
        if !sql.contains("/*+") {
            continue;
        }
        let warnings = plans::watched(pass.protocol.query_timeout, live, |session| {
            session.query(&format!("EXPLAIN {sql}"))?;
            session.query("SHOW WARNINGS")
        })?;
        // A query that cannot be explained has said so itself.
        let rows = warnings.map(|reply| reply.rows).unwrap_or_default();
        let warnings = rows.iter().filter_map(|row| warning(row));
        passed.flags.extend(flags(&operation.name, warnings));
    }
    Ok(())
}

/// (level, code, message)
fn warning(row: &[Option<Vec<u8>>]) -> Option<(String, String, String)> {
    let text = |cell: &Option<Vec<u8>>| {
        String::from_utf8_lossy(cell.as_deref().unwrap_or_default()).into_owned()
    };
    match row {
        [level, code, message] => Some((text(level), text(code), text(message))),
        _ => None,
    }
}

/// Notes hold the rewritten query; warnings say what was left out, and other things that have nothing to do with hints.
fn flags(name: &str, warnings: impl Iterator<Item = (String, String, String)>) -> Vec<Flag> {
    let left_out = warnings.filter(|(level, _, message)| {
        level == "Warning" && message.to_lowercase().contains("hint")
    });
    left_out
        .map(|(_, code, message)| Flag {
            kind: FlagKind::HintIgnored,
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

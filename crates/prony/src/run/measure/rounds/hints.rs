//! Detects optimizer hints that a server ignored.
//!
//! Purpose: flag a hint that is unknown, or that names a table that the query does not have. Servers ignore such a hint and only raise a
//! warning. Outside this module: whether the server has hints at all (`preflight`); whether the plan follows a hint.

use super::pass::{Pass, Passed, set_up};
use super::plans;
use crate::run::place::live::Live;
use record::{Flag, FlagKind};
use server::ServerError;
use workload::Dialect;

/// Runs EXPLAIN and SHOW WARNINGS for every query of the pass that has a hint.
pub(crate) fn look(pass: &Pass, live: &mut Live, passed: &mut Passed) -> Result<(), ServerError> {
    let dialect = Dialect::of(&live.session);
    for operation in pass.operations {
        let sql = operation.sql(dialect);
        if !sql.contains("/*+") {
            continue;
        }
        let warnings = plans::watched(pass.protocol.query_timeout, live, |session| {
            set_up(session, operation)?;
            session.query(&format!("EXPLAIN {sql}"))?;
            session.query("SHOW WARNINGS")
        })?;
        // If EXPLAIN fails, `plans` has flagged it.
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

/// The flags of ignored hints. Notes hold the rewritten query; of the warnings, only some concern hints.
fn flags(name: &str, warnings: impl Iterator<Item = (String, String, String)>) -> Vec<Flag> {
    let ignored = warnings.filter(|(level, _, message)| {
        level == "Warning" && message.to_lowercase().contains("hint")
    });
    ignored
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
    fn a_warning_is_flagged_and_the_rewritten_query_is_not() {
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

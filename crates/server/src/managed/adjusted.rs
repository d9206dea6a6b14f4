//! Finds settings that the server adjusted: a requested buffer pool of 13 MiB that runs as 16 MiB.
//!
//! Each one is reported, so that no result is attributed to a setting that was not in force. So are statements of `init_connect`, which
//! no session of prony runs. Settings that the server does not show under the same name are skipped.

use crate::{Adjusted, Reply, ServerError, Session};
use spec::{listed, plain, without_loose};
use std::collections::{BTreeMap, BTreeSet};

/// Statements that a server runs for each new connection, but not for administrators, as prony's accounts are on servers that it starts.
const INIT_CONNECT: &str = "init_connect";

/// What SET changes where it is about the character set of a session, which prony chooses itself. Files of settings often have it.
const OF_TEXT: [&str; 3] = ["names ", "character", "collation_connection"];

/// Compares the requested settings with SHOW GLOBAL VARIABLES.
pub(crate) fn find(
    requested: &[(String, String)],
    session: &mut Session,
) -> Result<Vec<Adjusted>, ServerError> {
    let in_force = in_force(session)?;
    let mut found = differences(requested, &in_force);
    found.extend(never_run(requested));
    Ok(found)
}

fn never_run(requested: &[(String, String)]) -> Option<Adjusted> {
    let mut settings = requested.iter();
    let (_, statements) = settings.rfind(|(name, _)| listed(name) == INIT_CONNECT)?;
    let is_of_text = statements.split(';').all(is_of_text);
    (!is_of_text).then(|| Adjusted {
        name: INIT_CONNECT.into(),
        requested: statements.clone(),
        effective: "none of it for administrators, as prony's sessions are: write the variables in [session]".into(),
    })
}

/// Whether a statement sets a character set and nothing else, or is empty.
fn is_of_text(statement: &str) -> bool {
    let statement = statement.trim().to_ascii_lowercase();
    let set = statement.strip_prefix("set ").unwrap_or_default();
    let begins = |what: &&str| set.trim_start().starts_with(*what);
    statement.is_empty() || (OF_TEXT.iter().any(begins) && !set.contains(','))
}

/// Reads SHOW GLOBAL VARIABLES.
pub(crate) fn in_force(session: &mut Session) -> Result<BTreeMap<String, String>, ServerError> {
    let shown = session.control(|session| session.query("SHOW GLOBAL VARIABLES"))?;
    Ok(variables(&shown).collect())
}

/// The names and the values of SHOW VARIABLES.
pub(crate) fn variables(shown: &Reply) -> impl Iterator<Item = (String, String)> {
    let text = move |row, column| shown.text(row, column).unwrap_or_default();
    (0..shown.rows.len()).map(move |row| (text(row, 0), text(row, 1)))
}

/// Compares the requested settings with those in force, by name. Of a list of switches, only the flags that differ are
/// returned.
pub fn differences(
    requested: &[(String, String)],
    in_force: &BTreeMap<String, String>,
) -> Vec<Adjusted> {
    // A later value of the same setting wins.
    let last: BTreeMap<String, &String> = requested
        .iter()
        .map(|(name, value)| (listed(name), value))
        .collect();
    let differs = |(name, requested): (String, &String)| {
        let effective = in_force.get(&name)?;
        let (requested, effective) = match (agree(requested, effective), requested.contains('=')) {
            (true, _) => return None,
            (false, true) => differing_flags(requested, effective),
            (false, false) => (requested.clone(), effective.clone()),
        };
        Some(Adjusted {
            name,
            requested,
            effective,
        })
    };
    last.into_iter().filter_map(differs).collect()
}

/// The value in force of a setting on a server that prony does not configure, if it is not certainly the requested one: the inner None
/// is a setting that the server does not show.
pub fn unmet<'v>(
    name: &str,
    requested: &str,
    in_force: &'v BTreeMap<String, String>,
) -> Option<Option<&'v str>> {
    let name = plain(name);
    let own = without_loose(&name);
    let shown = own.unwrap_or(&name);
    let Some(effective) = in_force.get(shown) else {
        // A server ignores a loose setting that it does not know.
        return own.is_none().then_some(None);
    };
    (!is_certainly(shown, requested, effective)).then_some(Some(effective))
}

/// Whether both spell one value. What [`agree`] leaves open counts as another value.
fn is_certainly(name: &str, requested: &str, effective: &str) -> bool {
    match (Value::parse(requested), Value::parse(effective)) {
        // Of switches only those that are requested; any other list is requested as a whole.
        (Value::Text, Value::Text) if requested.contains('=') => {
            let parts = flags(requested);
            parts.is_subset(&flags(effective))
        }
        (Value::Text, Value::Text) => flags(requested) == flags(effective),
        // The file is not shown.
        (Value::Text, Value::Switch(true)) => name == "log_bin",
        (Value::Text, _) | (_, Value::Text) => false,
        _ => agree(requested, effective),
    }
}

fn flags(list: &str) -> BTreeSet<String> {
    let parts = list.split(',');
    parts.map(|part| part.trim().to_ascii_lowercase()).collect()
}

fn agree(requested: &str, effective: &str) -> bool {
    match (Value::parse(requested), Value::parse(effective)) {
        (Value::Number(requested), Value::Number(effective)) => requested == effective,
        // Servers show ON and OFF for 1 and 0, and vice versa.
        (Value::Switch(requested), Value::Switch(effective)) => requested == effective,
        (Value::Switch(switch), Value::Number(number))
        | (Value::Number(number), Value::Switch(switch)) => number == f64::from(u8::from(switch)),
        // A requested list of switches names only the flags that it changes.
        (Value::Text, Value::Text) => requested.split(',').all(|part| has(effective, part)),
        // A file is shown as ON (log_bin). A server that has only ON and OFF takes another word for OFF.
        (Value::Text, Value::Switch(is_on)) => is_on,
        // A keyword given as a number: concurrent_insert = 1 is AUTO.
        _ => true,
    }
}

/// Whether the list in force contains this flag. A flag set to `default` always matches, because the default is unknown
/// here.
fn has(effective: &str, part: &str) -> bool {
    let part = part.trim().to_ascii_lowercase();
    let is_default = part == "default" || part.ends_with("=default");
    is_default
        || effective
            .split(',')
            .any(|own| own.trim().eq_ignore_ascii_case(&part))
}

/// The flags that differ: as requested, and as in force.
fn differing_flags(requested: &str, effective: &str) -> (String, String) {
    let parts: Vec<&str> = requested
        .split(',')
        .filter(|part| !has(effective, part))
        .collect();
    let flag = |part: &str| part.split('=').next().unwrap_or(part).trim().to_string();
    let flags: Vec<String> = parts.iter().map(|part| flag(part)).collect();
    let own = effective
        .split(',')
        .filter(|own| flags.contains(&flag(own)));
    (parts.join(","), own.collect::<Vec<_>>().join(","))
}

enum Value {
    Number(f64),
    Switch(bool),
    Text,
}

impl Value {
    /// Parses a value; K, M, G and T are powers of 1024, as for the servers.
    fn parse(text: &str) -> Value {
        match text.to_ascii_uppercase().as_str() {
            "ON" | "TRUE" | "YES" => return Value::Switch(true),
            "OFF" | "FALSE" | "NO" => return Value::Switch(false),
            _ => {}
        }
        let (digits, power) = match text.char_indices().last() {
            Some((at, unit)) => match "KMGT".find(unit.to_ascii_uppercase()) {
                Some(n) => (&text[..at], n as i32 + 1),
                None => (text, 0),
            },
            None => (text, 0),
        };
        match digits.parse::<f64>() {
            Ok(number) => Value::Number(number * 1024f64.powi(power)),
            Err(_) => Value::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(
        requested: &[(&str, &str)],
        in_force: &[(&str, &str)],
    ) -> Vec<(String, String, String)> {
        let requested: Vec<_> = requested
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let in_force = in_force
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        differences(&requested, &in_force)
            .into_iter()
            .map(|one| (one.name, one.requested, one.effective))
            .collect()
    }

    #[test]
    fn only_switches_that_differ_are_reported() {
        let requested = [(
            "optimizer_switch",
            "mrr=on,semijoin=default,mrr_cost_based=off",
        )];
        let effective = [(
            "optimizer_switch",
            "index_merge=on,mrr=on,mrr_cost_based=on,semijoin=on",
        )];
        let expected = [(
            "optimizer_switch",
            "mrr_cost_based=off",
            "mrr_cost_based=on",
        )];
        assert_eq!(
            found(&requested, &effective),
            expected.map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string()))
        );
        assert_eq!(found(&[("optimizer_switch", "default")], &effective), []);
    }

    #[test]
    fn a_rounded_buffer_pool_size_is_reported() {
        let pool = [("innodb_buffer_pool_size", "16777216")];
        let expected = [(
            "innodb_buffer_pool_size".to_string(),
            "13M".to_string(),
            "16777216".to_string(),
        )];
        for name in ["innodb-buffer-pool-size", "loose_innodb_buffer_pool_size"] {
            assert_eq!(found(&[(name, "13M")], &pool), expected, "{name}");
        }
        assert_eq!(found(&[("innodb_buffer_pool_size", "16M")], &pool), []);
    }

    #[test]
    fn equal_values_in_another_spelling_are_not_reported() {
        let same = [
            ("a", "1", "ON"),
            ("a", "off", "OFF"),
            ("a", "0.5", "0.500000"),
            ("a", "o_direct", "O_DIRECT"),
        ];
        for (name, requested, effective) in same {
            assert_eq!(
                found(&[(name, requested)], &[(name, effective)]),
                [],
                "{requested} and {effective}"
            );
        }
        assert_eq!(
            found(
                &[("optimizer_switch", "mrr=on")],
                &[("optimizer_switch", "icp=on,mrr=on")]
            ),
            []
        );
        assert_eq!(found(&[("log_bin", "binlog")], &[("log_bin", "ON")]), []);
        assert_eq!(found(&[("not_a_variable", "1")], &[]), []);
    }

    #[test]
    fn a_setting_is_met_by_the_same_value_in_any_spelling_and_by_no_other() {
        let in_force = [
            ("innodb_buffer_pool_size", "134217728"),
            ("sync_binlog", "0"),
            ("innodb_stats_on_metadata", "OFF"),
            ("sql_mode", "STRICT_TRANS_TABLES,ANSI_QUOTES"),
            ("optimizer_switch", "mrr=on,icp=off"),
            ("concurrent_insert", "AUTO"),
            ("log_bin", "ON"),
            ("gtid_mode", "ON"),
            ("event_scheduler", "OFF"),
        ];
        let in_force: BTreeMap<String, String> = in_force
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        for (name, met, other) in [
            ("Innodb-Buffer-Pool-Size", "128M", "64M"),
            ("sync_binlog", "off", "1"),
            ("innodb_stats_on_metadata", "0", "on"),
            ("sql_mode", "ansi_quotes,STRICT_TRANS_TABLES", "ANSI_QUOTES"),
            ("optimizer_switch", "mrr=on", "mrr=off"),
            ("concurrent_insert", "auto", "1"),
            ("log_bin", "binlog", "0"),
            ("gtid_mode", "on", "ON_PERMISSIVE"),
            ("event_scheduler", "0", "DISABLED"),
            ("loose_innodb_buffer_pool_size", "128M", "64M"),
            ("loose_log_bin", "binlog", "0"),
        ] {
            assert_eq!(unmet(name, met, &in_force), None, "{name} = {met}");
            assert!(unmet(name, other, &in_force).flatten().is_some(), "{name}");
        }
        assert_eq!(unmet("innodb_of_tomorrow", "1", &in_force), Some(None));
        assert_eq!(unmet("loose_of_tomorrow", "1", &in_force), None);
    }

    #[test]
    fn statements_that_no_session_of_prony_runs_are_reported() {
        let found = |name: &str, value: &str| never_run(&[(name.into(), value.into())]);
        let sets = "SET optimizer_switch = 'mrr=on'";
        let reported = found("Init-Connect", sets).unwrap();
        assert_eq!(
            (reported.name.as_str(), reported.requested.as_str()),
            (INIT_CONNECT, sets)
        );
        for of_text in [
            " ",
            "SET NAMES utf8mb4",
            "SET collation_connection = utf8mb4_bin; SET NAMES utf8mb4;",
        ] {
            assert_eq!(found("init_connect", of_text), None, "{of_text}");
        }
        let more = "SET NAMES utf8, sql_mode = ''";
        assert!(found("init_connect", more).is_some());
        assert_eq!(found("init_file", sets), None);
    }

    #[test]
    fn a_word_that_the_server_takes_for_off_is_reported() {
        let requested = [("innodb_doublewrite", "DETECT_ONLY")];
        let off = [("innodb_doublewrite", "OFF")];
        let expected = [(
            "innodb_doublewrite".to_string(),
            "DETECT_ONLY".to_string(),
            "OFF".to_string(),
        )];
        assert_eq!(found(&requested, &off), expected);
    }

    #[test]
    fn the_last_value_of_a_repeated_setting_counts() {
        assert_eq!(found(&[("a", "1"), ("a", "2")], &[("a", "2")]), []);
        assert_eq!(found(&[("a", "2"), ("a", "1")], &[("a", "2")]).len(), 1);
    }
}

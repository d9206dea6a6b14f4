//! What sessions that measure set, and what is recorded of their variables.
//!
//! Purpose: a trial measures the server's work, not its query cache, and the record says in what state its sessions were. Outside this
//! module: autocommit, which every session sets when it is opened.

use record::{Counters, FlagKind, Trial, grouped};
use server::{ServerError, Session};
use spec::listed;
use spec::{Pairs, Setting};
use std::collections::BTreeMap;

const CACHE: &str = "query_cache_type";
const CACHE_HITS: &str = "Qcache_hits";
const CHARSET: &str = "character_set_client";
const LIMIT: &str = "sql_select_limit";
/// The server's own default.
const NO_LIMIT: &str = "18446744073709551615";

/// Variables that change what statements do. They are the server's unless the file sets them.
const RECORDED: [&str; 11] = [
    "autocommit",
    CACHE,
    LIMIT,
    "transaction_isolation",
    "tx_isolation",
    "sql_mode",
    "time_zone",
    CHARSET,
    "character_set_connection",
    "character_set_results",
    "collation_connection",
];

/// The pairs of the file: its session variables and its server settings.
pub(crate) type Set<'f> = [&'f Pairs<Setting>; 2];

/// The statements that every session of a trial executes before those of the file: they turn the query cache off where it is on, and
/// lift a limit on the rows of all answers.
///
/// # Errors
/// The connection is lost. A server that does not allow it keeps its cache; [`check_cache`] finds what it answered.
pub(crate) fn baseline(set: Set, session: &mut Session) -> Result<Vec<String>, ServerError> {
    let mut statements = without_cache(set, session)?;
    statements.extend(row_limit(set, session)?);
    Ok(statements)
}

/// The limit is the one of the file, or none. Sessions of prony itself have none; the clients of a load begin with that of the server.
fn row_limit(set: Set, session: &mut Session) -> Result<Option<String>, ServerError> {
    let shown = session
        .control(|session| session.query(&format!("SHOW GLOBAL VARIABLES LIKE '{LIMIT}'")))?;
    let is_limit = shown.text(0, 0).as_deref() == Some(LIMIT);
    let value = shown
        .text(0, 1)
        .filter(|value| is_limit && value != NO_LIMIT);
    let wanted = if sets(set, LIMIT) {
        "DEFAULT"
    } else {
        NO_LIMIT
    };
    Ok(value.map(|_| format!("SET SESSION {LIMIT} = {wanted}")))
}

fn without_cache(set: Set, session: &mut Session) -> Result<Vec<String>, ServerError> {
    if sets(set, CACHE) {
        return Ok(Vec::new());
    }
    session.control(|session| {
        let shown = session.query(&format!("SHOW SESSION VARIABLES LIKE '{CACHE}'"))?;
        let is_on = shown.text(0, 0).as_deref() == Some(CACHE)
            && shown.text(0, 1).is_some_and(|value| value != "OFF");
        let off = format!("SET SESSION {CACHE} = 0");
        match is_on.then(|| session.execute(&off)) {
            Some(Ok(_)) => Ok(vec![off]),
            None | Some(Err(ServerError::Refused { .. })) => Ok(Vec::new()),
            Some(Err(lost)) => Err(lost),
        }
    })
}

/// The variables of `in_force` that are recorded although the file does not set them.
pub(crate) fn recorded(
    in_force: &BTreeMap<String, String>,
) -> impl Iterator<Item = (String, String)> {
    RECORDED.into_iter().filter_map(|name| {
        let value = in_force.get(name)?;
        Some((name.to_string(), value.clone()))
    })
}

/// Flags a trial in which the query cache answered, unless the file has turned it on.
pub(crate) fn check_cache(set: Set, trial: &mut Trial) {
    let hits = |counters: &Counters| counters.get(CACHE_HITS).copied().unwrap_or(0);
    let of_rounds = trial.rounds.iter().map(|round| hits(&round.counters));
    let of_load = trial.load.iter().map(|load| hits(&load.counters));
    let hits: i64 = of_rounds.chain(of_load).sum();
    if hits > 0 && !sets(set, CACHE) {
        trial.flag(FlagKind::QueryCache, format!(
            "the server's query cache answered {} statements; turn it off (query_cache_type = 0), or look for other clients of this server: prony's own sessions turn it off where they may",
            grouped(hits as u64)
        ));
    }
}

/// Flags a trial whose server reads statements in another character set than that of prony's sessions, unless the file has set it.
pub(crate) fn check_charset(set: Set, trial: &mut Trial) {
    let charset = trial.settings.get(CHARSET);
    let other = charset.filter(|charset| !charset.starts_with("utf8") && !sets(set, CHARSET));
    if let Some(other) = other {
        let text = format!(
            "the server reads statements as {other}, but they are in UTF-8, so it garbles letters beyond ASCII; remove skip_character_set_client_handshake, and SET NAMES from init_connect"
        );
        trial.flag(FlagKind::CharsetIgnored, text);
    }
}

/// Whether the file sets the variable.
fn sets(set: Set, variable: &str) -> bool {
    let mut names = set.into_iter().flatten();
    names.any(|(name, _)| listed(name) == variable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::measure::rounds::tests::trial_with_answers;
    use server::Reply;
    use server::fake_reply;

    const NOTHING: Set = [&Vec::new(), &Vec::new()];

    /// The statements of a server that shows this value, and accepts or refuses another one.
    fn statements(value: Option<&'static str>, accepts: bool) -> Vec<String> {
        let script = move |sql: &str| match (sql.starts_with("SHOW"), accepts) {
            (true, _) => Ok(match value {
                Some(value) => Reply {
                    rows: vec![vec![Some(CACHE.into()), Some(value.into())]],
                    ..Reply::default()
                },
                None => Reply::default(),
            }),
            (false, true) => Ok(fake_reply("nothing", &[])),
            (false, false) => Err(ServerError::Refused {
                code: 1651,
                message: "the query cache is disabled".into(),
            }),
        };
        baseline(NOTHING, &mut Session::Scripted(Box::new(script))).unwrap()
    }

    #[test]
    fn a_query_cache_that_is_on_is_turned_off_where_the_server_allows_it() {
        let off = ["SET SESSION query_cache_type = 0"];
        assert_eq!(statements(Some("ON"), true), off);
        assert_eq!(statements(Some("DEMAND"), true), off);
        assert!(statements(Some("ON"), false).is_empty());
        assert!(statements(Some("OFF"), true).is_empty());
        assert!(statements(None, true).is_empty());
    }

    #[test]
    fn a_limit_on_the_rows_of_all_answers_is_lifted_unless_the_file_sets_it() {
        let statements = |set: Set, value: &'static str| {
            let script = move |sql: &str| {
                let row = vec![Some(LIMIT.into()), Some(value.into())];
                Ok(Reply {
                    rows: if sql.contains(LIMIT) {
                        vec![row]
                    } else {
                        vec![]
                    },
                    ..Reply::default()
                })
            };
            baseline(set, &mut Session::Scripted(Box::new(script))).unwrap()
        };
        let lifted = ["SET SESSION sql_select_limit = 18446744073709551615"];
        assert_eq!(statements(NOTHING, "1"), lifted);
        assert!(statements(NOTHING, NO_LIMIT).is_empty());
        let own = vec![(LIMIT.into(), Setting::Literal("1".into()))];
        let kept = ["SET SESSION sql_select_limit = DEFAULT"];
        assert_eq!(statements([&Vec::new(), &own], "1"), kept);
    }

    fn flags(set: Set, hits: i64) -> Vec<FlagKind> {
        let mut trial = trial_with_answers("s", &["a", "a"]);
        trial.rounds[1].counters.insert(CACHE_HITS.into(), hits);
        check_cache(set, &mut trial);
        trial.flags.into_iter().map(|flag| flag.kind).collect()
    }

    #[test]
    fn answers_from_the_query_cache_are_flagged_unless_the_file_turned_it_on() {
        assert_eq!(flags(NOTHING, 3), [FlagKind::QueryCache]);
        assert!(flags(NOTHING, 0).is_empty());
        let on = vec![("query-cache-type".into(), Setting::Literal("1".into()))];
        assert!(flags([&on, &Vec::new()], 3).is_empty());
        assert!(flags([&Vec::new(), &on], 3).is_empty());
    }

    #[test]
    fn a_server_that_takes_statements_for_another_character_set_is_flagged() {
        let flags = |set: Set, charset: &str| {
            let mut trial = trial_with_answers("s", &["a"]);
            trial.settings.insert(CHARSET.into(), charset.into());
            check_charset(set, &mut trial);
            trial.flags.len()
        };
        assert_eq!(flags(NOTHING, "latin1"), 1);
        assert_eq!(flags(NOTHING, "utf8mb4"), 0);
        let own = vec![(CHARSET.into(), Setting::Literal("latin1".into()))];
        assert_eq!(flags([&own, &Vec::new()], "latin1"), 0);
    }

    #[test]
    fn variables_of_the_session_are_recorded_where_the_server_has_them() {
        let in_force = [("sql_mode", "ANSI"), ("autocommit", "ON"), ("port", "1")];
        let in_force = in_force.map(|(name, value)| (name.to_string(), value.to_string()));
        let recorded: Vec<_> = recorded(&in_force.into()).collect();
        let names: Vec<&str> = recorded.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["autocommit", "sql_mode"]);
    }
}

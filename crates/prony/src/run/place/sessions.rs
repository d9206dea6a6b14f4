//! What sessions that measure set, and what is recorded of their variables.
//!
//! Purpose: a trial measures the server's work, not its query cache, and the record says in what state its sessions were. Outside this
//! module: autocommit, which every session sets when it is opened.

use crate::run::settings::plain;
use record::{Counters, FlagKind, Trial, grouped};
use server::{ServerError, Session};
use spec::{Pairs, Setting};
use std::collections::BTreeMap;

const CACHE: &str = "query_cache_type";
const CACHE_HITS: &str = "Qcache_hits";

/// Variables that change what statements do. They are the server's unless the file sets them.
const RECORDED: [&str; 10] = [
    "autocommit",
    CACHE,
    "transaction_isolation",
    "tx_isolation",
    "sql_mode",
    "time_zone",
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "collation_connection",
];

/// The pairs of the file: its session variables and its server settings.
pub(crate) type Set<'f> = [&'f Pairs<Setting>; 2];

/// The statements that every session of a trial executes before those of the file: they turn the query cache off where it is on.
///
/// # Errors
/// The connection is lost. A server that does not allow it keeps its cache; [`check_cache`] finds what it answered.
pub(crate) fn baseline(set: Set, session: &mut Session) -> Result<Vec<String>, ServerError> {
    if sets_cache(set) {
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
    if hits > 0 && !sets_cache(set) {
        trial.flag(FlagKind::QueryCache, format!(
            "the server's query cache answered {} statements; turn it off (query_cache_type = 0), or look for other clients of this server: prony's own sessions turn it off where they may",
            grouped(hits as u64)
        ));
    }
}

/// Whether the file says what becomes of the query cache.
fn sets_cache(set: Set) -> bool {
    let mut names = set.into_iter().flatten();
    names.any(|(name, _)| plain(name) == CACHE)
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
    fn variables_of_the_session_are_recorded_where_the_server_has_them() {
        let in_force = [("sql_mode", "ANSI"), ("autocommit", "ON"), ("port", "1")];
        let in_force = in_force.map(|(name, value)| (name.to_string(), value.to_string()));
        let recorded: Vec<_> = recorded(&in_force.into()).collect();
        let names: Vec<&str> = recorded.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["autocommit", "sql_mode"]);
    }
}

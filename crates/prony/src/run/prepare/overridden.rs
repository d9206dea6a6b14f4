//! Variables that a level sets, and a SET or a hint in the user's own statements too.
//!
//! Purpose: a level is in force as its name says. A SET in the queries or in an operation runs after that of the level, in every trial, so
//! that all levels would be measured with one value; the hint SET_VAR does so for its statement. Outside this module: two levels that set one key (`spec`).

use crate::run::RunError;
use spec::plan::{PlannedTrial, SetByLevel};
use spec::{Experiment, switches, without_loose};
use workload::Operation;
use workload::sql_text::{SessionSet, hinted_sets, session_sets};

/// Earlier names of variables, each with the later one.
const RENAMED: [(&str, &str); 3] = [
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
    ("storage_engine", "default_storage_engine"),
];

/// # Errors
/// The first statement with a SET or a hint that overrides a level of the trial.
pub(super) fn check(
    experiment: &Experiment,
    trial: &PlannedTrial,
    statements: &[Operation],
) -> Result<(), RunError> {
    let levels = trial.set_by(experiment);
    for statement in statements {
        let texts = statement.before.iter().chain([&statement.mysql]);
        let sets = texts.flat_map(|text| session_sets(text));
        let hints = hinted_sets(&statement.mysql).into_iter();
        let hints = hints.map(|set| ("SET_VAR", set));
        for (word, set) in sets.map(|set| ("SET", set)).chain(hints) {
            if let Some(level) = levels.iter().find(|level| overrides(&set, level)) {
                let place = statement.place.as_ref().unwrap_or(&statement.name);
                return Err(RunError::Usage(format!(
                    "{place}: {word} {} runs in every trial, and overrides what the level {} \"{}\" sets: remove one of the two",
                    set.name, level.factor, level.level
                )));
            }
        }
    }
    Ok(())
}

fn overrides(set: &SessionSet, level: &SetByLevel) -> bool {
    let name = latest_name(&set.name);
    let is_switch = name == switches::NAME;
    name == latest_name(level.name)
        && (!is_switch || do_share_flags(&set.value, &level.value.to_string()))
}

fn latest_name(name: &str) -> &str {
    let name = without_loose(name).unwrap_or(name);
    let renamed = RENAMED.iter().find(|(earlier, _)| *earlier == name);
    renamed.map_or(name, |(_, later)| *later)
}

fn do_share_flags(one: &str, other: &str) -> bool {
    match (flags(one), flags(other)) {
        (Some(one), Some(other)) => one.iter().any(|flag| other.contains(flag)),
        _ => true,
    }
}

/// The flags that a value of `optimizer_switch` sets. None: all, as `default` does, or any, as an expression may.
fn flags(value: &str) -> Option<Vec<String>> {
    let are_flags = value.split(',').all(|part| part.contains('='));
    let flags = switches::flags(value).into_iter();
    are_flags.then(|| flags.map(|(flag, _)| flag.to_lowercase()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMED: &str = "time = '60s'";

    /// What is said of the trials with a level, a section of the workload and a protocol; empty if nothing.
    fn says(level: &str, section: &str, protocol: &str) -> String {
        let source = format!(
            "title = 't'\n[server.a]\nbuild = 'mariadb'\n[factor.mrr.on]\n{level}\n[factor.mrr.off]\n\
             [workload.sql]\n{section}\n[protocol]\n{protocol}\n"
        );
        let experiment = spec::parse("t", "t.toml", &source, &workload::check).unwrap();
        let trials = spec::plan::expand(&experiment, 1).unwrap();
        let refused = trials.iter().find_map(|trial| {
            let workload = workload::open("sql", &trial.workload).unwrap();
            check(&experiment, trial, &workload.written()).err()
        });
        refused.map_or(String::new(), |error| error.to_string())
    }

    fn of_queries(level: &str, set: &str) -> String {
        let section = format!("queries = \"{set};\\nselect 1\"");
        says(level, &section, "rounds = ['hot']")
    }

    #[test]
    fn a_set_in_the_queries_of_what_a_level_sets_is_refused() {
        for (level, set) in [
            (
                "session = { optimizer_switch = 'mrr=on' }",
                "SET optimizer_switch = 'default'",
            ),
            (
                "session = { optimizer_switch = 'mrr=on' }",
                "SET optimizer_switch = 'icp=off,MRR=off'",
            ),
            (
                "session = { optimizer_switch = 'mrr=on' }",
                "SET optimizer_switch = @saved",
            ),
            (
                "settings = { Sort-Buffer-Size = '1M' }",
                "SET SESSION sort_buffer_size = 1",
            ),
            (
                "settings = { loose_sort_buffer_size = '1M' }",
                "SET @a = 1, sort_buffer_size = 1",
            ),
            (
                "session = { tx_isolation = 'READ-COMMITTED' }",
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            ),
            (
                "on.a.session = { collation_connection = 'utf8mb4_bin' }",
                "SET NAMES utf8mb4",
            ),
        ] {
            let refused = of_queries(level, set);
            for part in ["line 2 of queries: SET ", "the level mrr \"on\" sets"] {
                assert!(refused.contains(part), "{level}, {set}: {refused}");
            }
        }
    }

    #[test]
    fn a_set_of_anything_else_is_accepted() {
        for (level, set) in [
            (
                "session = { optimizer_switch = 'mrr=on' }",
                "SET optimizer_switch = 'icp=off'",
            ),
            (
                "session = { sort_buffer_size = '1M' }",
                "SET sql_mode = 'ANSI'",
            ),
            (
                "session = { sort_buffer_size = '1M' }",
                "SET @sort_buffer_size = 1",
            ),
            ("", "SET sort_buffer_size = 1"),
        ] {
            assert_eq!(of_queries(level, set), "", "{level}, {set}");
        }
    }

    #[test]
    fn a_hint_that_sets_what_a_level_sets_is_refused() {
        let level = "session = { optimizer_switch = 'mrr=on' }";
        let of_hint = |switch: &str| {
            let hint = format!("/*+ SET_VAR(optimizer_switch = '{switch}') */");
            of_queries(level, &format!("select {hint} 2"))
        };
        let refused = of_hint("mrr=off");
        assert!(
            refused.starts_with("line 1 of queries: SET_VAR optimizer_switch runs"),
            "{refused}"
        );
        assert_eq!(of_hint("icp=off"), "");
    }

    #[test]
    fn a_set_in_an_operation_of_what_a_level_sets_is_refused() {
        let level = "session = { sort_buffer_size = '1M' }";
        for set in [
            "set sort_buffer_size = 1; select 1",
            "set statement sort_buffer_size = 1 for select 1",
        ] {
            let section = format!("operation.look.statements = '{set}'");
            let refused = says(level, &section, TIMED);
            assert!(
                refused.starts_with("look: SET sort_buffer_size runs"),
                "{refused}"
            );
        }
        let section = "operation.look.statements = 'set sql_mode = @a; select 1'";
        assert_eq!(says(level, section, TIMED), "");
    }
}

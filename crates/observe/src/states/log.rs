//! The size of the redo log, and the checkpoint age limit that older servers derive from it.

use super::{States, unless_refused};
use crate::reading::Reading;
use record::State;
use server::{ServerError, Session};
use std::collections::BTreeMap;

const VARIABLES_SQL: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_log_file_size', \
     'innodb_log_files_in_group', 'innodb_redo_log_capacity', 'innodb_page_size', 'innodb_thread_concurrency')";

/// The size of a log that is a single file.
pub(super) const FILE_SIZE: &str = "innodb_log_file_size";
pub(super) const FILE_SIZE_SQL: &str =
    "SELECT 'innodb_log_file_size', @@GLOBAL.innodb_log_file_size";

/// The states from the settings of the start, and whether the log is a single file, whose size can change afterwards.
pub(super) fn at_start(session: &mut Session) -> Result<(States, bool), ServerError> {
    let variables = unless_refused(session, VARIABLES_SQL)?;
    let mut states = BTreeMap::new();
    states.extend(capacity(&variables).map(|bytes| (State::LogCapacity, bytes as f64)));
    if is_mysql_5(session) {
        let limit = age_limit(&variables);
        states.extend(limit.map(|bytes| (State::CheckpointAgeLimit, bytes as f64)));
    }
    Ok((States(states), is_one_file(&variables)))
}

/// MariaDB shows no number of files since 10.6, and resizes its single file while it runs since 10.9.
fn is_one_file(variables: &Reading) -> bool {
    let has = |name: &str| variables.contains_key(name);
    has(FILE_SIZE) && !has("innodb_log_files_in_group") && !has("innodb_redo_log_capacity")
}

fn is_mysql_5(session: &mut Session) -> bool {
    let reply = session.query("SELECT VERSION()").unwrap_or_default();
    let version = reply.first_text();
    version.is_some_and(|version| version.starts_with("5.") && !version.contains("MariaDB"))
}

/// The capacity of the redo log (bytes). MariaDB has a single file since 10.5, and shows no number of files since 10.6.
fn capacity(variables: &Reading) -> Option<i64> {
    let file = variables.get(FILE_SIZE).map(|size| {
        let files = variables.get("innodb_log_files_in_group");
        size * files.copied().unwrap_or(1)
    });
    variables.get("innodb_redo_log_capacity").copied().or(file)
}

/// The age (bytes) at which MySQL 5.x flushes synchronously: 15/16 of the log after two reserves of a tenth, and after free
/// space for each thread. MySQL 5.6 and 5.7 also report it, as log_max_modified_age_sync; the tests compare the two.
fn age_limit(variables: &Reading) -> Option<i64> {
    let get = |name: &str| variables.get(name).copied();
    let page = get("innodb_page_size").unwrap_or(16_384);
    let threads = 10 + get("innodb_thread_concurrency").unwrap_or(0);
    let header = 2_048;
    let log = (get(FILE_SIZE)? - header) * get("innodb_log_files_in_group")?;
    let usable = log - log / 10 - page * (4 * threads + 8);
    let margin = usable - usable / 10;
    Some(margin - margin / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(values: &[(&str, i64)]) -> Reading {
        let values = values.iter();
        values
            .map(|(name, value)| (name.to_string(), *value))
            .collect()
    }

    #[test]
    fn the_age_limit_is_what_mysql_5_6_reports_for_two_files_of_48_mib() {
        let found = variables(&[
            ("innodb_log_file_size", 50_331_648),
            ("innodb_log_files_in_group", 2),
            ("innodb_page_size", 16_384),
            ("innodb_thread_concurrency", 0),
        ]);
        assert_eq!(age_limit(&found), Some(75_774_529));
        assert_eq!(capacity(&found), Some(100_663_296));
    }

    #[test]
    fn a_redo_log_capacity_replaces_the_files() {
        let found = variables(&[
            ("innodb_log_file_size", 50_331_648),
            ("innodb_log_files_in_group", 2),
            ("innodb_redo_log_capacity", 1 << 30),
        ]);
        assert_eq!(capacity(&found), Some(1 << 30));
        assert_eq!(
            capacity(&variables(&[("innodb_log_file_size", 7)])),
            Some(7)
        );
        assert_eq!(capacity(&Reading::new()), None);
    }
}

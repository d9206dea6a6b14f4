//! Converts planned settings to the form that a server takes.
//!
//! Purpose: convert sizes relative to the data to bytes, add the protocol's own settings, and turn session settings into statements.
//! Outside this module: which settings a server has (`preflight`).

use spec::{Pairs, Setting, listed, plain};

/// Smallest innodb_buffer_pool_size that every server accepts: 5 MiB in MySQL, 6 MiB in recent releases of MariaDB (such as 10.11.18).
const POOL_BYTES_MIN: u64 = 6 << 20;

/// Settings (name, value) of every trial that the experiment does not override. A cached answer would measure nothing.
pub(crate) const BASELINE: [(&str, &str); 2] =
    [("query_cache_type", "0"), ("query_cache_size", "0")];

/// MySQL before 5.6.8 does not start if the size of its redo log files differs from these settings.
const REDO_LOG: [&str; 2] = ["innodb_log_file_size", "innodb_log_files_in_group"];

/// The settings as (name, value) for the server's command line. Relative sizes refer to `data_bytes`.
pub(crate) fn resolve(settings: &Pairs<Setting>, data_bytes: u64) -> Vec<(String, String)> {
    settings
        .iter()
        .map(|(name, setting)| (name.clone(), value(name, setting, data_bytes)))
        .collect()
}

/// Whether the settings change the size or number of redo log files.
pub(crate) fn reshapes_redo_log(settings: &[(String, String)]) -> bool {
    settings
        .iter()
        .any(|(name, _)| REDO_LOG.contains(&listed(name).as_str()))
}

/// `SET SESSION name = value` for each.
pub(crate) fn session_statements(session: &Pairs<Setting>, data_bytes: u64) -> Vec<String> {
    literals(session, data_bytes)
        .map(|(name, value)| format!("SET SESSION {name} = {value}"))
        .collect()
}

/// The plain names, and the values as SQL literals.
pub(crate) fn literals(
    pairs: &Pairs<Setting>,
    data_bytes: u64,
) -> impl Iterator<Item = (String, String)> {
    pairs.iter().map(move |(name, setting)| {
        let value = literal(&value(name, setting, data_bytes));
        (plain(name), value)
    })
}

/// The bytes of a value such as `64M`. None if it is not a size or a whole number.
pub(crate) fn bytes(value: &str) -> Option<u64> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match value[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn value(name: &str, setting: &Setting, data_bytes: u64) -> String {
    let value = setting.resolve(data_bytes);
    match (setting, value.parse::<u64>()) {
        // A share of little data can be smaller than any server accepts.
        (Setting::OfData(_), Ok(wanted)) if listed(name) == "innodb_buffer_pool_size" => {
            wanted.max(POOL_BYTES_MIN).to_string()
        }
        _ => value,
    }
}

/// A value as an SQL literal: numbers and sizes as numbers, anything else as a string.
pub(crate) fn literal(value: &str) -> String {
    match bytes(value) {
        Some(number) => number.to_string(),
        None if value.parse::<f64>().is_ok() => value.to_string(),
        None => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal_pair(name: &str, value: &str) -> (String, Setting) {
        (name.into(), Setting::Literal(value.into()))
    }

    #[test]
    fn a_share_of_the_data_is_rounded_to_mebibytes() {
        let settings = vec![(
            "innodb_buffer_pool_size".to_string(),
            Setting::OfData(0.125),
        )];
        assert_eq!(
            resolve(&settings, 1_000_000_000)[0].1,
            (119u64 << 20).to_string()
        );
    }

    #[test]
    fn a_pool_is_never_below_the_servers_minimum() {
        let settings = vec![(
            "innodb_buffer_pool_size".to_string(),
            Setting::OfData(0.125),
        )];
        assert_eq!(resolve(&settings, 1_000)[0].1, POOL_BYTES_MIN.to_string());
    }

    #[test]
    fn session_sizes_are_numbers_and_switches_are_strings() {
        let session = vec![
            literal_pair("read_rnd_buffer_size", "4M"),
            literal_pair("optimizer_switch", "mrr=on"),
            literal_pair("long_query_time", "0.5"),
        ];
        assert_eq!(
            session_statements(&session, 0),
            [
                "SET SESSION read_rnd_buffer_size = 4194304",
                "SET SESSION optimizer_switch = 'mrr=on'",
                "SET SESSION long_query_time = 0.5"
            ]
        );
    }
}

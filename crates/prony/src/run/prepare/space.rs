//! The disk space of a snapshot and of one trial's copy of it, estimated before anything is loaded.
//!
//! Purpose: what is announced is enough. Outside this module: what a timed load adds, which depends on how long it runs.

use spec::{Pairs, Setting, setting_of};

/// A data folder without tables of the user: system tables, undo logs, doublewrite and temporary files. MySQL 9.7 has the largest: 88 MiB
/// at rest, and about 94 while a server runs on it. MariaDB 10.11 has 17.
const SYSTEM_BYTES: u64 = 128 << 20;
/// The largest default of a server: MySQL 8.0.30 and later. MariaDB 10.11 has 96 MiB, 5.6 has 96, 5.5 has 10.
const REDO_LOG_BYTES_DEFAULT: u64 = 100 << 20;
const REDO_LOG_FILES_DEFAULT: u64 = 2;

/// The redo log of a server with these settings; relative sizes refer to `data_bytes`.
pub(crate) fn redo_log_bytes(settings: &Pairs<Setting>, data_bytes: u64) -> u64 {
    let number = |wanted: &str| setting_of(settings, wanted)?.bytes(data_bytes);
    let files = number("innodb_log_files_in_group").unwrap_or(REDO_LOG_FILES_DEFAULT);
    let of_files = number("innodb_log_file_size").map(|bytes| bytes.saturating_mul(files));
    let given = of_files.max(number("innodb_redo_log_capacity"));
    given.unwrap_or(REDO_LOG_BYTES_DEFAULT)
}

/// A snapshot with this redo log, or a copy of it. The estimate of the data may be short by a quarter.
pub(crate) fn snapshot_bytes(data_bytes: u64, redo_log_bytes: u64) -> u64 {
    SYSTEM_BYTES
        .saturating_add(redo_log_bytes)
        .saturating_add(data_bytes / 4 * 5)
}

/// Space for making a snapshot and then a copy of it for each node. The load has a redo log of its own.
pub(crate) fn needed_bytes(
    data_bytes: u64,
    of_load_bytes: u64,
    of_trial_bytes: u64,
    nodes: u32,
) -> u64 {
    let loaded = snapshot_bytes(data_bytes, of_load_bytes);
    let copies = u64::from(nodes) + 1;
    loaded.max(snapshot_bytes(data_bytes, of_trial_bytes).saturating_mul(copies))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Pairs<Setting> {
        let pair =
            |(name, value): &(&str, &str)| (name.to_string(), Setting::from_text(value).unwrap());
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn the_redo_log_is_that_of_the_settings_or_a_default() {
        let bytes = |pairs: &[(&str, &str)]| redo_log_bytes(&settings(pairs), 1 << 30) >> 20;
        assert_eq!(bytes(&[]), 100);
        assert_eq!(bytes(&[("innodb_log_file_size", "64M")]), 128);
        let three = [
            ("innodb-log-file-size", "64M"),
            ("innodb_log_files_in_group", "3"),
        ];
        assert_eq!(bytes(&three), 192);
        assert_eq!(bytes(&[("innodb_redo_log_capacity", "data * 2")]), 2048);
    }

    #[test]
    fn the_larger_of_the_load_and_a_snapshot_with_its_copies_is_needed() {
        assert_eq!(needed_bytes(0, 1 << 30, 0, 1), SYSTEM_BYTES + (1 << 30));
        assert_eq!(needed_bytes(400, 0, 1000, 1), 2 * (SYSTEM_BYTES + 1500));
        assert_eq!(needed_bytes(400, 0, 1000, 3), 4 * (SYSTEM_BYTES + 1500));
    }
}

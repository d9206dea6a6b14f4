//! The fastest way to load a server: number of connections, rows per statement, and settings.
//!
//! Purpose: choices based on the measurements cited here. Boundaries: `run` applies them.

/// Connections of a load in which one table has most of the rows; measured below.
pub(crate) const CONNECTIONS: usize = 1;

/// Rows of a statement for an engine; None: one statement per table.
///
/// InnoDB: one connection in key order. Measured with 1.5 million rows of lineorder and a pool of 1 GB on two busy cores,
/// seconds: 5.5.34 one statement 16.7, twelve 13.7, two connections 13.4 to 13.9, four 16.7; 5.6.14 one statement 16.7,
/// twelve 20.0, two connections 18.1 to 24.0, four 20.2. `unique_checks = 0, foreign_key_checks = 0`: 15.3 and 16.0. The
/// differences are noise, since none appears in both versions. One connection writes the same pages each time. Statements
/// of half a million rows cost nothing extra, and the committed rows are known.
///
/// MyISAM and Aria lock the table, so one connection; a table is one statement.
pub(crate) fn rows_per_statement(engine: &str) -> Option<u64> {
    match engine {
        "MyISAM" | "Aria" => None,
        _ => Some(500_000),
    }
}

/// Settings of a managed server during the load. The snapshot is taken after a clean shutdown, so no crash safety is
/// needed, and a trial starts with its own settings. `known` filters the settings that the server knows.
///
/// The large redo log matters most: lineorder at scale 1 took 221 s with 5.5's default of 2 x 5 MB and 65 s with 2 x 1 GB.
/// `pool_bytes`: the maximum size of the buffer pool.
pub fn load_settings(known: &dyn Fn(&str) -> bool, pool_bytes: u64) -> Vec<(String, String)> {
    let pool = pool_bytes.to_string();
    let redo_log = redo_log_bytes(pool_bytes).to_string();
    let redo_capacity = (2 * redo_log_bytes(pool_bytes)).to_string();
    let wanted: [(&str, &str); 14] = [
        ("local_infile", "1"),
        // A statement of a user's dump may be as large as the server that wrote it allows.
        ("max_allowed_packet", "1G"),
        ("innodb_buffer_pool_size", &pool),
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_doublewrite", "0"),
        // A slow shutdown purges and merges all buffered changes, so that no trial pays for it.
        ("innodb_fast_shutdown", "0"),
        ("innodb_io_capacity", "2000"),
        ("innodb_log_file_size", &redo_log),
        ("innodb_redo_log_capacity", &redo_capacity),
        ("myisam_sort_buffer_size", "256M"),
        ("aria_sort_buffer_size", "256M"),
        ("key_buffer_size", "256M"),
        ("bulk_insert_buffer_size", "64M"),
        // The data are generated, so no binary log is needed.
        ("skip_log_bin", "1"),
    ];
    // Servers with a redo log capacity deprecate the file size.
    let replaced = |name: &str| name == "innodb_log_file_size" && known("innodb_redo_log_capacity");
    let given = wanted
        .into_iter()
        .filter(|(name, _)| known(name) && !replaced(name));
    given
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Size of each of the two redo log files during the load: half of the pool, up to a useful maximum.
pub fn redo_log_bytes(pool_bytes: u64) -> u64 {
    (pool_bytes / 2).clamp(96 << 20, 1 << 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(known: &[&str]) -> Vec<String> {
        let settings = load_settings(&|name| known.contains(&name), 1 << 30);
        settings.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_server_gets_only_settings_that_it_knows() {
        assert_eq!(
            names(&["innodb_doublewrite", "port"]),
            ["innodb_doublewrite"]
        );
    }

    #[test]
    fn a_redo_capacity_takes_the_place_of_the_file_size() {
        assert_eq!(names(&["innodb_log_file_size"]), ["innodb_log_file_size"]);
        assert_eq!(
            names(&["innodb_log_file_size", "innodb_redo_log_capacity"]),
            ["innodb_redo_log_capacity"]
        );
    }

    #[test]
    fn little_data_gets_a_small_redo_log_and_much_data_no_more_than_a_gibibyte() {
        assert_eq!(redo_log_bytes(64 << 20), 96 << 20);
        assert_eq!(redo_log_bytes(600 << 20), 300 << 20);
        assert_eq!(redo_log_bytes(1 << 40), 1 << 30);
    }
}

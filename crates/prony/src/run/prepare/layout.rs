//! Settings that shape the data, so that each value of them needs a dataset of its own.
//!
//! Purpose: variants that differ in one of them are measured on data that was loaded with it, and not with the other's. Outside this
//! module: settings that change only how the data is read.

use Shapes::{Contents, Files, Tables};
use spec::listed;

/// What a setting shapes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shapes {
    /// The form of the files, from the time when the data folder is made.
    Files,
    /// The form or the statistics of tables, when they are made and loaded. Answers stay the same.
    Tables,
    /// The rows, the indexes or the meaning of texts, when tables are made and loaded. Answers may differ.
    Contents,
}

/// Each setting with the page of the manual that says so: of MySQL, or of MariaDB where the name begins with `MariaDB`.
#[rustfmt::skip]
const SETTINGS: [(&str, Shapes, &str); 64] = [
    ("innodb_file_per_table", Files, "File-Per-Table Tablespaces"),
    ("innodb_page_size", Files, "InnoDB Startup Options: innodb_page_size"),
    ("innodb_file_format", Files, "InnoDB File-Format Management (5.6)"),
    ("innodb_default_row_format", Files, "InnoDB Row Formats"),
    ("innodb_data_file_path", Files, "The System Tablespace"),
    ("innodb_checksum_algorithm", Files, "innodb_checksum_algorithm"),
    ("innodb_checksums", Files, "innodb_checksums (5.6)"),
    ("innodb_undo_tablespaces", Files, "Undo Tablespaces"),
    ("lower_case_table_names", Files, "Identifier Case Sensitivity"),
    ("innodb_compression_default", Tables, "MariaDB InnoDB Page Compression"),
    ("innodb_compression_algorithm", Tables, "MariaDB InnoDB Page Compression"),
    ("innodb_compression_level", Tables, "InnoDB Table Compression"),
    ("innodb_compression_pad_pct_max", Tables, "InnoDB Table Compression"),
    ("innodb_compression_failure_threshold_pct", Tables, "InnoDB Table Compression"),
    ("innodb_segment_reserve_factor", Tables, "Configuring the Percentage of File Segment Pages"),
    ("rocksdb_default_cf_options", Tables, "MariaDB MyRocks and Data Compression"),
    ("rocksdb_override_cf_options", Tables, "MariaDB MyRocks and Data Compression"),
    ("rocksdb_block_size", Tables, "MariaDB MyRocks System Variables"),
    ("column_compression_zlib_level", Tables, "MariaDB Storage-Engine Independent Column Compression"),
    ("column_compression_threshold", Tables, "MariaDB Storage-Engine Independent Column Compression"),
    ("innodb_encrypt_tables", Tables, "MariaDB InnoDB Encryption"),
    ("default_table_encryption", Tables, "default_table_encryption"),
    ("innodb_fill_factor", Tables, "Sorted Index Builds"),
    ("innodb_strict_mode", Tables, "InnoDB Strict Mode"),
    ("innodb_large_prefix", Tables, "innodb_large_prefix (5.6)"),
    ("innodb_ft_min_token_size", Contents, "Fine-Tuning MySQL Full-Text Search"),
    ("innodb_ft_max_token_size", Contents, "Fine-Tuning MySQL Full-Text Search"),
    ("innodb_ft_enable_stopword", Contents, "Full-Text Stopwords"),
    ("innodb_ft_server_stopword_table", Contents, "Full-Text Stopwords"),
    ("innodb_ft_user_stopword_table", Contents, "Full-Text Stopwords"),
    ("ngram_token_size", Contents, "ngram Full-Text Parser"),
    ("ft_min_word_len", Contents, "Fine-Tuning MySQL Full-Text Search"),
    ("ft_max_word_len", Contents, "Fine-Tuning MySQL Full-Text Search"),
    ("ft_stopword_file", Contents, "Full-Text Stopwords"),
    ("character_set_server", Contents, "Server Character Set and Collation"),
    ("collation_server", Contents, "Server Character Set and Collation"),
    ("character_set_collations", Contents, "MariaDB character_set_collations"),
    ("default_collation_for_utf8mb4", Contents, "default_collation_for_utf8mb4"),
    ("old_mode", Contents, "MariaDB OLD_MODE: UTF8_IS_UTF8MB3"),
    ("default_storage_engine", Tables, "Setting the Storage Engine"),
    ("storage_engine", Tables, "storage_engine (5.5), the older name of default_storage_engine"),
    ("enforce_storage_engine", Tables, "MariaDB enforce_storage_engine"),
    ("sql_mode", Contents, "Server SQL Modes"),
    ("explicit_defaults_for_timestamp", Contents, "Automatic Initialization for TIMESTAMP"),
    ("sql_generate_invisible_primary_key", Tables, "Generated Invisible Primary Keys"),
    ("default_time_zone", Contents, "MySQL Server Time Zone Support: TIMESTAMP values"),
    ("auto_increment_increment", Contents, "auto_increment_increment"),
    ("auto_increment_offset", Contents, "auto_increment_offset"),
    ("innodb_autoinc_lock_mode", Contents, "AUTO_INCREMENT Handling in InnoDB: gaps of bulk inserts"),
    ("group_concat_max_len", Contents, "GROUP_CONCAT(): of CREATE TABLE ... SELECT"),
    ("div_precision_increment", Contents, "Arithmetic Operators: of CREATE TABLE ... SELECT"),
    ("innodb_stats_persistent", Tables, "Configuring Persistent Optimizer Statistics"),
    ("innodb_stats_persistent_sample_pages", Tables, "Configuring Persistent Optimizer Statistics"),
    ("innodb_stats_transient_sample_pages", Tables, "Configuring Non-Persistent Optimizer Statistics"),
    ("innodb_stats_auto_recalc", Tables, "Configuring Persistent Optimizer Statistics"),
    ("innodb_stats_sample_pages", Tables, "innodb_stats_sample_pages (5.5)"),
    ("innodb_stats_traditional", Tables, "MariaDB innodb_stats_traditional"),
    ("innodb_stats_include_delete_marked", Tables, "Configuring Persistent Optimizer Statistics"),
    ("innodb_stats_method", Tables, "InnoDB and MyISAM Index Statistics Collection"),
    ("myisam_stats_method", Tables, "InnoDB and MyISAM Index Statistics Collection"),
    ("use_stat_tables", Tables, "MariaDB Engine-Independent Table Statistics"),
    ("histogram_type", Tables, "MariaDB Histogram-Based Statistics"),
    ("histogram_size", Tables, "MariaDB Histogram-Based Statistics"),
    ("analyze_sample_percentage", Tables, "MariaDB Engine-Independent Table Statistics"),
];

/// Servers read `skip_innodb_file_per_table` as the same setting turned off.
const PREFIXES: [&str; 3] = ["skip_", "disable_", "enable_"];

fn is_one_of(name: &str, shapes: &[Shapes]) -> bool {
    let name = listed(name);
    let mut prefixes = PREFIXES.iter();
    let name = prefixes
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(&name);
    let mut settings = SETTINGS.iter();
    settings.any(|(known, shape, _)| *known == name && shapes.contains(shape))
}

fn those(settings: &[(String, String)], shapes: &[Shapes]) -> Vec<(String, String)> {
    let own = settings.iter().filter(|(name, _)| is_one_of(name, shapes));
    let mut own: Vec<_> = own.cloned().collect();
    own.sort();
    own
}

/// The settings that the data must be loaded with, in a fixed order.
pub(crate) fn layout(settings: &[(String, String)]) -> Vec<(String, String)> {
    those(settings, &[Files, Tables, Contents])
}

/// Those that a data folder must be made with.
pub(crate) fn of_files(settings: &[(String, String)]) -> Vec<(String, String)> {
    those(settings, &[Files])
}

/// What tells data apart whose answers may differ; empty for data loaded with the defaults.
pub(crate) fn of_contents(settings: &[(String, String)]) -> String {
    let own = those(settings, &[Contents]).into_iter();
    own.map(|(name, value)| format!(" {}={value}", listed(&name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn the_layout_holds_only_settings_that_shape_the_data() {
        let given = settings(&[
            ("sql_mode", "ANSI"),
            ("innodb-file-per-table", "1"),
            ("innodb_buffer_pool_size", "64M"),
        ]);
        let expected = settings(&[("innodb-file-per-table", "1"), ("sql_mode", "ANSI")]);
        assert_eq!(layout(&given), expected);
        assert_eq!(
            of_files(&given),
            settings(&[("innodb-file-per-table", "1")])
        );
        assert_eq!(of_contents(&given), " sql_mode=ANSI");
    }

    #[test]
    fn how_full_and_how_compressed_pages_and_blocks_are_is_decided_when_rows_are_loaded() {
        let given = settings(&[
            ("innodb_compression_pad_pct_max", "0"),
            ("innodb_segment_reserve_factor", "40"),
            ("loose_rocksdb_default_cf_options", "compression=kZSTD"),
        ]);
        assert_eq!(layout(&given), given);
        assert!(of_files(&given).is_empty());
        assert_eq!(of_contents(&given), "");
    }

    #[test]
    fn other_names_of_a_setting_and_what_decides_generated_keys_shape_the_data() {
        let given = settings(&[
            ("innodb-autoinc-lock-mode", "0"),
            ("loose-skip-innodb-file-per-table", "1"),
            ("storage_engine", "MyISAM"),
        ]);
        assert_eq!(layout(&given), given);
        assert_eq!(of_files(&given), given[1..2]);
        assert_eq!(of_contents(&given), " innodb_autoinc_lock_mode=0");
    }

    #[test]
    fn a_loose_setting_shapes_the_data_too() {
        let given = settings(&[
            ("loose_innodb_file_per_table", "0"),
            ("loose_sql_mode", "ANSI"),
        ]);
        assert_eq!(layout(&given), given);
        assert_eq!(of_files(&given), given[..1]);
        assert_eq!(of_contents(&given), " sql_mode=ANSI");
    }

    #[test]
    fn every_setting_has_one_entry_and_a_source() {
        for (n, (name, _, source)) in SETTINGS.iter().enumerate() {
            assert_eq!(listed(name), *name);
            assert!(!source.is_empty(), "{name}");
            assert!(
                SETTINGS[..n].iter().all(|(other, ..)| other != name),
                "{name}"
            );
        }
    }
}

//! The settings of a server's own option file: `settings_file = "my.cnf"` instead of `settings`.
//!
//! Purpose: the settings of a server in production are measured as they are, and what prony has to set itself is named. Boundaries:
//! files that it includes are not read, and values are not interpreted.

use super::confined::Unconfined;
use crate::file::option_file::{OptionLine, option_lines};
use crate::text::setting::{Pairs, plain};

/// The sections that a server reads, of whatever family and version.
const SECTIONS: [&str; 2] = ["mysqld", "server"];
/// Those that only MariaDB's servers read besides.
const MARIADBS: [&str; 2] = ["mariadb", "mariadbd"];
/// Sections that only MariaDB's servers read: of a cluster, and shared with clients.
const OF_MARIADB: [&str; 2] = ["galera", "client-server"];
/// Settings whose values add up when a file has them more than once, and what separates them.
///
/// Source: `GET_FLAGSET` in `mysys/my_getopt.c`; "--plugin-load-add" in the MySQL manual.
const ADDED: [(&str, &str); 2] = [("optimizer_switch", ","), ("plugin_load_add", ";")];
/// Each of several is in force, and no value holds more than one ("Performance Schema Command Options" in the MySQL manual).
const SEVERAL: &str = "performance_schema_instrument";
/// What the name of a file turns on: without it a server of MariaDB, or of MySQL before 8.0, would write no binary log.
const BY_FILE: &str = "log_bin";

/// What a file says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ServerFile {
    /// Each setting once, with its last value.
    pub settings: Pairs<String>,
    /// What does not apply to a server that prony starts: `datadir`, `!includedir`, `[mysqld-8.0]`.
    pub passed_over: Vec<String>,
}

impl ServerFile {
    /// `is_mysql`: for a server that does not read the sections of MariaDB's.
    pub(crate) fn read(text: &str, is_mysql: bool) -> ServerFile {
        let mut file = ServerFile::default();
        // Before the first section a server refuses options.
        let mut is_server = None;
        for line in option_lines(text) {
            match line {
                OptionLine::Section(name) => {
                    // Servers read `[MYSQLD]` too.
                    let name = name.to_ascii_lowercase();
                    let is_mariadbs = MARIADBS.contains(&name.as_str());
                    let is_read = SECTIONS.contains(&name.as_str()) || (is_mariadbs && !is_mysql);
                    is_server = Some(is_read);
                    let may_be_read = is_mariadbs || OF_MARIADB.contains(&name.as_str());
                    if !is_read && (may_be_read || is_of_a_version(&name)) {
                        file.pass_over(format!("[{name}]"));
                    }
                }
                OptionLine::Include { word, .. } => file.pass_over(word.to_string()),
                OptionLine::Option { name, value } => match is_server {
                    Some(true) => file.set(name, value),
                    Some(false) => {}
                    None => file.pass_over(plain(name)),
                },
            }
        }
        file
    }

    /// `skip-name-resolve` without a value is 1.
    fn set(&mut self, name: &str, value: Option<String>) {
        let (name, mut value) = (plain(name), value.unwrap_or_else(|| "1".to_string()));
        if let (BY_FILE, Some((_, file))) = (name.as_str(), value.rsplit_once('/'))
            && !file.is_empty()
        {
            value = file.to_string();
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_setting = name.chars().all(is_word) && !name.starts_with("loose_");
        if !is_setting || Unconfined::from_setting(&name, &value).is_some() {
            return self.pass_over(name);
        }
        let at = self.settings.iter().position(|(known, _)| *known == name);
        let before = at.map(|at| self.settings.remove(at).1);
        if name == SEVERAL && (before.is_some() || self.passed_over.contains(&name)) {
            return self.pass_over(name);
        }
        let added = ADDED.iter().find(|added| added.0 == name.as_str());
        let value = match (before, added) {
            (Some(before), Some((_, between))) => format!("{before}{between}{value}"),
            _ => value,
        };
        self.settings.push((name, value));
    }

    fn pass_over(&mut self, name: String) {
        if !self.passed_over.contains(&name) {
            self.passed_over.push(name);
        }
    }
}

/// `mysqld-8.0`, `mariadb-10.11`: which servers read it depends on their version.
fn is_of_a_version(section: &str) -> bool {
    let known = section.split_once('-').map(|(name, _)| name);
    known.is_some_and(|name| SECTIONS.contains(&name) || MARIADBS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_section_is_read_and_what_prony_sets_is_named() {
        let text = "[client]\nport = 3306\n[mysqld]  # the server\ndatadir=/var/lib/mysql\nsocket = /run/m.sock\nlog-error = /var/log/e\nskip-name-resolve\nkey_buffer_size = 16M # small\nkey-buffer-size = 32M\nsql_mode = \"ANSI\"\ninit_connect='SET @a = \"#\"'\nhot.key_buffer_size = 1M\nloose-x = 1\n!includedir /etc/mysql/conf.d/\n[mysqldump]\nquick\n[mysqld-8.0]\nx = 1\n";
        let file = ServerFile::read(text, false);
        let settings = file.settings.iter();
        let settings: Vec<String> = settings
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            settings,
            [
                "skip_name_resolve=1",
                "key_buffer_size=32M",
                "sql_mode=ANSI",
                "init_connect=SET @a = \"#\"",
            ]
        );
        assert_eq!(
            file.passed_over,
            [
                "datadir",
                "socket",
                "log_error",
                "hot.key_buffer_size",
                "loose_x",
                "!includedir",
                "[mysqld-8.0]",
            ]
        );
    }

    #[test]
    fn a_binary_log_elsewhere_is_one_in_the_servers_folder() {
        let read = |value: &str| {
            let text = format!("[mysqld]\nlog-bin = {value}\n");
            ServerFile::read(&text, false)
        };
        for value in [
            "/var/log/mysql/mysql-bin.log",
            "../mysql-bin.log",
            "mysql-bin.log",
        ] {
            let expected = [("log_bin".to_string(), "mysql-bin.log".to_string())];
            assert_eq!(read(value).settings, expected, "{value}");
        }
        assert_eq!(read("/var/log/").passed_over, ["log_bin"]);
    }

    #[test]
    fn options_before_the_first_section_are_passed_over() {
        let file = ServerFile::read("sort-buffer-size = 1M\n[mysqld]\nx = 1\n", false);
        assert_eq!(file.settings, [("x".to_string(), "1".to_string())]);
        assert_eq!(file.passed_over, ["sort_buffer_size"]);
    }

    #[test]
    fn values_that_add_up_are_all_kept_and_sections_have_any_case() {
        let text = "[MYSQLD]\noptimizer_switch = mrr=on\noptimizer-switch='mrr_cost_based=off'\nsort_buffer_size=1M\nsort_buffer_size=2M\n[client-server]\nport=1\n";
        let file = ServerFile::read(text, false);
        let expected = [
            ("optimizer_switch", "mrr=on,mrr_cost_based=off"),
            ("sort_buffer_size", "2M"),
        ];
        let expected = expected.map(|(name, value)| (name.to_string(), value.to_string()));
        assert_eq!(file.settings, expected);
        assert_eq!(file.passed_over, ["[client-server]"]);
    }

    #[test]
    fn of_several_values_that_no_setting_can_hold_none_is_taken_alone() {
        let one = "performance-schema-instrument = 'wait/%=ON'\n";
        let settings = |count: usize| {
            let file = ServerFile::read(&format!("[mysqld]\n{}x = 1\n", one.repeat(count)), false);
            (file.settings.len(), file.passed_over)
        };
        assert_eq!(settings(1), (2, Vec::new()));
        for count in [2, 3] {
            assert_eq!(settings(count), (1, vec![SEVERAL.to_string()]), "{count}");
        }
    }

    #[test]
    fn a_mysql_server_does_not_read_the_sections_of_mariadb() {
        let text = "[mysqld]\nx = 1\n[mariadb]\nx = 2\n";
        let value = |is_mysql| ServerFile::read(text, is_mysql).settings[0].1.clone();
        assert_eq!([value(true), value(false)], ["1", "2"]);
        assert_eq!(ServerFile::read(text, true).passed_over, ["[mariadb]"]);
    }
}

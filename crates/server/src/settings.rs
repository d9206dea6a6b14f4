//! The settings that a server build knows, read from its `--verbose --help`.
//!
//! With them prony rejects an unknown setting before it loads any data. It does not check values, and does not see settings
//! of plugins that are loaded later.

use crate::ServerError;
use crate::builds::{Distribution, failed, not_started};
use host::Leases;
use serde::{Deserialize, Serialize};
use spec::known::without_prefix;
use spec::plain;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The settings of a build, with their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingTable {
    /// Default by normalized name; None if the server shows none.
    defaults: BTreeMap<String, Option<String>>,
    /// The flags of `optimizer_switch`, from its value and its description: MariaDB 10.11 shows some in only one of them.
    switches: BTreeSet<String>,
}

/// The option whose value is a list of flags, as the help spells it.
const SWITCH: &str = "optimizer-switch";

impl SettingTable {
    /// Parses the output of `--verbose --help`: the options with their descriptions, then, below a dashed line, a table of
    /// the settings with their values.
    pub fn parse(help: &str) -> SettingTable {
        let mut table = SettingTable::default();
        let mut in_table = false;
        table.add_switches(help);
        for line in help.lines() {
            if line.starts_with("-----") {
                in_table = true;
            } else if in_table {
                // A paragraph follows the table.
                in_table = !line.trim().is_empty();
                table.add_value(line);
            } else {
                table.add_option(line);
            }
        }
        table
    }

    /// Whether the build knows a setting. Dashes equal underscores, and the prefixes `loose_`, `skip_`, `enable_` and
    /// `disable_` are ignored.
    pub fn knows(&self, name: &str) -> bool {
        self.found(name).is_some()
    }

    /// The default of a setting; None if the setting is unknown or has no default.
    pub(crate) fn default_of(&self, name: &str) -> Option<&str> {
        self.found(name)?.as_deref()
    }

    /// All names, spelled with underscores, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.defaults.keys().map(String::as_str)
    }

    /// The flags of `optimizer_switch`.
    pub fn switches(&self) -> impl Iterator<Item = &str> {
        self.switches.iter().map(String::as_str)
    }

    /// Parses `... where option is one of {index_merge, mrr} and val ...` of MySQL, `... and options are: index_merge, mrr`
    /// of MariaDB, and the line `optimizer-switch    index_merge=on,mrr=off` of the table.
    fn add_switches(&mut self, help: &str) {
        let lines = help.lines();
        let mut described =
            lines.skip_while(|line| !line.trim_start().starts_with("--optimizer-switch"));
        let first = described.next().into_iter();
        let further = described.take_while(|line| !line.trim_start().starts_with('-'));
        let text = first.chain(further).collect::<Vec<_>>().join(" ");
        let listed = text
            .split_once("one of {")
            .and_then(|(_, rest)| rest.split_once('}'))
            .map(|(flags, _)| flags)
            .or_else(|| text.split_once("options are:").map(|(_, flags)| flags));
        let value = help.lines().find(|line| line.starts_with(SWITCH));
        let value = value.map_or("", |line| line[SWITCH.len()..].trim());
        let of_value = value.split(',').filter_map(|part| part.split_once('='));
        let flags = listed.unwrap_or_default().split(',').map(str::trim);
        let is_flag = |flag: &&str| {
            !flag.is_empty() && flag.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        self.switches = flags
            .chain(of_value.map(|(flag, _)| flag))
            .filter(is_flag)
            .map(str::to_string)
            .collect();
    }

    fn found(&self, name: &str) -> Option<&Option<String>> {
        let name = plain(name);
        self.defaults
            .get(&name)
            .or_else(|| self.defaults.get(without_prefix(&name)?))
    }

    /// Parses `innodb-buffer-pool-size                              134217728`.
    fn add_value(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(char::is_whitespace) else {
            return;
        };
        if is_name(name) {
            let value = value.trim();
            let value = (value != "(No default value)").then(|| value.to_string());
            self.defaults.insert(plain(name), value);
        }
    }

    /// Parses `  -b, --basedir=name  Path to installation directory.`.
    fn add_option(&mut self, line: &str) {
        let indent = line.len() - line.trim_start().len();
        let Some((_, option)) = line.split_once("--").filter(|_| (1..=6).contains(&indent)) else {
            return;
        };
        if !line.trim_start().starts_with('-') {
            return;
        }
        let end = option
            .find(|character: char| !is_name_character(character))
            .unwrap_or(option.len());
        if is_name(&option[..end]) {
            self.defaults.entry(plain(&option[..end])).or_insert(None);
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(is_name_character)
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}

impl Distribution {
    /// The settings that this build knows. The result is cached next to the build, under the hash of its binary.
    pub fn known_settings(&self, leases: &Leases) -> Result<SettingTable, ServerError> {
        let cached = self
            .notes
            .join(format!("settings-{}.json", &self.binary_sha256[..16]));
        if let Some(table) = fs::read(&cached)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        {
            return Ok(table);
        }
        let table = self.read_settings(leases)?;
        // If the file cannot be written, the next use only takes a second longer.
        if let Ok(bytes) = serde_json::to_vec(&table) {
            let _ = tempfile::NamedTempFile::new_in(&self.notes).and_then(|mut file| {
                std::io::Write::write_all(&mut file, &bytes)?;
                file.persist(&cached).map_err(std::io::Error::from)
            });
        }
        Ok(table)
    }

    fn read_settings(&self, leases: &Leases) -> Result<SettingTable, ServerError> {
        let folder = leases.temporary("help")?;
        let mut command = self.command(leases);
        command
            .arg(format!("--datadir={}", folder.path().display()))
            .args(["--verbose", "--help"]);
        let done = command
            .output()
            .map_err(|error| not_started(&self.build, &error, "download the build again"))?;
        let table = SettingTable::parse(&String::from_utf8_lossy(&done.stdout));
        // Some builds exit with a failure after the complete output.
        if table.defaults.is_empty() {
            Err(failed(&format!("{} --verbose --help", self.build), &done))
        } else {
            Ok(table)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HELP: &str = "\
/x/mysqld  Ver 5.6.14 for Linux on x86_64 (MySQL)
Starts the MySQL database server.

Usage: /x/mysqld [OPTIONS]
  -a, --ansi          Use ANSI SQL syntax instead of MySQL syntax. See --sql-mode
                      for more, or --no-such-option elsewhere.
  -b, --basedir=name  Path to installation directory.
  --innodb-buffer-pool-size=# 
                      The size of the memory buffer.

Variables (--variable-name=value)
and boolean options {FALSE|TRUE}                             Value (after reading options)
------------------------------------------------------------ -------------
abort-slave-event-count                                      0
innodb-buffer-pool-size                                      134217728
init-connect                                                 
innodb_data_home_dir                                         (No default value)
big-tables                                                   FALSE
ft-boolean-syntax                                            + -><()~*:\"\"&|

To see what values a running MySQL server is using, type
'mysqladmin variables' instead of 'mysqld --verbose --help'.
";

    #[test]
    fn settings_are_parsed_with_their_values() {
        let table = SettingTable::parse(HELP);
        assert_eq!(
            table.default_of("innodb_buffer_pool_size"),
            Some("134217728")
        );
        assert_eq!(table.default_of("big_tables"), Some("FALSE"));
        assert_eq!(table.default_of("init_connect"), Some(""));
        assert_eq!(
            table.default_of("ft_boolean_syntax"),
            Some("+ -><()~*:\"\"&|")
        );
        assert_eq!(table.default_of("innodb_data_home_dir"), None);
        assert!(
            table.knows("innodb_data_home_dir") && table.knows("basedir") && table.knows("ansi")
        );
    }

    #[test]
    fn dashes_underscores_and_prefixes_do_not_matter() {
        let table = SettingTable::parse(HELP);
        for name in [
            "innodb-buffer-pool-size",
            "loose_innodb_buffer_pool_size",
            "skip-big-tables",
            "INNODB_BUFFER_POOL_SIZE",
        ] {
            assert!(table.knows(name), "{name}");
        }
        assert!(!table.knows("innodb_buffer_pool_sise"));
    }

    #[test]
    fn words_outside_the_option_names_are_not_settings() {
        let table = SettingTable::parse(HELP);
        for name in [
            "to",
            "sql_mode",
            "no_such_option",
            "verbose",
            "variables",
            "usage",
        ] {
            assert!(!table.knows(name), "{name}");
        }
    }

    #[test]
    fn switches_are_parsed_from_the_description_and_the_value() {
        let mysql = "  --optimizer-switch=name \n                      optimizer_switch=option=val[,...], where option\n                      is one of {index_merge,\n                      mrr} and val is one of {on, off}\n  --partition[=name]  Possible values are on, off\n-----\noptimizer-switch      index_merge=on,mrr=on\n";
        let mariadb = "  --optimizer-switch=name \n                      value is on, off, or default, and options are: mrr,\n                      cset_narrowing\n  --optimizer-trace=name\n-----\noptimizer-switch      mrr=off,rowid_filter=on\n";
        let of = |help: &str| {
            let table = SettingTable::parse(help);
            table.switches().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(mysql), "index_merge mrr");
        assert_eq!(of(mariadb), "cset_narrowing mrr rowid_filter");
        assert_eq!(of(HELP), "");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(?s).{0,300}") {
            let _ = SettingTable::parse(&text);
        }
    }
}

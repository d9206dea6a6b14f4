//! The settings, session variables and optimizer switches that a server knows.
//!
//! Purpose: find what a trial sets but its server lacks, before anything is loaded. Boundaries: `run::prepare::preflight` queries
//! the server; nothing here checks whether a value is sensible.

use crate::experiment::Patch;
use crate::file::mistake::nearest;
use crate::text::setting::{Pairs, Setting, listed, plain};
use crate::text::switches;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Prefixes that a server accepts before the name of an option.
const PREFIXES: [&str; 5] = ["loose_", "skip_", "enable_", "disable_", "maximum_"];

/// Session variables that are not command-line options on some server, so its build does not list them.
const SESSION_ALONE: [&str; 34] = [
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "check_constraint_checks",
    "collation_connection",
    "foreign_key_checks",
    "gtid_next",
    "insert_id",
    "last_insert_id",
    "identity",
    "max_insert_delayed_threads",
    "profiling",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "skip_replication",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_log_bin",
    "sql_log_off",
    "sql_notes",
    "sql_quote_show_create",
    "sql_safe_updates",
    "sql_select_limit",
    "sql_warnings",
    "storage_engine",
    "system_versioning_asof",
    "time_zone",
    "timestamp",
    "tx_isolation",
    "tx_read_only",
    "unique_checks",
    "use_secondary_engine",
];

/// The section that sets a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    Settings,
    Session,
}

impl SettingKind {
    pub(crate) const ALL: [SettingKind; 2] = [SettingKind::Settings, SettingKind::Session];

    pub const fn key(self) -> &'static str {
        match self {
            SettingKind::Settings => "settings",
            SettingKind::Session => "session",
        }
    }

    pub fn of(self, patch: &Patch) -> Option<&Pairs<Setting>> {
        match self {
            SettingKind::Settings => patch.settings.as_ref(),
            SettingKind::Session => patch.session.as_ref(),
        }
    }
}

/// A variable or flag that a server has or lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Variable(String),
    /// A flag of `optimizer_switch`.
    Switch(String),
}

impl Wanted {
    /// What a setting requires of a server: its variable, or the flags of `optimizer_switch`.
    pub fn of(name: &str, setting: &Setting) -> Vec<Wanted> {
        let flags = match setting {
            Setting::Literal(value) if listed(name) == switches::NAME => switches::flags(value),
            _ => Vec::new(),
        };
        let flags = flags.into_iter().filter(|(flag, _)| !flag.is_empty());
        let flags = flags.map(|(flag, _)| Wanted::Switch(flag.to_string()));
        [Wanted::Variable(name.to_string())]
            .into_iter()
            .chain(flags)
            .collect()
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Variable(name) => write!(f, "the setting \"{name}\""),
            Wanted::Switch(flag) => write!(f, "the flag \"{flag}\" of optimizer_switch"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The name of the server in the file.
    pub server: String,
    /// The names of its variables, with underscores, in lower case.
    pub variables: BTreeSet<String>,
    /// The flags of its `optimizer_switch`; empty where it has none.
    pub switches: Vec<String>,
    /// Whether `settings` apply to it, because prony starts it.
    pub takes_settings: bool,
    /// Whether `session` applies to it.
    pub takes_session: bool,
    /// Whether it supports optimizer hints, `/*+ ... */` after SELECT.
    pub takes_hints: bool,
    /// The global variables of a server that prony does not configure; None of others.
    pub in_force: Option<BTreeMap<String, String>>,
}

impl Known {
    pub fn takes(&self, kind: SettingKind) -> bool {
        match kind {
            SettingKind::Settings => self.takes_settings,
            SettingKind::Session => self.takes_session,
        }
    }

    pub fn knows(&self, wanted: &Wanted, kind: SettingKind) -> bool {
        match wanted {
            Wanted::Switch(flag) => {
                // If the variable is missing, its flags are not reported one by one.
                !self.variables.contains(switches::NAME)
                    || self
                        .switches
                        .iter()
                        .any(|known| known.eq_ignore_ascii_case(flag))
            }
            Wanted::Variable(name) => {
                let name = plain(name);
                let has = |name: &str| self.variables.contains(name);
                let prefixed =
                    || name.starts_with("loose_") || without_prefix(&name).is_some_and(has);
                match kind {
                    SettingKind::Settings => has(&name) || prefixed(),
                    SettingKind::Session => has(&name) || SESSION_ALONE.contains(&name.as_str()),
                }
            }
        }
    }

    /// The most similar name that this server has.
    pub fn nearest(&self, wanted: &Wanted) -> Option<&str> {
        let (name, names): (&str, Vec<&str>) = match wanted {
            Wanted::Variable(name) => (name, self.variables.iter().map(String::as_str).collect()),
            Wanted::Switch(flag) => (flag, self.switches.iter().map(String::as_str).collect()),
        };
        nearest(name, &names)
    }

    /// What a trial sets but this server lacks.
    pub fn lacks(&self, settings: &Pairs<Setting>, session: &Pairs<Setting>) -> Vec<Wanted> {
        let both = SettingKind::ALL.into_iter().zip([settings, session]);
        let taken = both.filter(|(kind, _)| self.takes(*kind));
        let lacking = taken.flat_map(|(kind, pairs)| {
            let wanted = pairs.iter();
            let wanted = wanted.flat_map(|(name, setting)| Wanted::of(name, setting));
            wanted.filter(move |wanted| !self.knows(wanted, kind))
        });
        lacking.collect()
    }
}

/// The name of an option without a prefix such as `loose_` or `skip_`; None if it has no prefix.
pub fn without_prefix(name: &str) -> Option<&str> {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(variables: &[&str], switches: &[&str]) -> Known {
        Known {
            server: "5.6".into(),
            variables: variables.iter().map(|name| name.to_string()).collect(),
            switches: switches.iter().map(|name| name.to_string()).collect(),
            takes_settings: true,
            takes_session: true,
            ..Known::default()
        }
    }

    fn pairs(name: &str, value: &str) -> Pairs<Setting> {
        vec![(name.into(), Setting::Literal(value.into()))]
    }

    #[test]
    fn a_trial_lacks_each_flag_and_variable_that_its_server_lacks() {
        let server = known(&["optimizer_switch", "join_buffer_size"], &["mrr"]);
        let session = pairs("optimizer_switch", "mrr=on,mrr_sort_keys=on");
        let settings = pairs("join-cache-level", "8");
        assert_eq!(
            server.lacks(&settings, &session),
            [
                Wanted::Variable("join-cache-level".into()),
                Wanted::Switch("mrr_sort_keys".into())
            ]
        );
        assert_eq!(
            server.lacks(&pairs("Join-Buffer-Size", "1M"), &Vec::new()),
            []
        );
    }

    #[test]
    fn a_missing_variable_is_reported_once_and_not_per_flag() {
        let lacking = known(&[], &[]).lacks(&Vec::new(), &pairs("optimizer_switch", "mrr=on"));
        assert_eq!(lacking, [Wanted::Variable("optimizer_switch".into())]);
    }

    #[test]
    fn settings_that_do_not_apply_to_a_server_are_not_lacking() {
        let external = Known {
            takes_settings: false,
            ..known(&[], &[])
        };
        assert_eq!(external.lacks(&pairs("anything", "1"), &Vec::new()), []);
    }

    #[test]
    fn prefixes_apply_to_options_and_not_to_session_variables() {
        let server = known(&["big_tables"], &[]);
        assert_eq!(
            server.lacks(&pairs("skip-big-tables", "1"), &Vec::new()),
            []
        );
        assert_eq!(
            server
                .lacks(&Vec::new(), &pairs("skip_big_tables", "1"))
                .len(),
            1
        );
        assert_eq!(
            server.lacks(&Vec::new(), &pairs("foreign_key_checks", "0")),
            []
        );
    }
}

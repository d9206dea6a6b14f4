//! Settings that a server must not get from an experiment: prony's own, those that switch its accounts off, and those that let it
//! write outside its instance folder.
//!
//! Purpose: whoever runs a file of somebody else runs a server with it, perhaps as root. Any value with an absolute path or `..` is
//! refused, whatever the setting, because servers add settings; a few that are only read are exceptions. Boundaries: `check::known` checks
//! whether a server knows a setting.

use crate::text::setting::plain;

/// Settings that only prony sets.
const OWN: [&str; 11] = [
    "datadir",
    "tmpdir",
    "socket",
    "port",
    "pid_file",
    "bind_address",
    "init_file",
    "user",
    "log_error",
    "basedir",
    "skip_networking",
];

/// Every spelling of `skip_grant_tables` that a server accepts begins so.
const NO_ACCOUNTS: &str = "skip_g";
/// The folder where statements may read and write files.
const FILES_OF_STATEMENTS: &str = "secure_file_priv";

/// Settings whose files a server only reads.
const READ: [&str; 3] = ["character_sets_dir", "lc_messages_dir", "ft_stopword_file"];
/// Certificates and keys, such as `ssl_ca` and `admin_ssl_cert`.
const READ_CERTIFICATES: &str = "ssl_";

/// Prefixes that a server accepts before every setting.
const PREFIXES: [&str; 4] = ["loose_", "enable_", "disable_", "maximum_"];

/// Signs between the paths of a value: `ibdata1:12M;/x/ibdata2:10M`, `a=/x/a.so`.
const BETWEEN_PATHS: [char; 7] = [';', ':', ',', '=', ' ', '"', '\''];

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unconfined {
    Own,
    NoAccounts,
    /// Statements could write files anywhere.
    Files,
    /// The path in its value that leads out of the instance folder.
    Outside(String),
}

impl Unconfined {
    /// None if a server that prony starts may have the setting.
    pub fn from_setting(name: &str, value: &str) -> Option<Unconfined> {
        let name = plain(name);
        let name = bare(&name);
        if OWN.contains(&name) {
            return Some(Unconfined::Own);
        }
        if name.starts_with(NO_ACCOUNTS) {
            return Some(Unconfined::NoAccounts);
        }
        if name == FILES_OF_STATEMENTS && !value.eq_ignore_ascii_case("null") {
            return Some(Unconfined::Files);
        }
        if READ.contains(&name) || name.contains(READ_CERTIFICATES) {
            return None;
        }
        outside(value).map(|path| Unconfined::Outside(path.to_string()))
    }

    /// What is wrong and the fix, where there is no file to point into.
    pub fn says(&self, name: &str) -> String {
        let (says, _, help) = self.texts(name);
        format!("{says}; {help}")
    }

    /// What is wrong, under the key, and the fix.
    pub(crate) fn texts(&self, name: &str) -> (String, &'static str, &'static str) {
        match self {
            Unconfined::Own => (
                format!(
                    "the setting \"{name}\" is reserved: prony sets it for every server that it starts"
                ),
                "reserved",
                "remove it",
            ),
            Unconfined::NoAccounts => (
                format!("\"{name}\" would open the server to every user of this machine"),
                "no accounts",
                "remove it",
            ),
            Unconfined::Files => (
                format!("\"{name}\" would let statements write files outside the server's folder"),
                "not here",
                "remove it, or write secure_file_priv = \"NULL\"",
            ),
            Unconfined::Outside(path) => (
                format!("\"{name}\" leads out of the server's folder: {path}"),
                "outside",
                "write a name without a folder, which the server places in its data folder; for another disk use volume or redo_volume in [host], or PRONY_HOME",
            ),
        }
    }
}

fn bare(name: &str) -> &str {
    let shorter = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    shorter.map_or(name, bare)
}

/// The first absolute path in the value, or the first with `..`.
fn outside(value: &str) -> Option<&str> {
    if value.starts_with('/') {
        return Some(value);
    }
    // An address has slashes that are no path: `gcomm://127.0.0.1`.
    let after_scheme = |part: &&str| part.starts_with("//") && value.contains(&format!(":{part}"));
    let is_absolute = |part: &str| {
        let below = part.trim_start_matches('/');
        below.len() < part.len()
            && below.starts_with(|sign: char| sign.is_alphanumeric() || "._-".contains(sign))
    };
    let goes_up = |part: &str| part.split('/').any(|step| step == "..");
    let mut parts = value.split(BETWEEN_PATHS);
    parts.find(|part| (is_absolute(part) && !after_scheme(part)) || goes_up(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_write_outside_the_instance_folder_are_refused() {
        for (name, value) in [
            ("general_log_file", "/tmp/x"),
            ("general-log-file", "//tmp/x"),
            ("loose_general_log_file", "../x"),
            ("slow_query_log_file", "logs/../../x"),
            ("innodb_data_home_dir", "/"),
            ("innodb_log_group_home_dir", "/var/lib/x"),
            ("innodb_undo_directory", "/x"),
            ("innodb_data_file_path", "ibdata1:12M;/x/ibdata2:10M"),
            ("log_bin", "/x/binlog"),
            ("plugin_dir", "/home/me/plugins"),
            ("plugin_load", "a.so;b=/home/me/b.so"),
            ("wsrep_provider_options", "gcache.dir=/x; gcache.size=1M"),
            ("a_setting_of_the_next_version", "/x"),
        ] {
            let refused = Unconfined::from_setting(name, value);
            assert!(
                matches!(refused, Some(Unconfined::Outside(_))),
                "{name} = {value}: {refused:?}"
            );
        }
    }

    #[test]
    fn settings_within_the_instance_folder_are_accepted() {
        for (name, value) in [
            ("general_log_file", "general.log"),
            ("log_bin", "binlog"),
            ("log_bin", "1"),
            ("innodb_data_file_path", "ibdata1:12M:autoextend"),
            ("plugin_load_add", "ha_rocksdb.so"),
            ("default_time_zone", "+00:00"),
            ("optimizer_switch", "mrr=on,mrr_cost_based=off"),
            ("init_connect", "set @a = 1 / 2, @b = '...'"),
            ("innodb_ft_server_stopword_table", "db/stopwords"),
            (
                "wsrep_cluster_address",
                "gcomm://127.0.0.1:21011,127.0.0.1:21012",
            ),
            ("ssl_ca", "/etc/ssl/ca.pem"),
            ("lc_messages_dir", "/opt/mysql/share"),
            ("secure_file_priv", "NULL"),
            ("skip_log_bin", "1"),
        ] {
            assert_eq!(
                Unconfined::from_setting(name, value),
                None,
                "{name} = {value}"
            );
        }
    }

    #[test]
    fn reserved_settings_and_switched_off_accounts_are_refused_in_every_spelling() {
        for (name, refused) in [
            ("datadir", Unconfined::Own),
            ("loose-loose_PID-file", Unconfined::Own),
            ("skip-networking", Unconfined::Own),
            ("skip_grant_tables", Unconfined::NoAccounts),
            ("loose-skip-grant", Unconfined::NoAccounts),
            ("secure-file-priv", Unconfined::Files),
        ] {
            assert_eq!(Unconfined::from_setting(name, ""), Some(refused), "{name}");
        }
    }
}

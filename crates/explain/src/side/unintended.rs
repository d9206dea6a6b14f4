//! Settings that differ between two cells although the experiment does not set them.
//!
//! Purpose: name what a comparison does not intend to compare. Boundary: of one server only, because two servers differ in
//! many defaults, and of recorded settings. What counts as intended, and what differs always, holds for the report too.

use super::{Side, VERSION};
use record::Run;
use std::collections::BTreeSet;

/// A setting with its two values.
#[derive(Clone, Debug, PartialEq)]
pub struct Unintended {
    pub name: String,
    pub of: String,
    pub to: String,
}

/// Settings whose names end so belong to an instance: its folders, addresses and identities. They always differ.
const ENDS_OF_AN_INSTANCE: [&str; 16] = [
    "_address",
    "_basename",
    "_cluster_name",
    "_file",
    "_id",
    "_index",
    "_node_name",
    "_path",
    "_uid",
    "_uuid",
    "dir",
    "hostname",
    "log_error",
    "port",
    "relay_log",
    "socket",
];

/// And these, whole: they change with each connection or transaction, or repeat the environment.
const OF_AN_INSTANCE: [&str; 20] = [
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_executed",
    "gtid_owned",
    "gtid_purged",
    "gtid_slave_pos",
    "identity",
    "insert_id",
    "last_insert_id",
    "rand_seed1",
    "rand_seed2",
    "secure_file_priv",
    "timestamp",
    "version",
    "version_comment",
    "version_compile_machine",
    "version_source_revision",
    "wsrep_start_position",
    // prony writes the addresses and folders of each node into it.
    "wsrep_provider_options",
];

/// What a run changes from trial to trial by what it writes and reads.
const OF_A_TRIAL: [&str; 3] = [
    "below the loop device: free space",
    "free space",
    "page cache before the load",
];

/// Whether a setting differs between any two trials, whatever the experiment varies.
pub fn is_of_an_instance(name: &str) -> bool {
    OF_AN_INSTANCE.contains(&name) || ENDS_OF_AN_INSTANCE.iter().any(|end| name.ends_with(end))
}

/// Settings that a server derives from another one and that are the same thing in another unit, and what lies below files because a
/// volume asks for it: (derived, from).
const DERIVED: [(&str, &str); 10] = [
    ("file system", "filesystem"),
    ("mount options", "filesystem"),
    ("mount options", "mount_options"),
    ("innodb_buffer_pool_chunk_size", "innodb_buffer_pool_size"),
    ("innodb_io_capacity_max", "innodb_io_capacity"),
    ("innodb_redo_log_capacity", "innodb_log_file_size"),
    ("innodb_log_file_size", "innodb_redo_log_capacity"),
    ("sql_log_bin", "log_bin"),
    ("innodb_use_atomic_writes", "innodb_doublewrite"),
    // MariaDB buffers the log in the page cache where commits do not flush it.
    (
        "innodb_log_file_buffering",
        "innodb_flush_log_at_trx_commit",
    ),
];

/// The settings that differ unintentionally, in the order of their names.
pub(crate) fn unintended(run: &Run, of: &Side, to: &Side) -> Vec<Unintended> {
    if of.servers() != to.servers() {
        return Vec::new();
    }
    let Some(intended) = Intended::by(run) else {
        return Vec::new();
    };
    if of.setting(VERSION) != to.setting(VERSION) {
        let version = differs(VERSION, of, to).filter(|_| !intended.builds);
        return version.into_iter().collect();
    }
    of.setting_names()
        .filter(|name| !is_of_an_instance(name) && !intended.covers(name))
        .filter_map(|name| differs(name, of, to))
        .collect()
}

/// The settings that an experiment names, and those that follow from them.
pub struct Intended {
    names: BTreeSet<String>,
    /// Whether a level replaces the build of a server.
    builds: bool,
}

impl Intended {
    /// None if the record's experiment file cannot be read.
    pub fn by(run: &Run) -> Option<Intended> {
        Intended::read(&run.experiment_toml)
    }

    fn read(experiment: &str) -> Option<Intended> {
        let experiment = experiment.parse().ok()?;
        let mut names = BTreeSet::new();
        collect(&experiment, &mut names);
        Some(Intended {
            names,
            builds: varies_builds(&experiment),
        })
    }

    /// Whether a difference of this setting within the run is expected.
    pub fn covers(&self, name: &str) -> bool {
        let mut derived = DERIVED.iter().filter(|(derived, _)| *derived == name);
        OF_A_TRIAL.contains(&name)
            || self.names.contains(name)
            || derived.any(|(_, from)| self.names.contains(*from))
    }
}

fn differs(name: &str, of: &Side, to: &Side) -> Option<Unintended> {
    let (of, to) = (of.setting(name)?, to.setting(name)?);
    let is_path = of.contains('/') || to.contains('/');
    (of != to && !is_path).then(|| Unintended {
        name: name.to_string(),
        of: of.to_string(),
        to: to.to_string(),
    })
}

/// Whether a level replaces the build of a server.
fn varies_builds(table: &toml::Table) -> bool {
    table.iter().any(|(key, value)| {
        let inner = value.as_table();
        let is_build = |inner: &toml::Table| {
            key == "server" && inner.get("build").is_some_and(toml::Value::is_str)
        };
        inner.is_some_and(|inner| is_build(inner) || varies_builds(inner))
    })
}

/// The keys of every table that is called `settings`, `session` or `volume`, as servers write them.
fn collect(table: &toml::Table, names: &mut BTreeSet<String>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else {
            continue;
        };
        match key.as_str() {
            "settings" | "session" | "volume" => names.extend(inner.keys().map(|name| plain(name))),
            _ => collect(inner, names),
        }
    }
}

/// `innodb_flush_method` for `loose-innodb-flush-method`.
fn plain(name: &str) -> String {
    let name = name.replace('-', "_").to_ascii_lowercase();
    name.strip_prefix("loose_").unwrap_or(&name).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Intended, is_of_an_instance};

    #[test]
    fn folders_ports_and_positions_always_differ() {
        let names = [
            "datadir",
            "pid_file",
            "secure_file_priv",
            "port",
            "wsrep_node_incoming_address",
            "gtid_executed",
            "gtid_binlog_state",
        ];
        assert!(names.into_iter().all(is_of_an_instance));
        let of_the_experiment = [
            "innodb_old_blocks_time",
            "innodb_log_file_size",
            "general_log",
        ];
        assert!(!of_the_experiment.into_iter().any(is_of_an_instance));
    }

    #[test]
    fn what_a_volume_asks_for_is_intended() {
        let experiment = r#"
            [factor.disk.xfs]
            host = { volume = { kind = "loop", filesystem = "xfs" } }
        "#;
        let intended = Intended::read(experiment).unwrap();
        assert!(intended.covers("file system") && intended.covers("mount options"));
        assert!(intended.covers("below the loop device: free space"));
        assert!(!intended.covers("scheduler"));
        assert!(!Intended::read("").unwrap().covers("mount options"));
    }

    #[test]
    fn a_setting_that_follows_from_a_named_one_is_intended() {
        let experiment = "[variant.a.settings]\nloose-innodb-redo-log-capacity = \"1G\"";
        let intended = Intended::read(experiment).unwrap();
        assert!(intended.covers("innodb_redo_log_capacity"));
        assert!(intended.covers("innodb_log_file_size"));
        assert!(!intended.covers("innodb_io_capacity"));
    }
}

//! Settings that differ between two cells although the experiment does not set them.
//!
//! Purpose: name what a comparison does not intend to compare. Boundary: of one server only, because two servers differ in
//! many defaults, and of recorded settings.

use crate::doubled::VERSION;
use crate::side::Side;
use record::Run;
use std::collections::BTreeSet;

/// A setting with its two values.
#[derive(Clone, Debug, PartialEq)]
pub struct Unintended {
    pub name: String,
    pub of: String,
    pub to: String,
}

/// Settings that identify an instance, so that no two trials share them. Paths are left out by their values.
const OF_INSTANCE: [&str; 14] = [
    "admin_port",
    "gtid_binlog_pos",
    "gtid_current_pos",
    "gtid_executed",
    "mysqlx_port",
    "port",
    "report_port",
    "server_id",
    "server_uid",
    "server_uuid",
    "wsrep_cluster_name",
    "wsrep_node_address",
    "wsrep_node_incoming_address",
    "wsrep_node_name",
];

/// Settings that a server derives from another one and that are the same thing in another unit: (derived, from).
const DERIVED: [(&str, &str); 7] = [
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

/// In the order of their names.
pub(crate) fn unintended(run: &Run, of: &Side, to: &Side) -> Vec<Unintended> {
    if of.servers() != to.servers() {
        return Vec::new();
    }
    let Ok(experiment) = run.experiment_toml.parse() else {
        return Vec::new();
    };
    if of.setting(VERSION) != to.setting(VERSION) {
        let version = differs(VERSION, of, to).filter(|_| !varies_builds(&experiment));
        return version.into_iter().collect();
    }
    let mut set = BTreeSet::new();
    collect(&experiment, &mut set);
    let is_intended = |name: &str| {
        let derived = DERIVED.iter().filter(|(derived, _)| *derived == name);
        set.contains(name) || derived.into_iter().any(|(_, from)| set.contains(*from))
    };
    of.setting_names()
        .filter(|name| !OF_INSTANCE.contains(name) && !is_intended(name))
        .filter_map(|name| differs(name, of, to))
        .collect()
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

/// The keys of every table that is called `settings` or `session`, as servers write them.
fn collect(table: &toml::Table, names: &mut BTreeSet<String>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else {
            continue;
        };
        match key.as_str() {
            "settings" | "session" => names.extend(inner.keys().map(|name| plain(name))),
            _ => collect(inner, names),
        }
    }
}

/// `innodb_flush_method` for `loose-innodb-flush-method`.
fn plain(name: &str) -> String {
    let name = name.replace('-', "_").to_ascii_lowercase();
    name.strip_prefix("loose_").unwrap_or(&name).to_string()
}

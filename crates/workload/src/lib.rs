//! Workloads: tables, queries, operations for a timed load, and their right answers.
//!
//! Purpose: each workload reads its own section of the experiment file and offers what it has through the seam `Workload`, so a
//! new workload is one folder here and one line in [`open`]. Boundaries: crate `load` drives operations; `run` loads data, keeps
//! snapshots and measures.

pub mod answers;
mod engines;
mod generated;
mod hashes;
mod indexes;
mod keys;
pub mod loader;
pub mod marker;
pub mod oltp;
pub mod preload;
mod schema;
pub mod script;
pub mod seam;
pub mod sql;
pub mod ssb;
mod stored;
pub mod toy;
pub mod tpch;

pub use preload::Preloaded;
pub use schema::index_bytes;
pub use script::Driver;
pub use seam::{
    Audit, AuditError, Audited, Dataset, Dialect, Estimate, LoadError, Loaded, Operation, Progress,
    Queries, State, Target, TargetKind, Workload,
};
use std::sync::Arc;

/// A mistake in a workload's section, by the key that it is in. The reader of the file finds the place and underlines it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {says} ({help})")]
pub struct KeyMistake {
    /// Empty where the section as a whole is meant.
    pub key: String,
    pub says: String,
    pub help: String,
}

/// The workloads that a file can name: `[workload.NAME]`.
pub fn names() -> &'static [&'static str] {
    &["ssb", "tpch", "oltp", "sql"]
}

/// Whether the section is right. Keys may be missing where they have a default, so a level's patch can be checked alone.
pub fn check(name: &str, section: &toml::Table) -> Result<(), KeyMistake> {
    open(name, section).map(|_| ())
}

/// The workload that the section describes. Opening is cheap; rows are counted when they are first needed, once.
pub fn open(name: &str, section: &toml::Table) -> Result<Arc<dyn Workload>, KeyMistake> {
    match name {
        "ssb" => Ok(Arc::new(ssb::StarSchema::new(ssb::Section::read(section)?))),
        "tpch" => Ok(Arc::new(tpch::Tpch::new(tpch::Section::read(section)?))),
        "oltp" => Ok(Arc::new(oltp::Oltp::new(oltp::Section::read(section)?))),
        "sql" => Ok(Arc::new(sql::Statements::new(sql::Section::read(section)?))),
        other => Err(KeyMistake {
            key: String::new(),
            says: format!("there is no workload {other:?}"),
            help: format!("the workloads are: {}", names().join(", ")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_workload_is_refused_with_the_known_names() {
        let mistake = check("tpcds", &toml::Table::new()).unwrap_err();
        assert_eq!(mistake.says, "there is no workload \"tpcds\"");
        assert_eq!(mistake.help, "the workloads are: ssb, tpch, oltp, sql");
    }

    #[test]
    fn every_named_workload_but_sql_opens_with_its_defaults() {
        for name in names() {
            let opened = open(name, &toml::Table::new());
            assert_eq!(opened.is_ok(), *name != "sql", "{name}");
        }
    }

    fn login() -> wire::Login {
        wire::Login {
            endpoints: Vec::new(),
            user: "app".into(),
            password: None,
            schema: Some("theirs".into()),
            tls: wire::Tls::Off,
            within: std::time::Duration::ZERO,
            stalled: None,
        }
    }

    #[test]
    fn every_workload_has_data_and_either_queries_or_operations_for_a_server() {
        let folder = Target::Folder(std::path::Path::new("/"));
        for (name, section) in [
            ("ssb", ""),
            ("tpch", ""),
            ("oltp", ""),
            ("sql", "operation.a.statements = \"select 1\""),
        ] {
            let workload = open(name, &section.parse().unwrap()).unwrap();
            let target = Target::Server {
                login: login(),
                session: &[],
            };
            assert_eq!(workload.target(), target.kind(), "{name}");
            assert!(workload.data().is_some(), "{name}");
            let is_driven = workload.driver(&target, 1).is_some();
            assert_eq!(workload.queries().is_none(), is_driven, "{name}");
            assert!(workload.driver(&folder, 1).is_none(), "{name}");
        }
    }
}

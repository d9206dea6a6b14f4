//! Workloads: tables, queries, operations for a timed load, and expected results.
//!
//! Purpose: each workload reads its own section of the experiment file and implements the trait `Workload`, so a new
//! workload is one folder here and one row of `WORKLOADS`. Boundaries: crate `load` drives operations; `run` loads data,
//! keeps snapshots and measures.

pub mod answers;
pub mod fileio;
mod generated;
mod interface;
mod keys;
mod load_outcome;
pub mod loader;
pub mod oltp;
mod query;
mod schema;
pub mod script;
pub mod sql;
pub mod sql_text;
pub mod ssb;
pub mod tpcc;
pub mod tpch;

pub use interface::{
    AfterLoad, AuditError, Audited, Auditor, Dataset, Divided, Ended, Estimate, Files, FilesError,
    Further, Pausing, Precondition, Queries, Readers, Target, Work, Workload,
};
pub use load_outcome::{LoadError, Loaded, Progress, Unit};
pub use loader::Connect;
pub use query::{Dialect, Operation};
pub use schema::held::Held;
pub use schema::index_bytes;
pub use schema::marker::TABLE as MARKER;
pub use schema::preload::Preloaded;
pub use schema::state::{AllowDrop, DatasetState};
pub use schema::witness::Witness;
pub use script::Driver;
pub use spec::TargetKind;
use spec::{Section, SectionError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reads a workload's own section. Notes every mistake at its place; then there is no workload.
type Read = fn(&Section) -> Option<Arc<dyn Workload>>;

/// The workloads that a file can name.
const WORKLOADS: [(&str, Read); 6] = [
    ("ssb", ssb::read),
    ("tpch", tpch::read),
    ("tpcc", tpcc::read),
    ("oltp", oltp::read),
    ("sql", sql::read),
    ("fileio", fileio::read),
];

/// The names of the workloads: `[workload.NAME]`.
pub fn names() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|(name, _)| *name)
}

/// Reads `[workload.NAME]` for `spec::parse`: notes every mistake and returns the target of the workload.
pub fn check(name: &str, section: &Section) -> Option<TargetKind> {
    read(name, section).map(|workload| workload.target())
}

/// Opens the workload of a planned trial from its section. Opening is cheap; rows are counted once, on first use.
///
/// # Errors
/// Lists every mistake in the section, which the command line may have changed since the file was checked.
pub fn open(name: &str, section: &toml::Table) -> Result<Arc<dyn Workload>, SectionError> {
    spec::read_table(section, |section| read(name, section))
}

/// What several threads share. A panic of one of them does not keep it from the others.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connections that work side by side. More are not faster on the intended machines.
pub(crate) fn connections() -> usize {
    const MOST: usize = 8;
    std::thread::available_parallelism().map_or(1, |cores| MOST.min(cores.get()))
}

fn read(name: &str, section: &Section) -> Option<Arc<dyn Workload>> {
    match WORKLOADS.iter().find(|(known, _)| *known == name) {
        Some((_, read)) => read(section),
        None => {
            let (at, known) = (section.at.clone(), names().collect::<Vec<_>>());
            section.notes.unknown(at, "the workload", name, &known);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_workload_is_refused_with_the_known_names() {
        let error = open("tpcds", &toml::Table::new()).map(drop).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the workload \"tpcds\" is not known (allowed: ssb, tpch, tpcc, oltp, sql, fileio)"
        );
    }

    /// The mistakes of a file with this workload, as the terminal shows them.
    fn shown(workload: &str) -> String {
        let source = format!("title = \"t\"\n[server.a]\nbuild = \"mariadb\"\n{workload}");
        let error = spec::parse("x", "x.toml", &source, &check).unwrap_err();
        error.text(Some(100))
    }

    #[test]
    fn an_unknown_key_of_a_workload_is_shown_with_its_span_and_the_nearest_name() {
        let sections = [
            "[workload.ssb]\nsacle = 1\njoins = \"ANSI\"\n",
            "[workload.tpch]\nhints = { Q33 = \"MRR(t)\" }\nforce_idx = true\n",
            "[workload.oltp]\nrows = \"1000\"\n[workload.oltp.operations]\npoint-selct = 1\n",
            "[workload.sql.operation.a]\nstatement = \"select :p\"\n[workload.sql.oltp]\nrow = 1\n",
            "[workload.sql.operation.a]\nstatements = \"select 1\"\n[variant.b.workload.operation.a]\nstatements = \"select 1\"\nwieght = 2\n",
            "[workload.oltp]\nrows = 1000\n[factor.size.large]\nworkload = { rwos = 2000 }\n",
        ];
        insta::assert_snapshot!(sections.map(shown).join("\n"));
    }

    #[test]
    fn a_mistake_of_the_section_is_not_repeated_for_each_level_that_changes_another_key() {
        let text = shown("[workload.oltp]\nrwos = 1\n[factor.size.a]\nworkload = { tables = 2 }\n");
        assert_eq!(text.matches("rwos").count(), 2, "{text}");
    }

    #[test]
    fn every_named_workload_but_sql_opens_with_its_defaults() {
        for name in names() {
            let opened = open(name, &toml::Table::new());
            assert_eq!(opened.is_ok(), name != "sql", "{name}");
        }
    }

    fn login() -> wire::Login {
        wire::Login {
            endpoints: Vec::new(),
            user: "app".into(),
            password: None,
            schema: Some("theirs".into()),
            protection: Default::default(),
            login_timeout: std::time::Duration::ZERO,
            stall_timeout: None,
        }
    }

    #[test]
    fn every_workload_has_data_and_either_queries_or_operations_for_a_server() {
        let folder = Target::Folder("/".into());
        for (name, section) in [
            ("ssb", ""),
            ("tpch", ""),
            ("oltp", ""),
            ("sql", "operation.a.statements = \"select 1\""),
        ] {
            let workload = open(name, &section.parse().unwrap()).unwrap();
            let target = Target::Server {
                readers: None,
                login: login(),
                session: Vec::new(),
            };
            assert_eq!(workload.target(), target.kind(), "{name}");
            assert!(workload.data().is_some(), "{name}");
            let is_driven = workload.work(&target, 1).is_some();
            assert_eq!(workload.queries().is_none(), is_driven, "{name}");
            assert!(workload.work(&folder, 1).is_none(), "{name}");
        }
    }
}

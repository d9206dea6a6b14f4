//! Workloads: a schema, its data, its operations and what they answer.
//!
//! Goal: a workload parses its own section of the experiment file, so that a new one touches only this room.
//! Non-goals: running operations, keeping snapshots (`run`).

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
pub mod tpch;

pub use preload::Preloaded;
pub use schema::index_bytes;
pub use script::Driver;
pub use seam::{Dataset, Dialect, Estimate, LoadError, Loaded, Operation, Progress, State};

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

/// The dataset that the section describes.
pub fn open(name: &str, section: &toml::Table) -> Result<Box<dyn Dataset>, KeyMistake> {
    match name {
        "ssb" => Ok(Box::new(ssb::StarSchema::new(ssb::Section::read(section)?))),
        "tpch" => Ok(Box::new(tpch::Tpch::new(tpch::Section::read(section)?))),
        "oltp" => Ok(Box::new(oltp::Oltp::new(oltp::Section::read(section)?))),
        "sql" => Ok(Box::new(sql::Statements::new(sql::Section::read(section)?))),
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
    fn an_unknown_workload_is_answered_with_those_there_are() {
        let mistake = check("tpcds", &toml::Table::new()).unwrap_err();
        assert_eq!(mistake.says, "there is no workload \"tpcds\"");
        assert_eq!(mistake.help, "the workloads are: ssb, tpch, oltp, sql");
    }

    #[test]
    fn every_named_workload_opens_with_its_defaults_but_statements_have_none() {
        for name in names() {
            let opened = open(name, &toml::Table::new());
            assert_eq!(opened.is_ok(), *name != "sql", "{name}");
        }
    }
}

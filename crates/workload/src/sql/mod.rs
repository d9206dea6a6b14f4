//! Statements of the user's own, from the experiment file or from .sql files.
//!
//! Purpose: queries in rounds, or arbitrary transactions as in pgbench scripts, with random parameters and weights, on tables
//! from a setup, files, a dump, or those that a running server has.
//! Boundaries: no variables set from results, no conditions, no loops.

mod confined;
mod created_tables;
mod dump;
mod existing_tables;
mod loading;
mod losses;
mod own_schema;
mod queries;
mod section;
mod sources;
mod table_file;
mod user_file;

pub use confined::confined_statements;
pub use queries::{Query, QueryMistake};
pub use section::source::Source;
pub use section::{Runs, Section};
pub use sources::{Charset, Creation, Sources};
pub use table_file::TableFile;

use super::answers::Reference;
use super::oltp;
use super::script::{Driver, Script};
use super::{Dataset, Operation, Queries, Target, Work, Workload};
use created_tables::Tables;
use existing_tables::Theirs;
use std::sync::Arc;

/// The tables and what runs on them.
pub struct Sql {
    data: Box<dyn Dataset>,
    work: SqlWork,
}

enum SqlWork {
    Rounds(Round),
    Timed {
        script: Arc<Script>,
        names: Vec<String>,
    },
}

/// The queries of a round.
struct Round {
    queries: Vec<Query>,
    /// None: they are in the experiment file.
    file: Option<String>,
}

/// Reads `[workload.sql]`; notes every mistake.
pub(crate) fn read(section: &spec::Section) -> Option<Arc<dyn Workload>> {
    Some(Arc::new(Sql::new(Section::read(section)?)))
}

impl Sql {
    pub fn new(section: Section) -> Sql {
        Sql {
            data: match section.source {
                Source::Created(sources) => Box::new(Tables::new(sources)),
                Source::Oltp(data) => Box::new(oltp::tables(&data)),
                Source::Schema(schema) => Box::new(Theirs { schema }),
            },
            work: match section.runs {
                Runs::Queries { queries, file } => SqlWork::Rounds(Round { queries, file }),
                Runs::Operations { script, names } => SqlWork::Timed {
                    script: Arc::new(script),
                    names,
                },
            },
        }
    }

    /// The operations of a timed load as the driver runs them; None for rounds.
    pub fn script(&self) -> Option<&Arc<Script>> {
        match &self.work {
            SqlWork::Rounds(_) => None,
            SqlWork::Timed { script, .. } => Some(script),
        }
    }
}

impl Workload for Sql {
    fn summary(&self) -> String {
        let data = self.data.summary();
        match &self.work {
            SqlWork::Rounds(round) => format!("{} on {data}", round.summary()),
            SqlWork::Timed { names, .. } => format!("{} on {data}", names.join(" and ")),
        }
    }

    fn data(&self) -> Option<&dyn Dataset> {
        Some(&*self.data)
    }

    fn queries(&self) -> Option<&dyn Queries> {
        match &self.work {
            SqlWork::Rounds(round) => Some(round),
            SqlWork::Timed { .. } => None,
        }
    }

    fn routes_reads(&self) -> bool {
        true
    }

    fn only_reads(&self) -> bool {
        self.script().is_none_or(|script| !script.writes())
    }

    fn written(&self) -> Vec<Operation> {
        let SqlWork::Timed { script, .. } = &self.work else {
            return self.queries().map(Queries::operations).unwrap_or_default();
        };
        let prepared = script.prepared();
        prepared
            .map(|(name, sql)| Operation::new(name, sql))
            .collect()
    }

    fn work(&self, target: &Target, seed: u64) -> Option<Work> {
        let SqlWork::Timed { script, .. } = &self.work else {
            return None;
        };
        let driver = Driver::on(target, script, self.data.schema(), seed)?;
        Some(driver.work())
    }
}

impl Round {
    fn summary(&self) -> String {
        let count = self.queries.len();
        let queries = format!("{count} {}", record::for_count(count, "query", "queries"));
        match &self.file {
            Some(file) => format!("{queries} of {file}"),
            None => queries,
        }
    }

    /// `q.sql:12`
    fn place(&self, query: &Query) -> String {
        match &self.file {
            Some(file) => format!("{file}:{}", query.line),
            None => format!("line {} of queries", query.line),
        }
    }
}

impl Queries for Round {
    /// The answers find the columns of an ORDER BY in the text.
    fn operations(&self) -> Vec<Operation> {
        let operation = |query: &Query| Operation {
            place: Some(self.place(query)),
            before: query.before.clone(),
            ..Operation::new(&query.name, &query.sql)
        };
        self.queries.iter().map(operation).collect()
    }

    /// Answers are compared across servers and rounds only.
    fn reference(&self, _operation: &str) -> Option<Reference> {
        None
    }
}

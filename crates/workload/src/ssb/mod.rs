//! The Star Schema Benchmark: five tables, 13 queries in four flights.
//!
//! Purpose: the tables, keys and queries of the published results, on any server of the MySQL family and on SQLite.
//! Boundaries: crate `datagen` generates the rows.

mod queries;
mod references;
mod schema;
mod section;
mod tables;

pub use section::{Joins, Section};

use super::answers::Reference;
use super::loader::settings;
use super::{Dataset, Estimate, Operation, Queries, Workload};
use crate::generated::stored_tables::{Rows as _, Sqlite, Stored};
use crate::schema::marker;
use std::sync::Arc;

/// prony's own schema for this workload.
const SCHEMA: &str = "prony_ssb";
/// Increment it when the generated rows change, so that stored datasets are reloaded.
const GENERATOR: u32 = 1;

/// The benchmark at one scale.
pub struct StarSchema {
    scale: f64,
    joins: Joins,
    data: Stored,
}

/// Reads `[workload.ssb]`; notes every mistake.
pub(crate) fn read(section: &spec::Section) -> Option<Arc<dyn Workload>> {
    Some(Arc::new(StarSchema::new(Section::read(section)?)))
}

impl StarSchema {
    pub fn new(section: Section) -> StarSchema {
        StarSchema {
            scale: section.scale,
            joins: section.joins,
            data: data(section),
        }
    }
}

/// Costs are measured at scale 1 on two cores: InnoDB of 5.5.34 and 5.6.14 hold 1.2 GB. The rounds are those of the ANSI form
/// on 5.5.34 with everything in memory (43 s), and, guessed, with a pool of an eighth of the data on a cold SSD.
fn data(section: Section) -> Stored {
    let Section {
        scale,
        engine,
        index_build,
        ..
    } = section;
    let hash = marker::hash(&[
        schema::MYSQL.as_bytes(),
        schema::SQLITE.as_bytes(),
        schema::INDEXES_SQLITE.as_bytes(),
        &GENERATOR.to_le_bytes(),
    ]);
    let build = index_build.suffix(&engine);
    let rows = tables::tables(scale);
    Stored {
        fingerprint: format!("ssb-{scale}-{engine}{build}-{hash}"),
        summary: format!("Star Schema Benchmark, scale {scale}, {engine}"),
        schema: SCHEMA,
        index_build,
        create: schema::MYSQL.into(),
        sqlite: Sqlite::Made {
            create: schema::SQLITE,
            indexes: schema::INDEXES_SQLITE,
        },
        pattern: None,
        connections: settings::CONNECTIONS,
        engine,
        cost: Estimate {
            data_bytes: rows.text_bytes() * 2,
            load_s: 1.0 + 60.0 * scale,
            round_cold_s: 1.0 + 150.0 * scale,
            round_hot_s: 45.0 * scale,
            ..Estimate::default()
        },
        rows: Box::new(rows),
        after_rows: Vec::new(),
        changing: None,
        reload: false,
    }
}

impl Workload for StarSchema {
    fn summary(&self) -> String {
        let joins = match self.joins {
            Joins::Original => "joins in the WHERE clause",
            Joins::Ansi => "ANSI joins",
            Joins::FactFirst => "fact table first",
            Joins::DimensionFirst => "dimension first",
        };
        format!("{}, {joins}", self.data.summary())
    }

    fn data(&self) -> Option<&dyn Dataset> {
        Some(&self.data)
    }

    fn queries(&self) -> Option<&dyn Queries> {
        Some(self)
    }
}

impl Queries for StarSchema {
    fn operations(&self) -> Vec<Operation> {
        queries::operations(self.joins)
    }

    fn reference(&self, operation: &str) -> Option<Reference> {
        references::reference(self.scale, operation)
    }
}

#[cfg(test)]
mod tests;

//! Small transactions on sysbench's tables: point reads, ranges, updates, inserts, and their mixes.
//!
//! Purpose: the operations of sysbench's OLTP tests as data for crate `load`. Boundaries: crate `datagen` draws rows and
//! keys, `script` runs the statements.

mod compiled;
pub(crate) mod distribution;
mod operations;
mod section;
mod tables;

pub use section::{Data, Section};
pub use tables::{SCHEMA, tables};

use super::script::{Driver, Script};
use super::{Dataset, Target, Work, Workload};
use crate::generated::stored_tables::Stored;
use std::sync::Arc;

/// The tables and the operations of one section.
pub struct Oltp {
    /// The operations' names.
    names: Vec<&'static str>,
    data: Stored,
    script: Arc<Script>,
}

/// Reads `[workload.oltp]`; notes every mistake.
pub(crate) fn read(section: &spec::Section) -> Option<Arc<dyn Workload>> {
    Some(Arc::new(Oltp::new(Section::read(section)?)))
}

impl Oltp {
    pub fn new(section: Section) -> Oltp {
        Oltp {
            names: section.mix.iter().map(|(one, _)| one.name).collect(),
            data: tables(&section.data),
            script: Arc::new(compiled::script(&section)),
        }
    }

    /// The operations as the driver runs them.
    pub fn script(&self) -> &Arc<Script> {
        &self.script
    }
}

impl Workload for Oltp {
    fn summary(&self) -> String {
        format!("{} on {}", self.names.join(" and "), self.data.summary)
    }

    fn data(&self) -> Option<&dyn Dataset> {
        Some(&self.data)
    }

    fn routes_reads(&self) -> bool {
        true
    }

    fn only_reads(&self) -> bool {
        !self.script.writes()
    }

    fn work(&self, target: &Target, seed: u64) -> Option<Work> {
        let driver = Driver::on(target, &self.script, tables::SCHEMA, seed)?;
        Some(driver.work())
    }
}

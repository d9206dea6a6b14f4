//! TPC-C, revision 5.11, for servers of the MySQL family. Numbers in parentheses are clauses of the standard.
//!
//! Purpose: the section and the tables. Boundaries: `datagen::tpcc` generates the rows.

pub mod conditions;
pub mod inputs;
pub mod ledger;
mod section;
mod tables;

pub use section::{Delivery, LARGEST_SCALE, Mix, Section, TRANSACTIONS, Waits};

use super::stored::Stored;
use super::{Dataset, Workload};
use std::sync::Arc;

/// prony's own schema for these tables.
pub const SCHEMA: &str = "prony_tpcc";

/// The tables of one section.
pub struct Tpcc {
    data: Stored,
}

/// Reads `[workload.tpcc]`; notes every mistake.
pub(crate) fn read(section: &spec::Section) -> Option<Arc<dyn Workload>> {
    Some(Arc::new(Tpcc::new(Section::read(section)?)))
}

impl Tpcc {
    pub fn new(section: Section) -> Tpcc {
        Tpcc {
            data: tables::tables(&section),
        }
    }
}

impl Workload for Tpcc {
    fn summary(&self) -> String {
        format!("TPC-C transactions on {}", self.data.summary)
    }

    fn data(&self) -> Option<&dyn Dataset> {
        Some(&self.data)
    }
}

//! TPC-C, revision 5.11, for servers of the MySQL family. Numbers in parentheses are clauses of the standard.
//!
//! Purpose: the section and the tables. Boundaries: `datagen::tpcc` generates the rows.

mod section;

pub use section::{Delivery, Mix, Section, TRANSACTIONS, Waits};

use super::Workload;
use std::sync::Arc;

/// prony's own schema for these tables.
pub const SCHEMA: &str = "prony_tpcc";

/// The tables of one section.
pub struct Tpcc {
    section: Section,
}

/// Reads `[workload.tpcc]`; notes every mistake.
pub(crate) fn read(section: &spec::Section) -> Option<Arc<dyn Workload>> {
    Some(Arc::new(Tpcc::new(Section::read(section)?)))
}

impl Tpcc {
    pub fn new(section: Section) -> Tpcc {
        Tpcc { section }
    }
}

impl Workload for Tpcc {
    fn summary(&self) -> String {
        let Section {
            warehouses, engine, ..
        } = &self.section;
        let warehouses = match warehouses {
            1 => "1 warehouse".to_owned(),
            many => format!("{many} warehouses"),
        };
        format!("TPC-C transactions on {warehouses}, {engine}")
    }
}

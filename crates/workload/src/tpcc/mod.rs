//! TPC-C, revision 5.11, for servers of the MySQL family. Numbers in parentheses are clauses of the standard.
//!
//! Purpose: the section, the tables, the transactions, and the audit of a load: conditions, inputs, and what clients remember.
//! Boundaries: `datagen::tpcc` generates the rows.

mod audit;
pub mod conditions;
pub mod driver;
pub mod inputs;
pub mod ledger;
mod rows;
mod section;
mod tables;

pub use section::{Delivery, LARGEST_SCALE, Mix, Section, TRANSACTIONS, Waits};

use super::{Dataset, Pausing, Target, Work, Workload};
use crate::generated::stored_tables::Stored;
use audit::Audit;
use datagen::tpcc::{Constants, SEED};
use driver::Driver;
use ledger::{Before, Ledger};
use std::path::PathBuf;
use std::sync::Arc;

/// prony's own schema for these tables.
pub const SCHEMA: &str = "prony_tpcc";

/// The tables of one section.
pub struct Tpcc {
    section: Section,
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
            section,
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

    /// The warehouses: their terminals are never on two machines (2.4.1.1).
    fn homes(&self) -> Option<u32> {
        Some(self.section.warehouses)
    }

    fn pauses(&self) -> Option<Pausing> {
        (self.section.waits == Waits::Standard).then(|| Pausing {
            key: "waits = \"standard\"",
            mean_s: driver::mean_pause_s(self.section.mix),
        })
    }

    fn work(&self, target: &Target, seed: u64) -> Option<Work> {
        let load = Constants::load(SEED);
        let ledger = Ledger::new();
        let driver = Driver::on(target, &self.section, &load, seed, &ledger)?;
        let audit = Audit {
            ledger,
            warehouses: self.section.warehouses,
            constants: *driver.inputs().constants(),
            before: Before::new(),
            temporary: PathBuf::new(),
        };
        Some(Work {
            driver: Box::new(driver),
            audit: Some(Box::new(audit)),
            witness: None,
        })
    }
}

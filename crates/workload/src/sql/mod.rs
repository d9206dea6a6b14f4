//! Statements of the user's own, from the experiment file or from a .sql file.
//!
//! Purpose: arbitrary transactions, as in pgbench scripts, with random parameters and weights.
//! Boundaries: no variables set from results, no conditions, no loops.

mod cancel;
mod parameter;
mod section;
mod setup;

pub use section::{Section, Source};

use super::oltp;
use super::script::{Driver, Script};
use super::{Dataset, Target, Work, Workload};
use setup::Setup;
use std::sync::Arc;

/// The tables and the operations of one section.
pub struct Statements {
    names: Vec<String>,
    data: Box<dyn Dataset>,
    script: Arc<Script>,
}

/// Reads `[workload.sql]`; notes every mistake.
pub(crate) fn read(section: &spec::Section) -> Option<Arc<dyn Workload>> {
    Some(Arc::new(Statements::new(Section::read(section)?)))
}

impl Statements {
    pub fn new(section: Section) -> Statements {
        Statements {
            names: section.names,
            data: match section.source {
                Source::Setup(sql) => Box::new(Setup::new(sql)),
                Source::Oltp(data) => Box::new(oltp::tables(&data)),
            },
            script: Arc::new(section.script),
        }
    }

    /// The operations as the driver runs them.
    pub fn script(&self) -> &Arc<Script> {
        &self.script
    }
}

impl Workload for Statements {
    fn summary(&self) -> String {
        format!("{} on {}", self.names.join(" and "), self.data.summary())
    }

    fn data(&self) -> Option<&dyn Dataset> {
        Some(&*self.data)
    }

    fn work(&self, target: &Target, seed: u64) -> Option<Work> {
        let driver = Driver::on(target, &self.script, self.data.schema(), seed)?;
        Some(Work::without_audit(driver))
    }
}

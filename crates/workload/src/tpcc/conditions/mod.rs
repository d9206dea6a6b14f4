//! The twelve consistency conditions (3.3.2.1 to 3.3.2.12), checked on a server.
//!
//! Purpose: the same answer on every server and during a load. Joins and sums are done here, on integers. So a missing partner is
//! found from both sides, and an empty sum is 0. Boundaries: reading (`rows`); what clients remember (`ledger`).

mod judge;
mod violation;

pub use violation::{Row, Violation, Violations};

use super::rows::{self, Warehouse};
use crate::held;
use crate::loader::Connect;
use server::ServerError;
use std::sync::{Mutex, PoisonError};

/// When the conditions are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the first transaction: condition 11 holds then, and only then.
    AfterLoad,
    Later,
}

/// Checks the conditions of the warehouses 1 to `warehouses`, and of rows that belong to other warehouses. Transactions may run
/// meanwhile.
///
/// # Errors
/// The server refuses a statement or is lost.
pub fn check(
    connect: Connect<'_>,
    schema: &str,
    warehouses: u32,
    when: When,
) -> Result<Violations, ServerError> {
    let check = Check::new(when);
    rows::scan(connect, schema, warehouses, &|warehouse| {
        check.add(warehouse)
    })?;
    Ok(check.found())
}

/// A check under way; warehouses are added from any thread.
pub(super) struct Check {
    when: When,
    found: Mutex<Violations>,
}

impl Check {
    pub(super) fn new(when: When) -> Check {
        Check {
            when,
            found: Mutex::default(),
        }
    }

    pub(super) fn add(&self, warehouse: &Warehouse) {
        let mut found = Violations::default();
        judge::judge(warehouse, self.when, &mut found);
        held(&self.found).extend(found);
    }

    pub(super) fn found(self) -> Violations {
        let found = self.found.into_inner();
        found.unwrap_or_else(PoisonError::into_inner).sorted()
    }
}

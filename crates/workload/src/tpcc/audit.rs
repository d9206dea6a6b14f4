//! The audit of one load: what the clients remember against the tables, the twelve conditions, and the inputs.

use super::SCHEMA;
use super::conditions::{Check, Violations, When};
use super::inputs;
use super::ledger::{self, Before, Facts, Ledger, Tables, next_orders};
use super::rows::{self, held};
use crate::loader::Connect;
use crate::{AuditError, Audited, Auditor, Ended};
use datagen::tpcc::Constants;
use load::Tally;
use record::AuditNote;
use server::ServerError;
use std::sync::{Arc, Mutex, PoisonError};

/// Shares its ledger with the driver of the load.
pub(super) struct Audit {
    pub ledger: Arc<Ledger>,
    pub warehouses: u32,
    /// The constants of the run.
    pub constants: Constants,
    /// Of the tables before the load.
    pub before: Before,
}

impl Auditor for Audit {
    fn before(&mut self, place: Audited) -> Result<(), AuditError> {
        self.before = next_orders(&mut connect(place)?()?)?;
        Ok(())
    }

    fn audit(
        self: Box<Self>,
        place: Audited,
        ended: &Ended,
    ) -> Result<Option<AuditNote>, AuditError> {
        let connect = connect(place)?;
        let facts = self.ledger.take();
        let (violations, tables) = self.read(connect)?;
        let crashes_s: Vec<f64> = ended.crashes_ns.iter().map(|ns| *ns as f64 / 1e9).collect();
        let mut note = ledger::check(&facts, &self.before, &tables, &crashes_s);
        note.violations.extend(violations.sentences());
        self.check_inputs(&facts, ended.tallies, &mut note);
        let (deliveries, skipped) = facts.skipped_deliveries();
        note.inputs.extend(inputs::skipped(deliveries, skipped));
        Ok(Some(note))
    }
}

impl Audit {
    /// Checks the conditions, and collects what clients may have written.
    fn read(&self, connect: Connect) -> Result<(Violations, Tables), ServerError> {
        let (check, tables) = (Check::new(When::Later), Mutex::new(Tables::default()));
        rows::scan(connect, SCHEMA, self.warehouses, &|warehouse| {
            check.add(warehouse);
            let of_warehouse = Tables::of(warehouse);
            held(&tables).append(of_warehouse);
        })?;
        let tables = tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((check.found(), tables))
    }

    fn check_inputs(&self, facts: &Facts, tallies: &[Tally], note: &mut AuditNote) {
        let transactions = tallies.iter().map(Tally::ended).sum();
        let (counts, drawn) = (&facts.inputs, self.ledger.inputs());
        match inputs::check(
            transactions,
            counts,
            drawn,
            &self.constants,
            self.warehouses,
        ) {
            Ok(checks) => note.inputs = checks,
            Err(why) => note.inputs_unchecked = Some(why),
        }
    }
}

fn connect(place: Audited<'_>) -> Result<Connect<'_>, ServerError> {
    match place {
        Audited::Server { connect } => Ok(connect),
        Audited::Folder(_) => Err(ServerError::Unusable(
            "the audit of TPC-C needs a server".into(),
        )),
    }
}

//! The audit of one load: what the clients remember against the tables, the twelve conditions, and the inputs.

use super::SCHEMA;
use super::conditions::{Check, Violations, When};
use super::inputs;
use super::ledger::{self, Before, Facts, Ledger, Tables, next_orders};
use super::rows;
use crate::loader::Connect;
use crate::{AuditError, Audited, Auditor, Ended, Further, held};
use datagen::tpcc::Constants;
use load::Tally;
use record::AuditNote;
use server::ServerError;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Shares its ledger with the driver of the load.
pub(super) struct Audit {
    pub ledger: Arc<Ledger>,
    pub warehouses: u32,
    /// The constants of the run.
    pub constants: Constants,
    /// Of the tables before the load.
    pub before: Before,
    /// Where the ledger keeps its file.
    pub temporary: PathBuf,
}

impl Auditor for Audit {
    fn before(&mut self, place: Audited, temporary: &Path) -> Result<(), AuditError> {
        self.temporary = temporary.to_path_buf();
        let kept = self.ledger.keep_in(temporary);
        kept.map_err(|cause| self.unkept(cause))?;
        let (connect, _) = servers(place)?;
        self.before = next_orders(&mut connect()?)?;
        Ok(())
    }

    fn audit(
        self: Box<Self>,
        place: Audited,
        ended: &Ended,
    ) -> Result<Option<AuditNote>, AuditError> {
        let (connect, further) = servers(place)?;
        let facts = self.ledger.take();
        let facts = facts.map_err(|cause| self.unkept(cause))?;
        let crashes_ns = ended.crashes_ns.iter();
        let crashes_s = crashes_ns.map(|ns| ns.start as f64 / 1e9..ns.end as f64 / 1e9);
        let crashes_s: Vec<Range<f64>> = crashes_s.collect();
        let of_node = |connect: Connect| -> Result<AuditNote, ServerError> {
            let (violations, tables) = self.read(connect)?;
            let mut note = ledger::check(&facts, &self.before, &tables, &crashes_s);
            note.violations.extend(violations.sentences());
            Ok(note)
        };
        let first = of_node(connect)?;
        let further = further
            .iter()
            .map(|(number, connect)| Ok((*number, of_node(connect)?)));
        let further = further.collect::<Result<Vec<_>, ServerError>>()?;
        let mut note = of_all(first, &further);
        self.check_inputs(&facts, ended.tallies, &mut note);
        let (deliveries, skipped) = facts.skipped_deliveries();
        note.inputs.extend(inputs::skipped(deliveries, skipped));
        Ok(Some(note))
    }
}

impl Audit {
    fn unkept(&self, cause: std::io::Error) -> AuditError {
        let path = self.temporary.clone();
        AuditError::Ledger { path, cause }
    }

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

/// The note of all nodes: faults are counted on the node that has the most of them.
fn of_all(first: AuditNote, further: &[(u32, AuditNote)]) -> AuditNote {
    let mut all = first.clone();
    for (number, own) in further {
        all.violations.extend(differing(*number, own, &first));
        all.lost = all.lost.max(own.lost);
        all.partly_applied = all.partly_applied.max(own.partly_applied);
        all.ghosts = all.ghosts.max(own.ghosts);
        all.seen_but_lost = all.seen_but_lost.max(own.seen_but_lost);
        let windows = all.loss_window_s.into_iter().chain(own.loss_window_s);
        all.loss_window_s = windows.reduce(f64::max);
    }
    all
}

/// What a further node of the server lacks or has wrong, beyond what the first one lacks.
fn differing(number: u32, own: &AuditNote, first: &AuditNote) -> Vec<String> {
    let named = |text: &String| format!("node {number}: {text}");
    let mut found: Vec<String> = own.violations.iter().map(named).collect();
    for (own, first, fault) in [
        (
            own.lost,
            first.lost,
            "acknowledged transactions are not in its tables",
        ),
        (
            own.partly_applied,
            first.partly_applied,
            "transactions are only partly in its tables",
        ),
        (
            own.ghosts,
            first.ghosts,
            "refused transactions are in its tables",
        ),
    ] {
        if own > first {
            found.push(format!(
                "node {number}: {own} {fault}, and {first} on the first node"
            ));
        }
    }
    found
}

/// The first node and the further ones.
fn servers<'a>(place: Audited<'a>) -> Result<(Connect<'a>, Further<'a>), ServerError> {
    match place {
        Audited::Server { connect, further } => Ok((connect, further)),
        Audited::Folder(_) => Err(ServerError::Unusable(
            "the audit of TPC-C needs a server".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_further_node_lacks_is_lost() {
        let lacks = |lost, loss_window_s| AuditNote {
            acknowledged: 1_000,
            lost,
            loss_window_s,
            ..AuditNote::default()
        };
        let further = [(2, lacks(5, Some(0.5))), (3, lacks(2, Some(0.75)))];
        let all = of_all(lacks(0, None), &further);
        assert!(all.has_losses());
        assert_eq!((all.lost, all.loss_window_s), (5, Some(0.75)));
        let expected = [
            "node 2: 5 acknowledged transactions are not in its tables, and 0 on the first node",
            "node 3: 2 acknowledged transactions are not in its tables, and 0 on the first node",
        ];
        assert_eq!(all.violations, expected);
        let none = of_all(lacks(0, None), &[(2, lacks(0, None))]);
        assert_eq!(none, lacks(0, None));
    }
}

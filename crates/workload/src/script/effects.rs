//! What the replies say of the effect of operations: rows that were changed and found, and warnings.
//!
//! Purpose: an update of no row is not counted as work without a word. Boundaries: the caller adds the counts to the record and judges
//! them.

use crate::held;
use load::Effects;
use std::sync::{Arc, Mutex};
use wire::Done;

/// The effect that a statement is meant to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Purpose {
    /// None that the reply shows, or one that prony does not know: SET, COMMIT, CALL.
    Other = 0,
    /// Change rows.
    Change = 1,
    /// Find rows.
    Find = 2,
}

const WARNED: u8 = 4;

/// What the replies of one operation say.
#[derive(Clone, Copy, Default)]
pub(super) struct Noticed {
    /// Those of the purposes that were not served, and [`WARNED`].
    bits: u8,
    changed: u64,
    found: u64,
}

impl Noticed {
    #[inline]
    pub(super) fn reply(&mut self, purpose: Purpose, done: &Done) {
        let served = match purpose {
            // With RETURNING the reply has the changed rows in place of their number.
            Purpose::Change => {
                let changed = done.affected.max(done.rows);
                self.changed += changed;
                changed
            }
            Purpose::Find => {
                self.found += done.rows;
                done.rows
            }
            Purpose::Other => 1,
        };
        self.bits |= u8::from(served == 0) * purpose as u8;
        self.bits |= u8::from(done.warnings != 0) * WARNED;
    }
}

/// The counts of all clients, by operation.
#[derive(Clone, Default)]
pub(super) struct Total(Arc<Mutex<Vec<Effects>>>);

impl Total {
    pub(super) fn new(operations: usize) -> Total {
        Total(Arc::new(Mutex::new(vec![Effects::default(); operations])))
    }

    pub(super) fn effects(&self) -> Vec<Effects> {
        held(&self.0).clone()
    }
}

/// The counts of one session. They are added to the total when the session ends.
pub(super) struct Counted {
    own: Vec<Effects>,
    total: Total,
}

impl Counted {
    pub(super) fn from_total(total: &Total) -> Counted {
        Counted {
            own: vec![Effects::default(); total.effects().len()],
            total: total.clone(),
        }
    }

    /// Counts an operation that was done.
    #[inline]
    pub(super) fn add(&mut self, operation: u16, noticed: Noticed) {
        let count = &mut self.own[usize::from(operation)];
        count.rows_changed += noticed.changed;
        count.rows_found += noticed.found;
        if noticed.bits != 0 {
            self.add_noticed(operation, noticed.bits);
        }
    }

    #[cold]
    fn add_noticed(&mut self, operation: u16, bits: u8) {
        let count = &mut self.own[usize::from(operation)];
        let has = |bit: u8| u64::from(bits & bit != 0);
        count.changed_nothing += has(Purpose::Change as u8);
        count.found_nothing += has(Purpose::Find as u8);
        count.warned += has(WARNED);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut all = held(&self.total.0);
        for (sum, own) in all.iter_mut().zip(&self.own) {
            *sum += own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(affected: u64, rows: u64, warnings: u16) -> Done {
        Done {
            affected,
            rows,
            warnings,
            ..Done::default()
        }
    }

    /// What is counted of one operation with these replies.
    fn effects(replies: &[(Purpose, Done)]) -> Effects {
        let total = Total::new(2);
        let mut session = Counted::from_total(&total);
        let mut noticed = Noticed::default();
        for (purpose, done) in replies {
            noticed.reply(*purpose, done);
        }
        session.add(1, noticed);
        drop(session);
        let effects = total.effects();
        assert_eq!(effects[0], Effects::default());
        effects[1]
    }

    /// As (changed nothing, found nothing, warned).
    fn counted(replies: &[(Purpose, Done)]) -> (u64, u64, u64) {
        let own = effects(replies);
        (own.changed_nothing, own.found_nothing, own.warned)
    }

    #[test]
    fn the_rows_of_all_statements_are_added_by_their_purpose() {
        let replies = [
            (Purpose::Change, done(2, 0, 0)),
            (Purpose::Change, done(1, 0, 0)),
            (Purpose::Find, done(0, 40, 0)),
            (Purpose::Other, done(9, 9, 0)),
        ];
        let own = effects(&replies);
        assert_eq!((own.rows_changed, own.rows_found), (3, 40));
    }

    #[test]
    fn an_update_of_no_row_a_search_without_a_row_and_warnings_are_counted() {
        assert_eq!(counted(&[(Purpose::Change, done(0, 0, 0))]), (1, 0, 0));
        assert_eq!(counted(&[(Purpose::Find, done(0, 0, 0))]), (0, 1, 0));
        assert_eq!(counted(&[(Purpose::Change, done(1, 0, 3))]), (0, 0, 1));
    }

    #[test]
    fn rows_that_a_change_returns_are_rows_that_it_changed() {
        let returning = [(Purpose::Change, done(0, 2, 0))];
        assert_eq!(counted(&returning), (0, 0, 0));
        assert_eq!(effects(&returning).rows_changed, 2);
    }

    #[test]
    fn an_operation_counts_once_however_many_of_its_statements_had_no_effect() {
        let none = done(0, 0, 1);
        let replies = [Purpose::Change, Purpose::Find, Purpose::Change].map(|one| (one, none));
        assert_eq!(counted(&replies), (1, 1, 1));
    }

    #[test]
    fn statements_with_their_effect_and_those_without_any_are_not_counted() {
        let replies = [
            (Purpose::Other, done(0, 0, 0)),
            (Purpose::Change, done(2, 0, 0)),
            (Purpose::Find, done(0, 1, 0)),
        ];
        assert_eq!(counted(&replies), (0, 0, 0));
    }
}

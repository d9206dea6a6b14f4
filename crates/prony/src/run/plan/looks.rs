//! The looks at the claims of a run: what they leave undecided, and the record of further looks and of the end.
//!
//! Outside this module: judging (`stats`) and choosing the cells that go on (`spec::plan`).

use super::request::Request;
use crate::run::{RunError, stored};
use record::{Ended, Question};
use std::cell::RefCell;
use std::collections::BTreeMap;
use store::Store;

/// What the looks of this process left undecided; each look is taken once, unless a trial that it judges is measured again.
pub(crate) struct Taken {
    question: Question,
    undecided: RefCell<BTreeMap<u32, Vec<bool>>>,
    failed: RefCell<Option<RunError>>,
}

impl Taken {
    pub(crate) fn of(store: &Store) -> Result<Taken, RunError> {
        Ok(Taken {
            question: store.run().map_err(stored)?.question,
            undecided: RefCell::default(),
            failed: RefCell::default(),
        })
    }

    /// Whether these first blocks leave each claim undecided. Keeps an error of the store for [`Taken::check`].
    pub(crate) fn undecided(&self, store: &Store, blocks: u32) -> Vec<bool> {
        let mut known = self.undecided.borrow_mut();
        let judge = || {
            let judged = judge(&self.question, store, blocks);
            judged.unwrap_or_else(|error| {
                *self.failed.borrow_mut() = Some(error);
                Vec::new()
            })
        };
        known.entry(blocks).or_insert_with(judge).clone()
    }

    /// Takes the looks that judge this block again. A trial of it was just saved: a resumed run measures failed ones again.
    pub(crate) fn forget(&self, block: u32) {
        let mut known = self.undecided.borrow_mut();
        known.retain(|blocks, _| *blocks <= block);
    }

    /// # Errors
    /// The record could not be read at a look.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

fn judge(question: &Question, store: &Store, blocks: u32) -> Result<Vec<bool>, RunError> {
    let trials = if stats::needs_query_counters(question) {
        store.trials_whole()
    } else {
        store.trials()
    };
    let trials = trials.map_err(stored)?;
    Ok(stats::undecided(
        question,
        &trials,
        &explain::plan_holds,
        blocks,
    ))
}

/// Writes the looks of a resumed run, which may have got further ones, into its record.
pub(crate) fn keep_further(
    request: &Request,
    trials: u64,
    store: &mut Store,
) -> Result<(), RunError> {
    let question = store.run().map_err(stored)?.question;
    let protocol = &request.experiment.protocol;
    if protocol.looks == question.looks {
        return Ok(());
    }
    let further = Question {
        blocks: protocol.blocks,
        looks: protocol.looks.clone(),
        trials,
        ..question
    };
    store.set_question(&further).map_err(stored)
}

/// Writes why the run stopped, and how many trials it has.
pub(crate) fn keep_end(ended: Ended, trials: u64, store: &mut Store) -> Result<(), RunError> {
    let question = store.run().map_err(stored)?.question;
    let Some(mut looks) = question.looks.clone() else {
        return Ok(());
    };
    looks.ended = Some(ended);
    let question = Question {
        looks: Some(looks),
        trials,
        ..question
    };
    store.set_question(&question).map_err(stored)
}

//! What a check found, in numbers and in the first sentences of each kind.

use record::AuditNote;

/// Sentences of one kind; the rest is only counted.
const SENTENCES: u64 = 5;

/// What is wrong with a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Lost,
    Ghost,
    PartlyApplied,
    SeenButLost,
    /// Written by none of the clients.
    Foreign,
}

#[derive(Default)]
pub(super) struct Findings {
    counts: [u64; 5],
    sentences: Vec<String>,
    violations: Vec<String>,
    pub unknown_kept: u64,
    /// When the lost transactions were acknowledged: seconds since the start of the load.
    pub lost_at_s: Vec<f64>,
}

impl Findings {
    /// Counts a fault. `what` names the transaction and its keys.
    pub(super) fn add(&mut self, fault: Fault, what: impl FnOnce() -> String) {
        let count = &mut self.counts[fault as usize];
        *count += 1;
        if *count > SENTENCES {
            return;
        }
        let what = what();
        match fault {
            Fault::Lost => self.sentences.push(format!("lost: {what}")),
            Fault::Ghost => self.sentences.push(format!("refused, but present: {what}")),
            Fault::PartlyApplied => self.sentences.push(format!("partly applied: {what}")),
            Fault::SeenButLost => self
                .sentences
                .push(format!("seen by a reader, but lost: {what}")),
            Fault::Foreign => self
                .violations
                .push(format!("written by no client: {what}")),
        }
    }

    /// Counts a lost transaction that was acknowledged at this time.
    pub(super) fn lose(&mut self, at_s: f64, what: impl FnOnce() -> String) {
        self.lost_at_s.push(at_s);
        self.add(Fault::Lost, || {
            format!("{}, acknowledged at {at_s:.3} s", what())
        });
    }

    pub(super) fn count(&self, fault: Fault) -> u64 {
        self.counts[fault as usize]
    }

    /// The note, without what the clients counted.
    pub(super) fn note(mut self) -> AuditNote {
        let foreign = self.count(Fault::Foreign);
        if foreign > SENTENCES {
            let more = foreign - SENTENCES;
            self.violations
                .push(format!("written by no client: {more} more rows"));
        }
        AuditNote {
            unknown_kept: self.unknown_kept,
            lost: self.count(Fault::Lost),
            ghosts: self.count(Fault::Ghost),
            partly_applied: self.count(Fault::PartlyApplied),
            seen_but_lost: self.count(Fault::SeenButLost),
            findings: self.sentences,
            violations: self.violations,
            ..AuditNote::default()
        }
    }
}

//! What a kept record answers to a published claim.

use record::claim::{Bound, Direction, Judged, Subject, Verdict};
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::Store;

/// Within this factor of 1 there is no difference that matters to a reader of a published benchmark. Reports call sides equivalent within
/// 1.02 (METHODOLOGY.md, rule 2); the page says which bound is meant.
const SAME: f64 = 1.03;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Holds,
    /// The ratio lies on the published side of 1; it is smaller than the claim's threshold, or its size is undecided.
    Direction,
    /// Of several parts, some hold and some do not.
    InPart,
    Same,
    DoesNotHold,
    Undecided,
    NotMeasured,
}

impl Answer {
    pub(super) const ALL: [Answer; 7] = [
        Answer::Holds,
        Answer::Direction,
        Answer::InPart,
        Answer::Same,
        Answer::DoesNotHold,
        Answer::Undecided,
        Answer::NotMeasured,
    ];

    pub(super) fn words(self) -> &'static str {
        match self {
            Answer::Holds => "holds",
            Answer::Direction => "holds in direction",
            Answer::InPart => "holds in part",
            Answer::Same => "no difference beyond ±3 %",
            Answer::DoesNotHold => "does not hold",
            Answer::Undecided => "undecided",
            Answer::NotMeasured => "not measured here",
        }
    }

    pub(super) fn is_decided(self) -> bool {
        !matches!(self, Answer::Undecided | Answer::NotMeasured)
    }

    /// Whether the published claim holds at least in direction, or in part.
    pub(super) fn agrees(self) -> bool {
        matches!(self, Answer::Holds | Answer::Direction | Answer::InPart)
    }

    /// Of the verdict on the published statement; `opposite` if the record's claim, about a shape, denies it.
    ///
    /// # Panics
    /// If a ratio denies it: that it misses a threshold does not show that it lies on the published side of 1.
    pub(super) fn of(judged: &Judged, opposite: bool) -> Answer {
        let is_shape = matches!(judged.claim.subject, Subject::Finds { .. });
        let says = &judged.claim.says;
        assert!(is_shape || !opposite, "only a shape denies a claim: {says}");
        match (judged.verdict, opposite) {
            (Verdict::NotAvailable, _) => Answer::NotMeasured,
            (Verdict::Reproduced, true) => Answer::DoesNotHold,
            // That the denial fails shows the direction, not the published size.
            (Verdict::NotReproduced, true) => Answer::Direction,
            (Verdict::Reproduced, false) => Answer::Holds,
            (Verdict::NotReproduced, false) if is_as_published(judged) => Answer::Direction,
            (Verdict::NotReproduced, false) => Answer::DoesNotHold,
            (Verdict::Inconclusive, _) => Answer::of_inconclusive(judged),
        }
    }

    fn of_inconclusive(judged: &Judged) -> Answer {
        let lies_within = |(low, high): (f64, f64)| low >= 1.0 / SAME && high <= SAME;
        if judged.ci.is_some_and(lies_within) {
            return Answer::Same;
        }
        let is_decided = judged
            .direction
            .is_some_and(|side| side != Direction::Undecided);
        match (is_decided, side_of(judged)) {
            (true, Some(_)) if is_as_published(judged) => Answer::Direction,
            (true, Some(_)) => Answer::DoesNotHold,
            (true, None) | (false, _) => Answer::Undecided,
        }
    }

    /// The answer of a claim about some of its parts: it holds where one does.
    pub(super) fn of_some(parts: &[Answer]) -> Answer {
        let agreeing = [Answer::Holds, Answer::Direction];
        let first = agreeing.into_iter().find(|one| parts.contains(one));
        first.unwrap_or_else(|| Answer::together(parts))
    }

    /// The answer of all parts together: decided only if each part is.
    pub(super) fn together(parts: &[Answer]) -> Answer {
        let any = |one: Answer| parts.contains(&one);
        let agrees = any(Answer::Holds) || any(Answer::Direction);
        let differs = any(Answer::DoesNotHold) || any(Answer::Same);
        match parts {
            [] => Answer::NotMeasured,
            [first, rest @ ..] if rest.iter().all(|next| next == first) => *first,
            _ if !parts.iter().all(|part| part.is_decided()) => Answer::Undecided,
            _ if agrees && differs => Answer::InPart,
            _ if agrees => Answer::Direction,
            _ => Answer::DoesNotHold,
        }
    }
}

/// The side of 1 that the claim expects; None if it expects no difference, or has no ratio of two cells.
fn side_of(judged: &Judged) -> Option<Direction> {
    let Subject::Ratio { bound, .. } = &judged.claim.subject else {
        return None;
    };
    match *bound {
        Bound::AtLeast(least) if least >= 1.0 => Some(Direction::Above),
        Bound::AtMost(most) if most < 1.0 => Some(Direction::Below),
        Bound::AtLeast(_) | Bound::AtMost(_) | Bound::Within(_) => None,
    }
}

fn is_as_published(judged: &Judged) -> bool {
    side_of(judged).is_some_and(|side| judged.direction == Some(side))
}

/// `2.17 (1.66 to 2.83)`; of a shape `in 0 of 3 trials (p 0.002)`; `-` without a figure.
pub(super) fn figure(judged: &Judged) -> String {
    let shape = matches!(judged.claim.subject, Subject::Finds { .. });
    if let (true, Some(reason)) = (shape, &judged.reason) {
        return reason.split(':').next().unwrap_or_default().to_string();
    }
    let Some(measured) = judged.measured.map(report::ratio) else {
        return "-".to_string();
    };
    let excluded = match (judged.published_inside, judged.claim.published) {
        (Some(false), Some(published)) => format!(", excludes {}", report::ratio(published)),
        _ => String::new(),
    };
    match judged.ci {
        Some((low, high)) => {
            let interval = format!("{} to {}", report::ratio(low), report::ratio(high));
            format!("{measured} ({interval}){excluded}")
        }
        None => format!("{measured} (one block)"),
    }
}

/// The verdicts of a kept record.
pub(super) struct Kept {
    pub(super) is_slim: bool,
    verdicts: Vec<Judged>,
}

impl Kept {
    fn read(name: &str) -> Kept {
        let store = Store::open(&path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let run = store.run().unwrap();
        match run.slim {
            Some(slim) => Kept {
                is_slim: true,
                verdicts: slim.verdicts,
            },
            None => Kept {
                is_slim: false,
                verdicts: explain::judge(&run.question, &store.trials().unwrap()),
            },
        }
    }

    /// The verdict on the claim that the record's experiment states in these words.
    pub(super) fn verdict(&self, name: &str, says: &str) -> &Judged {
        let mut all = self.verdicts.iter();
        let found = all.find(|judged| judged.claim.says == says);
        found.unwrap_or_else(|| panic!("{name} has no claim {says:?}"))
    }
}

/// Of the record `p1/pinned`.
pub(super) fn path(name: &str) -> PathBuf {
    let results = crate::support::root().join("bench/results");
    results.join(format!("{name}.sqlite.zst"))
}

/// The records of these names, read at once.
pub(super) fn read(names: Vec<&str>) -> BTreeMap<&str, Kept> {
    std::thread::scope(|scope| {
        let started: Vec<_> = names
            .into_iter()
            .map(|name| (name, scope.spawn(move || Kept::read(name))))
            .collect();
        let read = started.into_iter();
        read.map(|(name, one)| (name, one.join().unwrap()))
            .collect()
    })
}

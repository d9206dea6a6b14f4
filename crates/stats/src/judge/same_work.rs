//! Whether the operations of two sides did the same work.
//!
//! Purpose: an update that changes nothing, or a query that returns half of the rows, is fast for a reason that is no speed. Boundaries: the
//! replies tell rows, not values; answers of rounds of queries are in `same_answers`.

use crate::load::summary::summary;
use crate::values::cells::valid;
use record::load::{EffectNote, Loaded, RowsNote};
use record::{Trial, percent};

/// Shares that differ by less are the edge of the keys: not named, unless a gate allows less.
const SHARE: f64 = 0.01;
/// Standard errors of a difference of shares that is no chance: one of 16,000 equal pairs differs by more.
const ERRORS: f64 = 4.0;
/// So few operations say nothing about a share.
const FEW: u64 = 2;
/// Rows per operation that differ by less may be those of the keys that were drawn.
const ROWS: f64 = 0.05;
/// The same where the two sides are further apart than the trials of each.
const SURE_ROWS: f64 = 0.01;
/// With so many trials on each side, equal ones are so far apart in 1 of 300 pairs.
const SURE_TRIALS: usize = 3;

/// An operation that does other work on one side.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherWork {
    pub operation: String,
    pub what: Work,
    /// A share of its operations from 0 to 1, or rows per operation.
    pub old: f64,
    pub new: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The share that changed no row.
    ChangedNothing,
    /// The share that found no row.
    FoundNothing,
    RowsChanged,
    RowsFound,
    /// The share that caused warnings: a value was cut, or a clause is deprecated.
    Warned,
}

impl OtherWork {
    /// `changed_nothing`, `rows_found`
    pub fn word(&self) -> &'static str {
        match self.what {
            Work::ChangedNothing => "changed_nothing",
            Work::FoundNothing => "found_nothing",
            Work::RowsChanged => "rows_changed",
            Work::RowsFound => "rows_found",
            Work::Warned => "warned",
        }
    }

    /// Whether shares differ by enough to be named.
    pub fn is_named(&self) -> bool {
        match self.what {
            Work::ChangedNothing | Work::FoundNothing | Work::Warned => {
                (self.new - self.old).abs() > SHARE
            }
            Work::RowsChanged | Work::RowsFound => true,
        }
    }

    /// By how much the shares without effect differ; None for rows and warnings, which tell less.
    pub fn difference_of_shares(&self) -> Option<f64> {
        match self.what {
            Work::ChangedNothing | Work::FoundNothing => Some((self.new - self.old).abs()),
            Work::RowsChanged | Work::RowsFound | Work::Warned => None,
        }
    }

    /// `100 % of look on new found no row, 0 % on old`, `look returned 50 rows per operation on new, 100 on old`
    pub fn sentence(&self, new: &str, old: &str) -> String {
        let OtherWork { operation, .. } = self;
        let share = |did: &str| {
            let (of_new, of_old) = (percent(self.new), percent(self.old));
            format!("{of_new} of {operation} on {new} {did}, {of_old} on {old}")
        };
        let rows = |did: &str| {
            let (of_new, of_old) = (figure(self.new), figure(self.old));
            format!("{operation} {did} {of_new} rows per operation on {new}, {of_old} on {old}")
        };
        match self.what {
            Work::ChangedNothing => share("changed no row"),
            Work::FoundNothing => share("found no row"),
            Work::Warned => share("caused warnings"),
            Work::RowsChanged => rows("changed"),
            Work::RowsFound => rows("returned"),
        }
    }
}

/// Three significant digits.
fn figure(rows: f64) -> String {
    match rows {
        rows if rows >= 100.0 => format!("{rows:.0}"),
        rows if rows >= 10.0 => format!("{rows:.1}"),
        rows => format!("{rows:.2}"),
    }
}

/// Of shares without effect, rows and warnings the operation whose work differs, in this order; of shares the one that differs most, however
/// little. Empty where all do the same, or a record does not say.
pub(crate) fn other(old: &[&Trial], new: &[&Trial]) -> Vec<OtherWork> {
    let names = loads(old).next().map(|load| load.operations.as_slice());
    let names = names.unwrap_or_default();
    let shares = names.iter().flat_map(|name| {
        let kinds: [Counted<EffectNote>; 2] = [
            (Work::ChangedNothing, |one| one.changed_nothing),
            (Work::FoundNothing, |one| one.found_nothing),
        ];
        kinds.map(|(what, count)| share(name, what, count, (old, new)))
    });
    let difference = |one: &OtherWork| one.difference_of_shares().unwrap_or(0.0);
    let most = shares
        .flatten()
        .max_by(|a, b| difference(a).total_cmp(&difference(b)));
    let rows = names.iter().flat_map(|name| {
        let kinds: [Counted<RowsNote>; 2] = [
            (Work::RowsChanged, |one| one.changed),
            (Work::RowsFound, |one| one.found),
        ];
        kinds.map(|(what, count)| self::rows(name, what, count, (old, new)))
    });
    let warned = |name: &String| share(name, Work::Warned, |one| one.warned, (old, new));
    let mut warned = names.iter().filter_map(warned);
    let warned = warned.find(OtherWork::is_named);
    let all = [most, rows.flatten().next(), warned];
    all.into_iter().flatten().collect()
}

/// What is counted, and how it is read from a note.
type Counted<N> = (Work, fn(&N) -> u64);

type Sides<'s, 't> = (&'s [&'t Trial], &'s [&'t Trial]);

fn loads<'t>(trials: &'t [&'t Trial]) -> impl Iterator<Item = &'t Loaded> {
    valid(trials).filter_map(|trial| trial.load.as_deref())
}

fn share(
    name: &str,
    what: Work,
    count: fn(&EffectNote) -> u64,
    (old, new): Sides,
) -> Option<OtherWork> {
    let sums = |trials: &[&Trial]| {
        let own = loads(trials).map(|load| {
            let mut notes = load.engine.effects.iter();
            match notes.find(|note| note.operation == name) {
                Some(note) => (count(note), note.done),
                None => (0, done(load, name)),
            }
        });
        own.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1))
    };
    let (of_old, of_new) = (sums(old), sums(new));
    let share = |(with, done): (u64, u64)| with as f64 / done.max(1) as f64;
    let (old, new) = (share(of_old), share(of_new));
    let is_chance = of_old.0.max(of_new.0) <= FEW
        || (new - old).abs() <= ERRORS * standard_error(of_old, of_new);
    (!is_chance).then(|| OtherWork {
        operation: name.to_string(),
        what,
        old,
        new,
    })
}

/// Of the difference of two shares, if both are samples of the same one.
fn standard_error(old: (u64, u64), new: (u64, u64)) -> f64 {
    let [old_done, new_done] = [old.1, new.1].map(|done| done.max(1) as f64);
    let share = (old.0 + new.0) as f64 / (old_done + new_done);
    (share * (1.0 - share) * (1.0 / old_done + 1.0 / new_done)).sqrt()
}

/// So many operations of the name were done in the measured part, in a load in which none was without effect. The summary has it also
/// where a load is read without its seconds.
fn done(load: &Loaded, name: &str) -> u64 {
    let summary = summary(load);
    let own = summary.accounts.iter().find(|one| one.name == name);
    own.map_or(0, |own| own.done)
}

/// Every trial of one side has more than every trial of the other.
fn rows(
    name: &str,
    what: Work,
    count: fn(&RowsNote) -> u64,
    (old, new): Sides,
) -> Option<OtherWork> {
    let means = |trials: &[&Trial]| -> Vec<f64> {
        let notes = loads(trials).flat_map(|load| &load.engine.rows);
        let own = notes.filter(|note| note.operation == name && note.done > FEW);
        own.map(|note| count(note) as f64 / note.done as f64)
            .collect()
    };
    let (of_old, of_new) = (means(old), means(new));
    let ends = |means: &[f64]| {
        let least = means.iter().copied().reduce(f64::min);
        least.zip(means.iter().copied().reduce(f64::max))
    };
    let are_apart = |low: &[f64], high: &[f64]| {
        let (Some((lowest, low_end)), Some((high_end, highest))) = (ends(low), ends(high)) else {
            return false;
        };
        let scatter = (low_end - lowest) + (highest - high_end);
        let are_enough = low.len().min(high.len()) >= SURE_TRIALS;
        let least = match are_enough && high_end - low_end > scatter {
            true => SURE_ROWS,
            false => ROWS,
        };
        high_end > low_end * (1.0 + least)
    };
    let mean = |means: &[f64]| means.iter().sum::<f64>() / means.len() as f64;
    (are_apart(&of_old, &of_new) || are_apart(&of_new, &of_old)).then(|| OtherWork {
        operation: name.to_string(),
        what,
        old: mean(&of_old),
        new: mean(&of_new),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{closed, series};
    use crate::judge::basis::Basis;
    use crate::load::summary::summarise;
    use record::{Bound, Cell, Claim, Subject, TrialKey, Value, done_series};

    /// 100 operations `look`, so many of which found nothing, and with so many rows each.
    fn trial(found_nothing: u64, rows_each: u64) -> Trial {
        let mut load = closed(|_| 10.0, 10);
        load.operations = vec!["look".into()];
        let operation = String::from("look");
        load.engine.effects = vec![EffectNote {
            operation: operation.clone(),
            done: 100,
            changed_nothing: 0,
            found_nothing,
            warned: 0,
        }];
        load.engine.rows = vec![RowsNote {
            operation,
            done: 100,
            changed: 0,
            found: 100 * rows_each,
        }];
        let mut trial = Trial::unmeasured(TrialKey::default(), 0);
        trial.load = Some(Box::new(load));
        trial
    }

    fn says(old: &[Trial], new: &[Trial]) -> Option<String> {
        fn refs(trials: &[Trial]) -> Vec<&Trial> {
            trials.iter().collect()
        }
        let all = other(&refs(old), &refs(new));
        all.first().map(|found| found.sentence("new", "old"))
    }

    #[test]
    fn an_operation_that_finds_nothing_on_one_side_is_named_with_its_shares() {
        let expected = "50 % of look on new found no row, 0.0 % on old";
        assert_eq!(
            says(&[trial(0, 10)], &[trial(50, 5)]).as_deref(),
            Some(expected)
        );
        assert_eq!(
            says(&[trial(1, 10)], &[trial(2, 10)]),
            None,
            "two by chance"
        );
        assert_eq!(says(&[trial(50, 5)], &[trial(51, 5)]), None);
        let by_chance = says(&[trial(50, 5)], &[trial(65, 5)]);
        assert_eq!(by_chance, None, "2.1 standard errors");
    }

    #[test]
    fn a_claim_on_more_clients_that_find_nothing_left_is_named() {
        let at = |clients: &str, found_nothing: u64| {
            let mut trial = trial(found_nothing, 10);
            trial.key.levels = vec![("clients".into(), clients.into())];
            trial
        };
        let cell = |clients: &str| Cell {
            levels: vec![("clients".into(), vec![clients.into()])],
            ..Cell::default()
        };
        let claim = Claim {
            says: "eight clients do more".into(),
            subject: Subject::Ratio {
                value: Value::Throughput,
                of: cell("8"),
                to: cell("1"),
                bound: Bound::AtLeast(2.0),
            },
            published: None,
        };
        let basis = Basis::of(&claim, &[at("1", 0), at("8", 90)]);
        let what: Vec<Work> = basis.other_work.iter().map(|one| one.what).collect();
        assert_eq!(what, [Work::FoundNothing]);
    }

    #[test]
    fn operations_that_all_had_an_effect_are_counted_by_the_summary() {
        let mut old = trial(0, 10);
        let load = old.load.as_mut().unwrap();
        let done = series(10, |_| 10.0);
        load.series.insert(done_series("look"), done);
        load.summary = Some(summarise(load));
        load.series.clear();
        load.engine.effects.clear();
        let expected = "50 % of look on new found no row, 0.0 % on old";
        let found = says(&[old], &[trial(50, 10)]);
        assert_eq!(found.as_deref(), Some(expected));
    }

    #[test]
    fn an_operation_that_returns_other_rows_is_named_if_all_trials_agree() {
        let expected = "look returned 5.00 rows per operation on new, 10.0 on old";
        let (full, half) = ([trial(0, 10), trial(0, 10)], [trial(0, 5), trial(0, 5)]);
        assert_eq!(says(&full, &half).as_deref(), Some(expected));
        let mixed = [trial(0, 5), trial(0, 11)];
        assert_eq!(says(&full, &mixed), None);
        assert_eq!(says(&full, &full), None);
    }

    #[test]
    fn a_few_rows_less_are_named_where_the_trials_of_a_side_are_nearer() {
        let of = |rows: [u64; 3]| rows.map(|rows_each| trial(0, rows_each));
        let old = of([1000, 1001, 1000]);
        let fewer = of([970, 971, 970]);
        let expected = "look returned 970 rows per operation on new, 1000 on old";
        assert_eq!(says(&old, &fewer).as_deref(), Some(expected));
        assert_eq!(says(&old, &of([970, 995, 960])), None);
        assert_eq!(says(&old, &of([995; 3])), None);
        assert_eq!(says(&old[..2], &fewer[..2]), None, "two trials");
    }

    #[test]
    fn a_small_share_is_found_and_hides_no_other_rows() {
        let of = |found_nothing: u64, rows_each: u64| {
            let mut trial = trial(found_nothing, rows_each);
            trial.load.as_mut().unwrap().engine.effects[0].done = 10_000;
            trial
        };
        let found = other(&[&of(0, 10)], &[&of(90, 5)]);
        let kinds: Vec<Work> = found.iter().map(|one| one.what).collect();
        assert_eq!(kinds, [Work::FoundNothing, Work::RowsFound]);
        assert!(!found[0].is_named() && found[1].is_named());
    }

    #[test]
    fn an_operation_that_causes_warnings_on_one_side_is_named() {
        let mut cut = trial(0, 10);
        cut.load.as_mut().unwrap().engine.effects[0].warned = 100;
        let expected = "100 % of look on new caused warnings, 0.0 % on old";
        let found = says(&[trial(0, 10)], &[cut.clone()]);
        assert_eq!(found.as_deref(), Some(expected));
        assert_eq!(says(&[cut.clone()], &[cut]), None);
    }

    #[test]
    fn a_record_without_rows_says_nothing() {
        let mut older = trial(0, 10);
        if let Some(load) = &mut older.load {
            load.engine.rows.clear();
        }
        assert_eq!(says(&[older], &[trial(0, 5)]), None);
    }
}

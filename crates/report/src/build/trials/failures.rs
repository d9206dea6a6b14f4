//! Sides whose operations failed more often than those they are compared with, or did other work, or whose transactions were lost, or that
//! have other tables, or that the clients limited.
//!
//! Purpose: operations that failed, changed nothing or were lost in a crash are not throughput, and the most that clients can do is not that
//! of a server, so they are shown with every comparison in which they matter.

use crate::document::{Claim, Headline};
use crate::{format, names, why};
use record::{Cell, Question, Run, Subject, for_count, percent};
use stats::{Basis, Contrast, FailedShares, Losses, LostTransactions, Work};

/// Smaller differences of shares are not named, unless a gate allows less.
pub(crate) const NAMED: f64 = 0.001;

/// Two sides whose operations did not do the same.
pub(crate) struct Failing {
    /// `new against old`, with the row.
    pub(crate) sides: String,
    pub(crate) of: FailingOf,
    /// `50 % of the operations of new failed, 0 % of old`
    pub(crate) sentence: String,
    /// Of the shares of operations, from 0 to 1; None for rows per operation, for tables, clients and conditions, and where both sides lost
    /// transactions.
    pub(crate) difference: Option<f64>,
    /// The difference may be chance.
    pub(crate) is_chance: bool,
    /// The difference matters only to a gate that allows less.
    is_minor: bool,
}

impl Failing {
    fn is_same(&self, other: &Failing) -> bool {
        self.sides == other.sides && self.of == other.of
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum FailingOf {
    /// Acknowledged transactions that a crash took.
    Losses,
    /// Operations that failed, were lost or have no known outcome.
    Failures,
    /// Arrivals that were dropped.
    Dropped,
    /// Operations that changed or found other rows, or none.
    Work(Work),
    /// Tables of the user's that differ.
    Tables,
    /// Clients that limited a side.
    Clients,
    /// What happened on one side alone.
    OneSided,
    /// What of both sides hides how fast their servers are.
    Hidden,
}

/// The sides of the claims whose shares differ by `least` or more, each pair once.
pub(crate) fn of_claims(run: &Run, claims: &[Claim], least: f64) -> Vec<Failing> {
    let one = |claim: &Claim| match &claim.judged.claim.subject {
        Subject::Ratio { of, to, .. } => {
            let names = (why::name(run, of, to), why::name(run, to, of));
            let row = common(&run.question, of, to);
            all(&row, (&names.0, &names.1), &claim.basis, least)
        }
        Subject::Spread { .. } => {
            let says = &claim.judged.claim.says;
            all(says, ("one row", "another"), &claim.basis, least)
        }
        Subject::Finds { .. } => Vec::new(),
    };
    each_once_by(claims.iter().flat_map(one), Failing::is_same)
}

/// The levels of both sides: `64 clients`.
fn common(question: &Question, of: &Cell, to: &Cell) -> String {
    let shared = of.levels.iter().filter(|level| to.levels.contains(level));
    let levels = shared.map(|(factor, levels)| (factor.clone(), levels.join(" or ")));
    names::row_of(question, None, &levels.collect::<Vec<_>>())
}

/// The sides of the comparisons whose shares differ by `least` or more, each pair once.
pub(crate) fn of_contrasts(
    question: &Question,
    contrasts: &[Contrast],
    least: f64,
) -> Vec<Failing> {
    let one = |contrast: &Contrast| {
        let row = names::row_of(question, contrast.server.as_deref(), &contrast.levels);
        let names = (contrast.new.as_str(), contrast.old.as_str());
        all(&row, names, &contrast.basis, least)
    };
    each_once_by(contrasts.iter().flat_map(one), Failing::is_same)
}

/// The pair that lost most, the one that differs most otherwise, and the first whose difference is no number, for the headline.
pub(crate) fn headline(all: Vec<Failing>) -> Vec<Headline> {
    let is_lost = |one: &Failing| one.of == FailingOf::Losses;
    let has_number = |one: &Failing| one.difference.is_some();
    let named = all.into_iter().filter(|one| !one.is_minor);
    let (lost, others): (Vec<Failing>, Vec<Failing>) = named.partition(is_lost);
    let (differing, others): (Vec<Failing>, Vec<Failing>) =
        others.into_iter().partition(has_number);
    let largest = [lost, differing].into_iter().filter_map(largest);
    largest.chain(first(&others)).collect()
}

/// `new has an index less, unlike old, and 2 more doubts: see --gate.` Nothing orders them, so the others are counted.
fn first(all: &[Failing]) -> Option<Headline> {
    let (first, others) = all.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        more => format!(", and {}: see --gate", format::plural(more, "more doubt")),
    };
    let named = Headline::default().stress(&first.sentence);
    Some(named.plain(more).plain("."))
}

fn largest(all: Vec<Failing>) -> Option<Headline> {
    let difference = |one: &Failing| one.difference.unwrap_or(0.0);
    let most = all
        .into_iter()
        .max_by(|a, b| difference(a).total_cmp(&difference(b)))?;
    Some(Headline::default().stress(most.sentence).plain("."))
}

/// Runs that are compared on other data, or whose answers differ.
pub(crate) struct Other {
    /// `run 2 against run 1`, with the row.
    pub(crate) sides: String,
    /// `run 2`
    pub(crate) new: String,
    pub(crate) of: OtherOf,
    /// `run 2 has another dataset (...)`
    pub(crate) sentence: String,
}

pub(crate) enum OtherOf {
    Data,
    Answers,
}

/// Each pair of rows once.
pub(crate) fn other(question: &Question, contrasts: &[Contrast]) -> Vec<Other> {
    let one = |contrast: &Contrast| {
        let row = names::row_of(question, contrast.server.as_deref(), &contrast.levels);
        let place = names::before(&row);
        let (basis, new) = (&contrast.basis, &contrast.new);
        let data = basis.other_data.as_ref();
        let data = data.map(|data| (OtherOf::Data, format!("{place}{new} has {data}")));
        let answer = basis.other_answer.as_ref();
        let answer = answer.map(|answer| {
            let sentence = format!("{place}{new} answers differently: {answer}");
            (OtherOf::Answers, sentence)
        });
        let (of, sentence) = answer.or(data)?;
        Some(Other {
            sides: format!("{place}{new} against {}", contrast.old),
            new: new.clone(),
            of,
            sentence,
        })
    };
    let is_same = |a: &Other, b: &Other| a.sides == b.sides;
    each_once_by(contrasts.iter().filter_map(one), is_same)
}

/// What both sides did not do alike.
fn all(row: &str, (of, to): (&str, &str), basis: &Basis, least: f64) -> Vec<Failing> {
    let place = names::before(row);
    let failing = |what: FailingOf, sentence: String, difference: Option<f64>| Failing {
        sides: format!("{place}{of} against {to}"),
        of: what,
        sentence,
        difference,
        is_chance: false,
        is_minor: false,
    };
    let of_shares = |what: FailingOf, shares: &Option<FailedShares>| {
        let shares = shares.as_ref();
        let shares = shares.filter(|shares| shares.difference() >= least)?;
        let sentence = match what {
            FailingOf::Dropped => dropped_sentence((of, to), shares),
            _ => failed_sentence((of, to), shares),
        };
        let sentence = format!("{place}{sentence}");
        Some(Failing {
            is_chance: shares.is_chance,
            ..failing(what, sentence, Some(shares.difference()))
        })
    };
    let lost = basis.lost.as_ref().map(|lost| {
        let sentence = format!("{place}{}", lost_sentence((of, to), lost));
        failing(FailingOf::Losses, sentence, lost.difference())
    });
    let work = basis.other_work.iter().filter_map(|work| {
        let difference = work.difference_of_shares();
        let sentence = format!("{place}{}", work.sentence(of, to));
        let is_small = difference.is_some_and(|difference| difference < least);
        (!is_small).then(|| Failing {
            is_minor: !work.is_named(),
            ..failing(FailingOf::Work(work.what), sentence, difference)
        })
    });
    let tables = basis.other_tables.as_ref().map(|tables| {
        let sentence = format!("{place}{of} has {tables}, unlike {to}");
        failing(FailingOf::Tables, sentence, None)
    });
    // These name their trial.
    let clients = basis.clients_limit.clone();
    let clients = clients.map(|why| failing(FailingOf::Clients, why, None));
    let hidden = basis.hidden.clone();
    let hidden = hidden.map(|why| failing(FailingOf::Hidden, why, None));
    let one_sided = basis.one_sided.as_ref().map(|what| {
        let sentence = format!("{what}, and no trial of the other side has that");
        failing(FailingOf::OneSided, sentence, None)
    });
    let failed = of_shares(FailingOf::Failures, &basis.failed);
    let dropped = of_shares(FailingOf::Dropped, &basis.dropped);
    let first = [lost, failed, dropped].into_iter().flatten();
    let last = [tables, clients, one_sided, hidden].into_iter().flatten();
    first.chain(work).chain(last).collect()
}

/// `50 % of the operations of new failed, 0 % of old`, and of few that it may be chance.
fn failed_sentence((of, to): (&str, &str), shares: &FailedShares) -> String {
    let what = match &shares.operation {
        Some(operation) => format!("{operation} on {of}"),
        None => format!("the operations of {of}"),
    };
    let row = shares.row.iter().map(|row| format!(" at {row}"));
    let row: String = row.collect();
    let (new, old) = (share(shares, shares.new), share(shares, shares.old));
    let chance = match shares.is_chance {
        true => ", which may be chance",
        false => "",
    };
    format!("{new} of {what} failed{row}, {old} of {to}{chance}")
}

fn dropped_sentence((of, to): (&str, &str), shares: &FailedShares) -> String {
    let (new, old) = (share(shares, shares.new), share(shares, shares.old));
    format!("{new} of the arrivals of {of} were dropped, {old} of {to}")
}

/// With more digits where they hardly differ.
fn share(shares: &FailedShares, share: f64) -> String {
    match shares.difference() >= NAMED {
        true => percent(share),
        false => format!("{:.4} %", 100.0 * share),
    }
}

/// `800 of 10,000 acknowledged transactions of new were lost, 0 of 10,000 of old`
fn lost_sentence((of, to): (&str, &str), lost: &LostTransactions) -> String {
    let count = |count: u64| format::count(count as f64);
    let share = |side: &Losses| format!("{} of {}", count(side.lost), count(side.acknowledged));
    let (new, old) = (share(&lost.new), share(&lost.old));
    let were = for_count(lost.new.lost as usize, "was", "were");
    format!("{new} acknowledged transactions of {of} {were} lost, {old} of {to}")
}

/// Without those that say the same as one before them.
fn each_once_by<T>(all: impl Iterator<Item = T>, is_same: fn(&T, &T) -> bool) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for one in all {
        if !found.iter().any(|known| is_same(known, &one)) {
            found.push(one);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_counts_the_doubts_without_a_number_that_it_does_not_name() {
        let one = |of: FailingOf, sentence: &str, difference: Option<f64>| Failing {
            sides: "new against old".to_string(),
            of,
            sentence: sentence.to_string(),
            difference,
            is_chance: false,
            is_minor: false,
        };
        let named = |all: Vec<Failing>| -> Vec<String> {
            headline(all).iter().map(|one| one.to_string()).collect()
        };
        let tables = || one(FailingOf::Tables, "new has other tables", None);
        assert_eq!(named(vec![tables()]), ["new has other tables."]);
        let all = vec![
            tables(),
            one(FailingOf::Failures, "2 % failed", Some(0.02)),
            one(FailingOf::Dropped, "1 % were dropped", Some(0.01)),
            one(FailingOf::Clients, "the clients were the limit", None),
            one(FailingOf::OneSided, "an event never ran", None),
        ];
        assert_eq!(
            named(all),
            [
                "2 % failed.",
                "new has other tables, and 2 more doubts: see --gate."
            ]
        );
    }

    #[test]
    fn one_lost_transaction_is_in_the_singular() {
        let side = |lost| Losses {
            lost,
            acknowledged: 10_000,
        };
        let sentence = |lost| {
            let (new, old) = (side(lost), side(0));
            lost_sentence(("new", "old"), &LostTransactions { old, new })
        };
        assert_eq!(
            sentence(1),
            "1 of 10,000 acknowledged transactions of new was lost, 0 of 10,000 of old"
        );
        assert_eq!(
            sentence(800),
            "800 of 10,000 acknowledged transactions of new were lost, 0 of 10,000 of old"
        );
    }
}

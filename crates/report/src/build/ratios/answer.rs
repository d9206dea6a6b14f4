//! The answer of the claims in a sentence: what is compared, by how much it differs, and why.
//!
//! `Hot, the small pool is 1.9× slower than the large pool (1.7 to 2.2); cold 1.9×. It misses 40,255 pages per query.`

use super::common::ComparedPlace;
use super::contrasts::caveats;
use super::ratio::Way;
use crate::document::{Claim, Headline};
use crate::{format, why};
use record::claim::{Unit, Use};
use record::{Cell, Direction, Judged, Run, Subject, Value, Verdict};
use stats::are_equivalent;

/// Further places that the sentence names.
const OTHERS: usize = 2;
/// Claims without a ratio that the answer names.
const STATEMENTS: usize = 2;

/// The headline of the first claim on a time or a throughput whose direction is decided, or else of the first with a figure. None without
/// such a claim.
pub(crate) fn of_ratios(run: &Run, claims: &[Claim]) -> Option<Headline> {
    let compared = || {
        let all = claims.iter();
        all.filter_map(|claim| Some((Compared::from_claim(run, claim)?, claim)))
    };
    let decided = compared().find(|(found, _)| found.is_decided());
    let (lead, claim) = decided.or_else(|| compared().next())?;
    let others: Vec<String> = compared()
        .filter_map(|(other, _)| lead.elsewhere(&other))
        .take(OTHERS)
        .collect();
    let sentence = lead.sentence().plain(others.concat()).plain(".");
    let why = claim.why.as_ref().filter(|_| !lead.is_open());
    let why = why.and_then(|one| {
        let names = (lead.of.as_str(), lead.to.as_str());
        why::brief(&one.why, names, lead.what().is_none())
    });
    Some(sentence.then(Headline::from(why.unwrap_or_default())))
}

/// The headline of claims on shapes: the first ones that hold, in their own words.
pub(crate) fn of_statements(claims: &[Claim]) -> Option<Headline> {
    let judged = claims.iter().map(|claim| &claim.judged);
    let shapes = judged.filter(|judged| matches!(judged.claim.subject, Subject::Finds { .. }));
    let statement = |judged: &Judged| {
        let says = judged.claim.says.trim_end_matches('.');
        Some(match judged.verdict {
            Verdict::Reproduced => format!("{}.", format::capitalised(says)),
            Verdict::NotReproduced => format!("\"{says}\" does not hold."),
            Verdict::Inconclusive | Verdict::NotAvailable => return None,
        })
    };
    let statements: Vec<String> = shapes.filter_map(statement).take(STATEMENTS).collect();
    (!statements.is_empty()).then(|| Headline::from(statements.join(" ")))
}

/// A claim that compares two cells.
struct Compared<'c> {
    judged: &'c Judged,
    /// The blocks that it lacks, and why a percentile is uncertain; empty if nothing limits the figure.
    caveats: String,
    value: &'c Value,
    of: String,
    to: String,
    place: ComparedPlace,
    way: Way,
    /// The sides differ in the number of clients, and clients are not slow or fast: their time is longer or shorter.
    is_by_clients: bool,
}

impl<'c> Compared<'c> {
    /// None if it compares no times and no throughput, or has no figure, or a bound that excludes neither direction.
    fn from_claim(run: &Run, Claim { judged, basis, .. }: &'c Claim) -> Option<Compared<'c>> {
        let Subject::Ratio { value, of, to, .. } = &judged.claim.subject else {
            return None;
        };
        match value.used() {
            Use::Speed | Use::Outage => (),
            Use::Detail => return None,
        }
        Some(Compared {
            judged,
            caveats: caveats(judged, basis),
            value,
            of: side(run, of, to),
            to: side(run, to, of),
            place: ComparedPlace::common(run, of, to),
            way: Way::of(judged, value).filter(|way| !way.is_open())?,
            is_by_clients: clients(of) != clients(to),
        })
    }

    /// Whether it is known which side is slower.
    fn is_decided(&self) -> bool {
        let direction = self.judged.direction;
        let is_known = matches!(direction, Some(Direction::Above | Direction::Below));
        is_known || (self.judged.limit.is_some() && self.judged.ci.is_none())
    }

    /// Whether blocks were compared and leave open which side is slower.
    fn is_open(&self) -> bool {
        self.judged.ci.is_some() && !self.is_decided()
    }

    fn sentence(&self) -> Headline {
        let Compared { of, to, way, .. } = self;
        let interval = way.short_interval() + &self.caveats;
        let (subject, with) = match self.what() {
            Some(what) => (format!("the {what} with {of}"), "with "),
            None => (of.clone(), ""),
        };
        let start = Headline::from(self.place.before(&subject));
        if are_equivalent(self.judged) {
            let same = if with.is_empty() {
                "as fast"
            } else {
                "the same"
            };
            let as_other = format!(" as {with}{to}: {}{interval}", way.short());
            return start.plain(" is ").stress(same).plain(as_other);
        }
        if self.is_open() {
            let found = format!(" by these blocks: {}{interval}", self.words());
            let against = format!(" against {to} is ");
            return start.plain(against).stress("undecided").plain(found);
        }
        let than = format!(" than {with}{to}{interval}");
        start.plain(" is ").stress(self.words()).plain(than)
    }

    /// What is compared, if it is not the time of the whole.
    fn what(&self) -> Option<String> {
        let is_whole = *self.value == Value::Elapsed && !self.is_by_clients;
        (!is_whole).then(|| self.value.noun())
    }

    /// `1.9× slower`, and of a throughput `1.9× lower`.
    fn words(&self) -> String {
        if self.what().is_none() {
            return self.way.short_words();
        }
        let is_more = self.way.is_slower != self.value.more_is_better();
        let way = match (self.value.unit(), is_more) {
            (Unit::PerSecond | Unit::Number, true) => "higher",
            (Unit::PerSecond | Unit::Number, false) => "lower",
            (Unit::Seconds | Unit::Milliseconds, true) => "longer",
            (Unit::Seconds | Unit::Milliseconds, false) => "shorter",
        };
        format!("{} {way}", self.way.short())
    }

    /// `; cold 1.9×`: the same two sides in another place that differs in one part.
    fn elsewhere(&self, other: &Compared) -> Option<String> {
        let is_alike = self.value == other.value && self.of == other.of && self.to == other.to;
        let place = other.place.apart_from(&self.place).filter(|_| is_alike)?;
        let found = match (other.is_open(), other.way.is_slower == self.way.is_slower) {
            (true, _) => "undecided".to_string(),
            (false, true) => other.way.short(),
            (false, false) => other.words(),
        };
        Some(format!("; {place} {found}"))
    }
}

fn clients(cell: &Cell) -> Option<&[String]> {
    let mut levels = cell.levels.iter();
    let found = levels.find(|(factor, _)| factor == "clients")?;
    Some(&found.1)
}

/// A side by what distinguishes it from the other: `5.6`, `the small pool`.
fn side(run: &Run, cell: &Cell, other: &Cell) -> String {
    let name = why::name(run, cell, other);
    let is_variant = |(factor, levels): &(String, Vec<String>)| {
        factor == "variant" && levels.as_slice() == [name.clone()]
    };
    let is_word = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let is_words = name.contains(' ') && name.split(' ').all(is_word);
    if is_words && cell.levels.iter().any(is_variant) {
        format!("the {name}")
    } else {
        name
    }
}

/// `2 of 4 claims reproduced, 1 inconclusive, 1 not available.` None if nothing is claimed. If some claim has no published figure,
/// claims hold.
pub(crate) fn count(claims: &[Claim]) -> Option<String> {
    let judged = || claims.iter().map(|claim| &claim.judged);
    let count = |verdict: Verdict| judged().filter(|claim| claim.verdict == verdict).count();
    let all = claims.len();
    let all_published = judged().all(|judged| judged.claim.published.is_some());
    let held = count(Verdict::Reproduced);
    let word = match (all_published, held) {
        (true, _) => "reproduced",
        (false, 1) => "holds",
        (false, _) if all == 1 => "holds",
        (false, _) => "hold",
    };
    let not = match all_published {
        true => Verdict::NotReproduced.text(),
        false if count(Verdict::NotReproduced) == 1 => "does not hold",
        false => "do not hold",
    };
    let mut text = format!("{held} of {} {word}", format::plural(all, "claim"));
    for (verdict, words) in [
        (Verdict::NotReproduced, not),
        (Verdict::Inconclusive, Verdict::Inconclusive.text()),
        (Verdict::NotAvailable, Verdict::NotAvailable.text()),
    ] {
        if count(verdict) > 0 {
            text.push_str(&format!(", {} {words}", count(verdict)));
        }
    }
    (all > 0).then_some(text + ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::claims::tests::without_figures;

    #[test]
    fn a_statement_that_does_not_hold_keeps_its_own_words() {
        let subject = Subject::Finds {
            finding: record::Finding::NoLosses,
            of: Cell::default(),
        };
        let says = "Nothing acknowledged is lost.";
        let claim = Claim {
            judged: without_figures(says, subject, Verdict::NotReproduced),
            basis: stats::Basis::default(),
            why: None,
        };
        let headline = of_statements(&[claim]).unwrap();
        let expected = "\"Nothing acknowledged is lost\" does not hold.";
        assert_eq!(&*headline, expected);
    }
}

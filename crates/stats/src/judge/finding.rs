//! Shapes in timed loads that claims test for.

use crate::load::stall;
use crate::series::sight;
use crate::tables::loads::{Counted, counted, with_load};
use crate::values::cells;
use crate::values::words;
use record::claim::{Cell, Finding};
use record::number::{grouped, plural};
use record::trial::{EventNote, Trial, TrialState};
use record::{AuditNote, FlagKind, Offered, Seen, Shape, Summary, listed};
use statrs::distribution::{Binomial, DiscreteCDF};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The shape in the trials of a cell.
pub(crate) struct Shown {
    pub(crate) blocks: usize,
    pub(crate) trials: usize,
    /// Number of trials with the shape.
    pub(crate) found: usize,
    /// Trials without it that do not tell, most of them because they are too short, and why the first one does not.
    pub(crate) unseen: usize,
    too_short: String,
    text: Text,
}

/// What is said about the trials.
enum Text {
    /// The shape of the first trial that has it, and what the first one without it shows instead.
    Each {
        has: Option<String>,
        has_not: Option<String>,
    },
    /// The losses of all of them.
    All(String),
}

impl Text {
    /// The trials that agree with the answer come first, because they are its reason.
    fn words(&self, is_found: bool) -> String {
        match self {
            Text::All(text) => text.clone(),
            Text::Each {
                has: Some(has),
                has_not: Some(has_not),
            } if !is_found => format!("without it: {has_not}; with it: {has}"),
            Text::Each { has, has_not } => has.clone().or(has_not.clone()).unwrap_or_default(),
        }
    }
}

/// What one trial shows.
enum Looked {
    Has(String),
    /// What was found instead.
    HasNot(String),
    /// A shape of this size would hardly have been seen, an audit cannot tell what was lost, or a node was hardly read.
    TooShort(String),
}

const NONE_ACKNOWLEDGED: &str = "no transaction was acknowledged, so none could be lost";
/// Why some open loops show no shape.
const SCHEDULED: &str = "the schedule of arrivals changes its rate, so the throughput has its shape and not that of the server";
/// A detector sees its shape in at most so many of the trials without it. Each is tested with simulated seconds.
const FALSE_ALARMS: f64 = 0.05;
/// It misses at most so many of the trials with it.
const MISSES: f64 = 0.1;

impl Shown {
    /// The two-sided p values against "the cell does not have the shape" and against "it does", from the number of trials in
    /// which the detector is wrong then. The majority of the trials decides, so the other one is 1.
    pub(crate) fn p_values(&self, finding: &Finding) -> (f64, f64) {
        let (trials, found) = (self.trials as u64, self.found as u64);
        let shape = |seen: u64| match (2 * seen).cmp(&trials) {
            Ordering::Greater => (two_sided(p_at_least(seen, trials, FALSE_ALARMS)), 1.0),
            Ordering::Equal => (1.0, 1.0),
            // What would hardly have been seen may be there.
            Ordering::Less if self.unseen > 0 => (1.0, 1.0),
            Ordering::Less => (1.0, two_sided(p_at_most(seen, trials, 1.0 - MISSES))),
        };
        match finding {
            // What can be seen is that a trial is not steady.
            Finding::Steady => {
                let (unsteady, steady) = shape(trials - found - self.unseen as u64);
                (steady, unsteady)
            }
            _ => shape(found),
        }
    }

    /// Whether one trial has it, without a test; None if none has it and some do not tell.
    pub(crate) fn any(&self) -> Option<bool> {
        (self.found > 0 || self.unseen == 0).then_some(self.found > 0)
    }

    /// Whether all trials have it, without a test; None if none lacks it and some do not tell.
    pub(crate) fn all(&self) -> Option<bool> {
        let lacking = self.trials - self.found - self.unseen;
        (lacking > 0 || self.unseen == 0).then_some(lacking == 0)
    }

    /// Whether too many trials are too short to tell for any answer.
    pub(crate) fn is_open(&self, finding: &Finding) -> bool {
        let seen = match finding {
            Finding::Steady => self.trials - self.found - self.unseen,
            _ => self.found,
        };
        self.unseen > 0 && 2 * seen <= self.trials
    }

    /// `in 2 of 3 trials (p 0.015): one stall`, with the p value of a test. `is_found`: whether the evidence is on the side of the shape.
    pub(crate) fn words(&self, p: Option<f64>, is_found: bool) -> String {
        let p = match p {
            None => String::new(),
            Some(p) if p < 0.001 => " (p < 0.001)".to_string(),
            Some(p) => format!(" (p {p:.3})"),
        };
        let open = match self.unseen {
            0 => String::new(),
            unseen if unseen == self.trials => return self.too_short.clone(),
            1 => format!("; 1 more does not tell: {}", self.too_short),
            unseen => format!("; {unseen} more do not tell: {}", self.too_short),
        };
        format!(
            "in {} of {}{p}: {}{open}",
            self.found,
            plural(self.trials, "trial"),
            self.text.words(is_found)
        )
    }
}

fn two_sided(p: f64) -> f64 {
    (2.0 * p).min(1.0)
}

/// The probability of at least so many of `trials`, of which each has the probability `share`.
fn p_at_least(count: u64, trials: u64, share: f64) -> f64 {
    match count {
        0 => 1.0,
        _ => binomial(trials, share).map_or(1.0, |binomial| binomial.sf(count - 1)),
    }
}

fn p_at_most(count: u64, trials: u64, share: f64) -> f64 {
    binomial(trials, share).map_or(1.0, |binomial| binomial.cdf(count))
}

fn binomial(trials: u64, share: f64) -> Option<Binomial> {
    Binomial::new(share, trials).ok()
}

/// Looks for the shape in each trial that counts; an error explains why it cannot.
pub(crate) fn shown(trials: &[Trial], finding: &Finding, of: &Cell) -> Result<Shown, String> {
    let matching = cells::matching(trials, of);
    let counted = match finding {
        // A trial whose speed does not count shows what it lost and read all the same.
        Finding::Losses | Finding::NoLosses => {
            and_those(&matching, |one| one.trial.audit.is_some())
        }
        Finding::StaleReads | Finding::NoStaleReads => and_those(&matching, has_stale_reads),
        _ => counted(&matching),
    };
    if counted.is_empty() {
        return Err(format!(
            "no timed load of {} is recorded",
            words::cell_words(of)
        ));
    }
    let (mut has, mut has_not, mut too_short) = (Vec::new(), Vec::new(), Vec::new());
    for one in &counted {
        match look(one, finding)? {
            Looked::Has(text) => has.push(text),
            Looked::HasNot(text) => has_not.push(text),
            Looked::TooShort(text) => too_short.push(format!("{}: {text}", one.trial.key)),
        }
    }
    let text = match finding {
        Finding::Losses | Finding::NoLosses => Text::All(losses(&counted)),
        _ => Text::Each {
            has: has.first().cloned(),
            has_not: has_not.first().cloned(),
        },
    };
    let blocks: BTreeSet<u32> = counted.iter().map(|c| c.trial.key.block).collect();
    Ok(Shown {
        blocks: blocks.len(),
        trials: counted.len(),
        found: has.len(),
        unseen: too_short.len(),
        too_short: too_short.into_iter().next().unwrap_or_default(),
        text,
    })
}

/// The trials that count, and the others that show it.
fn and_those<'t>(trials: &[&'t Trial], show: impl Fn(&Counted) -> bool) -> Vec<Counted<'t>> {
    let mut loaded = with_load(trials);
    loaded.retain(|one| one.trial.state == TrialState::Done || show(one));
    loaded
}

fn has_stale_reads(one: &Counted) -> bool {
    let reads = one.summary.stale_reads.as_ref();
    reads.is_some_and(|reads| reads.stale_s > 0)
}

/// A shape of the throughput, in a trial that is long enough to show it.
#[derive(Clone, Copy, PartialEq)]
enum Seeking {
    LevelShift,
    Period,
    /// That there is neither of them.
    Steady,
}

/// What the measured part shows of it.
fn shape(summary: &Summary, seeking: Seeking) -> Looked {
    let shift = || summary.shifts.first().map(|shift| shift.sentence());
    let period = || summary.period.as_ref().map(|period| period.sentence());
    let steady = &summary.steady;
    let found = match seeking {
        Seeking::LevelShift => shift(),
        Seeking::Period => period(),
        Seeking::Steady => (!steady.shape.is_steady())
            .then(|| steady.reason.clone())
            .or_else(|| summary.stalled())
            .or_else(shift)
            .or_else(period),
    };
    match (found, too_short(summary, seeking), seeking) {
        (Some(against), _, Seeking::Steady) => Looked::HasNot(against),
        (Some(found), ..) => Looked::Has(found),
        (None, Some(why), _) => Looked::TooShort(why),
        (None, None, Seeking::Steady) => {
            let reason = &steady.reason;
            Looked::Has(format!("{reason}; {}", sight::no_period(summary)))
        }
        (None, None, Seeking::LevelShift) => Looked::HasNot("no level shift".to_string()),
        (None, None, Seeking::Period) => Looked::HasNot(sight::no_period(summary)),
    }
}

/// Why a measured part without the shape is too short to tell; None of one that would show it.
fn too_short(summary: &Summary, seeking: Seeking) -> Option<String> {
    let Some(sight) = &sight::of_summary(summary) else {
        return Some(summary.steady.reason.clone());
    };
    let needed: &[&Seen] = match seeking {
        Seeking::LevelShift => &[&sight.shift],
        Seeking::Period => &[&sight.period],
        Seeking::Steady => &[&sight.shift, &sight.period],
    };
    let lacking = needed.iter().filter(|seen| !sight::is_enough(seen));
    // The one that needs the longest load.
    let most = lacking.max_by_key(|seen| seen.enough_s.unwrap_or(u32::MAX));
    let at_edge = sight.at_edge.as_ref();
    let at_edge = at_edge.filter(|_| seeking != Seeking::Period);
    let drops = sight.drops_every_s;
    let drops = drops.filter(|_| seeking != Seeking::LevelShift);
    let stops = stall::too_few(summary);
    let stops = stops.filter(|_| seeking == Seeking::Steady);
    most.map(|seen| sight::too_short(sight, seen))
        .or_else(|| at_edge.map(sight::near_the_edge))
        .or_else(|| drops.map(sight::few_drops))
        .or(stops)
}

fn look(counted: &Counted, finding: &Finding) -> Result<Looked, String> {
    let summary: &Summary = &counted.summary;
    // A queue that fills during the warm-up needs no measured part, nor does an audit.
    let needs_none = *finding == Finding::Unstable || finding.is_on_losses();
    let is_of_seconds = matches!(
        finding,
        Finding::Steady | Finding::LevelShift | Finding::Period
    );
    let too_short = is_of_seconds && summary.steady.shape == Shape::TooShort;
    if !needs_none && (too_short || summary.steady.seconds() == 0) {
        return Err(format!("{}: {}", counted.trial.key, summary.steady.reason));
    }
    if is_of_seconds && counted.load.mode.has_changing_rate() {
        return Err(format!("{}: {SCHEDULED}", counted.trial.key));
    }
    Ok(match finding {
        Finding::Unstable => {
            let offered = summary.offered.as_ref();
            let offered = offered
                .ok_or("only an open loop can be unstable, and this load is a closed loop")?;
            match &offered.unstable {
                Some(why) => Looked::Has(why.clone()),
                None => Looked::HasNot(stable(offered)),
            }
        }
        Finding::Losses => look_for_losses(counted.trial, true)?,
        Finding::NoLosses => look_for_losses(counted.trial, false)?,
        Finding::StaleReads | Finding::NoStaleReads => {
            let reads = summary.stale_reads.as_ref();
            let reads = reads.ok_or_else(|| {
                format!(
                    "{}: reads on further nodes were not looked at",
                    counted.trial.key
                )
            })?;
            let are_stale = reads.stale_s > 0;
            let are_sought = *finding == Finding::StaleReads;
            match reads.hardly_read.as_ref().filter(|_| !are_stale) {
                Some(why) => Looked::TooShort(why.clone()),
                None if are_stale == are_sought => Looked::Has(reads.sentence()),
                None => Looked::HasNot(reads.sentence()),
            }
        }
        Finding::Stall => match (summary.stalled(), stall::too_few(summary)) {
            (Some(stalled), _) => Looked::Has(stalled),
            (None, Some(why)) => Looked::TooShort(why),
            (None, None) => Looked::HasNot("no stall".to_string()),
        },
        Finding::LevelShift => shape(summary, Seeking::LevelShift),
        Finding::Period => shape(summary, Seeking::Period),
        Finding::Steady => shape(summary, Seeking::Steady),
        Finding::PlanChanged | Finding::PlanHolds(_) => {
            return Err("a timed load has no plans".to_string());
        }
    })
}

/// What became of the requests of a stable load: few may have been dropped, or wait at its end.
fn stable(offered: &Offered) -> String {
    let counted =
        |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", grouped(count)));
    let left = [
        counted(offered.dropped, "were dropped"),
        counted(offered.queued_at_end, "were waiting at the end"),
    ];
    let left: Vec<String> = left.into_iter().flatten().collect();
    match left.is_empty() {
        true => "stable: all requests were served".to_string(),
        false => format!("stable: of the requests {}", listed(&left)),
    }
}

/// The counts are those of all trials together, see `losses`.
fn look_for_losses(trial: &Trial, are_sought: bool) -> Result<Looked, String> {
    let audit = trial.audit.as_ref();
    let audit = audit.ok_or_else(|| format!("{}: no audit is recorded", trial.key))?;
    Ok(match untold(trial, audit) {
        Some(why) => Looked::TooShort(why),
        None if audit.has_losses() == are_sought => Looked::Has(String::new()),
        None => Looked::HasNot(String::new()),
    })
}

/// Why an audit that counts no loss does not show that nothing was lost: its data broke other rules, the event that was to cause a loss
/// never ran or failed, or nothing was acknowledged that could be lost.
fn untold(trial: &Trial, audit: &AuditNote) -> Option<String> {
    let violation = audit.violations.first();
    let violation = violation.map(|text| format!("the audit found other faults: {text}"));
    let missed = trial.flagged(FlagKind::EventMissed);
    let mut events = trial.events.iter();
    let missed = missed.filter(|_| !events.any(|event| event.fails_operations()));
    let failed = trial.flags.iter().find(|flag| {
        let is_it = |event: &EventNote| event.fails_operations() && event.text == flag.text;
        flag.kind == FlagKind::EventFailed && trial.events.iter().any(is_it)
    });
    let failed = missed.or(failed).map(|flag| flag.text.clone());
    let none = (audit.acknowledged == 0).then(|| NONE_ACKNOWLEDGED.to_string());
    let why = violation.or(failed).or(none);
    why.filter(|_| !audit.has_losses())
}

/// The losses of all trials together.
fn losses(trials: &[Counted]) -> String {
    let sum = |of: fn(&AuditNote) -> u64| -> u64 {
        let audits = trials.iter().filter_map(|one| one.trial.audit.as_ref());
        audits.map(of).sum()
    };
    let lost = format!(
        "{} of {} acknowledged transactions lost",
        grouped(sum(|audit| audit.lost)),
        grouped(sum(|audit| audit.acknowledged))
    );
    match sum(|audit| audit.partly_applied) {
        0 => lost,
        partly => format!("{lost}, {} there only in part", grouped(partly)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::uniform;

    fn shown(found: usize, trials: usize) -> Shown {
        Shown {
            blocks: trials,
            trials,
            found,
            unseen: 0,
            too_short: String::new(),
            text: Text::All(String::new()),
        }
    }

    #[test]
    fn one_trial_is_in_the_singular() {
        assert_eq!(shown(1, 1).words(None, true), "in 1 of 1 trial: ");
        let one = Shown {
            unseen: 1,
            ..shown(2, 3)
        };
        let words = one.words(None, true);
        assert_eq!(words, "in 2 of 3 trials: ; 1 more does not tell: ");
    }

    #[test]
    fn trials_that_are_too_short_to_tell_are_no_evidence_against_a_shape() {
        let with = |found, unseen| Shown {
            unseen,
            ..shown(found, 3)
        };
        for finding in [Finding::Period, Finding::Steady] {
            assert_eq!(with(0, 3).p_values(&finding), (1.0, 1.0));
            assert!(with(0, 3).is_open(&finding));
        }
        assert_eq!(with(0, 1).p_values(&Finding::Period), (1.0, 1.0));
        // Two that are not steady decide, whatever the third one is.
        assert_eq!(with(0, 1).p_values(&Finding::Steady), with(2, 1).swapped());
        assert!(!with(2, 1).is_open(&Finding::Period));
    }

    impl Shown {
        /// Of two periods that were found, as for two trials that are not steady.
        fn swapped(&self) -> (f64, f64) {
            let (p, other) = self.p_values(&Finding::Period);
            (other, p)
        }
    }

    #[test]
    fn the_binomial_probabilities_are_the_known_ones() {
        let close = |(a, b): (f64, f64), known: (f64, f64)| {
            assert!(
                (a - known.0).abs() < 1e-9 && (b - known.1).abs() < 1e-9,
                "{a} {b}"
            );
        };
        close(
            shown(3, 3).p_values(&Finding::Stall),
            (2.0 * 0.05f64.powi(3), 1.0),
        );
        close(
            shown(0, 3).p_values(&Finding::Stall),
            (1.0, 2.0 * 0.1f64.powi(3)),
        );
        close(
            shown(3, 3).p_values(&Finding::Steady),
            (2.0 * 0.1f64.powi(3), 1.0),
        );
        close(shown(1, 3).p_values(&Finding::Stall), (1.0, 2.0 * 0.028));
        close(shown(2, 4).p_values(&Finding::Stall), (1.0, 1.0));
    }

    #[test]
    fn one_of_three_trials_decides_neither_way() {
        for finding in [Finding::Stall, Finding::Steady] {
            let found = if finding == Finding::Steady { 2 } else { 1 };
            let (yes, no) = shown(found, 3).p_values(&finding);
            assert!(yes > 0.05 && no > 0.05, "{finding:?}: {yes} {no}");
        }
    }

    /// Without a test, "seen in every trial" of one that is seen by chance has no error rate, and "seen in some" is never decided.
    #[test]
    fn false_alarms_of_a_detector_decide_for_its_shape_in_at_most_one_run_of_forty() {
        for trials in [2, 3, 5, 9] {
            let is_wrong = |seed: &u64| {
                let seen = uniform(trials, *seed)
                    .into_iter()
                    .filter(|share| *share < FALSE_ALARMS);
                shown(seen.count(), trials).p_values(&Finding::Stall).0 <= 0.05
            };
            let wrong = (0..2000).filter(is_wrong).count();
            assert!(wrong <= 64, "{trials} trials: {wrong} of 2000");
        }
    }
}

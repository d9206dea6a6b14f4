//! The audit after a timed load: what it found, and whether the trial's figures can be used.
//!
//! Purpose: ask the workload's auditor, and judge its findings. Outside this module: the checks themselves (`workload`).

pub(crate) mod answers;
pub(crate) mod device_queue;
pub(crate) mod homes;
pub(crate) mod pool;
pub(crate) mod reached_disk;

use super::place::AnyPlace;
use host::interrupt;
use load::Tally;
use record::{AuditNote, EventNote, FlagKind, InputCheck, Trial};
use server::ServerError;
use std::ops::Range;
use std::path::Path;
use workload::{AuditError, Auditor, Ended};

/// The audit that is due after a load.
pub(crate) struct Pending {
    pub auditor: Box<dyn Auditor>,
    /// A tally for each operation.
    pub tallies: Vec<Tally>,
}

/// Lets the auditor read what it needs before the load starts.
pub(crate) fn before(
    place: &AnyPlace,
    auditor: &mut dyn Auditor,
    temporary: &Path,
) -> Result<(), ServerError> {
    let looked = place.audited(Box::new(|place| {
        auditor.before(place, temporary).map(|()| None)
    }));
    looked?.map(drop).map_err(failed)
}

/// Audits the data after the load. An interrupted trial is not saved, so nobody would see its audit.
pub(crate) fn after(
    place: &AnyPlace,
    pending: Pending,
    trial: &mut Trial,
) -> Result<(), ServerError> {
    if interrupt::asked() {
        return Ok(());
    }
    let crashes_ns = crashes_ns(trial);
    let ended = Ended {
        tallies: &pending.tallies,
        crashes_ns: &crashes_ns,
    };
    let note = place.audited(Box::new(|place| pending.auditor.audit(place, &ended)))?;
    if let Some(note) = note.map_err(failed)? {
        judge(trial, &note);
        trial.audit = Some(note);
    }
    Ok(())
}

fn failed(error: AuditError) -> ServerError {
    ServerError::Unusable(format!("the audit failed: {error}"))
}

/// From each crash of the server until its next process was launched: nanoseconds since the start of the load, ascending.
fn crashes_ns(trial: &Trial) -> Vec<Range<u64>> {
    let started_ns = trial.load.as_ref().map_or(0, |load| load.started_ns);
    let since_start = |at_ns: i64| (at_ns - started_ns).max(0) as u64;
    let launched_ns = |event: &EventNote| {
        let start_s = event.numbers.get("start_s")?;
        Some(event.at_ns + (start_s * 1e9) as i64)
    };
    let crash = |event: &EventNote| {
        // What a crash leaves down, a later event starts.
        let later = trial.events.iter().filter(|one| one.brings_back(event));
        let launched = launched_ns(event).or_else(|| later.filter_map(launched_ns).min());
        since_start(event.at_ns)..since_start(launched.unwrap_or(event.at_ns))
    };
    let crashes = trial.events.iter().filter(|event| event.is_crash());
    let mut crashes: Vec<Range<u64>> = crashes.map(crash).collect();
    crashes.sort_unstable_by_key(|crash| crash.start);
    crashes
}

/// Marks the trial invalid if its data or its inputs are not what they must be. Lost transactions are the result of a trial that
/// crashed its server, and a fault of any other.
fn judge(trial: &mut Trial, note: &AuditNote) {
    for violation in &note.violations {
        trial.invalidate(FlagKind::AuditFailed, violation);
    }
    for check in note.failed_inputs() {
        trial.invalidate(FlagKind::AuditFailed, of_input(check));
    }
    let has_crashed = trial.events.iter().any(EventNote::is_crash);
    let mut faults = vec![
        (note.partly_applied, "are only partly in the tables"),
        (note.ghosts, "were refused and are in the tables"),
    ];
    if !has_crashed {
        faults.extend([
            (note.lost, "were acknowledged and are not in the tables"),
            (
                note.seen_but_lost,
                "were seen by readers and are not in the tables",
            ),
        ]);
    }
    for (count, fault) in faults.iter().filter(|(count, _)| *count > 0) {
        trial.invalidate(
            FlagKind::AuditFailed,
            format!("transactions that {fault}: {count}"),
        );
    }
}

fn of_input(check: &InputCheck) -> String {
    format!(
        "the inputs are not those of the workload: {} is {:.4}, allowed are {:.4} to {:.4}, from {} draws",
        check.name, check.observed, check.low, check.high, check.samples
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::measure::trial::blank;
    use record::TrialState;
    use record::event::{KILL, POWER_CUT, START};

    /// The trial after an audit, with an event of this kind.
    fn judged(event: &str, note: AuditNote) -> Trial {
        let mut trial = blank();
        trial.events.push(EventNote {
            at_ns: 5,
            ended_ns: None,
            kind: event.into(),
            node: None,
            numbers: Default::default(),
            text: String::new(),
        });
        judge(&mut trial, &note);
        trial
    }

    #[test]
    fn a_loss_is_the_result_of_a_crash_and_a_fault_of_any_other_trial() {
        let lost = || AuditNote {
            lost: 3,
            seen_but_lost: 1,
            ..AuditNote::default()
        };
        for crash in [KILL, POWER_CUT] {
            assert_eq!(judged(crash, lost()).state, TrialState::Done);
        }
        let other = judged("sql", lost());
        assert_eq!(other.state, TrialState::Invalid);
        assert_eq!(other.flags.len(), 2);
        assert!(other.flags[0].text.ends_with("are not in the tables: 3"));
    }

    #[test]
    fn a_crash_excuses_neither_half_transactions_nor_violations_nor_inputs() {
        let faults = [
            AuditNote {
                partly_applied: 1,
                ..AuditNote::default()
            },
            AuditNote {
                ghosts: 1,
                ..AuditNote::default()
            },
            AuditNote {
                violations: vec!["condition 1".into()],
                ..AuditNote::default()
            },
            AuditNote {
                inputs: vec![InputCheck {
                    name: "rollbacks (%)".into(),
                    observed: 2.0,
                    low: 0.9,
                    high: 1.1,
                    samples: 10_000,
                    is_advisory: false,
                }],
                ..AuditNote::default()
            },
        ];
        for note in faults {
            let trial = judged("kill", note);
            assert_eq!(trial.state, TrialState::Invalid, "{:?}", trial.flags);
            assert_eq!(trial.flags[0].kind, FlagKind::AuditFailed);
        }
    }

    #[test]
    fn crashes_are_counted_from_the_start_of_the_load() {
        let trial = judged("power_cut", AuditNote::default());
        assert_eq!(crashes_ns(&trial).first(), Some(&(5..5)));
        let mut restarted = trial;
        let numbers = &mut restarted.events[0].numbers;
        numbers.insert("start_s".into(), 0.5);
        assert_eq!(crashes_ns(&restarted).first(), Some(&(5..500_000_005)));
        assert!(crashes_ns(&judged("stop", AuditNote::default())).is_empty());
    }

    #[test]
    fn a_crash_lasts_until_the_event_that_starts_what_it_left_down() {
        let mut trial = judged("power_cut", AuditNote::default());
        let mut start = judged(START, AuditNote::default()).events.remove(0);
        start.at_ns = 9_000_000_000;
        start.numbers.insert("start_s".into(), 0.5);
        trial.events.push(EventNote {
            node: Some(2),
            at_ns: 7,
            ..start.clone()
        });
        assert_eq!(
            crashes_ns(&trial).first(),
            Some(&(5..5)),
            "another node is started"
        );
        trial.events.push(start);
        assert_eq!(crashes_ns(&trial).first(), Some(&(5..9_500_000_000)));
    }
}

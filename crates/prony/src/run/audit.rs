//! The audit after a timed load: what it found, and whether the trial's figures can be used.
//!
//! Purpose: ask the workload's auditor, and judge its findings. Outside this module: the checks themselves (`workload`).

use super::place::Place;
use host::interrupt;
use load::Tally;
use record::{AuditNote, EventNote, FlagKind, Trial};
use server::ServerError;
use workload::{AuditError, Auditor, Ended};

/// The events after which acknowledged transactions may be missing: the trial measures how many.
const CRASHES: [&str; 2] = ["kill", "power_cut"];

/// The audit that is due after a load.
pub(crate) struct Pending {
    pub auditor: Box<dyn Auditor>,
    /// A tally for each operation.
    pub tallies: Vec<Tally>,
}

/// Lets the auditor read what it needs before the load starts.
pub(super) fn before(place: &Place, auditor: &mut dyn Auditor) -> Result<(), ServerError> {
    place.audited(|place| auditor.before(place)).map_err(failed)
}

/// Audits the data after the load. An interrupted trial is not saved, so nobody would see its audit.
pub(super) fn after(place: &Place, pending: Pending, trial: &mut Trial) -> Result<(), ServerError> {
    if interrupt::asked() {
        return Ok(());
    }
    let crashes_ns = crashes_ns(trial);
    let ended = Ended {
        tallies: &pending.tallies,
        crashes_ns: &crashes_ns,
    };
    let note = place.audited(|place| pending.auditor.audit(place, &ended));
    judge(trial, &note.map_err(failed)?);
    Ok(())
}

fn failed(error: AuditError) -> ServerError {
    ServerError::Unusable(format!("the audit failed: {error}"))
}

/// When the server crashed: nanoseconds since the start of the load, ascending.
fn crashes_ns(trial: &Trial) -> Vec<u64> {
    let started_ns = trial.load.as_ref().map_or(0, |load| load.started_ns);
    let since = |event: &EventNote| (event.at_ns - started_ns).max(0) as u64;
    let mut crashes: Vec<u64> = trial.events.iter().filter(is_crash).map(since).collect();
    crashes.sort_unstable();
    crashes
}

fn is_crash(event: &&EventNote) -> bool {
    CRASHES.contains(&event.kind.as_str())
}

/// Marks the trial invalid if its data or its inputs are not what they must be. Lost transactions are the result of a trial that
/// crashed its server, and a fault of any other.
fn judge(trial: &mut Trial, note: &AuditNote) {
    for violation in &note.violations {
        trial.invalidate(FlagKind::AuditFailed, violation);
    }
}

//! `--gate`, `--tolerance`, `--junit` and `--summary`, the same for run, bench, show and compare.

use super::failure::{Failure, Status};
use super::terminal;
use record::{Question, Run};
use report::{Allowed, Comparison, Document, Gate, Outcome, Strictness};
use std::path::{Path, PathBuf};

/// The exit statuses, below the help of each verb that has a gate.
pub(super) const EXIT: &str = "Exit status:
  0    done; every trial is valid
  1    --gate: a check failed (--gate=strict: or is undecided)
  2    wrong command line or file, or nothing to gate
  3    a trial failed or is invalid; --gate: or something was not measured
  130  interrupted; resume it with: prony run --resume RUN
Without --gate, show and compare exit with 0 even if trials failed or are invalid.";

/// Trials that are named one by one on stderr.
const MOST_FAULTS: usize = 5;

/// When the trials of a gate were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// By this command, whose exit status therefore says whether they are valid.
    Now,
    Earlier,
}

#[derive(clap::Args, Clone, Debug)]
pub(super) struct Gating {
    /// Exit with status 1 if a claim does not hold; without claims, if new is slower than old by more than the tolerance.
    /// Undecided checks pass with a warning; with --gate=strict they fail
    #[arg(long, value_name = "strict", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "decided", hide_possible_values = true)]
    gate: Option<Mode>,
    /// Maximum difference between the two sides' shares of failed operations
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    failures: f64,
    /// How much slower new may be than old
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub(super) tolerance: f64,
    /// Write the checks as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the checks as Markdown
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    Decided,
    Strict,
}

impl Gating {
    /// The gate of a run.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn of_run(&self, document: &Document, when: When) -> Result<Status, Failure> {
        self.conclude(&Gate::of_run(document, &self.allowed()), when)
    }

    /// The gate of recorded runs against the first one.
    ///
    /// # Errors
    /// Nothing can be compared, although all was measured, or a run is compared with itself. A file that cannot be written.
    pub(super) fn of_comparison(&self, comparison: &Comparison) -> Result<Status, Failure> {
        let first = &comparison.runs[0];
        let is_first = |run: &Run| run.id == first.id && run.started_ns == first.started_ns;
        if self.gate.is_some() && comparison.runs[1..].iter().any(is_first) {
            return Err(Failure::usage(format!(
                "nothing to gate: {} is compared with itself; name the run of the other build",
                first.id
            )));
        }
        let gate = Gate::of_comparison(comparison, &self.allowed());
        let is_whole = gate.invalid.is_empty() && gate.missing.is_empty();
        if self.gate.is_some() && comparison.contrasts.is_empty() && is_whole {
            return Err(Failure::usage(
                "nothing to gate: the runs have no cell in common; see \"Not compared\"",
            ));
        }
        self.conclude(&gate, When::Earlier)
    }

    /// Refuses a gate that could only pass, before anything is measured.
    pub(super) fn check(&self, question: &Question) -> Result<(), Failure> {
        self.check_size(question.claims.len(), question.servers.len())
    }

    pub(super) fn check_size(&self, claims: usize, servers: usize) -> Result<(), Failure> {
        if self.gate.is_some() && claims == 0 && servers < 2 {
            Err(Failure::usage(
                "nothing to gate: no claim, and no second server; add a [[claim]], or compare two servers (--server old=BUILD --server new=BUILD)",
            ))
        } else {
            Ok(())
        }
    }

    fn allowed(&self) -> Allowed {
        Allowed {
            tolerance: self.tolerance,
            failures: self.failures,
            strictness: match self.gate {
                Some(Mode::Strict) => Strictness::Strict,
                Some(Mode::Decided) | None => Strictness::Decided,
            },
        }
    }

    /// Writes the files, and on stderr what did not pass.
    fn conclude(&self, gate: &Gate, when: When) -> Result<Status, Failure> {
        write(self.junit.as_deref(), || report::junit(gate))?;
        write(self.summary.as_deref(), || report::gate_markdown(gate))?;
        if self.gate.is_some() {
            tell(gate);
        }
        Ok(self.status(gate, when))
    }

    /// The exit status of every verb that has a gate: the table of docs/CI.md.
    fn status(&self, gate: &Gate, when: When) -> Status {
        match (self.gate, gate.outcome()) {
            (None, _) if when == When::Now && !gate.invalid.is_empty() => Status::Failed,
            (None, _) | (_, Outcome::Passed) => Status::Done,
            (_, Outcome::Failed) => Status::ClaimFailed,
            (_, Outcome::Unmeasured) => Status::Failed,
        }
    }
}

/// Says on stderr what did not pass.
fn tell(gate: &Gate) {
    let faults = gate.missing.iter().chain(&gate.invalid);
    for fault in faults.take(MOST_FAULTS) {
        terminal::warn(&format!("not passed: {fault}"));
    }
    for check in &gate.checks {
        let word = match (check.result, gate.fails(check)) {
            (report::CheckResult::Passed, _) => continue,
            (report::CheckResult::Unmeasured, _) => "not measured",
            (_, true) => "failed",
            (_, false) => "warning: undecided",
        };
        terminal::warn(&format!("{word}: {}: {}", check.name, check.text));
    }
    terminal::warn(&gate.headline());
}

fn write(path: Option<&Path>, text: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(path) = path else {
        return Ok(());
    };
    std::fs::write(path, text())
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))
}

/// `5%` as 0.05.
fn percent(text: &str) -> Result<f64, String> {
    let number = text
        .trim()
        .strip_suffix('%')
        .map(|number| number.trim().parse::<f64>());
    match number {
        Some(Ok(percent)) if (0.0..1000.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("give a percentage, such as 5%".to_string()),
    }
}

#[cfg(test)]
mod tests;

//! `--gate`, `--tolerance`, `--junit` and `--summary`, the same for run, bench, show and compare.

use super::failure::{Failure, Status};
use super::terminal;
use record::{Question, Trial};
use report::{Comparison, Document, Gate, Strictness};
use std::path::{Path, PathBuf};

/// The exit statuses, below the help of each verb that has a gate.
pub(super) const EXIT: &str = "Exit status:
  0    done; every trial is valid
  1    --gate: a check failed (--gate=strict: or is undecided)
  2    wrong command line or file, or nothing to gate
  3    a trial failed or is invalid
  130  interrupted; resume it with: prony run --resume RUN";

#[derive(clap::Args, Clone, Debug)]
pub(super) struct Gating {
    /// Exit with status 1 if a claim does not hold; without claims, if new is slower than old by more than the tolerance.
    /// What is undecided passes with a warning, with --gate=strict it fails
    #[arg(long, value_name = "strict", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "decided", hide_possible_values = true)]
    gate: Option<Mode>,
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
    pub(super) fn of_run(&self, document: &Document, trials: &[Trial]) -> Result<Status, Failure> {
        if self.is_unused() {
            return Ok(Status::Done);
        }
        self.conclude(&Gate::of_run(
            document,
            trials,
            self.tolerance,
            self.strictness(),
        ))
    }

    pub(super) fn of_comparison(&self, comparison: &Comparison) -> Result<Status, Failure> {
        if self.gate.is_some() && comparison.contrasts.is_empty() {
            return Err(Failure::usage(
                "nothing to gate: the runs have no cell in common; see \"Not compared\"",
            ));
        }
        self.conclude(&Gate::of_comparison(comparison, self.strictness()))
    }

    /// Refuses a gate that could only pass, before anything is measured.
    pub(super) fn check(&self, question: &Question) -> Result<(), Failure> {
        self.check_size(question.claims.len(), question.servers.len())
    }

    pub(super) fn check_size(&self, claims: usize, servers: usize) -> Result<(), Failure> {
        match self.gate.is_some() && claims == 0 && servers < 2 {
            true => Err(Failure::usage(
                "nothing to gate: no claim, and no second server; add a [[claim]], or compare two servers (--server old=BUILD --server new=BUILD)",
            )),
            false => Ok(()),
        }
    }

    /// Without any of these options nobody sees the checks.
    fn is_unused(&self) -> bool {
        self.gate.is_none() && self.junit.is_none() && self.summary.is_none()
    }

    fn strictness(&self) -> Strictness {
        match self.gate {
            Some(Mode::Strict) => Strictness::Strict,
            Some(Mode::Decided) | None => Strictness::Decided,
        }
    }

    /// Writes the files, and on stderr what did not pass.
    fn conclude(&self, gate: &Gate) -> Result<Status, Failure> {
        write(self.junit.as_deref(), || report::junit(gate))?;
        write(self.summary.as_deref(), || report::gate_markdown(gate))?;
        if self.gate.is_none() {
            return Ok(Status::Done);
        }
        for check in &gate.checks {
            let word = match (check.result, gate.fails(check)) {
                (report::CheckResult::Passed, _) => continue,
                (_, true) => "failed",
                (_, false) => "warning: undecided",
            };
            terminal::warn(&format!("{word}: {}: {}", check.name, check.text));
        }
        terminal::warn(&gate.headline());
        Ok(match gate.failed() {
            true => Status::ClaimFailed,
            false => Status::Done,
        })
    }
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
mod tests {
    use super::percent;

    #[test]
    fn a_tolerance_is_a_percentage() {
        assert_eq!(percent("5%"), Ok(0.05));
        assert_eq!(percent("2.5 %"), Ok(0.025));
        assert_eq!(percent("0%"), Ok(0.0));
        for wrong in ["5", "0.05", "-1%", "x%", "NaN%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}

//! The gate: what fails a build.
//!
//! Purpose: the claims of a run, or the comparison of its servers or of runs, as a list of checks. Boundaries: they are judged in
//! `stats`; the exit status belongs to the command line.

use crate::build::contrasts;
use crate::document::{Comparison, Document};
use crate::format;
use record::{Judged, Question, Trial, TrialState, Verdict};
use stats::Contrast;

/// What an undecided check does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It passes with a warning.
    Decided,
    /// It fails.
    Strict,
}

/// The checks of a run or of a comparison.
pub struct Gate {
    /// The run, or the runs that are compared.
    pub subject: String,
    /// The build of prony that recorded them; several where they differ.
    pub prony: String,
    pub checks: Vec<Check>,
    /// Why trials failed or are invalid, one sentence each.
    pub invalid: Vec<String>,
    pub strictness: Strictness,
}

pub struct Check {
    /// The claim, or the value that is compared.
    pub name: String,
    pub result: CheckResult,
    /// What was measured.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    Passed,
    Undecided,
    Failed,
}

impl CheckResult {
    pub fn text(self) -> &'static str {
        match self {
            CheckResult::Passed => "passed",
            CheckResult::Undecided => "undecided",
            CheckResult::Failed => "failed",
        }
    }
}

impl From<Verdict> for CheckResult {
    fn from(verdict: Verdict) -> CheckResult {
        match verdict {
            Verdict::Reproduced => CheckResult::Passed,
            Verdict::NotReproduced => CheckResult::Failed,
            Verdict::Inconclusive | Verdict::NotAvailable => CheckResult::Undecided,
        }
    }
}

impl Gate {
    /// The claims; without claims, the servers against the first one. `trials` are those of the document.
    pub fn of_run(
        document: &Document,
        trials: &[Trial],
        tolerance: f64,
        strictness: Strictness,
    ) -> Gate {
        let question = &document.run.question;
        let controls = document.controls.iter().map(|control| control.trial);
        let claims = document.claims.iter().map(|claim| of_claim(&claim.judged));
        let contrasts = match document.claims.is_empty() {
            true => stats::against_first(question, trials, tolerance),
            false => Vec::new(),
        };
        Gate {
            subject: document.run.id.clone(),
            prony: document.run.environment.prony_version.clone(),
            checks: claims
                .chain(tested(question, &contrasts, tolerance))
                .collect(),
            invalid: trials.iter().chain(controls).filter_map(invalid).collect(),
            strictness,
        }
    }

    /// Every value that is compared, and every row that is not.
    pub fn of_comparison(comparison: &Comparison, strictness: Strictness) -> Gate {
        let question = &comparison.runs[0].question;
        let compared = tested(question, &comparison.contrasts, comparison.tolerance);
        let left_out = comparison.left_out.iter().map(|row| Check {
            name: format!("run {} {}", row.run, row.row).trim().to_string(),
            result: CheckResult::Undecided,
            text: row.why.clone(),
        });
        let runs: Vec<&str> = comparison.runs.iter().map(|run| run.id.as_str()).collect();
        Gate {
            subject: runs.join(" "),
            prony: comparison.prony(),
            checks: compared.into_iter().chain(left_out).collect(),
            invalid: Vec::new(),
            strictness,
        }
    }

    pub fn failed(&self) -> bool {
        self.checks.iter().any(|check| self.fails(check))
    }

    pub fn fails(&self, check: &Check) -> bool {
        let strictly = self.strictness == Strictness::Strict;
        match check.result {
            CheckResult::Failed => true,
            CheckResult::Undecided => strictly,
            CheckResult::Passed => false,
        }
    }

    pub fn count(&self, result: CheckResult) -> usize {
        self.checks
            .iter()
            .filter(|check| check.result == result)
            .count()
    }

    /// `gate failed: 1 of 3 checks failed, 1 undecided`
    pub fn headline(&self) -> String {
        let word = if self.failed() { "failed" } else { "passed" };
        let checks = format::plural(self.checks.len(), "check");
        let others = [CheckResult::Failed, CheckResult::Undecided].map(|result| {
            let count = self.count(result);
            (count > 0).then(|| format!("{count} {}", result.text()))
        });
        let others: Vec<String> = others.into_iter().flatten().collect();
        match others.is_empty() {
            true => format!("gate {word}: {checks}"),
            false => format!("gate {word}: {checks}, {}", others.join(", ")),
        }
    }
}

fn tested(question: &Question, contrasts: &[Contrast], tolerance: f64) -> Vec<Check> {
    let tested = contrasts.iter().filter(|contrast| contrast.subject.decides);
    let check = |contrast: &Contrast| Check {
        name: format!(
            "{} against {}, {}",
            contrast.new,
            contrast.old,
            contrasts::cell_name(question, contrast)
        ),
        result: contrast.judged.verdict.into(),
        text: format!(
            "{} (at most {} slower is allowed)",
            contrasts::sentence(contrast),
            format::percent(tolerance)
        ),
    };
    tested.map(check).collect()
}

fn of_claim(judged: &Judged) -> Check {
    let measured = judged.measured.map(format::ratio);
    let interval = judged.ci.map(|ci| format::interval(ci, format::ratio));
    let parts = [
        measured.map(|measured| format!("measured {measured}")),
        interval.map(|interval| format!("95 % CI {interval}")),
        Some(format!("threshold {}", judged.threshold)),
        judged.reason.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Check {
        name: judged.claim.says.clone(),
        result: judged.verdict.into(),
        text: format!("{}: {}", judged.words(), parts.join("; ")),
    }
}

fn invalid(trial: &Trial) -> Option<String> {
    let why = trial.reason().unwrap_or("no reason is recorded");
    (trial.state != TrialState::Done).then(|| format!("{}: {why}", trial.key))
}

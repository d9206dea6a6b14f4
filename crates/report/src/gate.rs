//! The gate: what fails a build.
//!
//! Purpose: the claims of a run, or the comparison of its servers or of runs, as a list of checks. Boundaries: they are judged in
//! `stats`; the exit status belongs to the command line.

use crate::build::claims;
use crate::build::ratios::contrasts;
use crate::build::setup::differences::{self, Confounded};
use crate::build::trials::failures::{self, Failing, FailingOf, Other, OtherOf};
use crate::build::trials::noise;
use crate::document::{Claim, Comparison, Document, Faults};
use crate::format;
use record::{Question, Verdict};
use stats::{Basis, Contrast, Control};

/// What an undecided check does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It passes with a warning.
    Decided,
    /// It fails.
    Strict,
}

/// What a gate allows.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// How much slower new may be than old: 0.05 is 5 %.
    pub tolerance: f64,
    /// The largest allowed difference of the two sides' shares of failed operations: 0.01 is one in a hundred operations.
    pub failures: f64,
    pub strictness: Strictness,
}

impl Allowed {
    /// The smallest difference of the shares that is checked.
    fn least_named(&self) -> f64 {
        self.failures.min(self.tolerance).min(failures::NAMED)
    }
}

/// A limit as it was given: `2.5 %`.
fn limit(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
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
    /// What was not measured because a run was interrupted, one sentence for each run.
    pub missing: Vec<String>,
    pub strictness: Strictness,
}

/// What a gate says, the heaviest reason last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Passed,
    /// A check failed.
    Failed,
    /// Something was not measured, so that the gate has no answer.
    Unmeasured,
}

impl Outcome {
    fn text(self) -> &'static str {
        match self {
            Outcome::Passed => "gate passed",
            Outcome::Failed => "gate failed",
            Outcome::Unmeasured => "gate not passed",
        }
    }
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
    /// A side has no valid trial.
    Unmeasured,
}

impl CheckResult {
    pub fn text(self) -> &'static str {
        match self {
            CheckResult::Passed => "passed",
            CheckResult::Undecided => "undecided",
            CheckResult::Failed => "failed",
            CheckResult::Unmeasured => "not measured",
        }
    }

    /// A side without a valid trial weighs most. A load that the new side cannot serve has no figure, and fails. A percentile of too few
    /// operations proves nothing, so nothing passes by it.
    fn from_verdict(verdict: Verdict, basis: &Basis) -> CheckResult {
        match verdict {
            _ if basis.unmeasured.is_some() => CheckResult::Unmeasured,
            Verdict::Reproduced if basis.uncertain.is_some() => CheckResult::Undecided,
            Verdict::Reproduced => CheckResult::Passed,
            Verdict::NotReproduced => CheckResult::Failed,
            Verdict::NotAvailable if basis.overloaded.is_some() => CheckResult::Failed,
            Verdict::Inconclusive | Verdict::NotAvailable => CheckResult::Undecided,
        }
    }
}

impl Gate {
    /// The claims; without claims, the servers against the first one, by the tolerance of the document.
    pub fn of_run(document: &Document, allowed: &Allowed) -> Gate {
        let question = &document.run.question;
        let claims = &document.claims;
        let contrasts = &document.contrasts;
        let least = allowed.least_named();
        let failing = failures::of_claims(document.run, claims, least)
            .into_iter()
            .chain(failures::of_contrasts(question, contrasts, least));
        Gate {
            subject: document.run.id.clone(),
            prony: document.run.environment.prony_version.clone(),
            checks: (claims.iter().map(of_claim))
                .chain(tested(question, contrasts, allowed))
                .chain(failing.map(|one| of_failing(one, allowed)))
                .chain((document.control.as_ref()).and_then(|one| of_control(one, allowed)))
                .chain(untested_servers(document))
                .collect(),
            invalid: document.faults.invalid.clone(),
            missing: document.faults.incomplete().into_iter().collect(),
            strictness: allowed.strictness,
        }
    }

    /// Every value that is compared, and every row that is not.
    pub fn of_comparison(comparison: &Comparison, allowed: &Allowed) -> Gate {
        let question = &comparison.runs[0].question;
        let contrasts = &comparison.contrasts;
        let left_out = comparison.left_out.iter().map(|row| Check {
            name: format!("run {} {}", row.run, row.row).trim().to_string(),
            result: CheckResult::Undecided,
            text: row.why.clone(),
        });
        let runs: Vec<&str> = comparison.runs.iter().map(|run| run.id.as_str()).collect();
        let least = allowed.least_named();
        let failing = failures::of_contrasts(question, contrasts, least).into_iter();
        let faults = |of: fn(&Faults) -> Vec<String>| {
            let numbered = comparison.faults.iter().enumerate();
            let one = |(place, faults): (usize, &Faults)| {
                let texts = of(faults).into_iter();
                texts.map(move |text| format!("run {}: {text}", place + 1))
            };
            numbered.flat_map(one).collect()
        };
        Gate {
            subject: runs.join(" "),
            prony: comparison.prony(),
            checks: tested(question, contrasts, allowed)
                .into_iter()
                .chain(failing.map(|one| of_failing(one, allowed)))
                .chain(
                    failures::other(question, contrasts)
                        .into_iter()
                        .map(of_other),
                )
                .chain((comparison.controls.iter()).filter_map(|one| of_control(one, allowed)))
                .chain(confounded(comparison))
                .chain(left_out)
                .chain(untested_runs(comparison))
                .collect(),
            invalid: faults(|faults| faults.invalid.clone()),
            missing: faults(|faults| faults.incomplete().into_iter().collect()),
            strictness: allowed.strictness,
        }
    }

    pub fn outcome(&self) -> Outcome {
        let is_unmeasured = |check: &Check| check.result == CheckResult::Unmeasured;
        let is_whole = self.invalid.is_empty() && self.missing.is_empty();
        match self.checks.iter().any(is_unmeasured) || !is_whole {
            true => Outcome::Unmeasured,
            false if self.checks.iter().any(|check| self.fails(check)) => Outcome::Failed,
            false => Outcome::Passed,
        }
    }

    /// Whether the check alone keeps the gate from passing.
    pub fn fails(&self, check: &Check) -> bool {
        let strictly = self.strictness == Strictness::Strict;
        match check.result {
            CheckResult::Failed | CheckResult::Unmeasured => true,
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

    /// `gate failed: 3 checks, 1 failed, 1 undecided`
    pub fn headline(&self) -> String {
        let counted = [
            CheckResult::Failed,
            CheckResult::Unmeasured,
            CheckResult::Undecided,
        ];
        let counted = counted.map(|result| {
            let count = self.count(result);
            (count > 0).then(|| format!("{count} {}", result.text()))
        });
        let named = |all: &[String], noun: &str, word: &str| {
            let count = format::plural(all.len(), noun);
            (!all.is_empty()).then(|| format!("{count} {word}"))
        };
        let trials = named(&self.invalid, "trial", "failed or invalid");
        let runs = named(&self.missing, "run", "incomplete");
        let parts: Vec<String> = [format::plural(self.checks.len(), "check")]
            .into_iter()
            .chain(counted.into_iter().flatten())
            .chain(trials)
            .chain(runs)
            .collect();
        format!("{}: {}", self.outcome().text(), parts.join(", "))
    }
}

fn tested(question: &Question, contrasts: &[Contrast], allowed: &Allowed) -> Vec<Check> {
    let tested = contrasts.iter().filter(|contrast| contrast.subject.decides);
    let check = |contrast: &Contrast| Check {
        name: format!(
            "{} against {}, {}",
            contrast.new,
            contrast.old,
            contrasts::cell_name(question, contrast)
        ),
        result: match CheckResult::from_verdict(contrast.judged.verdict, &contrast.basis) {
            // A sum without a query says nothing of that query.
            CheckResult::Passed | CheckResult::Undecided
                if !contrast.subject.without.is_empty() =>
            {
                CheckResult::Unmeasured
            }
            other => other,
        },
        text: format!(
            "{} (at most {} slower is allowed)",
            contrasts::sentence(contrast),
            limit(allowed.tolerance)
        ),
    };
    tested.map(check).collect()
}

/// None where claims are tested instead.
fn untested_servers(document: &Document) -> Vec<Check> {
    match document.claims.is_empty() {
        true => untested(&document.run.question.servers, &document.contrasts),
        false => Vec::new(),
    }
}

fn untested_runs(comparison: &Comparison) -> Vec<Check> {
    let runs = 1..=comparison.runs.len();
    let names: Vec<String> = runs.map(|run| format!("run {run}")).collect();
    untested(&names, &comparison.contrasts)
}

/// The further sides that have no value in common with the first one: a gate that compared nothing of them must not pass.
fn untested(sides: &[String], contrasts: &[Contrast]) -> Vec<Check> {
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    let is_tested = |side: &str| {
        let mut tested = contrasts.iter().filter(|contrast| contrast.subject.decides);
        tested.any(|contrast| contrast.new == side)
    };
    let check = |side: &String| Check {
        name: format!("{side} against {first}"),
        result: CheckResult::Unmeasured,
        text: format!("nothing of {side} was compared: it has no row in common with {first}"),
    };
    let untested = others.iter().filter(|side| !is_tested(side));
    untested.map(check).collect()
}

fn of_claim(claim: &Claim) -> Check {
    let judged = &claim.judged;
    let measured = judged.measured.map(|_| claims::measured(judged));
    let interval = judged.ci.map(|_| claims::interval(judged));
    let parts = [
        measured.map(|measured| format!("measured {measured}")),
        interval.map(|interval| format!("95 % CI {interval}")),
        Some(format!("threshold {}", judged.threshold)),
        judged.reason.clone().or(claim.basis.unmeasured.clone()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Check {
        name: judged.claim.says.clone(),
        result: CheckResult::from_verdict(judged.verdict, &claim.basis),
        text: format!("{}: {}", judged.words(), parts.join("; ")),
    }
}

/// A control that differs from itself, by more than is allowed of new, casts doubt on every comparison of its run. A good one needs no
/// check.
fn of_control(control: &Control, allowed: &Allowed) -> Option<Check> {
    Some(Check {
        name: "A/A control".to_string(),
        result: CheckResult::Undecided,
        text: noise::bad(control, stats::MARGIN.min(allowed.tolerance))?,
    })
}

/// Of servers on other machines a slowdown may be that of the machine, of figures by other rules that of the rules, and of other statements
/// that of the statements.
fn confounded(comparison: &Comparison) -> Vec<Check> {
    let check = |one: Confounded| Check {
        name: format!("run {} against run 1, same {}", one.run, one.same),
        result: CheckResult::Undecided,
        text: one.sentence,
    };
    let confounded = differences::confounding(&comparison.differences);
    confounded.into_iter().map(check).collect()
}

/// On other data a build cannot be judged; on the same data another answer is a fault.
fn of_other(other: Other) -> Check {
    let (what, result) = match other.of {
        OtherOf::Data => ("same data", CheckResult::Undecided),
        OtherOf::Answers => ("same answers", CheckResult::Failed),
    };
    Check {
        name: format!("{}, {what}", other.sides),
        result,
        text: other.sentence,
    }
}

/// Operations that failed or changed nothing are not throughput, so both sides must have equal shares of them. Those without effect count as
/// done, so a difference above the tolerance passes nothing. Other rows may follow from the speed itself. No transaction may be lost on one
/// side alone. What clients limit says little of the servers.
fn of_failing(failing: Failing, allowed: &Allowed) -> Check {
    let (what, most) = match failing.of {
        FailingOf::Losses => ("lost transactions", 0.0),
        FailingOf::Failures => ("failed operations", allowed.failures),
        FailingOf::Dropped => ("dropped arrivals", allowed.failures),
        FailingOf::Work(_) => ("same work", allowed.failures),
        FailingOf::Tables => ("same data", 0.0),
        FailingOf::Clients => ("clients as the limit", 0.0),
        FailingOf::OneSided => ("same conditions", 0.0),
        FailingOf::Hidden => ("conditions of both sides", 0.0),
    };
    let passes = match failing.of {
        FailingOf::Work(_) => most.min(allowed.tolerance),
        _ => most,
    };
    let result = match failing.difference {
        None => CheckResult::Undecided,
        Some(difference) if difference <= passes => CheckResult::Passed,
        Some(difference) if difference <= most => CheckResult::Undecided,
        Some(_) if failing.is_chance && most > 0.0 => CheckResult::Undecided,
        Some(_) => CheckResult::Failed,
    };
    let most = match result {
        CheckResult::Failed => most,
        _ => passes,
    };
    Check {
        name: format!("{}, {what}", failing.sides),
        result,
        text: match failing.difference {
            None => failing.sentence,
            Some(_) => format!(
                "{} (a difference of at most {} is allowed)",
                failing.sentence,
                limit(most)
            ),
        },
    }
}

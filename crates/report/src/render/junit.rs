//! A gate as JUnit XML, which CI systems show.
//!
//! Purpose: a test case for each check. What is undecided is skipped, unless the gate is strict. Source of the format: the schema of
//! Apache Ant's JUnit task, <https://ant.apache.org/manual/Tasks/junit.html>.

use crate::gate::{Check, CheckResult, Gate};

pub fn junit(gate: &Gate) -> String {
    let checks = gate
        .checks
        .iter()
        .map(|check| (Shown::from_check(gate, check), check));
    let faults = || gate.missing.iter().chain(&gate.invalid);
    let count = |shown| checks.clone().filter(|(found, _)| *found == shown).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        gate.checks.len() + faults().count(),
        count(Shown::Failure),
        count(Shown::Error) + faults().count(),
        count(Shown::Skipped)
    );
    let subject = escaped(&gate.subject);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"prony\" {counts}>\n  <testsuite name=\"{subject}\" {counts}>\n    \
         <properties><property name=\"prony\" value=\"{}\"/></properties>\n",
        escaped(&gate.prony)
    );
    for (shown, check) in checks.clone() {
        text.push_str(&case(&subject, &check.name, shown, &check.text));
    }
    let missing = gate.missing.iter().map(|why| ("the run is complete", why));
    let invalid = gate.invalid.iter().map(|why| ("every trial is valid", why));
    for (name, why) in missing.chain(invalid) {
        text.push_str(&case(&subject, name, Shown::Error, why));
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// The element of a test case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Output,
    Skipped,
    Failure,
    Error,
}

impl Shown {
    fn from_check(gate: &Gate, check: &Check) -> Shown {
        match (gate.fails(check), check.result) {
            (_, CheckResult::Unmeasured) => Shown::Error,
            (true, _) => Shown::Failure,
            (false, CheckResult::Undecided) => Shown::Skipped,
            (false, _) => Shown::Output,
        }
    }
}

fn case(subject: &str, name: &str, shown: Shown, text: &str) -> String {
    let (name, text) = (escaped(name), escaped(text));
    let inner = match shown {
        Shown::Output => format!("<system-out>{text}</system-out>"),
        Shown::Skipped => format!("<skipped message=\"{text}\"/>"),
        Shown::Failure => format!("<failure message=\"{text}\"/>"),
        Shown::Error => format!("<error message=\"{text}\"/>"),
    };
    format!("    <testcase classname=\"{subject}\" name=\"{name}\">{inner}</testcase>\n")
}

/// Text for an attribute or an element. XML 1.0 has no control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

//! The subject of a claim: a value to compare, or a finding.
//!
//! Purpose: their names, and which of them exist for rounds or for a timed load. Boundaries: `stats` computes them.

use crate::file::mistake::nearest;
use crate::file::read::{Node, Section};
use crate::load::LoadSpec;
use crate::sections::names::Names;
use record::claim::Measured;
use record::names::SYSTEM_COUNTERS;
use record::{Finding, LatencyKind, Percentile, Value};

const EXAMPLE: &str = "value = \"elapsed\", \"throughput\" or \"variation\", a percentile like \"p99\" or \"service p99\", a counter like \"Innodb_buffer_pool_reads\", \"read_age_ms\", a recovery time like \"recovered_s\", a figure of the audit like \"lost\", or \"A / B\"";

/// Values that are not counters, so that a misspelled one is not taken for a counter.
fn words() -> Vec<&'static str> {
    let plain = Value::NAMED.map(|(name, _)| name);
    let percentiles = Percentile::ALL.map(Percentile::text);
    [&plain[..], &percentiles, &["wait p99", "service p99"]].concat()
}

/// Other tools' names for them, which no counter has.
const SYNONYMS: [(&str, &str); 11] = [
    ("qps", "throughput"),
    ("tps", "throughput"),
    ("ops", "throughput"),
    ("rate", "throughput"),
    ("latency", "p99"),
    ("time", "elapsed"),
    ("duration", "elapsed"),
    ("avg", "p50"),
    ("median", "p50"),
    ("jitter", "variation"),
    ("stability", "variation"),
];
pub(super) fn value(node: &Node, names: &Names) -> Option<Value> {
    let text = node.words(EXAMPLE)?;
    let Some(value) = named(&text) else {
        let near = synonym(&text).or_else(|| nearest(&text, &words()));
        let near = near.map_or(String::new(), |near| format!("did you mean \"{near}\"? "));
        node.note(
            format!("\"{text}\" is not a value that a claim can compare"),
            "not a value",
            format!("{near}Write {EXAMPLE}"),
        );
        return None;
    };
    check_kind(node, &text, &value, names);
    Some(value)
}

fn named(text: &str) -> Option<Value> {
    let parts: Vec<&str> = text.split('/').map(str::trim).collect();
    match parts.as_slice() {
        [one] => Value::named(one)
            .or_else(|| is_only_a_counter(one).then(|| Value::Counter(one.to_string()))),
        // A counter over itself is 1 in every trial.
        [over, under] if over != under && is_only_a_counter(over) && is_only_a_counter(under) => {
            Some(Value::Quotient(over.to_string(), under.to_string()))
        }
        _ => None,
    }
}

/// Whether the name is that of a counter, and neither of another value nor similar to one.
fn is_only_a_counter(name: &str) -> bool {
    let is_other = Value::named(name).is_some() || nearest(name, &words()).is_some();
    is_counter(name) && synonym(name).is_none() && !is_other
}

/// prony's word for another tool's.
fn synonym(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let mut known = SYNONYMS.iter();
    known
        .find(|(other, _)| *other == text)
        .map(|(_, ours)| *ours)
}

/// Rounds have elapsed times, timed loads have throughput and latencies; both have counters.
fn check_kind(node: &Node, text: &str, value: &Value, names: &Names) {
    let is_closed = matches!(names.load, LoadSpec::Closed { .. });
    let is_wait = matches!(
        value,
        Value::Latency {
            kind: LatencyKind::Wait,
            ..
        }
    );
    let (says, help) = match (value.measured(), names.is_timed) {
        (Measured::InRounds, true) => (
            "the duration of a timed load is fixed by the protocol",
            "write \"throughput\" or a percentile like \"p99\"",
        ),
        (Measured::InOutages, false) => (
            "rounds of queries have no outages",
            "write \"elapsed\", or set time in [protocol] and add an [[event]] with kill = {}",
        ),
        (Measured::InAudits, false) => (
            "rounds of queries have no audit",
            "write \"elapsed\", or set time in [protocol] and choose a workload with an audit (tpcc)",
        ),
        (Measured::InLoads, false) => (
            "rounds of queries have elapsed times, but no throughput or percentiles",
            "write \"elapsed\", or set time in [protocol]",
        ),
        (Measured::InLoads, true) if is_wait && is_closed => (
            "operations do not queue in a closed load: each client waits for its reply",
            "write \"p99\", or measure an open load",
        ),
        (Measured::InRounds, false)
        | (Measured::InLoads | Measured::InOutages | Measured::InAudits, true)
        | (Measured::Always, _) => return,
    };
    node.note(
        format!("value = \"{text}\": {says}"),
        "not in this file",
        help,
    );
}

/// Whether the name is that of a counter: a single word from the server, or one of prony's own.
fn is_counter(name: &str) -> bool {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    is_word || SYSTEM_COUNTERS.contains(&name)
}

/// Reads a finding. `section` is the claim, which may contain the text to search for in a plan.
pub(super) fn finding(section: &Section, finds: &Node, names: &Names) -> Option<Finding> {
    let text = finds.text("finds = \"plan changed\"")?;
    let mut named = Finding::NAMED.into_iter();
    let finding = if text == Finding::PLAN_HOLDS {
        let example = "text = \"Using join buffer\"";
        let text = section.require("[[claim]]", "text", example)?;
        Finding::PlanHolds(text.words(example)?)
    } else if let Some((_, finding)) = named.find(|(name, _)| *name == text) {
        finding
    } else {
        let known = Finding::NAMED.map(|(name, _)| name);
        let known = [&known[..], &[Finding::PLAN_HOLDS]].concat();
        finds.notes.unknown(finds.at(), "the finding", text, &known);
        return None;
    };
    let is_closed = matches!(names.load, LoadSpec::Closed { .. });
    let (says, help) = match (&finding, names.is_timed) {
        (Finding::PlanChanged | Finding::PlanHolds(_), true) => (
            "a timed load records no plans",
            "write a finding in the per-second series, such as \"stall\"",
        ),
        (Finding::Unstable, true) if is_closed => {
            ("a closed load has no queue", "measure an open load")
        }
        (Finding::PlanChanged | Finding::PlanHolds(_), false) | (_, true) => return Some(finding),
        (_, false) => (
            "rounds of queries have no per-second series",
            "write \"plan changed\" or \"plan holds\", or set time in [protocol]",
        ),
    };
    finds.note(
        format!("finds = \"{text}\": {says}"),
        "not in this file",
        help,
    );
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_tools_name_is_not_taken_for_a_counter() {
        for (other, ours) in SYNONYMS {
            assert_eq!(named(other), None, "{other}");
            assert_eq!(synonym(&other.to_uppercase()), Some(ours));
            assert!(words().contains(&ours));
        }
        let counter = Value::Counter("Questions".into());
        assert_eq!(named("Questions"), Some(counter));
    }

    #[test]
    fn a_quotient_is_of_two_counters() {
        let reads = "Innodb_buffer_pool_reads";
        let misses = named(&format!("{reads} / Questions"));
        assert_eq!(
            misses,
            Some(Value::Quotient(reads.into(), "Questions".into()))
        );
        for wrong in [
            "Questions / Questions",
            "p99 / p50",
            "Questions / throughput",
            "recovered_s / Questions",
            "qps / Questions",
        ] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }
}

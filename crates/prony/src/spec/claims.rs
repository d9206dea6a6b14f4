//! `[[claim]]`: a ratio between two cells, a spread among cells, or a finding.
//!
//! Goal: the three forms, with their thresholds. Non-goal: judging them (see `record::stats`).

use super::experiment::RoundKind;
use super::mistake::nearest;
use super::names::Names;
use super::read::{Node, Section};
use super::sections::tables;
use record::{Bound, Cell, Claim, Finding, RoundSelector, Subject, Value};

const KEYS: [&str; 11] = [
    "says",
    "value",
    "of",
    "to",
    "among",
    "at_least",
    "at_most",
    "within",
    "published",
    "finds",
    "text",
];
/// Findings in a time series.
const LATER_FINDINGS: [&str; 6] = [
    "steady",
    "unstable",
    "stall",
    "level shift",
    "period",
    "periodic drops",
];
/// Values of the design that this version does not measure.
const LATER_VALUES: [&str; 6] = [
    "throughput",
    "latency",
    "response",
    "wait",
    "service",
    "recovery",
];
const LOAD_ENGINE: &str = "the load engine, which records a time series";
const EXAMPLE_CELL: &str = "of = { server = \"5.6\", round = \"hot\" }";

pub fn claims(file: &Section, names: &Names) -> Vec<Claim> {
    tables(file, "claim")
        .iter()
        .filter_map(|section| claim(section, names))
        .collect()
}

fn claim(section: &Section, names: &Names) -> Option<Claim> {
    section.allow("[[claim]]", &KEYS);
    let says = section
        .require("[[claim]]", "says", "says = \"hot is faster than cold\"")
        .and_then(|node| node.words("says = \"...\""));
    let published = section
        .get("published")
        .and_then(|node| node.positive("published = 1.8"));
    let subject = match (section.get("finds"), section.get("among")) {
        (Some(finds), _) => finding(section, &finds, names),
        (None, Some(among)) => spread(section, &among, names),
        (None, None) => ratio(section, published, names),
    };
    Some(Claim {
        says: says?,
        subject: subject?,
        published,
    })
}

/// Keys that belong to another form of a claim.
fn refuse(section: &Section, keys: &[&str], form: &str) {
    for node in keys.iter().filter_map(|key| section.get(key)) {
        node.note(
            format!("\"{}\" does not belong to a claim with {form}", node.key),
            "does not belong here",
            "take it out",
        );
    }
}

fn ratio(section: &Section, published: Option<f64>, names: &Names) -> Option<Subject> {
    refuse(section, &["text"], "of and to");
    let value = section
        .require("[[claim]]", "value", "value = \"elapsed\"")
        .and_then(|node| value(&node));
    let noted = section.notes.count();
    let of = section
        .require("[[claim]]", "of", EXAMPLE_CELL)
        .and_then(|node| cell(&node, names));
    let to = section
        .require(
            "[[claim]]",
            "to",
            "to = { server = \"5.5\", round = \"hot\" }",
        )
        .and_then(|node| cell(&node, names));
    let bound = bound(section, published);
    if let (true, Some(node)) = (
        of == to && section.notes.count() == noted,
        section.get("to"),
    ) {
        let says = "\"of\" and \"to\" are the same cell: their ratio is always 1";
        node.note(says, "the same as \"of\"", "name another cell");
    }
    Some(Subject::Ratio {
        value: value?,
        of: of?,
        to: to?,
        bound: bound?,
    })
}

/// Without a threshold it is half the way to the published ratio, on a log scale: its square root.
fn bound(section: &Section, published: Option<f64>) -> Option<Bound> {
    let given: Vec<Node> = ["at_least", "at_most", "within"]
        .iter()
        .filter_map(|key| section.get(key))
        .collect();
    if let [_, second, ..] = given.as_slice() {
        second.note(
            "a claim has one threshold",
            "a second one",
            "keep one of at_least, at_most and within",
        );
        return None;
    }
    match (given.first(), published) {
        (Some(node), _) => {
            let number = node.positive(&format!("{} = 1.34", node.key))?;
            match node.key {
                "at_least" => Some(Bound::AtLeast(number)),
                "at_most" => Some(Bound::AtMost(number)),
                _ => Some(Bound::Within(number)),
            }
        }
        (None, Some(ratio)) if ratio > 1.0 => Some(Bound::AtLeast(ratio.sqrt())),
        (None, Some(ratio)) if ratio < 1.0 => Some(Bound::AtMost(ratio.sqrt())),
        (None, Some(_)) => {
            section.get("published")?.note(
                "published = 1 gives no threshold",
                "no direction",
                "write within = 0.05 beside it",
            );
            None
        }
        // A published figure that is wrong was noted already.
        (None, None) if section.get("published").is_some() => None,
        (None, None) => section
            .require(
                "[[claim]]",
                "at_least",
                "at_least = 1.2, at_most = 0.8 or within = 0.05, or give the published ratio",
            )
            .and(None),
    }
}

fn spread(section: &Section, among: &Node, names: &Names) -> Option<Subject> {
    refuse(
        section,
        &["of", "to", "at_least", "at_most", "text"],
        "among",
    );
    let value = section
        .require("[[claim]]", "value", "value = \"elapsed\"")
        .and_then(|node| value(&node));
    let among = cell(among, names);
    let example = "within = 0.04 (the largest is at most 4 % above the smallest)";
    let within = section
        .require("[[claim]]", "within", example)
        .and_then(|node| node.positive("within = 0.04"));
    Some(Subject::Spread {
        value: value?,
        among: among?,
        within: within?,
    })
}

fn finding(section: &Section, finds: &Node, names: &Names) -> Option<Subject> {
    refuse(
        section,
        &[
            "value",
            "to",
            "among",
            "at_least",
            "at_most",
            "within",
            "published",
        ],
        "finds",
    );
    let of = section
        .require("[[claim]]", "of", EXAMPLE_CELL)
        .and_then(|node| cell(&node, names));
    let finding = match finds.text("finds = \"plan changed\"")? {
        "plan changed" => {
            refuse(section, &["text"], "finds = \"plan changed\"");
            Finding::PlanChanged
        }
        "plan holds" => {
            let example = "text = \"Using join buffer\"";
            Finding::PlanHolds(
                section
                    .require("[[claim]]", "text", example)?
                    .words(example)?,
            )
        }
        later if LATER_FINDINGS.contains(&later) => {
            finds
                .notes
                .not_built(finds.at(), &format!("finds = \"{later}\""), LOAD_ENGINE);
            return None;
        }
        other => {
            finds.notes.unknown(
                finds.at(),
                "the finding",
                other,
                &["plan changed", "plan holds"],
            );
            return None;
        }
    };
    Some(Subject::Finds { finding, of: of? })
}

/// `elapsed`, a counter, or one counter over another.
fn value(node: &Node) -> Option<Value> {
    let example = "value = \"elapsed\", a counter like \"Innodb_buffer_pool_reads\", or \"A / B\"";
    let text = node.words(example)?;
    if let Some(later) = LATER_VALUES.iter().find(|later| text.starts_with(*later)) {
        node.notes
            .not_built(node.at(), &format!("value = \"{later}\""), LOAD_ENGINE);
        return None;
    }
    let parts: Vec<&str> = text.split('/').map(str::trim).collect();
    match parts.as_slice() {
        ["elapsed"] => Some(Value::Elapsed),
        [counter] if is_counter(counter) && nearest(counter, &["elapsed"]).is_none() => {
            Some(Value::Counter(counter.to_string()))
        }
        [over, under] if is_counter(over) && is_counter(under) => {
            Some(Value::Quotient(over.to_string(), under.to_string()))
        }
        _ => {
            let near = nearest(&text, &["elapsed"])
                .map_or(String::new(), |near| format!("did you mean \"{near}\"? "));
            node.note(
                format!("\"{text}\" is no value that a claim can be about"),
                "not a value",
                format!("{near}Write {example}"),
            );
            None
        }
    }
}

fn is_counter(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
}

/// Which part of the matrix is meant.
fn cell(node: &Node, names: &Names) -> Option<Cell> {
    let section = node.section(&format!(
        "{} = {{ server = \"5.6\", round = \"hot\" }}",
        node.key
    ))?;
    let mut cell = Cell::default();
    for node in section.entries() {
        match node.key {
            "round" => cell.round = round(&node, names),
            "query" => cell.query = node.words("query = \"Q1.1\""),
            factor => cell.levels.push((
                factor.to_string(),
                names.check_levels(&node, &["round", "query"], "the claim"),
            )),
        }
    }
    check_not_empty(node, &cell, names);
    Some(cell)
}

/// Two levels that `only` keeps apart select nothing together.
fn check_not_empty(node: &Node, cell: &Cell, names: &Names) {
    for (factor, levels) in cell.levels.iter().filter(|(_, levels)| !levels.is_empty()) {
        for (other, others) in cell
            .levels
            .iter()
            .filter(|(other, others)| other != factor && !others.is_empty())
        {
            if !levels
                .iter()
                .any(|level| names.meet((factor, level), (other, others)))
            {
                let says = format!(
                    "no trial is in this cell: \"{}\" is not measured with {other} \"{}\"",
                    levels.join("\", \""),
                    others.join("\", \"")
                );
                node.note(says, "an empty cell", "see the level's \"only\"");
                return;
            }
        }
    }
}

/// `"hot"` or `"hot 2"`, as far as the protocol has it.
fn round(node: &Node, names: &Names) -> Option<RoundSelector> {
    let text = node.words("round = \"hot\"")?;
    let (name, index) = match text.split_once(' ') {
        None => (text.as_str(), None),
        Some((name, index)) => (name, Some(index.trim())),
    };
    let kind_name = |kind: &RoundKind| match kind {
        RoundKind::Cold => "cold",
        RoundKind::Hot => "hot",
    };
    let count = names
        .rounds
        .iter()
        .filter(|kind| kind_name(kind) == name)
        .count() as u32;
    if count == 0 {
        let mut known: Vec<&str> = names.rounds.iter().map(kind_name).collect();
        known.dedup();
        node.notes.unknown(node.at(), "the round", name, &known);
        return None;
    }
    let Some(index) = index else {
        return Some(RoundSelector {
            name: name.to_string(),
            index: None,
        });
    };
    match index
        .parse::<u32>()
        .ok()
        .filter(|index| (1..=count).contains(index))
    {
        Some(index) => Some(RoundSelector {
            name: name.to_string(),
            index: Some(index),
        }),
        None => {
            let says = format!(
                "there is no round \"{text}\": the protocol has {count} that {} {name}",
                if count == 1 { "is" } else { "are" }
            );
            node.note(
                says,
                "no such round",
                format!("write \"{name}\" for the mean of all, or \"{name} {count}\" for the last"),
            );
            None
        }
    }
}

//! `[observe]` and the changes of levels: plans, profiles, and checks of plans.
//!
//! Purpose: read the keys wherever they occur. Boundaries: `check::queries` checks the names of queries, `run::measure::rounds::plans` checks plans.

use crate::experiment::{Expected, Observe, ObservePatch, PlanCheck, Plans};
use crate::file::lists::names;
use crate::file::mistake::suggestion;
use crate::file::read::{Node, Section};
use std::time::Duration;
use toml::de::DeValue;

const KEYS: [&str; 3] = ["plans", "profile", "check_plan"];

const CHECK_EXAMPLE: &str =
    "check_plan = \"Using MRR\", or check_plan = { Q10 = { lacks = \"Using MRR\" } }";

/// Reads `[observe]`. By default plans are recorded and no query is profiled.
pub(crate) fn observe(file: &Section) -> Observe {
    let section = file.read("observe", |node| node.section("[observe]"));
    if let Some(section) = &section {
        section.allow("[observe]", &[&["interval"][..], &KEYS].concat());
        interval(section);
    }
    let patch = section.as_ref().map(keys).unwrap_or_default();
    Observe::default().patched(&patch)
}

/// `observe = { check_plan = "Using MRR" }` of a level.
pub(crate) fn level(node: &Node) -> Option<ObservePatch> {
    let section = node.section("observe = { check_plan = \"Using MRR\" }")?;
    for node in section.entries().filter(|node| !KEYS.contains(&node.key)) {
        match node.key {
            "interval" => node.note(
                "the interval cannot differ between trials",
                "not allowed in a level",
                "write it in [observe]",
            ),
            _ => section.unknown_key("observe", &node, &KEYS),
        }
    }
    Some(keys(&section))
}

fn interval(section: &Section) {
    let Some(node) = section.get("interval") else {
        return;
    };
    let every = node.duration("interval = \"1s\"");
    if every.is_some_and(|every| every != Duration::from_secs(1)) {
        let what = "an interval other than \"1s\"";
        node.notes.not_built(node.at(), what, "long-duration tests");
    }
}

fn keys(section: &Section) -> ObservePatch {
    ObservePatch {
        plans: section.read("plans", plans),
        profile: section.read("profile", |node| Some(names(node, "profile = [\"Q1.1\"]"))),
        checks: (section.get("check_plan")).map_or(Vec::new(), |node| checks(&node)),
    }
}

fn plans(node: &Node) -> Option<Plans> {
    match node.value {
        DeValue::String(word) if word == "analyze" => Some(Plans::Analyze),
        DeValue::String(word) => {
            node.note(
                format!("plans = \"{word}\" is not known"),
                "not known",
                suggestion(word, &["true", "false", "analyze"]),
            );
            None
        }
        _ => match node.truth("plans = true, or plans = \"analyze\"")? {
            true => Some(Plans::Explain),
            false => Some(Plans::Off),
        },
    }
}

/// Reads checks for all queries, or a table of checks by query.
fn checks(node: &Node) -> Vec<PlanCheck> {
    let is_expectation = |node: &Node| matches!(node.key, "holds" | "lacks");
    let table = node.section_if_table();
    let Some(queries) = table.filter(|table| !table.entries().any(|node| is_expectation(&node)))
    else {
        return of_query(None, node);
    };
    note_if_empty(&queries, node);
    let entries = queries.entries();
    entries
        .flat_map(|node| of_query(Some(node.key), &node))
        .collect()
}

/// None: all queries.
fn of_query(query: Option<&str>, node: &Node) -> Vec<PlanCheck> {
    let check = |expected| PlanCheck {
        query: query.map(str::to_string),
        expected,
    };
    expected(node).into_iter().map(check).collect()
}

fn note_if_empty(section: &Section, node: &Node) {
    if section.entries().next().is_none() {
        let says = format!("\"{}\" is empty", node.key);
        node.note(says, "empty", format!("write {CHECK_EXAMPLE}"));
    }
}

/// Reads one string, several, or `{ holds = ..., lacks = ... }` with such values.
fn expected(node: &Node) -> Vec<Expected> {
    let Some(section) = node.section_if_table() else {
        return texts(node).into_iter().map(Expected::Holds).collect();
    };
    section.allow("check_plan", &["holds", "lacks"]);
    let of = |key: &str, kind: fn(String) -> Expected| {
        let texts = section.get(key).map(|node| texts(&node));
        texts.unwrap_or_default().into_iter().map(kind)
    };
    note_if_empty(&section, node);
    of("holds", Expected::Holds)
        .chain(of("lacks", Expected::Lacks))
        .collect()
}

/// Reads strings. Empty ones are rejected, since every plan contains them.
fn texts(node: &Node) -> Vec<String> {
    let one = |node: Node| {
        let text = node.text(CHECK_EXAMPLE)?;
        if text.trim().is_empty() {
            node.note(
                "every plan contains the empty string",
                "empty",
                format!("write {CHECK_EXAMPLE}"),
            );
        }
        Some(text.to_string())
    };
    node.one_or_more(CHECK_EXAMPLE)
        .into_iter()
        .filter_map(one)
        .collect()
}

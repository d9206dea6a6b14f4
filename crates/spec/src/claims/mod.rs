//! `[[claim]]`: a ratio between two cells, a spread among cells, or a finding.
//!
//! Purpose: the three forms and their thresholds; `value` and `cell` read what is compared, and `sides` checks the cells against the
//! matrix. Boundaries: `stats` judges them.

mod cell;
mod sides;
mod value;

pub(crate) use sides::unfit;

use crate::file::lists::tables;
use crate::file::read::{Node, Section};
use crate::sections::names::Names;
use crate::text::unit;
use record::{Bound, Cell, Claim, Finding, Subject, Value};

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
/// Published ratios and widths that differ by less are equal: the error of computing them.
const ROUNDING: f64 = 1e-9;
const EXAMPLE_CELL: &str = "of = { server = \"5.6\", round = \"hot\" }";

pub(crate) fn claims(file: &Section, names: &Names) -> Vec<Claim> {
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
    let published = section.read("published", |node| node.positive("published = 1.8"));
    let subject = match (section.get("finds"), section.get("among")) {
        (Some(finds), _) => finding(section, &finds, names),
        (None, Some(among)) => spread(section, published, &among, names),
        (None, None) => ratio(section, published, names),
    };
    Some(Claim {
        says: says?,
        subject: subject?,
        published,
    })
}

fn value_of(section: &Section, names: &Names) -> Option<Value> {
    let node = section.require("[[claim]]", "value", "value = \"elapsed\"")?;
    value::value(&node, names)
}

fn cell_of(section: &Section, key: &str, example: &str, names: &Names) -> Option<Cell> {
    let node = section.require("[[claim]]", key, example)?;
    cell::cell(&node, names)
}

/// Keys that belong to another form of a claim.
fn refuse(section: &Section, keys: &[&str], form: &str) {
    for node in keys.iter().filter_map(|key| section.get(key)) {
        node.note(
            format!("\"{}\" does not belong to a claim with {form}", node.key),
            "does not belong here",
            "remove it",
        );
    }
}

fn ratio(section: &Section, published: Option<f64>, names: &Names) -> Option<Subject> {
    refuse(section, &["text"], "of and to");
    let value = value_of(section, names);
    let of = cell_of(section, "of", EXAMPLE_CELL, names);
    let example = "to = { server = \"5.5\", round = \"hot\" }";
    let to = cell_of(section, "to", example, names);
    let bound = bound(section, published);
    Some(Subject::Ratio {
        value: value?,
        of: of?,
        to: to?,
        bound: bound?,
    })
}

/// Reads the threshold. The default is halfway to the published ratio on a log scale: its square root.
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
        (Some(node), _) if node.key == "within" => within(node, published).map(Bound::Within),
        (Some(node), _) => limit(node, published),
        (None, Some(ratio)) if ratio != 1.0 => Some(Bound::halfway(ratio)),
        (None, Some(_)) => {
            section.get("published")?.note(
                "published = 1 gives no threshold",
                "no direction",
                "write within = 0.05 beside it",
            );
            None
        }
        // An invalid published ratio was noted already.
        (None, None) if section.get("published").is_some() => None,
        (None, None) => section
            .require(
                "[[claim]]",
                "at_least",
                "at_least = 1.2, at_most = 0.8 or within = 0.05, or set published to the published ratio",
            )
            .and(None),
    }
}

/// Reads `at_least` or `at_most`, which the published ratio must meet.
fn limit(node: &Node, published: Option<f64>) -> Option<Bound> {
    let number = node.positive(&format!("{} = 1.34", node.key))?;
    let ratio = published.unwrap_or(number);
    let (bound, is_met) = match node.key {
        "at_least" => (Bound::AtLeast(number), ratio >= number),
        _ => (Bound::AtMost(number), ratio <= number),
    };
    if !is_met {
        node.note(
            "the published ratio does not meet this threshold",
            format!("{ratio} is published"),
            format!("exchange \"of\" and \"to\", or write a threshold that {ratio} meets"),
        );
    }
    Some(bound)
}

/// Reads `within`, in which the published ratio must lie.
fn within(node: &Node, published: Option<f64>) -> Option<f64> {
    let width = width(node)?;
    let most = (1.0 + width) * (1.0 + ROUNDING);
    if let Some(ratio) = published.filter(|ratio| ratio.max(1.0 / ratio) > most) {
        let says = "the published ratio does not meet this threshold";
        let help = format!("\"within\" is about 1: write a threshold that {ratio} meets");
        node.note(says, format!("{ratio} is published"), help);
    }
    Some(width)
}

/// Reads 0.04, or "4%". A number from 1 on is refused as a slip for percent.
fn width(node: &Node) -> Option<f64> {
    if let Some(text) = node.value.as_str() {
        let share = unit::share(text).ok().filter(|share| *share > 0.0);
        if share.is_none() {
            let says = format!("\"{text}\" is not a share above 0");
            node.note(says, "not a share", "write within = 0.04 or \"4%\"");
        }
        return share;
    }
    let number = node.positive("within = 0.04")?;
    if number < 1.0 {
        return Some(number);
    }
    let percent = unit::percent(number);
    node.note(
        format!("within = {number} is {percent} %"),
        "a share, not percent",
        format!(
            "write within = {} for {number} %, or \"{percent}%\" if that is meant",
            number / 100.0
        ),
    );
    None
}

fn spread(
    section: &Section,
    published: Option<f64>,
    among: &Node,
    names: &Names,
) -> Option<Subject> {
    refuse(
        section,
        &["of", "to", "at_least", "at_most", "text"],
        "among",
    );
    let value = value_of(section, names);
    let cell = cell::cell(among, names);
    let example = "within = 0.04 (the maximum is at most 4 % above the minimum)";
    let within = section
        .require("[[claim]]", "within", example)
        .and_then(|node| within(&node, published));
    Some(Subject::Spread {
        value: value?,
        among: cell?,
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
    let of = cell_of(section, "of", EXAMPLE_CELL, names);
    let finding = value::finding(section, finds, names);
    if !matches!(finding, Some(Finding::PlanHolds(_))) {
        refuse(
            section,
            &["text"],
            &format!("{} = \"plan changed\"", finds.key),
        );
    }
    Some(Subject::Finds {
        finding: finding?,
        of: of?,
    })
}

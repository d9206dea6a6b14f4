//! A list of names stands in one crate. Two lists that must agree will not.
//!
//! Tier: default.

use super::{crates, files, is_for_tests, only_exceptions, production};
use std::collections::{BTreeMap, BTreeSet};

/// A list of names: sorted, so that the order does not hide a copy.
type List = Vec<String>;

/// The variants of each enum of a file, by its name.
fn enums(code: &str) -> Vec<(String, List)> {
    let mut all = Vec::new();
    for (at, _) in code.match_indices("enum ") {
        let rest = &code[at + 5..];
        let name: String = rest
            .chars()
            .take_while(|sign| sign.is_alphanumeric())
            .collect();
        let (Some(open), Some(end)) = (rest.find('{'), rest.find("\n}")) else {
            continue;
        };
        let Some(body) = rest.get(open + 1..end) else {
            continue;
        };
        // rustfmt indents variants by four columns and their fields by eight.
        let variants = body.lines().filter_map(|line| {
            let line = line.strip_prefix("    ")?;
            let name: String = line
                .chars()
                .take_while(|sign| sign.is_alphanumeric())
                .collect();
            name.starts_with(|first: char| first.is_uppercase())
                .then_some(name)
        });
        all.push((name, variants.collect()));
    }
    all
}

/// The texts of each constant of a file, by its name.
fn constants(code: &str) -> Vec<(String, List)> {
    let constant = |(at, found): (usize, &str)| {
        let rest = &code[at + found.len()..];
        let (name, rest) = rest.split_once(": ")?;
        let (_, value) = rest[..rest.find(";\n")?].split_once(" =")?;
        let is_name = |sign: char| sign.is_uppercase() || sign.is_numeric() || sign == '_';
        let texts = value.split('"').skip(1).step_by(2).map(String::from);
        name.chars()
            .all(is_name)
            .then(|| (name.to_string(), texts.collect()))
    };
    code.match_indices("const ").filter_map(constant).collect()
}

#[test]
fn no_two_crates_have_a_constant_or_an_enum_with_the_same_items() {
    let mut lists: BTreeMap<List, BTreeSet<String>> = BTreeMap::new();
    for (name, src) in crates() {
        for file in files(&src, "rs") {
            if is_for_tests(&file) {
                continue;
            }
            let code = production(&file);
            for (own, mut list) in enums(&code).into_iter().chain(constants(&code)) {
                list.sort();
                if list.len() >= 3 {
                    let users = lists.entry(list).or_default();
                    users.insert(format!("{name}::{own}"));
                }
            }
        }
    }
    let crates_of = |users: &BTreeSet<String>| {
        let crates = users.iter().filter_map(|user| user.split("::").next());
        crates.collect::<BTreeSet<_>>().len()
    };
    let found = lists.into_values().filter(|users| crates_of(users) > 1);
    let found = found.map(|users| users.into_iter().collect::<Vec<_>>().join(" "));
    only_exceptions(found.collect(), &TWICE, "give these lists one home");
}

const SEAM: &str = "the engine knows no file and no record; the compiler compares the two where one becomes the other";

const TWICE: [(&str, &str); 5] = [
    ("load::Arrivals spec::ArrivalsSpec", SEAM),
    ("load::LatencyKind record::LatencyKind", SEAM),
    ("load::WhenFull spec::WhenFull", SEAM),
    ("prony::COLUMNS store::ADDED", "older than this test"),
    ("spec::ServerKey wire::ServerKey", SEAM),
];

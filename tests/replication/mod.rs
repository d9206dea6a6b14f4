//! docs/REPLICATION.md, and the numbers of it in README.md, say what the kept records say. The facts that no record holds are in
//! bench/replication.toml. `REPLICATION=write cargo test -p prony --test tests replication` writes the page.
//!
//! Tier: default.

mod answer;
mod page;

use crate::support::root;
use answer::{Answer, Kept};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/REPLICATION.md";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    /// The top of the page, with names of counts in braces.
    summary: String,
    reading: String,
    /// What README.md says, with names of counts in braces.
    readme: String,
    post: Vec<Post>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Post {
    /// As in `published = "P1"`.
    key: String,
    title: String,
    cited: String,
    setup: String,
    /// The folder in bench/results.
    page: String,
    experiments: Vec<String>,
    claim: Vec<Row>,
    #[serde(default)]
    question: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    says: String,
    #[serde(default)]
    published: String,
    why: String,
    /// Whether the record's claim denies the published one.
    #[serde(default)]
    opposite: bool,
    #[serde(default)]
    tests: Vec<Test>,
}

/// A name among the parts of the row, the record, and its claim in the words of its experiment.
#[derive(Deserialize)]
struct Test(String, String, String);

fn facts() -> Facts {
    let text = std::fs::read_to_string(root().join("bench/replication.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

fn kept(facts: &Facts) -> BTreeMap<&str, Kept> {
    let rows = (facts.post.iter()).flat_map(|post| post.claim.iter().chain(&post.question));
    let tests = rows.flat_map(|row| &row.tests);
    let names: BTreeSet<&str> = tests.map(|Test(_, record, _)| record.as_str()).collect();
    answer::read(names.into_iter().collect())
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_replication_page_and_the_readme_say_what_the_records_say() {
    let facts = facts();
    let kept = kept(&facts);
    let expected = page::page(&facts, &kept);
    let file = root().join(PAGE);
    if std::env::var_os("REPLICATION").is_some_and(|order| order == "write") {
        std::fs::write(&file, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap();
    for (line, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        let line = line + 1;
        assert_eq!(
            found, expected,
            "{PAGE}:{line} is not what the records say; write it with REPLICATION=write"
        );
    }
    assert_eq!(found, expected, "{PAGE} has other lines");
    let stated = words(&page::counted(&facts.readme, &facts, &kept));
    let readme = words(&std::fs::read_to_string(root().join("README.md")).unwrap());
    assert!(readme.contains(&stated), "README.md has to say: {stated}");
}

#[test]
fn each_replicated_post_has_its_key_and_its_experiments() {
    for (post, number) in facts().post.iter().zip(1..) {
        assert_eq!(post.key, format!("P{number}"));
        for name in &post.experiments {
            let file = root().join("experiments").join(name).with_extension("toml");
            assert!(file.exists(), "{name}");
        }
    }
}

#[test]
fn a_claim_of_several_parts_is_decided_only_if_each_part_is() {
    use Answer::{Direction, DoesNotHold, Holds, InPart, NotMeasured, Same, Undecided};
    let cases: [(&[Answer], Answer); 8] = [
        (&[], NotMeasured),
        (&[Holds, Holds], Holds),
        (&[Holds, Undecided], Undecided),
        (&[Undecided, NotMeasured], Undecided),
        (&[Holds, Direction], Direction),
        (&[Direction, DoesNotHold], InPart),
        (&[DoesNotHold, Same], DoesNotHold),
        (&[Same, Same], Same),
    ];
    for (parts, together) in cases {
        assert_eq!(Answer::together(parts), together, "{parts:?}");
    }
}

//! docs/REPLICATION.md, and the numbers of it in README.md, say what the kept records say. The facts that no record holds are in
//! bench/replication.toml. `REPLICATION=write cargo test -p prony --test tests replication` writes the page.
//!
//! Tier: default.

mod answer;
mod page;

use crate::support::{in_a_line, root};
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
    /// Whether the published claim is about some of the parts, so that one of them is enough.
    #[serde(default)]
    some: bool,
    #[serde(default)]
    tests: Vec<Test>,
    /// In place of `tests` once all of its records are kept.
    #[serde(default)]
    campaign: Vec<Test>,
}

impl Row {
    fn in_use(&self) -> &[Test] {
        let is_kept = |Test(_, record, _): &Test| answer::path(record).exists();
        let has_run = !self.campaign.is_empty() && self.campaign.iter().all(is_kept);
        if has_run { &self.campaign } else { &self.tests }
    }
}

/// A name among the parts of the row, the record, and its claim in the words of its experiment.
#[derive(Deserialize)]
struct Test(String, String, String);

fn facts() -> Facts {
    let text = std::fs::read_to_string(root().join("bench/replication.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

fn rows(facts: &Facts) -> impl Iterator<Item = &Row> {
    let posts = facts.post.iter();
    posts.flat_map(|post| post.claim.iter().chain(&post.question))
}

fn kept(facts: &Facts) -> BTreeMap<&str, Kept> {
    let tests = rows(facts).flat_map(Row::in_use);
    let names: BTreeSet<&str> = tests.map(|Test(_, record, _)| record.as_str()).collect();
    answer::read(names.into_iter().collect())
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
    let stated = in_a_line(&page::counted(&facts.readme, &facts, &kept));
    let readme = in_a_line(&std::fs::read_to_string(root().join("README.md")).unwrap());
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

/// The claims that the experiment of a name states.
fn stated(experiment: &str) -> BTreeSet<String> {
    let file = root().join("experiments").join(experiment);
    let text = std::fs::read_to_string(file.with_extension("toml")).unwrap();
    let read: toml::Table = toml::from_str(&text).unwrap();
    let claims = read["claim"].as_array().unwrap().iter();
    claims
        .map(|claim| claim["says"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn the_campaign_runs_an_experiment_for_each_claim_that_it_is_to_answer() {
    let list = std::fs::read_to_string(root().join("experiments/campaign.txt")).unwrap();
    let lines = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut runs: BTreeMap<&str, (BTreeSet<String>, bool)> = BTreeMap::new();
    for line in lines {
        let mut words = line.split_whitespace();
        let (name, experiment) = (words.next().unwrap(), words.next().unwrap());
        let before = runs.insert(name, (stated(experiment), false));
        assert!(before.is_none(), "{name} is in the list twice");
    }
    let facts = facts();
    for Test(_, record, says) in rows(&facts).flat_map(|row| &row.campaign) {
        let run = runs.get_mut(record.as_str());
        let (claims, answers) = run.unwrap_or_else(|| panic!("campaign.txt has no {record}"));
        assert!(claims.contains(says), "{record} has no claim {says:?}");
        *answers = true;
    }
    // What was run answers by `tests`, which older records do too.
    for Test(_, record, says) in rows(&facts).flat_map(|row| &row.tests) {
        if let Some((claims, answers)) = runs.get_mut(record.as_str()) {
            assert!(claims.contains(says), "{record} has no claim {says:?}");
            *answers = true;
        }
    }
    for (name, (_, answers)) in runs {
        assert!(answers, "{name} of campaign.txt answers nothing");
    }
}

#[test]
fn the_tests_of_the_campaign_count_as_soon_as_all_of_their_records_are_kept() {
    let in_use = |campaign: &str| -> Vec<String> {
        let row: Row = toml::from_str(&format!(
            "says = 'so'\nwhy = ''\ntests = [['', 'p7/workers', 'before']]\ncampaign = [{campaign}]"
        ))
        .unwrap();
        let says = row.in_use().iter().map(|Test(_, _, says)| says.clone());
        says.collect()
    };
    assert_eq!(in_use("['', 'p8/update-cached', 'now']"), ["now"]);
    let one_is_missing = "['', 'p8/update-cached', 'now'], ['', 'p8/none', 'now']";
    assert_eq!(in_use(one_is_missing), ["before"]);
    assert_eq!(in_use(""), ["before"]);
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

#[test]
fn a_claim_about_some_of_its_parts_holds_with_one_of_them_and_fails_with_all() {
    use Answer::{DoesNotHold, Holds, NotMeasured, Same, Undecided};
    let cases: [(&[Answer], Answer); 4] = [
        (&[], NotMeasured),
        (&[Undecided, Holds, DoesNotHold], Holds),
        (&[Undecided, DoesNotHold], Undecided),
        (&[Same, DoesNotHold], DoesNotHold),
    ];
    for (parts, of_some) in cases {
        assert_eq!(Answer::of_some(parts), of_some, "{parts:?}");
    }
}

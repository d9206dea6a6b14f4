//! `[observe]` of the file and of levels.

use super::parse;
use crate::plan::{PlannedTrial, expand};
use crate::{Expected, Plans};

const FILE: &str = r#"
title = "t"
[server."5.5"]
build = "mysql@5.5.34"
[server."5.6"]
build = "mysql@5.6.14"
[workload.ssb]
scale = 1
"#;

fn planned(added: &str) -> Vec<PlannedTrial> {
    expand(&parse(&format!("{FILE}{added}")), 1).unwrap()
}

/// The texts that plans of a server's trial must contain.
fn held(added: &str, server: &str) -> Vec<String> {
    let trials = planned(added);
    let trial = trials
        .iter()
        .find(|trial| trial.key.server_name() == server);
    let checks = trial.unwrap().observe.checks.iter();
    let texts = checks.map(|check| match &check.expected {
        Expected::Holds(text) | Expected::Lacks(text) => text.clone(),
    });
    texts.collect()
}

#[test]
fn the_checks_of_the_file_and_of_all_levels_are_combined() {
    let added = "[factor.mrr.on]\nobserve = { check_plan = \"MRR\" }\n[factor.icp.on]\nobserve = { check_plan = \"ICP\" }\n[observe]\ncheck_plan = \"join\"\n";
    assert_eq!(held(added, "5.6"), ["join", "MRR", "ICP"]);
}

#[test]
fn a_level_may_check_another_text_on_one_server() {
    let added = "[factor.mrr.on]\nobserve = { check_plan = \"Using MRR\" }\non.\"5.5\".observe = { check_plan = \"Rowid-ordered scan\" }\n";
    assert_eq!(held(added, "5.6"), ["Using MRR"]);
    assert_eq!(held(added, "5.5"), ["Rowid-ordered scan"]);
}

#[test]
fn plans_are_off_explained_or_analysed_and_a_check_switches_them_on() {
    let of = |added: &str| planned(added)[0].observe.plans;
    assert_eq!(of(""), Plans::Explain);
    assert_eq!(of("[observe]\nplans = false\n"), Plans::Off);
    assert_eq!(of("[observe]\nplans = \"analyze\"\n"), Plans::Analyze);
    assert_eq!(
        of("[observe]\nplans = false\ncheck_plan = \"MRR\"\n"),
        Plans::Explain
    );
    assert_eq!(
        of("[factor.mrr.on]\nobserve = { plans = \"analyze\" }\n[observe]\nplans = false\n"),
        Plans::Analyze
    );
}

#[test]
fn a_level_may_profile_queries_of_its_own() {
    let added = "[factor.mrr.on]\nobserve = { profile = [\"Q1.1\"] }\n";
    assert_eq!(planned(added)[0].observe.profile, ["Q1.1"]);
}

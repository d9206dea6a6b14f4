//! Checks of plans in a file, and mistakes in them. `plan` tests the checks of levels.

use super::{RIGHT, read, shown};
use crate::check::{queries, timed};
use crate::{Expected, PlanCheck};
use proptest::prelude::*;

/// As `query: text`.
fn words(checks: &[PlanCheck]) -> Vec<String> {
    let words = checks.iter().map(|check| {
        let query = check.query.as_deref().unwrap_or("all");
        match &check.expected {
            Expected::Holds(text) => format!("{query}: {text}"),
            Expected::Lacks(text) => format!("{query}: not {text}"),
        }
    });
    words.collect()
}

fn wrong(added: &str) -> String {
    shown(&read(&format!("{RIGHT}{added}")).unwrap_err())
}

#[test]
fn a_string_checks_every_query_and_a_table_only_those_that_it_names() {
    let of = |value: &str| {
        let experiment = read(&format!("{RIGHT}[observe]\ncheck_plan = {value}\n"));
        words(&experiment.unwrap().observe.checks)
    };
    assert_eq!(of("\"MRR\""), ["all: MRR"]);
    assert_eq!(of("[\"MRR\", \"BKA\"]"), ["all: MRR", "all: BKA"]);
    assert_eq!(of("{ lacks = \"MRR\" }"), ["all: not MRR"]);
    assert_eq!(of("{ \"Q1.1\" = \"MRR\" }"), ["Q1.1: MRR"]);
    assert_eq!(
        of("{ \"Q1.1\" = { holds = \"BKA\", lacks = [\"MRR\", \"BNL\"] }, \"Q2.1\" = \"MRR\" }"),
        ["Q1.1: BKA", "Q1.1: not MRR", "Q1.1: not BNL", "Q2.1: MRR"]
    );
}

#[test]
fn mistakes_in_plan_checks_are_reported_at_their_span() {
    insta::assert_snapshot!(
        [
            "[observe]\ncheck_plan = true\n",
            "[observe]\ncheck_plan = \" \"\n",
            "[observe]\ncheck_plan = {}\n",
            "[observe]\ncheck_plan = { \"Q1.1\" = { has = \"MRR\" } }\n",
            "[factor.mrr.on]\nobserve = { check_plans = \"MRR\" }\n",
            "[factor.mrr.on]\nobserve = { interval = \"1s\" }\n",
            "[observe]\nplans = \"analyse\"\n",
        ]
        .map(wrong)
        .join("\n")
    );
}

#[test]
fn plan_checks_of_unknown_or_skipped_queries_are_rejected() {
    let source = format!(
        "{RIGHT}[factor.mrr.on]\nobserve = {{ check_plan = {{ \"Q1.2\" = \"MRR\" }} }}\non.\"5.5\".observe = {{ check_plan = {{ \"Q9\" = \"MRR\" }} }}\n[observe]\ncheck_plan = {{ \"Q11\" = \"MRR\" }}\n[protocol]\nqueries = [\"Q1.1\"]\n"
    );
    let error = queries::check(&read(&source).unwrap(), &["Q1.1", "Q1.2"]).unwrap_err();
    insta::assert_snapshot!(shown(&error));
}

#[test]
fn a_timed_load_has_no_plans_to_check() {
    let source = format!("{RIGHT}[observe]\ncheck_plan = \"MRR\"\n[protocol]\ntime = \"1s\"\n");
    let error = queries::check(&read(&source).unwrap(), &[]).unwrap_err();
    insta::assert_snapshot!(shown(&error));
}

#[test]
fn a_timed_load_has_no_plans_to_analyze() {
    let timed = "[protocol]\ntime = \"1s\"\n";
    for observe in [
        "[observe]\nplans = \"analyze\"\n",
        "[factor.plans.all]\nobserve = { plans = \"analyze\" }\n",
    ] {
        let of = |protocol: &str| read(&format!("{RIGHT}{observe}{protocol}")).unwrap();
        let says = shown(&queries::check(&of(timed), &[]).unwrap_err());
        assert!(says.contains("none can be analyzed"), "{says}");
        assert!(queries::check(&of(""), &[]).is_ok());
    }
}

#[test]
fn a_profile_of_a_level_needs_a_round_with_one_client() {
    let level = "[factor.mrr.on]\nobserve = { profile = [\"Q1.1\"] }\n";
    let check = |clients: &str| {
        let load = format!("[load.closed]\nclients = {clients}\n");
        timed::check(&read(&format!("{RIGHT}{level}{load}")).unwrap(), false)
    };
    assert!(check("[1, 8]").is_ok());
    let says = shown(&check("8").unwrap_err());
    assert!(says.contains("only in rounds with one client"), "{says}");
}

proptest! {
    #[test]
    fn no_value_of_a_check_makes_the_reader_panic(value in "[\\[\\]a-zQ1. =\"{},]{0,40}") {
        let _ = read(&format!("{RIGHT}[observe]\ncheck_plan = {value}\n"));
    }
}

//! What a file says of plans: for all trials, of a level, of a level on one server.

use super::{RIGHT, read, shown};
use crate::plan::{PlannedTrial, expand};
use crate::spec::{Expected, Plans, queries};
use proptest::prelude::*;

fn planned(added: &str) -> Vec<PlannedTrial> {
    let experiment =
        read(&format!("{RIGHT}{added}")).unwrap_or_else(|error| panic!("{}", shown(&error)));
    expand(&experiment, 1).unwrap()
}

/// The checks of the trial on a server with the variant `small pool`, as `query: text`.
fn checks(added: &str, server: &str) -> Vec<String> {
    let trials = planned(added);
    let is_it = |trial: &&PlannedTrial| {
        trial.key.server == server && trial.key.level("variant") == Some("small pool")
    };
    let trial = trials.iter().find(is_it).unwrap();
    let words = trial.observe.checks.iter().map(|check| {
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
fn a_text_holds_for_every_query_and_a_table_for_those_that_it_names() {
    let of = |value: &str| checks(&format!("[observe]\ncheck_plan = {value}\n"), "5.6");
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
fn the_checks_of_the_file_and_of_all_levels_come_together() {
    let added = "[factor.mrr.on]\nobserve = { check_plan = \"MRR\" }\n[factor.icp.on]\nobserve = { check_plan = \"ICP\" }\n[observe]\ncheck_plan = \"join\"\n";
    assert_eq!(checks(added, "5.6"), ["all: join", "all: MRR", "all: ICP"]);
}

#[test]
fn a_level_may_ask_one_server_for_its_own_word() {
    let added = "[factor.mrr.on]\nobserve = { check_plan = \"Using MRR\" }\non.\"5.5\".observe = { check_plan = \"Rowid-ordered scan\" }\n";
    assert_eq!(checks(added, "5.6"), ["all: Using MRR"]);
    assert_eq!(checks(added, "5.5"), ["all: Rowid-ordered scan"]);
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

#[test]
fn what_is_wrong_with_a_check_is_said_at_its_place() {
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
fn a_check_of_a_query_that_is_not_there_or_not_run_is_found_before_anything_runs() {
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

proptest! {
    #[test]
    fn no_value_of_a_check_makes_the_reader_panic(value in "[\\[\\]a-zQ1. =\"{},]{0,40}") {
        let _ = read(&format!("{RIGHT}[observe]\ncheck_plan = {value}\n"));
    }
}

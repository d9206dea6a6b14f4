//! Each query's plans: their users, their times, and what differs.

use crate::common::{done, run};
use explain::{PlanTime, QueryPlans, StepChange, query_plans};
use record::*;

fn table(key: &str) -> String {
    format!("id\ttable\ttype\tkey\tExtra\n1\torders\tref\t{key}\tUsing where")
}

/// A trial of one query, Q1, in four rounds: cold, hot 1 to 3. Each round has its plan and its milliseconds.
fn trial(block: u32, variant: &str, rounds: [(&str, u64); 4]) -> Trial {
    let mut trial = done(block);
    trial.key.levels = vec![("variant".into(), variant.into())];
    trial.plans.clear();
    for (round, (plan, elapsed_ms)) in trial.rounds.iter_mut().zip(rounds) {
        round.queries.truncate(1);
        round.queries[0].name = "Q1".into();
        round.queries[0].plan_hash = Some(plan.into());
        round.queries[0].elapsed_ns = elapsed_ms * 1_000_000;
        trial.plans.insert(plan.into(), table(plan));
    }
    trial
}

fn of(trials: &[Trial]) -> QueryPlans {
    let mut question = run().question;
    question.workload.operations = vec!["Q1".into(), "Q2".into()];
    let mut queries = query_plans(&question, trials);
    assert_eq!(queries.len(), 1, "Q2 has no plan");
    queries.remove(0)
}

#[test]
fn each_plan_lists_its_rows_and_times() {
    let trials = [
        trial(0, "on", [("a", 800), ("a", 100), ("a", 400), ("b", 900)]),
        trial(1, "on", [("a", 200), ("b", 100), ("b", 100), ("b", 100)]),
    ];
    let plans = of(&trials).plans;
    let time = |round: &str, counted, median_s, mean_s| PlanTime {
        round: round.into(),
        seen: counted,
        counted,
        median_s: Some(median_s),
        mean_s: Some(mean_s),
    };
    let close = |found: &PlanTime, wanted: &PlanTime| {
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-9;
        (&found.round, found.seen, found.counted) == (&wanted.round, wanted.seen, wanted.counted)
            && near(found.median_s, wanted.median_s)
            && near(found.mean_s, wanted.mean_s)
    };
    let times = &plans[0].rows[0].times;
    assert!(close(&times[0], &time("cold", 2, 0.5, 0.4)), "{times:?}");
    assert!(close(&times[1], &time("hot", 2, 0.25, 0.2)), "{times:?}");
    assert_eq!(plans[0].rows[0].blocks, [0, 1]);
    assert_eq!(plans[1].rows[0].times[0].counted, 4);
}

#[test]
fn a_trial_that_does_not_count_is_still_reported() {
    let mut invalid = trial(0, "on", [("a", 800), ("a", 100), ("a", 400), ("a", 900)]);
    invalid.state = TrialState::Invalid;
    let plan = of(&[invalid]).plans.remove(0);
    let hot = &plan.rows[0].times[1];
    assert_eq!((hot.seen, hot.counted, hot.median_s), (3, 0, None));
}

#[test]
fn different_plans_of_two_rows_are_not_a_plan_change() {
    let all = |plan| [(plan, 1), (plan, 1), (plan, 1), (plan, 1)];
    let query = of(&[trial(0, "on", all("a")), trial(0, "off", all("b"))]);
    assert_eq!((query.plans.len(), query.changes.len()), (2, 0));
    assert_eq!(query.plans[0].against, None);
    assert_eq!(query.plans[1].against.as_deref(), Some("a"));
    let expected = StepChange::Changed {
        step: "orders".into(),
        columns: vec![("key", Some("a".into()), Some("b".into()))],
    };
    assert_eq!(query.plans[1].differs, [expected]);
}

#[test]
fn a_plan_is_compared_with_the_one_that_its_row_had_before() {
    let all = |plan| [(plan, 1), (plan, 1), (plan, 1), (plan, 1)];
    let changed = [("b", 1), ("b", 1), ("c", 1), ("c", 1)];
    let query = of(&[trial(0, "on", all("a")), trial(0, "off", changed)]);
    assert_eq!(query.plans[2].against.as_deref(), Some("b"));
    assert_eq!(query.changes.len(), 1);
}

#[test]
fn the_finer_forms_stand_with_their_plan_and_query() {
    let mut one = trial(0, "on", [("a", 1), ("a", 1), ("a", 1), ("a", 1)]);
    let form = |query: &str, kind, text: &str| PlanForm {
        query: query.into(),
        plan: "a".into(),
        kind,
        text: text.into(),
    };
    one.plan_forms = vec![
        form("Q2", FormKind::Json, "another query's"),
        form("Q1", FormKind::Json, "{}"),
        form("Q1", FormKind::Analyze, "-> Table scan"),
    ];
    let plan = of(&[one]).plans.remove(0);
    assert_eq!(plan.json.as_deref(), Some("{}"));
    assert_eq!(plan.rows[0].analysis.as_deref(), Some("-> Table scan"));
}

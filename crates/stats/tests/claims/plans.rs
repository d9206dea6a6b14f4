//! Claims on the plans of queries.

use super::*;

fn with_plans(mut trials: Vec<Trial>, plan: impl Fn(usize) -> &'static str) -> Vec<Trial> {
    for (n, trial) in trials.iter_mut().enumerate() {
        trial
            .plans
            .insert(plan(n).into(), format!("{} Using index condition", plan(n)));
        trial
            .rounds
            .iter_mut()
            .flat_map(|round| &mut round.queries)
            .for_each(|query| query.plan_hash = Some(plan(n).into()));
    }
    trials
}

fn finds(finding: Finding) -> Claim {
    let of = Cell {
        round: None,
        ..cell("5.6", SMALL, "hot")
    };
    Claim {
        says: String::new(),
        subject: Subject::Finds { finding, of },
        published: None,
    }
}

#[test]
fn a_plan_that_holds_a_text_is_found() {
    let trials = with_plans(p1(2), |_| "a");
    assert_eq!(
        judged(finds(Finding::PlanHolds("index condition".into())), &trials).verdict,
        Verdict::Reproduced
    );
    let missing = judged(finds(Finding::PlanHolds("Using MRR".into())), &trials);
    assert_eq!(
        (missing.verdict, reason(&missing)),
        (Verdict::NotReproduced, "0 of 8 plans contain it")
    );
}

#[test]
fn a_plan_change_between_blocks_is_reported() {
    let changed = with_plans(p1(2), |n| if n < 5 { "a" } else { "b" });
    let found = judged(finds(Finding::PlanChanged), &changed);
    assert_eq!(
        (found.verdict, reason(&found)),
        (
            Verdict::Reproduced,
            "the plan changed: Q0 (server 5.6, variant small pool)"
        )
    );
    assert_eq!(
        judged(finds(Finding::PlanChanged), &with_plans(p1(2), |_| "a")).verdict,
        Verdict::NotReproduced
    );

    let changes = stats::plan_changes(&question(vec![]), &changed);
    assert_eq!(changes.len(), 5);
    let seen = &changes[0].seen;
    assert_eq!(
        (seen[0].0.as_str(), seen[0].1.len(), seen[1].0.as_str()),
        ("a", 4, "b")
    );
    assert_eq!(
        seen[1].1[0],
        "server 5.5, variant large pool, block 2, cold 1"
    );
}

/// The docs: more than one plan, whether a row changed its own or two rows have different ones.
#[test]
fn a_cell_of_two_levels_with_a_plan_each_has_changed_plans() {
    let of = |variants: &[&str]| Claim {
        says: String::new(),
        subject: Subject::Finds {
            finding: Finding::PlanChanged,
            of: Cell {
                levels: vec![
                    ("server".into(), vec!["5.6".into()]),
                    (
                        "variant".into(),
                        variants.iter().map(|one| one.to_string()).collect(),
                    ),
                ],
                ..Cell::default()
            },
        },
        published: None,
    };
    // The rows of P1: 5.6 with the small pool is the second, with old_blocks_time=0 the third.
    let trials = with_plans(p1(2), |n| if n % 5 == 1 { "a" } else { "b" });
    let one = judged(of(&[SMALL]), &trials);
    assert_eq!(one.verdict, Verdict::NotReproduced, "{one:?}");
    let both = judged(of(&[SMALL, SMALL_OLD_0]), &trials);
    assert_eq!(both.verdict, Verdict::Reproduced);
    assert_eq!(
        reason(&both),
        "the plan changed: Q0 (server 5.6, variant small pool against server 5.6, variant small pool, old_blocks_time=0)"
    );
}

#[test]
fn plans_that_were_not_recorded_are_not_available() {
    let mut trials = p1(2);
    trials
        .iter_mut()
        .flat_map(|t| &mut t.rounds)
        .flat_map(|r| &mut r.queries)
        .for_each(|q| q.plan_hash = None);
    let found = judged(finds(Finding::PlanChanged), &trials);
    assert_eq!(
        (found.verdict, reason(&found)),
        (
            Verdict::NotAvailable,
            "no plan of server 5.6, variant small pool is recorded"
        )
    );
}

#[test]
fn a_query_without_a_plan_leaves_a_claim_open_unless_another_plan_changed() {
    let mut trials = [common::done(0), common::done(1)];
    let change = |trials: &mut [Trial], name: &str, change: &dyn Fn(&mut Query)| {
        let rounds = trials.iter_mut().flat_map(|trial| &mut trial.rounds);
        let queries = rounds.flat_map(|round| &mut round.queries);
        queries.filter(|query| query.name == name).for_each(change);
    };
    let of = |trials: &[Trial], finding| {
        let found = judged(finds(finding), trials);
        (found.verdict, reason(&found).to_string())
    };
    change(&mut trials, "Q1", &|query| query.plan_hash = None);
    for finding in [Finding::PlanChanged, Finding::PlanHolds("plan".into())] {
        let why = "no plan of Q1 on server 5.6, variant small pool is recorded";
        let expected = (Verdict::NotAvailable, why.to_string());
        assert_eq!(of(&trials, finding), expected);
    }
    let mut changed = trials.clone();
    change(&mut changed[1..], "Q0", &|query| {
        query.plan_hash = Some("b".into());
    });
    assert_eq!(of(&changed, Finding::PlanChanged).0, Verdict::Reproduced);
    change(&mut trials, "Q1", &|query| {
        query.error = Some(QueryError::from("refused".to_string()));
    });
    let failed = of(&trials, Finding::PlanChanged).0;
    assert_eq!(failed, Verdict::NotReproduced);
}

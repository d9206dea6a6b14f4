//! Queries that ran into the protocol's limit: bounds in the tables, and claims that are judged by them or not at all.

use crate::common;
use crate::common::judge;
use record::*;
use stats::resource_use::{RowPart, counter};
use stats::{queries, table};

/// A trial of one query that takes so long in its cold round; `None`: it ran into the limit of 600 s.
fn trial(block: u32, server: &str, elapsed_s: Option<f64>) -> Trial {
    let mut trial = common::trial(block, TrialState::Done, 1, 0);
    trial.key.server = Some(server.into());
    trial.key.levels.clear();
    trial.rounds.truncate(1);
    let round = &mut trial.rounds[0];
    round.name = "cold".into();
    let query = &mut round.queries[0];
    query.name = "Q10".into();
    query.elapsed_ns = (elapsed_s.unwrap_or(600.0) * 1e9) as u64;
    query.error = elapsed_s.is_none().then(|| "> 600 s".into());
    round.elapsed_s = query.elapsed_ns as f64 / 1e9;
    trial
}

/// 5.5 against 5.6, a pair a block.
fn trials(pairs: [(Option<f64>, Option<f64>); 3]) -> Vec<Trial> {
    let block = |(block, (old, new)): (usize, (Option<f64>, Option<f64>))| {
        [
            trial(block as u32, "5.5", old),
            trial(block as u32, "5.6", new),
        ]
    };
    pairs.into_iter().enumerate().flat_map(block).collect()
}

fn question(value: Value, bound: Bound) -> Question {
    let cell = |server: &str| Cell {
        levels: vec![("server".into(), vec![server.into()])],
        round: None,
        query: Some("Q10".into()),
        without: Vec::new(),
    };
    let mut question = common::run().question;
    question.rounds = vec!["cold".into()];
    question.factors.clear();
    question.workload.operations = vec!["Q10".into()];
    question.claims = vec![Claim {
        says: "5.6 is faster".into(),
        subject: Subject::Ratio {
            value,
            of: cell("5.5"),
            to: cell("5.6"),
            bound,
        },
        published: None,
    }];
    question
}

fn judged(bound: Bound, trials: &[Trial]) -> Judged {
    judge(&question(Value::Elapsed, bound), trials).remove(0)
}

/// 600 / 73, 600 / 74, 600 / 72: at least 8.2 times.
const LIMITED: [(Option<f64>, Option<f64>); 3] =
    [(None, Some(73.0)), (None, Some(74.0)), (None, Some(72.0))];

#[test]
fn a_ratio_over_the_limit_is_a_bound_with_one_end() {
    let found = judged(Bound::AtLeast(5.0), &trials(LIMITED));
    assert!((found.measured.unwrap() - 8.22).abs() < 0.01);
    assert_eq!(found.limit, Some(Limit::AtLeast));
    let (low, high) = found.ci.unwrap();
    assert!(
        low > 7.9 && low < 8.22 && high == f64::INFINITY,
        "{low} {high}"
    );
    assert_eq!(found.verdict, Verdict::Reproduced);
    assert!(found.reason.unwrap().contains("the figure is a bound"));
}

#[test]
fn a_bound_below_the_threshold_decides_nothing() {
    let found = judged(Bound::AtLeast(11.0), &trials(LIMITED));
    assert_eq!(
        found.verdict,
        Verdict::Inconclusive,
        "the true ratio may be 20"
    );
}

#[test]
fn a_bound_above_what_was_claimed_refutes_it() {
    for bound in [Bound::AtMost(2.0), Bound::Within(0.5)] {
        let found = judged(bound, &trials(LIMITED));
        assert_eq!(found.verdict, Verdict::NotReproduced, "{bound:?}");
    }
}

#[test]
fn a_limit_on_the_other_side_is_an_upper_bound() {
    let swapped = LIMITED.map(|(old, new)| (new, old));
    let found = judged(Bound::AtLeast(2.0), &trials(swapped));
    assert_eq!(found.limit, Some(Limit::AtMost));
    assert_eq!(found.ci.unwrap().0, 0.0);
    assert_eq!(found.verdict, Verdict::NotReproduced);
    let found = judged(Bound::AtMost(0.5), &trials(swapped));
    assert_eq!(found.verdict, Verdict::Reproduced);
}

#[test]
fn one_block_over_the_limit_makes_the_whole_figure_a_bound() {
    let mixed = [
        (None, Some(73.0)),
        (Some(590.0), Some(74.0)),
        (Some(580.0), Some(72.0)),
    ];
    let found = judged(Bound::AtLeast(5.0), &trials(mixed));
    assert_eq!(found.limit, Some(Limit::AtLeast));
}

#[test]
fn a_ratio_is_unknown_if_both_sides_reached_the_time_limit() {
    let found = judged(Bound::AtLeast(2.0), &trials([(None, None); 3]));
    assert_eq!(found.verdict, Verdict::NotAvailable);
    assert!(found.reason.unwrap().contains("both sides"));
}

#[test]
fn the_counters_of_a_stopped_query_are_ignored() {
    let question = question(
        Value::Counter("Handler_read_key".into()),
        Bound::AtLeast(2.0),
    );
    let found = judge(&question, &trials(LIMITED)).remove(0);
    assert_eq!(found.verdict, Verdict::NotAvailable);
    assert!(found.reason.unwrap().contains("query Q10 took > 600 s"));
}

#[test]
fn a_counter_is_not_judged_if_any_block_reached_the_time_limit() {
    let question = question(
        Value::Counter("Handler_read_key".into()),
        Bound::AtLeast(0.1),
    );
    let of = |old_s: [Option<f64>; 3]| {
        let mut trials = trials(old_s.map(|old_s| (old_s, Some(73.0))));
        for trial in &mut trials {
            let keys = ("Handler_read_key".to_string(), 7);
            trial.rounds[0].counters.extend([keys.clone()]);
            trial.rounds[0].queries[0].counters.extend([keys]);
        }
        trials
    };
    let verdict = |trials: &[Trial]| judge(&question, trials).remove(0).verdict;
    let mut measured = of([Some(590.0), Some(591.0), Some(592.0)]);
    assert_eq!(verdict(&measured), Verdict::Reproduced);
    assert_eq!(
        verdict(&of([None, Some(591.0), Some(592.0)])),
        Verdict::NotAvailable
    );
    let round = &mut measured[0].rounds[0];
    round.counters.insert("Handler_read_key".into(), 0);
    let keys = &mut round.queries[0].counters;
    keys.insert("Handler_read_key".into(), 0);
    let found = judge(&question, &measured).remove(0);
    assert_eq!(found.verdict, Verdict::NotAvailable, "0 is a figure");
    assert!(found.reason.unwrap().contains("is 0: no ratio"));
}

#[test]
fn tables_hold_the_bound_without_an_interval() {
    let trials = trials(LIMITED);
    let question = question(Value::Elapsed, Bound::AtLeast(2.0));
    let rows = table(&question, &trials);
    let cell = |server: &str| {
        let row = rows
            .iter()
            .find(|row| row.server.as_deref() == Some(server))
            .unwrap();
        row.rounds[0].elapsed_s.clone().unwrap()
    };
    let old = cell("5.5");
    assert_eq!(
        (old.mean.round(), old.at_least, old.ci),
        (600.0, true, None)
    );
    assert!(!cell("5.6").at_least && cell("5.6").ci.is_some());
    let query = queries(&question, &trials, Some("5.5"), &[]).remove(0);
    assert!(query.cold_s.unwrap().at_least);
}

#[test]
fn only_the_limit_is_read_as_one() {
    let error = |text: &str| {
        let mut query = trial(0, "5.5", None).rounds[0].queries[0].clone();
        query.error = Some(text.into());
        query.timed_out_s()
    };
    assert_eq!(error("> 0.5 s"), Some(0.5));
    assert_eq!(error("1064 syntax near > 3 s"), None);
    assert_eq!(error("1176 Key 'x' doesn't exist in table 't'"), None);
}

fn device_reads(trials: &mut [Trial], reads: [i64; 3]) -> Option<stats::Estimate> {
    for trial in trials.iter_mut() {
        let reads = ("device reads".to_string(), reads[trial.key.block as usize]);
        trial.rounds[0].counters.extend([reads]);
    }
    let part = RowPart {
        server: Some("5.5"),
        levels: &[],
        round: "cold",
        query: None,
    };
    counter(trials, part, "device reads")
}

#[test]
fn counts_of_a_stopped_query_are_ignored() {
    assert_eq!(device_reads(&mut trials(LIMITED), [9, 9, 9]), None);
}

#[test]
fn a_block_without_reads_does_not_hide_those_of_the_others() {
    let mut trials = trials([(Some(5.0), Some(5.0)); 3]);
    let reads = device_reads(&mut trials, [0, 50_000, 60_000]).unwrap();
    assert_eq!((reads.mean.round(), reads.ci), (36_667.0, None));
}

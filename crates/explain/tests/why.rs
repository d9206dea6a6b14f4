//! Why two cells differ, by the counters that were published (P6, P1): the sentence is known from the text.

use crate::common;
use crate::ratio::ratio;
use explain::{Doubled, Evidence, Reason, SideName, Why, explain_claim, explain_largest};
use record::*;
use stats::needs_query_counters;
use store::Store;

type Figures<'f> = &'f [(&'f str, i64)];

/// What one cell of a claim was measured with.
struct Measured<'f> {
    level: &'f str,
    elapsed_s: f64,
    counters: Figures<'f>,
    plan: &'f str,
    settings: &'f [(&'f str, &'f str)],
}

const PLAIN: Measured = Measured {
    level: "",
    elapsed_s: 1.0,
    counters: &[],
    plan: "1 SIMPLE lineitem ref l_partkey Using where",
    settings: &[],
};

/// Three blocks with one cold round of Q19 alone; a block has a thousandth more than the one before.
fn trials(measured: &Measured) -> Vec<Trial> {
    (0..3).map(|block| trial(measured, block)).collect()
}

fn trial(measured: &Measured, block: u32) -> Trial {
    let mut trial = common::trial(block, TrialState::Done, 1, 0);
    trial.key.levels = vec![("feature".into(), measured.level.into())];
    trial.rounds.truncate(1);
    let slower = 1.0 + 0.001 * f64::from(block);
    let round = &mut trial.rounds[0];
    round.name = "cold".into();
    round.elapsed_s = measured.elapsed_s * slower;
    round.counters = (measured.counters.iter())
        .map(|(name, delta)| (name.to_string(), (*delta as f64 * slower) as i64))
        .collect();
    let query = &mut round.queries[0];
    query.name = "Q19".into();
    query.elapsed_ns = (round.elapsed_s * 1e9) as u64;
    query.counters = round.counters.clone();
    query.plan_hash = Some("a".into());
    trial.plans = [("a".to_string(), measured.plan.to_string())].into();
    let settings = measured.settings.iter();
    trial.settings = settings
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    trial
}

fn claim(query: Option<&str>) -> Claim {
    ratio(Value::Elapsed, "off", "on", query)
}

/// Of the cell "off" against the cell "on".
fn why(off: Measured, on: Measured) -> Why {
    let (off, on) = (
        Measured {
            level: "off",
            ..off
        },
        Measured { level: "on", ..on },
    );
    let trials = [trials(&off), trials(&on)].concat();
    explain_claim(&claim(Some("Q19")), &common::run(), &trials, 20).unwrap()
}

fn causes(reason: &Reason) -> Vec<&'static str> {
    reason.because.iter().map(|because| because.words).collect()
}

/// P6, MySQL 5.5 against MariaDB 5.5: the one without index condition pushdown lacks its counters.
const ICP_OFF: Figures = &[
    ("Innodb_buffer_pool_reads", 540_805),
    ("Innodb_pages_read", 621_937),
    ("Handler_read_next", 579_426),
];
const ICP_ON: Figures = &[
    ("Innodb_buffer_pool_reads", 28_468),
    ("Innodb_pages_read", 109_535),
    ("Handler_read_next", 4_541),
    ("Handler_icp_attempts", 571_312),
    ("Handler_icp_match", 4_541),
];

fn icp(on: Figures) -> Why {
    let off = Measured {
        elapsed_s: 4680.0,
        counters: ICP_OFF,
        ..PLAIN
    };
    why(
        off,
        Measured {
            elapsed_s: 120.0,
            counters: on,
            ..PLAIN
        },
    )
}

#[test]
fn index_condition_pushdown_reads_19_times_fewer_pages_as_published() {
    let reason = icp(ICP_ON).reason().cloned().unwrap();
    assert_eq!(
        (reason.with, reason.counter.as_str()),
        (SideName::To, "Innodb_buffer_pool_reads")
    );
    assert!((reason.factor().unwrap() - 19.0).abs() < 0.05, "{reason:?}");
    assert_eq!(reason.noun, Some("buffer pool misses"));
    assert_eq!(
        causes(&reason),
        ["index condition pushdown checks the condition before it reads the row"]
    );
    let names: Vec<&str> = (reason.because[0].evidence.iter())
        .map(|evidence| match evidence {
            Evidence::Counter { name, other, .. } => {
                assert_eq!(*other, None, "5.5 lacks {name}: absent, not 0");
                *name
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["Handler_icp_attempts", "Handler_icp_match"]);
}

#[test]
fn the_counters_of_innodb_metrics_say_the_same_as_those_of_mariadb() {
    let metrics: Vec<(&str, i64)> = ICP_ON
        .iter()
        .map(|(name, delta)| {
            (
                name.trim_start_matches("Handler_")
                    .replace("read_next", "Handler_read_next"),
                delta,
            )
        })
        .map(|(name, delta)| (&*name.leak(), *delta))
        .collect();
    let reason = icp(&metrics).reason().cloned().unwrap();
    assert!(
        matches!(
            &reason.because[0].evidence[0],
            Evidence::Counter {
                name: "icp_attempts",
                ..
            }
        ),
        "{reason:?}"
    );
}

#[test]
fn no_cause_is_named_where_both_sides_check_in_the_index() {
    let off: Vec<_> = [ICP_OFF, &[("icp_attempts", 500_000)]].concat();
    let off = Measured {
        elapsed_s: 4680.0,
        counters: &off,
        ..PLAIN
    };
    let on = Measured {
        elapsed_s: 120.0,
        counters: ICP_ON,
        ..PLAIN
    };
    let found = why(
        Measured {
            plan: "ref l_partkey Using index condition",
            ..off
        },
        on,
    );
    assert_eq!(causes(&found.reason().cloned().unwrap()), [""; 0]);
}

#[test]
fn within_their_noise_counters_say_nothing() {
    let noisy = |figures: [i64; 3], level: &str| {
        let one = |(block, reads): (usize, &i64)| {
            let counters = [
                ("Innodb_buffer_pool_reads", *reads),
                ("Handler_icp_attempts", 9_000),
            ];
            trial(
                &Measured {
                    level,
                    counters: &counters,
                    ..PLAIN
                },
                block as u32,
            )
        };
        figures.iter().enumerate().map(one).collect::<Vec<_>>()
    };
    let trials = [
        noisy([30_000, 90_000, 10_000], "off"),
        noisy([60_000, 20_000, 50_000], "on"),
    ]
    .concat();
    let found = explain_claim(&claim(None), &common::run(), &trials, 20).unwrap();
    assert_eq!(found.differences[0].beyond_noise, Some(false));
    assert_eq!(found.reason(), None);
}

#[test]
fn one_block_gives_the_top_counter_and_no_cause() {
    let one = |level, elapsed_s, counters| {
        trial(
            &Measured {
                level,
                elapsed_s,
                counters,
                ..PLAIN
            },
            0,
        )
    };
    let trials = [one("off", 4680.0, ICP_OFF), one("on", 120.0, ICP_ON)];
    let reason = explain_claim(&claim(None), &common::run(), &trials, 20)
        .unwrap()
        .reason()
        .cloned()
        .unwrap();
    assert_eq!((reason.beyond_noise, reason.because.len()), (None, 0));
}

/// P6, MRR with Q10 and a buffer of 4 MB, MySQL 5.5 against 5.6: the plan says it, since MySQL's counter does not.
#[test]
fn multi_range_read_reads_fewer_pages_on_demand_and_more_ahead() {
    let off = Measured {
        elapsed_s: 660.0,
        counters: &[
            ("Innodb_buffer_pool_reads", 120_548),
            ("Innodb_buffer_pool_read_ahead", 0),
            ("Handler_read_key", 100_000),
        ],
        ..PLAIN
    };
    let on = Measured {
        elapsed_s: 60.0,
        counters: &[
            ("Innodb_buffer_pool_reads", 76_882),
            ("Innodb_buffer_pool_read_ahead", 23_669),
            ("Handler_read_key", 200_000),
            ("Handler_mrr_init", 0),
        ],
        plan: "1 SIMPLE orders range o_orderdate Using index condition; Using where; Using MRR",
        ..PLAIN
    };
    let found = why(off, on);
    let reason = found.reason().cloned().unwrap();
    assert_eq!(
        causes(&reason),
        ["multi-range read sorts row positions before it reads the rows"]
    );
    assert!(
        reason.because[0]
            .evidence
            .contains(&Evidence::Plan("Using MRR")),
        "{reason:?}"
    );
    let key = found
        .differences
        .iter()
        .find(|one| one.counter == "Handler_read_key")
        .unwrap();
    assert_eq!(key.doubled, Some(Doubled::To));
    assert_eq!(
        key.doubled.unwrap().words(),
        "counts each row twice under MRR, which B used; it is not more work"
    );
}

#[test]
fn mariadb_counts_no_row_twice() {
    let side = |keys: i64, inits: i64, level| {
        let counters = [
            ("Handler_read_key", keys),
            ("Handler_mrr_init", inits),
            ("Handler_mrr_rowid_refills", 0),
        ];
        trials(&Measured {
            level,
            counters: &counters,
            ..PLAIN
        })
    };
    let trials = [side(1_000, 0, "off"), side(5_000, 3, "on")].concat();
    let found = explain_claim(&claim(None), &common::run(), &trials, 20).unwrap();
    assert_eq!(found.differences[0].counter, "Handler_read_key");
    assert_eq!(found.differences[0].doubled, None);
}

/// P6, BKA with Q3 and both buffers at 6 MB, MySQL 5.5 against 5.6.
#[test]
fn batched_key_access_differs_from_multi_range_read() {
    let off = Measured {
        elapsed_s: 2534.0,
        counters: &[("Innodb_buffer_pool_reads", 327_963)],
        ..PLAIN
    };
    let on = Measured {
        elapsed_s: 40.0,
        counters: &[
            ("Innodb_buffer_pool_reads", 12_889),
            ("Handler_mrr_init", 7),
        ],
        plan: "1 SIMPLE lineitem ref PRIMARY Using where; Using join buffer (Batched Key Access); Using MRR",
        ..PLAIN
    };
    let reason = why(off, on).reason().cloned().unwrap();
    assert!((reason.factor().unwrap() - 25.4).abs() < 0.1);
    assert_eq!(
        causes(&reason),
        ["batched key access collects keys in the join buffer and reads their rows in batches"]
    );
}

/// P1's shape: the pool of the one server is smaller.
#[test]
fn a_larger_pool_is_named_with_both_sizes() {
    let with = |reads, elapsed_s, pool: &'static [(&'static str, &'static str)]| Measured {
        elapsed_s,
        counters: reads,
        settings: pool,
        ..PLAIN
    };
    let reason = why(
        with(
            &[
                ("Innodb_buffer_pool_reads", 3_050_000),
                ("Innodb_buffer_pool_read_requests", 90_000_000),
            ],
            189.0,
            &[("innodb_buffer_pool_size", "134217728")],
        ),
        with(
            &[
                ("Innodb_buffer_pool_reads", 0),
                ("Innodb_buffer_pool_read_requests", 90_000_000),
            ],
            20.5,
            &[("innodb_buffer_pool_size", "4294967296")],
        ),
    )
    .reason()
    .cloned()
    .unwrap();
    assert_eq!(reason.factor(), None, "there are none at all");
    assert_eq!(
        causes(&reason),
        ["more of the data fits in the buffer pool"]
    );
    assert_eq!(
        reason.because[0].evidence,
        [Evidence::Setting {
            name: "innodb_buffer_pool_size",
            with: "4294967296".into(),
            other: "134217728".into()
        }]
    );
}

#[test]
fn a_counter_that_is_lower_on_the_slower_side_is_not_a_reason() {
    let found = why(
        Measured {
            elapsed_s: 10.0,
            counters: &[("Handler_read_next", 1_000)],
            ..PLAIN
        },
        Measured {
            elapsed_s: 1.0,
            counters: &[("Handler_read_next", 50_000)],
            ..PLAIN
        },
    );
    assert_eq!(found.differences.len(), 1);
    assert_eq!(found.reason(), None);
}

#[test]
fn a_round_of_several_queries_is_reported_per_query() {
    let several = |level, reads| {
        let counters = [("Innodb_buffer_pool_reads", reads)];
        let mut trials = trials(&Measured {
            level,
            counters: &counters,
            ..PLAIN
        });
        for trial in &mut trials {
            let query = trial.rounds[0].queries[0].clone();
            trial.rounds[0].queries = vec![query; 13];
        }
        trials
    };
    let trials = [several("off", 2_600_000), several("on", 1_300_000)].concat();
    let found = explain_claim(&claim(None), &common::run(), &trials, 20).unwrap();
    let reads = found.differences[0].to.unwrap();
    assert!((reads - 100_100.0).abs() < 1.0, "{reads}");
}

#[test]
fn a_claim_on_a_single_query_needs_whole_trials_to_be_explained() {
    let mut question = common::run().question;
    question.claims = vec![claim(Some("Q19"))];
    assert!(needs_query_counters(&question));
    question.claims = vec![claim(None)];
    assert!(!needs_query_counters(&question));
}

#[test]
fn a_cell_that_was_not_measured_explains_nothing() {
    let off = trials(&Measured {
        level: "off",
        counters: ICP_OFF,
        ..PLAIN
    });
    assert_eq!(explain_claim(&claim(None), &common::run(), &off, 20), None);
}

#[test]
fn a_little_more_read_ahead_does_not_explain_many_fewer_misses() {
    let causes_with = |ahead: i64| {
        let off = Measured {
            elapsed_s: 10.0,
            counters: &[
                ("Innodb_buffer_pool_reads", 1_640),
                ("Innodb_buffer_pool_read_ahead", 160),
            ],
            ..PLAIN
        };
        let on = [
            ("Innodb_buffer_pool_reads", 313),
            ("Innodb_buffer_pool_read_ahead", ahead),
        ];
        let on = Measured {
            elapsed_s: 5.0,
            counters: &on,
            ..PLAIN
        };
        causes(&why(off, on).reason().cloned().unwrap())
    };
    assert_eq!(causes_with(192), [""; 0]);
    assert_eq!(causes_with(1_500), ["read-ahead fetched the pages instead"]);
}

#[test]
fn the_quick_reading_of_a_run_names_the_same_causes_as_the_whole_one() {
    let with = |level, reads, elapsed_s, pool: &'static [(&'static str, &'static str)]| {
        trials(&Measured {
            level,
            elapsed_s,
            counters: &[
                ("Innodb_buffer_pool_reads", reads),
                ("Innodb_buffer_pool_read_requests", 9_000_000),
            ],
            settings: pool,
            ..PLAIN
        })
    };
    let small = with(
        "off",
        900_000,
        90.0,
        &[("innodb_buffer_pool_size", "134217728")],
    );
    let large = with(
        "on",
        90_000,
        10.0,
        &[("innodb_buffer_pool_size", "4294967296")],
    );
    let (_folder, path) = common::place();
    let mut store = Store::create(&path, &common::run()).unwrap();
    for trial in [small, large].concat() {
        store.save(&trial).unwrap();
    }
    let mut run = common::run();
    run.question.rounds = vec!["cold".into()];
    let explained = |trials: Vec<Trial>| explain_largest(&run, &trials, 20).unwrap();
    let quick = explained(store.trials_with(&explain::telling_settings()).unwrap());
    assert_eq!(
        causes(quick.why.reason().unwrap()),
        ["more of the data fits in the buffer pool"]
    );
    assert_eq!(quick, explained(store.trials_whole().unwrap()));
}

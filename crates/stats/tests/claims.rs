//! Claims against trials whose figures are known: those of P1, as published.

use crate::common;
use crate::common::judge;
use rand::{RngExt, SeedableRng};
use record::*;
use stats::table;

mod plans;

const SMALL: &str = "small pool";
const SMALL_OLD_0: &str = "small pool, old_blocks_time=0";
const LARGE: &str = "large pool";

/// P1 (docs: Justin Swanhart, "MySQL 5.6 vs MySQL 5.5 and the Star Schema Benchmark"): cold, then hot 1 to 3, seconds.
const P1: [(&str, &str, [f64; 4]); 5] = [
    ("5.5", SMALL, [361.49, 189.29, 189.34, 189.40]),
    ("5.6", SMALL, [362.31, 324.25, 320.74, 318.84]),
    ("5.6", SMALL_OLD_0, [349.24, 178.80, 178.55, 179.07]),
    ("5.5", LARGE, [200.87, 20.53, 20.36, 20.35]),
    ("5.6", LARGE, [195.33, 14.41, 14.45, 14.61]),
];

fn trial(block: u32, server: &str, variant: &str, times: [f64; 4]) -> Trial {
    let mut trial = common::trial(block, TrialState::Done, 1, 0);
    trial.key = TrialKey {
        block,
        server: Some(server.into()),
        levels: vec![("variant".into(), variant.into())],
        role: record::Role::Measured,
    };
    for (round, elapsed_s) in trial.rounds.iter_mut().zip(times) {
        round.elapsed_s = elapsed_s;
        round.counters = Counters::from([
            ("Pages".into(), (elapsed_s * 1000.0) as i64),
            ("Requests".into(), 1_000_000),
        ]);
    }
    trial
}

/// As many blocks of P1, each slower than the one before as a whole, which pairing takes away.
fn p1(blocks: u32) -> Vec<Trial> {
    let slower = |block: u32, times: [f64; 4], n: usize| {
        times.map(|t| {
            t * (1.0 + 0.1 * f64::from(block))
                * (1.0 + 0.0003 * (block as usize * (n + 1) % 3) as f64)
        })
    };
    let block = |block: u32| {
        P1.iter()
            .enumerate()
            .map(move |(n, (server, variant, times))| {
                trial(block, server, variant, slower(block, *times, n))
            })
    };
    (0..blocks).flat_map(block).collect()
}

fn cell(server: &str, variant: &str, round: &str) -> Cell {
    let levels = vec![
        ("server".into(), vec![server.into()]),
        ("variant".into(), vec![variant.into()]),
    ];
    Cell {
        levels,
        round: Some(RoundSelector {
            name: round.into(),
            index: None,
        }),
        query: None,
        without: Vec::new(),
    }
}

fn ratio(of: (&str, &str), to: (&str, &str), published: f64) -> Claim {
    let (of, to) = (cell(of.0, of.1, "hot"), cell(to.0, to.1, "hot"));
    let bound = Bound::halfway(published);
    Claim {
        says: "hot".into(),
        subject: Subject::Ratio {
            value: Value::Elapsed,
            of,
            to,
            bound,
        },
        published: Some(published),
    }
}

fn cold_spread(within: f64) -> Claim {
    let mut among = cell("5.5", SMALL, "cold");
    among.levels = vec![("variant".into(), vec![SMALL.into(), SMALL_OLD_0.into()])];
    Claim {
        says: "cold".into(),
        subject: Subject::Spread {
            value: Value::Elapsed,
            among,
            within,
        },
        published: None,
    }
}

fn p1_claims() -> Vec<Claim> {
    vec![
        ratio(("5.6", SMALL), ("5.5", SMALL), 1.70),
        ratio(("5.5", SMALL), ("5.6", SMALL_OLD_0), 1.06),
        ratio(("5.6", SMALL), ("5.6", SMALL_OLD_0), 1.80),
        ratio(("5.5", LARGE), ("5.6", LARGE), 1.41),
        cold_spread(0.04),
    ]
}

fn question(claims: Vec<Claim>) -> Question {
    let variants = [SMALL, SMALL_OLD_0, LARGE].map(String::from).to_vec();
    Question {
        claims,
        factors: vec![Factor {
            name: "variant".into(),
            levels: variants,
        }],
        ..common::run().question
    }
}

fn judged(claim: Claim, trials: &[Trial]) -> Judged {
    judge(&question(vec![claim]), trials).remove(0)
}

fn reason(judged: &Judged) -> &str {
    judged.reason.as_deref().unwrap_or_default()
}

#[test]
fn one_block_of_p1_gives_the_published_ratios_and_no_verdict() {
    let judged = judge(&question(p1_claims()), &p1(1));
    assert_eq!(judged.len(), 5);
    for (judged, expected) in judged.iter().zip([1.70, 1.06, 1.80, 1.41, 1.037]) {
        assert!(
            (judged.measured.unwrap() - expected).abs() < 0.005,
            "{judged:?}"
        );
        assert_eq!((judged.verdict, judged.ci), (Verdict::Inconclusive, None));
        assert_eq!(
            reason(judged),
            "single block: variance unknown, so no verdict"
        );
    }
}

#[test]
fn three_blocks_of_p1_reproduce_every_claim() {
    let judged = judge(&question(p1_claims()), &p1(3));
    for judged in &judged {
        let (low, high) = judged.ci.unwrap();
        assert!(low <= judged.measured.unwrap() && judged.measured.unwrap() <= high);
        assert_eq!(judged.verdict, Verdict::Reproduced, "{judged:?}");
    }
    let thresholds: Vec<&str> = judged
        .iter()
        .map(|judged| judged.threshold.as_str())
        .collect();
    assert_eq!(
        thresholds,
        [">= 1.30", ">= 1.03", ">= 1.34", ">= 1.19", "<= 1.04"]
    );
}

#[test]
fn a_claim_whose_interval_lies_on_the_other_side_is_not_reproduced() {
    let turned = ratio(("5.5", SMALL), ("5.6", SMALL), 1.70);
    assert_eq!(judged(turned, &p1(3)).verdict, Verdict::NotReproduced);
    assert_eq!(
        judged(cold_spread(0.01), &p1(3)).verdict,
        Verdict::NotReproduced
    );
}

#[test]
fn a_claim_whose_cell_names_a_level_without_trials_is_not_available() {
    let names_large = || {
        let mut claim = cold_spread(0.5);
        if let Subject::Spread { among, .. } = &mut claim.subject {
            among.levels[0].1.push(LARGE.into());
        }
        claim
    };
    let mut trials = p1(3);
    let found = judged(names_large(), &trials);
    assert_eq!(found.verdict, Verdict::NotReproduced);
    trials.retain(|trial| trial.key.level("variant") != Some(LARGE));
    let found = judged(names_large(), &trials);
    assert_eq!(found.verdict, Verdict::NotAvailable, "{found:?}");
    assert_eq!(
        reason(&found),
        "no trial of variant large pool was measured"
    );
}

#[test]
fn equal_rows_are_within_a_band_and_different_ones_are_not() {
    let within = |of: (&str, &str), width| {
        let subject = Subject::Ratio {
            value: Value::Elapsed,
            of: cell(of.0, of.1, "hot"),
            to: cell("5.5", SMALL, "hot"),
            bound: Bound::Within(width),
        };
        judged(
            Claim {
                says: String::new(),
                subject,
                published: None,
            },
            &p1(3),
        )
    };
    assert_eq!(
        within(("5.6", SMALL_OLD_0), 0.10).verdict,
        Verdict::Reproduced
    );
    assert_eq!(within(("5.6", SMALL), 0.10).verdict, Verdict::NotReproduced);
    assert_eq!(within(("5.6", SMALL), 0.10).threshold, "0.91 to 1.10");
}

#[test]
fn noise_larger_than_the_difference_is_inconclusive() {
    let mut trials = p1(3);
    trials
        .iter_mut()
        .filter(|trial| trial.key.block == 1)
        .for_each(|trial| {
            trial
                .rounds
                .iter_mut()
                .for_each(|round| round.elapsed_s = 100.0)
        });
    assert_eq!(
        judged(ratio(("5.6", SMALL), ("5.5", SMALL), 1.70), &trials).verdict,
        Verdict::Inconclusive
    );
}

#[test]
fn invalid_and_failed_trials_never_count() {
    for state in [TrialState::Invalid, TrialState::Failed] {
        let mut trials = p1(3);
        trials[0].state = state;
        trials[0].rounds[1].elapsed_s = 1e9;
        let judged = judged(ratio(("5.6", SMALL), ("5.5", SMALL), 1.70), &trials);
        assert!(
            (judged.measured.unwrap() - 1.697).abs() < 0.01,
            "{judged:?}"
        );
        assert_eq!(reason(&judged), "1 of 3 blocks is incomplete and left out");
    }
}

#[test]
fn a_setting_that_both_sides_lack_leaves_a_claim_judged_and_one_that_a_side_lacks_does_not() {
    let claim = || ratio(("5.6", SMALL), ("5.5", SMALL), 1.70);
    let lacking = |is_lacking: fn(&Trial) -> bool| {
        let mut trials = p1(3);
        for trial in trials.iter_mut().filter(|trial| is_lacking(trial)) {
            trial.flag(FlagKind::SettingNotApplied, "sync_binlog: requested 1");
        }
        judged(claim(), &trials)
    };
    assert_eq!(lacking(|_| true).verdict, Verdict::Reproduced);
    let one_side = lacking(|trial| trial.key.server.as_deref() == Some("5.6"));
    assert_eq!(one_side.verdict, Verdict::NotAvailable);
    assert_eq!(
        one_side.reason.unwrap(),
        "the sides do not have the same settings: sync_binlog: requested 1"
    );
}

#[test]
fn a_claim_without_data_is_not_available_with_a_reason() {
    let claim = || ratio(("5.6", SMALL), ("5.5", SMALL), 1.70);
    let why = |trials: &[Trial], claim: Claim| {
        let judged = judged(claim, trials);
        assert_eq!(
            (judged.verdict, judged.measured),
            (Verdict::NotAvailable, None)
        );
        judged.reason.unwrap()
    };
    assert_eq!(
        why(&p1(3)[1..2], claim()),
        "no trial of server 5.5, variant small pool"
    );

    let mut flagged = p1(3);
    flagged[0].flags = vec![Flag {
        kind: "not_available".into(),
        text: "sqlite has no innodb_old_blocks_time".into(),
    }];
    assert_eq!(
        why(&flagged, claim()),
        "sqlite has no innodb_old_blocks_time"
    );

    let mut invalid = p1(1);
    invalid[0].state = TrialState::Invalid;
    invalid[0].flags = vec![Flag {
        kind: "wrong_answer".into(),
        text: "Q1.1 answered wrong".into(),
    }];
    assert_eq!(
        why(&invalid, claim()),
        "server 5.5, variant small pool: invalid: Q1.1 answered wrong"
    );

    let mut lukewarm = p1(3);
    lukewarm
        .iter_mut()
        .for_each(|trial| trial.rounds[0].name = "lukewarm".into());
    assert!(why(&lukewarm, cold_spread(0.04)).contains("lukewarm, not cold"));
}

fn counter_claim(value: Value) -> Claim {
    let (of, to) = (cell("5.6", SMALL, "hot"), cell("5.5", SMALL, "hot"));
    Claim {
        says: String::new(),
        subject: Subject::Ratio {
            value,
            of,
            to,
            bound: Bound::AtLeast(1.3),
        },
        published: None,
    }
}

#[test]
fn counters_and_their_quotients_are_compared_like_times() {
    for value in [
        Value::Counter("Pages".into()),
        Value::Quotient("Pages".into(), "Requests".into()),
    ] {
        let judged = judged(counter_claim(value), &p1(3));
        assert_eq!(judged.verdict, Verdict::Reproduced);
        assert!((judged.measured.unwrap() - 1.697).abs() < 0.01);
    }
}

#[test]
fn an_absent_counter_is_not_zero() {
    let absent = judged(counter_claim(Value::Counter("Missing".into())), &p1(3));
    assert_eq!(absent.verdict, Verdict::NotAvailable);
    assert_eq!(
        reason(&absent),
        "server 5.6, variant small pool: the record lacks the counter Missing"
    );

    let mut trials = p1(3);
    for round in trials.iter_mut().flat_map(|trial| &mut trial.rounds) {
        round.counters.insert("Pages".into(), 0);
    }
    let zero = judged(counter_claim(Value::Counter("Pages".into())), &trials);
    assert_eq!(
        reason(&zero),
        "server 5.6, variant small pool: Pages is 0: no ratio"
    );
}

#[test]
fn several_rows_in_one_cell_are_combined_and_it_says_so() {
    let mut claim = ratio(("5.6", SMALL), ("5.5", SMALL), 1.70);
    let Subject::Ratio { of, .. } = &mut claim.subject else {
        unreachable!()
    };
    of.levels[1].1.push(SMALL_OLD_0.into());
    let judged = judged(claim, &p1(1));
    let expected = (321.277f64 * 178.807).sqrt() / 189.343;
    assert!((judged.measured.unwrap() - expected).abs() < 1e-3);
    assert!(reason(&judged).starts_with("`of` is the geometric mean of 2 rows"));
}

#[test]
fn one_round_by_its_index_is_that_round_alone() {
    let mut claim = ratio(("5.6", SMALL), ("5.5", SMALL), 1.70);
    let Subject::Ratio { of, to, .. } = &mut claim.subject else {
        unreachable!()
    };
    (
        of.round.as_mut().unwrap().index,
        to.round.as_mut().unwrap().index,
    ) = (Some(2), Some(2));
    assert!((judged(claim, &p1(1)).measured.unwrap() - 320.74 / 189.34).abs() < 1e-9);
}

#[test]
fn the_table_has_the_published_form() {
    let rows = table(&question(vec![]), &p1(3));
    let order: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row.server.as_deref().unwrap(), row.levels[0].1.as_str()))
        .collect();
    assert_eq!(order, P1.map(|(server, variant, _)| (server, variant)));
    let rounds: Vec<(&str, u32)> = rows[0]
        .rounds
        .iter()
        .map(|round| (round.name.as_str(), round.index))
        .collect();
    assert_eq!(rounds, [("cold", 1), ("hot", 1), ("hot", 2), ("hot", 3)]);
    let cold = rows[0].rounds[0].elapsed_s.as_ref().unwrap();
    assert_eq!(cold.blocks, 3);
    assert!(cold.min <= cold.mean && cold.mean <= cold.max && cold.ci.is_some());
}

#[test]
fn a_row_without_a_figure_says_why() {
    let mut trials = p1(1);
    trials[1].state = TrialState::Failed;
    trials[1].flags = vec![Flag {
        kind: "server_failed".into(),
        text: "the server did not start".into(),
    }];
    let rows = table(&question(vec![]), &trials);
    assert_eq!(
        rows[1].missing.as_deref(),
        Some("failed: the server did not start")
    );
    assert_eq!(rows[0].missing, None);
}

#[test]
fn trials_without_a_server_have_rows_and_claims_by_their_other_levels() {
    let mut trials = p1(3);
    trials.retain(|trial| trial.key.server_name() == "5.6");
    trials.iter_mut().for_each(|trial| trial.key.server = None);
    let rows = table(&question(vec![]), &trials);
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.server.is_none()));
    let cell = |variant: &str| Cell {
        levels: vec![("variant".into(), vec![variant.into()])],
        ..cell("", variant, "hot")
    };
    let claim = Claim {
        says: String::new(),
        subject: Subject::Ratio {
            value: Value::Elapsed,
            of: cell(SMALL),
            to: cell(SMALL_OLD_0),
            bound: Bound::AtLeast(1.34),
        },
        published: None,
    };
    assert_eq!(judged(claim, &trials).verdict, Verdict::Reproduced);
}

/// Five claims on equal servers: what Holm has to hold is the share of runs with any verdict at all.
#[test]
fn among_many_claims_a_false_verdict_stays_as_rare_as_with_one() {
    let claims: Vec<Claim> = (0..5)
        .map(|n| ratio((&format!("s{}", n + 1), SMALL), ("s0", SMALL), 1.0))
        .collect();
    let question = question(claims);
    let mut random = rand_pcg::Pcg64::seed_from_u64(7);
    // The sum of twelve uniform numbers is close enough to a normal one for this.
    let mut noise = || (0.05 * ((0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0)).exp();
    let runs = 600;
    let mut wrong = 0;
    for _ in 0..runs {
        let trials: Vec<Trial> = (0..4)
            .flat_map(|block| (0..6).map(move |server| (block, server)))
            .map(|(block, server)| trial(block, &format!("s{server}"), SMALL, [10.0 * noise(); 4]))
            .collect();
        let judged = judge(&question, &trials);
        wrong += usize::from(
            judged
                .iter()
                .any(|judged| judged.verdict != Verdict::Inconclusive),
        );
    }
    let share = wrong as f64 / runs as f64;
    assert!(share > 0.0 && share < 0.06, "{share}");
}

#[test]
fn a_level_without_cold_rounds_has_its_hot_times_under_hot() {
    let mut trials = p1(3);
    let hot_alone = trials[0].key.levels.clone();
    for trial in &mut trials {
        if trial.key.levels == hot_alone {
            trial.rounds.retain(|round| round.name == "hot");
        }
    }
    let rows = table(&question(vec![]), &trials);
    let row = rows.iter().find(|row| row.levels == hot_alone).unwrap();
    let named: Vec<(&str, bool)> = (row.rounds.iter())
        .map(|round| (round.name.as_str(), round.elapsed_s.is_some()))
        .collect();
    assert_eq!(named[0], ("cold", false));
    assert!(named[1..].iter().all(|named| *named == ("hot", true)));
    let whole = table(&question(vec![]), &p1(3));
    let whole = whole
        .iter()
        .find(|whole| (&whole.server, &whole.levels) == (&row.server, &row.levels));
    assert_eq!(row.rounds[1..], whole.unwrap().rounds[1..]);
}

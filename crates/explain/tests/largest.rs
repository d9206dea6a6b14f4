//! What explains the largest difference.

use crate::common;
use explain::{Difference, explain_largest};
use rand::{RngExt, SeedableRng};
use record::*;

fn trial(block: u32, server: &str, variant: &str, hot_s: f64, counters: &[(&str, i64)]) -> Trial {
    let mut trial = common::trial(block, TrialState::Done, 1, 0);
    trial.key = TrialKey {
        block,
        server: Some(server.into()),
        levels: vec![("variant".into(), variant.into())],
        role: record::Role::Measured,
    };
    for (n, round) in trial.rounds.iter_mut().enumerate() {
        round.elapsed_s = if n == 0 { 100.0 } else { hot_s };
        // One in a thousand more each round: the noise of a counter.
        round.counters = counters
            .iter()
            .map(|(name, delta)| (name.to_string(), delta + delta / 1000 * n as i64))
            .collect();
    }
    trial
}

const SLOW: [(&str, i64); 9] = [
    ("Innodb_buffer_pool_reads", 3_000_000),
    ("Innodb_buffer_pool_read_requests", 30_000_000),
    ("Handler_read_key", 5_000_000),
    ("Uptime", 320_000),
    ("Bytes_sent", 900_000),
    ("Created_tmp_tables", 3),
    ("some_unknown", 4_000_000),
    ("Sort_rows", 10_000),
    ("Handler_read_rnd", 100_000),
];
const FAST: [(&str, i64); 9] = [
    ("Innodb_buffer_pool_reads", 1_500_000),
    ("Innodb_buffer_pool_read_requests", 30_000_000),
    ("Handler_read_key", 5_000_000),
    ("Uptime", 1_000),
    ("Bytes_sent", 900),
    ("Created_tmp_tables", 1),
    ("some_unknown", 1_500_000),
    ("Sort_rows", 10_001),
    ("Handler_read_rnd", 0),
];

fn explained(trials: &[Trial]) -> explain::Explanation {
    explain_largest(&common::run(), trials, 20).unwrap()
}

fn names(differences: &[Difference]) -> Vec<&str> {
    differences
        .iter()
        .map(|difference| difference.counter.as_str())
        .collect()
}

#[test]
fn the_costly_counter_comes_first_then_what_differs_most_and_times_and_traffic_never() {
    let found = explained(&[
        trial(0, "5.6", "a", 60.0, &FAST),
        trial(0, "5.5", "a", 110.0, &SLOW),
    ]);
    assert_eq!(
        (
            found.of.0.as_deref().unwrap(),
            found.to.0.as_deref().unwrap(),
            found.round.as_str()
        ),
        ("5.5", "5.6", "hot")
    );
    assert!((found.ratio - 110.0 / 60.0).abs() < 1e-9);
    let expected = [
        "Innodb_buffer_pool_reads",
        "Handler_read_rnd",
        "Innodb_buffer_pool_reads / Innodb_buffer_pool_read_requests",
        "some_unknown",
        "Sort_rows",
    ];
    assert_eq!(names(&found.why.differences), expected);
    let miss_ratio = &found.why.differences[2];
    assert!(
        (miss_ratio.of.unwrap() - 0.1).abs() < 1e-3
            && (miss_ratio.ratio.unwrap() - 2.0).abs() < 1e-2
    );
    assert_eq!(miss_ratio.meaning, explain::meaning(&miss_ratio.counter));
    assert_eq!(
        (found.why.differences[1].to, found.why.differences[1].ratio),
        (Some(0.0), None)
    );
}

#[test]
fn a_difference_within_the_noise_of_the_rounds_is_marked_and_last() {
    let found = explained(&[
        trial(0, "5.6", "a", 60.0, &FAST),
        trial(0, "5.5", "a", 110.0, &SLOW),
    ]);
    let beyond: Vec<Option<bool>> = found
        .why
        .differences
        .iter()
        .map(|difference| difference.beyond_noise)
        .collect();
    assert_eq!(
        beyond,
        [Some(true), Some(true), Some(true), Some(true), Some(false)]
    );
}

#[test]
fn over_blocks_the_noise_is_that_of_the_paired_ratios() {
    let jitter = |block: u32| {
        [
            (
                "Handler_read_key",
                5_000_000 + 1_000_000 * i64::from(block % 2),
            ),
            ("Sort_rows", 20_000 + i64::from(block)),
        ]
    };
    let opposite = |block: u32| {
        [
            (
                "Handler_read_key",
                5_000_000 + 1_000_000 * i64::from((block + 1) % 2),
            ),
            ("Sort_rows", 10_000 + i64::from(block)),
        ]
    };
    let block = |b: u32| {
        [
            trial(b, "5.5", "a", 2.0, &jitter(b)),
            trial(b, "5.6", "a", 1.0, &opposite(b)),
        ]
    };
    let found = explained(&(0..4).flat_map(block).collect::<Vec<_>>());
    let beyond: Vec<(&str, Option<bool>)> = found
        .why
        .differences
        .iter()
        .map(|d| (d.counter.as_str(), d.beyond_noise))
        .collect();
    assert_eq!(beyond[0], ("Sort_rows", Some(true)));
    assert!(!beyond.contains(&("Handler_read_key", Some(true))));
}

#[test]
fn rows_that_differ_in_one_factor_are_preferred_to_a_larger_ratio() {
    let trials = [
        trial(0, "5.5", "a", 10.0, &FAST),
        trial(0, "5.6", "a", 20.0, &SLOW),
        trial(0, "5.6", "b", 1000.0, &SLOW),
    ];
    let found = explained(&trials);
    assert_eq!(
        (
            found.of.1[0].1.as_str(),
            found.to.0.as_deref().unwrap(),
            found.ratio
        ),
        ("b", "5.6", 50.0)
    );
}

#[test]
fn a_counter_that_one_server_lacks_is_absent_not_zero() {
    let found = explained(&[
        trial(0, "5.6", "a", 60.0, &FAST[1..]),
        trial(0, "5.5", "a", 110.0, &SLOW),
    ]);
    let reads = found
        .why
        .differences
        .iter()
        .find(|difference| difference.counter == "Innodb_buffer_pool_reads")
        .unwrap();
    assert_eq!(
        (reads.to, reads.ratio, reads.beyond_noise),
        (None, None, None)
    );
}

#[test]
fn one_row_has_nothing_to_explain() {
    assert!(explain_largest(&common::run(), &[trial(0, "5.6", "a", 60.0, &FAST)], 5).is_none());
}

/// Three blocks of two equal variants with 300 counters, whose noise is the sum of four draws.
fn equal_counters(seed: u64) -> Vec<Trial> {
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    let names: Vec<String> = (0..300).map(|place| format!("probe_{place}")).collect();
    let mut counters = || -> Vec<(&str, i64)> {
        let mut noise = || (0..4).map(|_| random.random::<f64>() - 0.5).sum::<f64>();
        let value = |name| (name, (1e6 * (1.0 + 0.02 * noise())) as i64);
        names.iter().map(String::as_str).map(value).collect()
    };
    let blocks = (0..3).flat_map(|block| [(block, "a", 60.0), (block, "b", 110.0)]);
    blocks
        .map(|(block, variant, hot_s)| trial(block, "5.6", variant, hot_s, &counters()))
        .collect()
}

/// Tested one by one, about fifteen of them differ "beyond noise" in every run.
#[test]
fn of_hundreds_of_equal_counters_hardly_any_run_has_one_beyond_noise() {
    let has_any = |seed: &u64| {
        let trials = equal_counters(*seed);
        let found = explain_largest(&common::run(), &trials, 1000).unwrap();
        let mut all = found.why.differences.iter();
        all.any(|difference| difference.beyond_noise == Some(true))
    };
    let wrong = (0..60).filter(has_any).count();
    assert!(wrong <= 8, "{wrong} of 60");
}

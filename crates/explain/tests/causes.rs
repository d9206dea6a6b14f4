//! Which causes are named, and which times they have to explain.

use crate::common;
use crate::ratio::ratio;
use explain::{Finding, TimesVerdict, Why, explain_claim, explain_largest};
use record::*;

/// A cold round of one query in each block, of one cell of a claim.
#[derive(Clone)]
struct Side {
    server: &'static str,
    level: &'static str,
    /// By block.
    elapsed_s: [f64; 3],
    counters: Vec<(&'static str, i64)>,
    settings: Vec<(&'static str, &'static str)>,
    plan: &'static str,
    limits: Vec<(&'static str, f64)>,
}

fn side(level: &'static str, elapsed_s: f64, counters: &[(&'static str, i64)]) -> Side {
    Side {
        server: "5.6",
        level,
        elapsed_s: [elapsed_s, elapsed_s * 1.01, elapsed_s * 0.99],
        counters: counters.to_vec(),
        settings: Vec::new(),
        plan: "1 SIMPLE lineitem ref l_partkey Using where",
        limits: Vec::new(),
    }
}

impl Side {
    fn set(mut self, name: &'static str, value: &'static str) -> Side {
        self.settings.push((name, value));
        self
    }

    fn limit(mut self, name: &'static str, asked: f64) -> Side {
        self.limits.push((name, asked));
        self
    }

    fn trials(&self) -> Vec<Trial> {
        (0..3).map(|block| self.trial(block)).collect()
    }

    fn trial(&self, block: u32) -> Trial {
        let mut trial = common::trial(block, TrialState::Done, 1, 0);
        trial.key.server = Some(self.server.into());
        trial.key.levels = vec![("feature".into(), self.level.into())];
        trial.rounds.truncate(1);
        let round = &mut trial.rounds[0];
        round.elapsed_s = self.elapsed_s[block as usize];
        let more = |delta: i64| delta + delta / 1000 * i64::from(block);
        round.counters = (self.counters.iter())
            .map(|(name, delta)| (name.to_string(), more(*delta)))
            .collect();
        round.queries[0].plan_hash = Some("a".into());
        trial.plans = [("a".to_string(), self.plan.to_string())].into();
        trial.settings = (self.settings.iter())
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        trial.limits = (self.limits.iter())
            .map(|(name, asked)| LimitNote {
                name: name.to_string(),
                asked: *asked,
                measured: *asked,
            })
            .collect();
        trial
    }
}

fn claim(of: &str, to: &str) -> Claim {
    ratio(Value::Elapsed, of, to, None)
}

fn why(of: &Side, to: &Side) -> Why {
    let trials = [of.trials(), to.trials()].concat();
    explain_claim(&claim(of.level, to.level), &common::run(), &trials, 20).unwrap()
}

fn causes(why: &Why) -> Vec<&'static str> {
    let because = why.reason().into_iter().flat_map(|reason| &reason.because);
    because.map(|because| because.words).collect()
}

fn largest(trials: &[Trial]) -> Option<explain::Explanation> {
    let mut run = common::run();
    run.question.rounds = vec!["cold".into()];
    explain_largest(&run, trials, 20)
}

const POOL: &str = "innodb_buffer_pool_size";
const READS: &str = "Innodb_buffer_pool_reads";
const REQUESTS: &str = "Innodb_buffer_pool_read_requests";

fn pages(level: &'static str, elapsed_s: f64, reads: i64) -> Side {
    side(level, elapsed_s, &[(READS, reads), (REQUESTS, 900_000)])
}

#[test]
fn an_unused_cache_is_not_a_cause() {
    let innodb = pages("innodb", 50.0, 90_000).set(POOL, "134217728");
    let myisam = side("myisam", 10.0, &[(READS, 0), (REQUESTS, 40)]).set(POOL, "4294967296");
    assert_eq!(causes(&why(&innodb, &myisam)), [""; 0]);
    let larger = pages("large", 10.0, 9_000).set(POOL, "4294967296");
    assert_eq!(
        causes(&why(&innodb, &larger)),
        ["more of the data fits in the buffer pool"]
    );
}

#[test]
fn a_larger_key_buffer_explains_myisam_index_blocks_but_not_innodb_pages() {
    let keys = |level, elapsed_s, name, reads, size| {
        let counters = [
            (name, reads),
            ("Key_read_requests", 900_000),
            (REQUESTS, 900_000),
        ];
        side(level, elapsed_s, &counters).set("key_buffer_size", size)
    };
    let found = |name| {
        let small = keys("small", 50.0, name, 90_000, "8388608");
        causes(&why(&small, &keys("large", 10.0, name, 9_000, "134217728")))
    };
    assert_eq!(
        found("Key_reads"),
        ["more index blocks fit in the key buffer"]
    );
    assert_eq!(found(READS), [""; 0]);
}

/// P6: a server with a slow disk beside one in memory.
#[test]
fn counters_explain_nothing_if_the_limits_differ() {
    let small = pages("small", 50.0, 90_000).set(POOL, "134217728");
    let large = pages("large", 10.0, 9_000).set(POOL, "4294967296");
    let unexplained = Finding::Unexplained(TimesVerdict::Differ);
    let found = why(&small.clone().limit("read_iops", 4000.0), &large);
    assert_eq!(found.finding, unexplained);
    let slower = large.clone().limit("read_iops", 2000.0);
    let found = why(&small.clone().limit("read_iops", 4000.0), &slower);
    assert_eq!(found.finding, unexplained);
    // Half of the data is not as much in one server as in another.
    let found = why(&small.limit("memory", 5.0e8), &large.limit("memory", 5.4e8));
    assert_eq!(causes(&found), ["more of the data fits in the buffer pool"]);
}

#[test]
fn a_slightly_larger_pool_is_not_a_cause() {
    let small = pages("small", 50.0, 90_000).set(POOL, "146800640");
    let large = pages("large", 10.0, 9_000).set(POOL, "156237824");
    assert_eq!(causes(&why(&small, &large)), [""; 0]);
}

#[test]
fn a_setting_explains_nothing_between_two_servers() {
    let new = pages("on", 50.0, 90_000).set("innodb_old_blocks_time", "1000");
    let old = pages("off", 25.0, 45_000).set("innodb_old_blocks_time", "0");
    assert_eq!(
        causes(&why(&new, &old)),
        ["pages move to the young sublist of the buffer pool by another rule"]
    );
    let elsewhere = Side {
        server: "5.5",
        ..old
    };
    assert_eq!(causes(&why(&new, &elsewhere)), [""; 0]);
}

#[test]
fn a_young_page_setting_without_effect_is_not_a_cause() {
    let rule = |level, elapsed_s, reads, value| {
        let counters = [(READS, reads), ("Innodb_buffer_pool_pages_made_young", 0)];
        side(level, elapsed_s, &counters).set("innodb_old_blocks_time", value)
    };
    let (on, off) = (
        rule("on", 50.0, 90_000, "1000"),
        rule("off", 25.0, 45_000, "0"),
    );
    assert_eq!(causes(&why(&on, &off)), [""; 0]);
}

#[test]
fn nothing_is_explained_where_the_times_do_not_differ_beyond_noise() {
    let small = pages("small", 10.0, 90_000).set(POOL, "134217728");
    let noisy = Side {
        elapsed_s: [4.0, 12.0, 9.0],
        ..pages("large", 10.0, 9_000).set(POOL, "4294967296")
    };
    assert_eq!(
        why(&small, &noisy).finding,
        Finding::Nothing(TimesVerdict::WithinNoise)
    );
}

/// P6, multi-range read in MariaDB with a cold page cache.
#[test]
fn the_counter_that_costs_most_is_reported() {
    let off = side("off", 88.2, &[(READS, 127_000), ("device reads", 128_000)]);
    let on = Side {
        plan: "1 SIMPLE orders range o_orderdate Rowid-ordered scan",
        ..side("on", 10.0, &[(READS, 100_000), ("device reads", 10_000)])
    };
    let found = why(&off, &on);
    assert_eq!(
        causes(&found),
        ["multi-range read sorts row positions before it reads the rows"]
    );
    let reason = found.reason().cloned().unwrap();
    assert_eq!(reason.counter, "device reads");
}

#[test]
fn a_counter_with_two_names_is_listed_once() {
    for (status, metric) in [
        ("Innodb_data_read", "buffer_data_reads"),
        (READS, "buffer_pool_reads"),
    ] {
        let read =
            |level, elapsed_s, moved| side(level, elapsed_s, &[(status, moved), (metric, moved)]);
        let found = why(&read("off", 80.0, 9_000_000), &read("on", 10.0, 1_000_000));
        let names: Vec<&str> = (found.differences.iter())
            .map(|difference| difference.counter.as_str())
            .collect();
        assert_eq!(names, [status]);
    }
}

#[test]
fn shared_evidence_is_listed_once() {
    let searched = |level, elapsed_s, down, searches| {
        let counters = [
            ("adaptive_hash_searches_btree", down),
            ("adaptive_hash_searches", searches),
        ];
        side(level, elapsed_s, &counters)
    };
    let found = why(
        &searched("off", 8.0, 900_000, 0),
        &searched("on", 4.0, 90_000, 800_000),
    );
    assert_eq!(
        found.reason().cloned().unwrap().because[0].evidence.len(),
        1
    );
}

fn crowd(mut trials: Vec<Trial>, clients: u32) -> Vec<Trial> {
    for trial in &mut trials {
        let one = trial.rounds[0].queries[0].clone();
        let asked = (1..=clients).map(|client| Query {
            client,
            ..one.clone()
        });
        trial.rounds[0].queries = asked.collect();
    }
    trials
}

#[test]
fn rows_of_different_numbers_of_clients_are_not_compared() {
    let rows = |clients| {
        let four = crowd(pages("a", 400.0, 90_000).trials(), 4);
        [four, crowd(pages("b", 200.0, 90_000).trials(), clients)].concat()
    };
    assert_eq!(largest(&rows(1)), None);
    let found = largest(&rows(4)).unwrap();
    assert!((found.ratio - 2.0).abs() < 1e-9);
}

#[test]
fn nothing_is_explained_between_different_numbers_of_clients() {
    let four = crowd(pages("four", 200.0, 40_000).trials(), 4);
    let trials = [four, pages("one", 100.0, 90_000).trials()].concat();
    let found = explain_claim(&claim("four", "one"), &common::run(), &trials, 20).unwrap();
    assert_eq!(found.finding, Finding::Nothing(TimesVerdict::OtherLoads));
}

fn stop(trials: &mut [Trial]) {
    for trial in trials {
        trial.rounds[0].elapsed_s = 600.0;
        trial.rounds[0].queries[0].error = Some("> 600 s".into());
    }
}

#[test]
fn a_row_over_the_limit_stays_in_the_comparison_with_a_lower_bound() {
    let slow = pages("slow", 500.0, 90_000).trials();
    let mut trials = [slow, pages("fast", 50.0, 9_000).trials()].concat();
    stop(&mut trials[1..2]);
    let found = largest(&trials).unwrap();
    assert_eq!((found.of.1[0].1.as_str(), found.at_least), ("slow", true));
    let reads = (found.why.differences.iter())
        .find(|one| one.counter == READS)
        .unwrap();
    assert_eq!(
        (reads.of, reads.to),
        (Some(90_090.0), Some(9_009.0)),
        "the mean of the first and the last block, on both sides"
    );
    stop(&mut trials);
    assert_eq!(largest(&trials), None, "both sides are bounds");
}

#[test]
fn without_a_cause_counters_of_prony_and_of_unused_engines_are_not_reported() {
    let counters = |cpu, requests, written| {
        [
            ("server cpu us", cpu),
            (REQUESTS, requests),
            ("Innodb_data_written", written),
        ]
    };
    let innodb = side("innodb", 50.0, &counters(90_000_000, 900_000, 90_000));
    let myisam = side("myisam", 5.0, &counters(9_000_000, 30, 0));
    let found = why(&innodb, &myisam);
    assert_eq!((found.differences.len(), found.reason()), (3, None));
}

#[test]
fn pages_of_a_pool_do_not_explain_what_another_engine_reads_by_itself() {
    let names = [
        READS,
        "buffer_pages_read",
        REQUESTS,
        "Key_reads",
        "Handler_read_key",
    ];
    let cold = |level, elapsed_s, counters: [i64; 5]| {
        side(
            level,
            elapsed_s,
            &Vec::from_iter(names.into_iter().zip(counters)),
        )
    };
    let explained = |lookups| {
        let innodb = cold("innodb", 50.0, [90_000, 90_000, 900_000, 0, lookups]);
        let myisam = cold("myisam", 10.0, [0, 0, 20, 20_000, 400_000]);
        let found = why(&innodb, &myisam);
        found.reason().map(|reason| reason.counter.clone())
    };
    assert_eq!(explained(400_000), None);
    assert_eq!(explained(20_000_000).as_deref(), Some("Handler_read_key"));
}

#[test]
fn writes_during_read_only_queries_are_not_reported() {
    let counters = |written, inserts| [("Innodb_pages_written", written), ("Com_insert", inserts)];
    let said = |inserts| {
        let off = side("off", 50.0, &counters(900_000, inserts));
        let found = why(&off, &side("on", 5.0, &counters(9_000, inserts)));
        found.reason().map(|reason| reason.counter.clone())
    };
    assert_eq!(said(0), None);
    assert_eq!(said(9).as_deref(), Some("Innodb_pages_written"));
}

#[test]
fn temporary_tables_on_disk_do_not_make_innodb_a_myisam() {
    let keys = |level, elapsed_s, counters: [i64; 3]| {
        let names = [READS, REQUESTS, "Key_read_requests"];
        let counters: Vec<_> = names.into_iter().zip(counters).collect();
        side(level, elapsed_s, &counters)
    };
    let innodb = keys("8.0", 50.0, [90_000, 900_000, 0]);
    let with_tables = keys("5.6", 10.0, [9_000, 800_000, 70_000]);
    assert_eq!(causes(&why(&innodb, &with_tables)), [""; 0]);
}

/// So many searches in 100 queries.
fn searches(level: &'static str, elapsed_s: f64, of_tree: i64, of_hash: i64) -> Side {
    let counters = [
        ("adaptive_hash_searches_btree", of_tree),
        ("adaptive_hash_searches", of_hash),
    ];
    side(level, elapsed_s, &counters)
}

/// MariaDB counts no B-tree lookups without its adaptive hash index, which is off by default.
#[test]
fn lookups_explain_nothing_where_the_index_that_counts_them_is_off() {
    let of = searches("mysql", 9.0, 5_427_500, 900);
    let explained = |to: Side| why(&of, &to).reason().map(|reason| reason.counter.clone());
    assert_eq!(explained(searches("mariadb", 2.0, 0, 0)), None);
    let off = searches("mariadb", 2.0, 0, 900).set("innodb_adaptive_hash_index", "OFF");
    assert_eq!(explained(off), None);
    let on = explained(searches("mariadb", 2.0, 100, 900));
    assert_eq!(on.as_deref(), Some("adaptive_hash_searches_btree"));
}

/// MySQL 5.5 has an adaptive hash index and no counter of it.
#[test]
fn a_counter_that_a_server_lacks_does_not_show_that_its_feature_is_unused() {
    let requests = "Innodb_buffer_pool_read_requests";
    let hashed = side(
        "new",
        2.0,
        &[(requests, 1_000_000), ("adaptive_hash_searches", 5_000_000)],
    );
    let without = side("old", 9.0, &[(requests, 9_000_000)]);
    assert_eq!(causes(&why(&hashed, &without)), Vec::<&str>::new());
}

#[test]
fn pages_flushed_for_one_reason_explain_nothing_where_no_more_are_written() {
    let flushed = |level, elapsed_s, written| {
        let counters = [
            (
                "buffer_flush_sync_total_pages",
                if level == "new" { 0 } else { 200_000 },
            ),
            ("Innodb_pages_written", written),
            ("Com_update", 100_000),
        ];
        side(level, elapsed_s, &counters)
    };
    let explained = |written| {
        let why = why(&flushed("new", 2.0, written), &flushed("old", 9.0, 300_000));
        why.reason().map(|reason| reason.counter.clone())
    };
    assert_ne!(
        explained(300_000).as_deref(),
        Some("buffer_flush_sync_total_pages")
    );
    assert!(explained(50_000).is_some());
}

/// MySQL counts the rows of temporary tables among the others, MariaDB apart.
#[test]
fn rows_that_one_server_counts_under_another_name_explain_nothing() {
    let written = |level, elapsed_s, handler, apart: Option<i64>| {
        let mut counters = vec![("Handler_write", handler), ("Com_insert", 100)];
        counters.extend(apart.map(|rows| ("Handler_tmp_write", rows)));
        side(level, elapsed_s, &counters)
    };
    let explained = |to: Side| {
        let why = why(&written("mysql", 9.0, 15_000_000, None), &to);
        why.reason().map(|reason| reason.counter.clone())
    };
    assert_eq!(
        explained(written("mariadb", 2.0, 0, Some(15_000_000))),
        None
    );
    // No temporary table was used.
    let none = explained(written("mariadb", 2.0, 0, Some(0)));
    assert_eq!(none.as_deref(), Some("Handler_write"));
}

#[test]
fn fsyncs_explain_nothing_where_the_writes_of_one_side_are_synchronous() {
    let flushed = |level, elapsed_s, fsyncs| {
        side(
            level,
            elapsed_s,
            &[("Innodb_data_fsyncs", fsyncs), ("Com_update", 100_000)],
        )
    };
    let explained = |to: Side| {
        let why = why(&flushed("fsync", 9.0, 100_000), &to);
        why.reason().map(|reason| reason.counter.clone())
    };
    let synchronous = flushed("new", 2.0, 10).set("innodb_flush_method", "O_DSYNC");
    assert_eq!(explained(synchronous), None);
    let through = flushed("new", 2.0, 10).set("innodb_log_file_write_through", "ON");
    assert_eq!(explained(through), None);
    let fewer = explained(flushed("new", 2.0, 10));
    assert_eq!(fewer.as_deref(), Some("Innodb_data_fsyncs"));
}

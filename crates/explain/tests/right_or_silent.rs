//! Explanations are right or silent: a counter is weighed by what it costs, against the difference that it has to explain.

use crate::common;
use crate::ratio::ratio;
use explain::{Finding, Reason, SideName, TimesVerdict, Why, explain_claim};
use record::*;

/// Seconds of `common::timed` after its warm-up.
const COUNTED_S: f64 = 50.0;

/// A timed load of eight clients, in three blocks.
struct Load {
    level: &'static str,
    /// Operations per second, by block.
    throughput: [f64; 3],
    /// Per operation.
    counters: Vec<(&'static str, f64)>,
    settings: Vec<(&'static str, &'static str)>,
    limits: Vec<(&'static str, f64)>,
}

fn load(level: &'static str, throughput: f64, counters: &[(&'static str, f64)]) -> Load {
    Load {
        level,
        throughput: [throughput, throughput * 1.01, throughput * 0.99],
        counters: counters.to_vec(),
        settings: Vec::new(),
        limits: Vec::new(),
    }
}

impl Load {
    fn set(mut self, name: &'static str, value: &'static str) -> Load {
        self.settings.push((name, value));
        self
    }

    fn limit(mut self, name: &'static str, value: f64) -> Load {
        self.limits.push((name, value));
        self
    }

    fn trial(&self, block: u32) -> Trial {
        let mut trial = common::timed(block);
        trial.key.levels = vec![("feature".into(), self.level.into())];
        let throughput = self.throughput[block as usize];
        let load = trial.load.as_mut().unwrap();
        let seconds = vec![Some(throughput); 60];
        load.series.insert("throughput".into(), seconds);
        load.histograms.clear(); // they take most of the time, and closed loops do not need them here
        let noise = 1.0 + 0.002 * f64::from(block);
        let events = |per_operation: f64| (per_operation * throughput * COUNTED_S * noise) as i64;
        let counters = self.counters.iter();
        load.counters = counters
            .map(|(name, per_operation)| (name.to_string(), events(*per_operation)))
            .collect();
        let settings = self.settings.iter();
        trial.settings = settings
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let limits = self.limits.iter();
        trial.limits = limits
            .map(|(name, value)| LimitNote {
                name: name.to_string(),
                asked: *value,
                measured: *value,
            })
            .collect();
        trial
    }
}

fn why(slow: &Load, fast: &Load) -> Why {
    why_of("title = \"x\"", slow, fast)
}

/// `experiment` is the text of the file.
fn why_of(experiment: &str, slow: &Load, fast: &Load) -> Why {
    let claim = ratio(Value::Throughput, fast.level, slow.level, None);
    let run = Run {
        experiment_toml: experiment.into(),
        ..common::run()
    };
    let blocks = 0..3;
    let trials: Vec<Trial> = blocks
        .flat_map(|block| [slow.trial(block), fast.trial(block)])
        .collect();
    explain_claim(&claim, &run, &trials, 20).unwrap()
}

fn reason(why: &Why) -> &Reason {
    why.reason().unwrap_or_else(|| panic!("{:?}", why.finding))
}

fn causes(why: &Why) -> Vec<&'static str> {
    reason(why).because.iter().map(|one| one.words).collect()
}

const FLUSH_LOG: &str = "innodb_flush_log_at_trx_commit";
const FSYNCS: &str = "Innodb_data_fsyncs";
const NEIGHBOURS: &str = "buffer_flush_neighbor_total_pages";

/// As it was seen: the neighbours stood first, because their ratio is larger.
#[test]
fn fsyncs_and_not_neighbours_explain_when_the_log_is_flushed() {
    let slow = load("1", 4000.0, &[(FSYNCS, 0.32), (NEIGHBOURS, 0.24)]).set(FLUSH_LOG, "1");
    let fast = load("2", 8000.0, &[(FSYNCS, 0.08), (NEIGHBOURS, 0.0)]).set(FLUSH_LOG, "2");
    let found = why(&slow, &fast);
    assert_eq!(reason(&found).counter, FSYNCS);
    assert_eq!(
        causes(&found),
        ["the redo log is flushed to disk at another point than each commit"]
    );
    assert_eq!(found.differences[0].counter, FSYNCS);
}

/// As it was seen: the limit slowed the reads down, and the scans of the LRU list moved with them.
#[test]
fn a_limited_disk_is_explained_by_its_limit_and_not_by_scans_of_the_lru_list() {
    let counters = |scanned| [("device reads", 0.5), ("buffer_LRU_batch_scanned", scanned)];
    let slow = load("slow disk", 400.0, &counters(90.0)).limit("read_iops", 200.0);
    let fast = load("fast disk", 4000.0, &counters(9.0));
    match why(&slow, &fast).finding {
        Finding::Limit(limit) => {
            assert_eq!(
                (limit.name.as_str(), limit.with),
                ("read_iops", SideName::To)
            );
            // Half a read of 5 ms for each of eight clients, of 18 ms.
            assert!((limit.share - 20.0 / 18.0).abs() < 0.01, "{limit:?}");
        }
        other => panic!("{other:?}"),
    }
    let idle = load("slow disk", 400.0, &[("device reads", 0.001)]).limit("read_iops", 200.0);
    assert_eq!(
        why(&idle, &fast).finding,
        Finding::Unexplained(TimesVerdict::Differ),
        "a limit that is not used"
    );
}

/// As it was seen beside other tests: they read from the same disk all the time, so that a longer operation had more reads.
#[test]
fn reads_of_a_disk_by_other_processes_explain_nothing() {
    let read = |level, throughput, reads: f64, own_bytes, attempts| {
        let counters = [
            ("device reads", reads),
            ("device read us", reads * 5_000.0),
            ("server read bytes", own_bytes),
            ("Handler_icp_attempts", attempts),
        ];
        load(level, throughput, &counters)
    };
    let beside = |own_bytes: f64| {
        let slow = read("off", 100.0, 8.0, own_bytes * 8.0, 0.0);
        let fast = read("on", 1000.0, 0.8, own_bytes * 0.8, 100.0);
        (slow, fast)
    };
    let (slow, fast) = beside(0.0);
    let found = why(&slow, &fast).finding;
    assert_eq!(found, Finding::Unexplained(TimesVerdict::Differ));
    let (slow, fast) = beside(16_384.0);
    let found = why(&slow, &fast);
    assert_eq!(reason(&found).counter, "device reads");
    let causes = causes(&found);
    assert!(
        causes[0].starts_with("index condition pushdown"),
        "{causes:?}"
    );
    let (slow, fast) = beside(0.0);
    let found = why(&slow.limit("read_iops", 200.0), &fast).finding;
    assert_eq!(found, Finding::Unexplained(TimesVerdict::Differ));
}

#[test]
fn a_limit_of_the_cpu_is_explained_by_the_cpu_time() {
    let slow = load("half a core", 1000.0, &[("server cpu us", 500.0)]).limit("cpus", 0.5);
    let fast = load("all cores", 4000.0, &[("server cpu us", 480.0)]);
    assert!(matches!(why(&slow, &fast).finding, Finding::Limit(limit) if limit.name == "cpus"));
}

#[test]
fn a_counter_that_costs_less_than_a_tenth_explains_nothing() {
    let rows = |level, throughput, rows| load(level, throughput, &[("Handler_read_next", rows)]);
    // 10 ms to explain: 400 rows take 0.2 ms, and 0.9 ms at most.
    let found = why(&rows("more", 400.0, 500.0), &rows("fewer", 800.0, 100.0));
    assert_eq!(found.finding, Finding::Unexplained(TimesVerdict::Differ));
    let found = why(&rows("more", 400.0, 5_000.0), &rows("fewer", 800.0, 100.0));
    assert_eq!(reason(&found).counter, "Handler_read_next");
}

#[test]
fn a_counter_without_a_known_cost_explains_nothing() {
    let scans = |level, throughput, scanned| {
        let counters = [("buffer_LRU_batch_scanned", scanned)];
        load(level, throughput, &counters)
    };
    let found = why(&scans("more", 400.0, 5_000.0), &scans("fewer", 800.0, 1.0));
    assert_eq!(found.finding, Finding::Unexplained(TimesVerdict::Differ));
}

#[test]
fn work_of_the_cpu_costs_no_more_than_the_cpu_time_that_it_took() {
    let rows = |level, throughput, rows, cpu_us| {
        let counters = [("Handler_read_next", rows), ("server cpu us", cpu_us)];
        load(level, throughput, &counters)
    };
    let (slow, fast) = (
        rows("more", 400.0, 50_000.0, 900.0),
        rows("fewer", 800.0, 100.0, 850.0),
    );
    assert_eq!(
        why(&slow, &fast).finding,
        Finding::Unexplained(TimesVerdict::Differ)
    );
}

#[test]
fn what_the_trials_measured_replaces_the_table() {
    let waits = |level, throughput, waits, waited_ms| {
        let counters = [
            ("Innodb_row_lock_waits", waits),
            ("Innodb_row_lock_time", waited_ms),
        ];
        load(level, throughput, &counters)
    };
    let found = why(
        &waits("one row", 400.0, 0.5, 4.0),
        &waits("many", 800.0, 0.01, 0.08),
    );
    let cost = reason(&found).cost;
    assert!(
        cost.each.measured && (cost.each.typical_s - 0.008).abs() < 1e-5,
        "{cost:?}"
    );
    assert!((cost.share - 0.49 * 8.0 / 10.0).abs() < 0.01, "{cost:?}");
}

#[test]
fn all_clients_wait_for_a_flush_of_the_log() {
    let synced = |level, throughput, synced| {
        let counters = [
            (FSYNCS, synced),
            ("device flushes", synced),
            ("device flush us", synced * 2_000.0),
        ];
        load(level, throughput, &counters)
    };
    let found = why(&synced("1", 400.0, 0.5), &synced("2", 800.0, 0.1));
    let cost = reason(&found).cost;
    assert!(
        (cost.share - 0.4 * 8.0 * 2.0 / 10.0).abs() < 0.01,
        "{cost:?}"
    );
}

#[test]
fn settings_that_the_experiment_does_not_vary_are_listed() {
    let experiment =
        "title = \"x\"\n[variant.a]\nsettings = { innodb-flush-log-at-trx-commit = 1 }";
    let with = |level, throughput, flush, instances, folder| {
        load(level, throughput, &[(FSYNCS, 0.3)])
            .set(FLUSH_LOG, flush)
            .set("innodb_buffer_pool_instances", instances)
            .set("datadir", folder)
            .set("port", flush)
    };
    let (slow, fast) = (
        with("1", 400.0, "1", "8", "/a/"),
        with("2", 800.0, "2", "1", "/b/"),
    );
    let names = |why: &Why| {
        let names = why.unintended.iter().map(|one| one.name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        names(&why_of(experiment, &slow, &fast)),
        ["innodb_buffer_pool_instances"]
    );
    assert_eq!(
        names(&why(&slow, &fast)),
        ["innodb_buffer_pool_instances", FLUSH_LOG]
    );
}

#[test]
fn another_version_is_unintended_unless_the_experiment_varies_the_build() {
    let with = |level, throughput, version, other| {
        load(level, throughput, &[])
            .set("version", version)
            .set("innodb_purge_threads", other)
    };
    let (slow, fast) = (
        with("a", 400.0, "10.11.6", "4"),
        with("b", 800.0, "10.11.14", "1"),
    );
    let found = why(&slow, &fast).unintended;
    assert_eq!((found.len(), found[0].name.as_str()), (1, "version"));
    let experiment = "[variant.b]\nserver = { build = \"mariadb@10.11.14\" }";
    assert_eq!(why_of(experiment, &slow, &fast).unintended, []);
}

#[test]
fn the_adaptive_hash_index_explains_fewer_page_requests() {
    let searches = |level, throughput, requests, hashed| {
        let counters = [
            ("Innodb_buffer_pool_read_requests", requests),
            ("adaptive_hash_searches", hashed),
        ];
        load(level, throughput, &counters)
    };
    let (slow, fast) = (
        searches("off", 100.0, 59_000.0, 0.0),
        searches("on", 140.0, 29_600.0, 29_500.0),
    );
    assert_eq!(
        causes(&why(&slow, &fast)),
        ["the adaptive hash index answers lookups without a B-tree search"]
    );
}

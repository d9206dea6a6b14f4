//! Runs and trials to test with.
#![allow(dead_code)] // each test file takes what it needs

use record::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Judges claims, with plans searched as plain text: `record` itself reads none.
pub(crate) fn judge(question: &Question, trials: &[Trial]) -> Vec<Judged> {
    let holds = |trial: &Trial, _: &str, plan: &str, text: &str| {
        Some(trial.plans.get(plan)?.contains(text))
    };
    stats::judge(question, trials, &holds)
}

/// The cold round of a server.
pub(crate) fn cold_of(server: &str) -> Cell {
    Cell {
        levels: vec![("server".into(), vec![server.to_string()])],
        round: Some(RoundSelector {
            name: "cold".into(),
            index: None,
        }),
        query: None,
        without: Vec::new(),
    }
}

pub(crate) fn run() -> Run {
    Run {
        id: "old-blocks-time-2026".into(),
        experiment_toml: "title = \"x\"".into(),
        overrides: vec!["--scale".into(), "0.1".into()],
        question: Question {
            name: "old-blocks-time".into(),
            title: "A star join".into(),
            question: "What does it do?".into(),
            published: Some("P1".into()),
            servers: vec!["5.5".into(), "5.6".into()],
            factors: vec![Factor {
                name: "variant".into(),
                levels: vec!["small pool".into()],
            }],
            rounds: ["cold", "hot", "hot", "hot"].map(String::from).to_vec(),
            blocks: 3,
            looks: None,
            workload: WorkloadNote {
                name: "ssb".into(),
                summary: "SSB".into(),
                operations: vec!["Q1.1".into()],
            },
            claims: vec![],
            trials: 6,
        },
        seed: u64::MAX - 1,
        part: None,
        sharing: None,
        slim: None,
        started_ns: 1_700_000_000_000_000_000,
        environment: Environment {
            prony_version: "0.1.0".into(),
            machine: "m".into(),
            cpu: "c".into(),
            cores: 2,
            memory_bytes: 1 << 33,
            kernel: "6.1".into(),
            system: "Debian 12".into(),
            file_system: "ext4 on /dev/vda".into(),
            conditions: Conditions::default(),
            servers: BTreeMap::new(),
            unconfigured: Default::default(),
        },
    }
}

/// A trial with this many queries and counters a round; every fourth counter moves.
pub(crate) fn trial(block: u32, state: TrialState, queries: usize, counters: usize) -> Trial {
    let counters: Counters = (0..counters)
        .map(|i| {
            (
                format!("Innodb_counter_{i:03}"),
                if i % 4 == 0 { 1000 + i as i64 } else { 0 },
            )
        })
        .collect();
    let query = |n: usize| Query {
        name: format!("Q{n}"),
        elapsed_ns: 1_000_000 + n as u64,
        rows: 7,
        answer: Answer::Ok,
        answer_hash: "ab".repeat(32),
        plan_hash: Some(format!("{n:064}")),
        counters: counters.clone(),
        profile: vec![],
        error: None,
        client: 1,
    };
    let round = |(name, index): (&str, u32)| Round {
        name: name.into(),
        index,
        started_ns: 5,
        ended_ns: 6,
        elapsed_s: 0.1 + 0.2,
        coldness: None,
        queries: (0..queries).map(query).collect(),
        counters: counters.clone(),
    };
    Trial {
        load: None,
        key: TrialKey {
            block,
            server: Some("5.6".into()),
            levels: vec![("variant".into(), "small pool".into())],
            role: record::Role::Measured,
        },
        state,
        flags: vec![],
        started_ns: 1,
        ended_ns: 2,
        start_s: vec![1.25],
        rounds: [("cold", 1), ("hot", 1), ("hot", 2), ("hot", 3)]
            .map(round)
            .to_vec(),
        settings: (0..10)
            .map(|i| (format!("setting_{i:03}"), format!("{block} {i}")))
            .collect(),
        node_settings: BTreeMap::new(),
        plans: (0..queries)
            .map(|n| (format!("{n:064}"), format!("plan {n}")))
            .collect(),
        plan_forms: Vec::new(),
        events: vec![EventNote {
            at_ns: 3,
            ended_ns: None,
            kind: "restart".into(),
            node: None,
            numbers: BTreeMap::new(),
            text: "before cold 1".into(),
        }],
        limits: vec![LimitNote {
            name: "read_iops".into(),
            asked: 400.0,
            measured: 399.5,
        }],
        data_bytes: 1 << 30,
        dataset: None,
        audit: None,
    }
}

pub(crate) fn done(block: u32) -> Trial {
    trial(block, TrialState::Done, 2, 8)
}

/// The control of a block.
pub(crate) fn control(block: u32) -> Trial {
    let mut control = done(block);
    control.key.role = record::Role::Control;
    control
}

/// A folder that goes away with the test, and the path of a file in it.
pub(crate) fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.sqlite");
    (folder, path)
}

/// A trial of a timed load of a minute in closed loop: 500 operations a second of 1 to 20 ms.
pub(crate) fn timed(block: u32) -> Trial {
    let histogram = |operation: Option<&str>, kind, every_s: u32, start_s| {
        let mut nanoseconds = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        (0..500 * u64::from(every_s)).for_each(|n| nanoseconds += (1 + n % 20) * 1_000_000);
        HistogramNote {
            operation: operation.map(String::from),
            kind,
            every_s,
            start_s,
            nanoseconds: nanoseconds.into(),
        }
    };
    let seconds = (0..60).map(|s| histogram(None, LatencyKind::Response, 1, s));
    let windows = (0..6).map(|w| histogram(Some("update"), LatencyKind::Service, 10, w * 10));
    let series = |value: f64| {
        (0..60)
            .map(|s| (s != 7).then_some(value))
            .collect::<Vec<_>>()
    };
    let load = Loaded {
        mode: Mode::Closed {
            clients: 8,
            think_s: 0.0,
        },
        warmup: Warmup::Seconds(10.0),
        started_ns: 1_000_000_000,
        elapsed_s: 60.01,
        operations: vec!["update".into()],
        histograms: seconds.chain(windows).collect(),
        series: BTreeMap::from([
            ("throughput".into(), series(500.0)),
            ("server cpu".into(), series(0.731)),
        ]),
        errors: vec![ErrorCount {
            second: 12,
            kind: None,
            operation: None,
            code: 1213,
            count: 2,
        }],
        counters: BTreeMap::from([("Innodb_rows_updated".into(), 25_000)]),
        engine: EngineNote {
            backend: "epoll".into(),
            reactors: 2,
            cpu_user_s: 3.0,
            cpu_system_s: 2.0,
            cores: 2.0,
            open_s: 0.01,
            ..EngineNote::default()
        },
        ..Loaded::default()
    };
    Trial {
        rounds: vec![],
        plans: BTreeMap::new(),
        plan_forms: Vec::new(),
        load: Some(Box::new(load)),
        ..done(block)
    }
}

/// The same with an audit in which every field has a value.
pub(crate) fn audited(block: u32) -> Trial {
    let note = AuditNote {
        acknowledged: 30_000,
        refused: 290,
        unknown: 8,
        unknown_kept: 3,
        lost: 12,
        ghosts: 1,
        partly_applied: 2,
        seen_but_lost: 4,
        loss_window_s: Some(0.75),
        findings: vec!["order 3017 of warehouse 1, district 2 is lost".into()],
        violations: vec!["condition 1: warehouse 1".into()],
        inputs: vec![InputCheck {
            name: "rollbacks (%)".into(),
            observed: 0.98,
            low: 0.9,
            high: 1.1,
            samples: 29_000,
            is_advisory: false,
        }],
        inputs_unchecked: Some("too few".into()),
    };
    Trial {
        audit: Some(note),
        ..timed(block)
    }
}

pub(crate) fn with_summary(mut trial: Trial) -> Trial {
    if let Some(load) = &mut trial.load {
        load.summary = Some(stats::summarise(load));
    }
    trial
}

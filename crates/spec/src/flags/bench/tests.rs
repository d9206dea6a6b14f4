//! The flags of `prony bench` as an experiment file.

use super::*;
use crate::{Experiment, LoadSpec, RateSpec, WarmupSpec, parse};
use std::time::Duration;

fn read(request: &BenchRequest) -> Result<Experiment, SpecError> {
    parse("bench", "bench.toml", &bench(request), &|_, _| {
        Some(crate::TargetKind::Server)
    })
}

fn update_index() -> BenchRequest {
    BenchRequest {
        workload: "oltp-update-index".into(),
        servers: vec!["mysql@5.6.14".into(), "mariadb".into()],
        clients: vec![1, 8, 64],
        time: Some("30s".into()),
        ..BenchRequest::default()
    }
}

#[test]
fn flags_become_an_experiment_file() {
    let request = BenchRequest {
        warmup: Some("find".into()),
        tables: Some(8),
        rows: Some(1_000_000),
        engine: Some("InnoDB".into()),
        blocks: Some(3),
        settings: vec![
            ("innodb_buffer_pool_size".into(), "4G".into()),
            ("innodb_flush_log_at_trx_commit".into(), "2".into()),
        ],
        ..update_index()
    };
    insta::assert_snapshot!(bench(&request));
}

#[test]
fn the_file_matches_the_flags() {
    let experiment = read(&update_index()).unwrap();
    let servers: Vec<&str> = experiment
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    assert_eq!(servers, ["mysql@5.6.14", "mariadb"]);
    assert_eq!(experiment.workload, "oltp");
    let section = experiment.base.workload.unwrap();
    assert_eq!(section["operations"].as_str(), Some("update-index"));
    assert_eq!(experiment.factors[0].levels.len(), 3);
    assert_eq!(experiment.protocol.time, Some(Duration::from_secs(30)));
    assert_eq!(experiment.protocol.warmup, WarmupSpec::None);
    assert!(experiment.protocol.series);
}

#[test]
fn a_budget_replaces_the_default_time_and_the_control() {
    let request = BenchRequest {
        clients: vec![8],
        time: None,
        slices: Some("1s".into()),
        within: Some("10m".into()),
        ..update_index()
    };
    let protocol = read(&request).unwrap().protocol;
    let within = protocol.within.unwrap();
    assert!(within.chooses_time && within.chooses_blocks && !protocol.control);
    assert_eq!(protocol.time, Some(Duration::from_secs(20)));
    let timed = BenchRequest {
        time: Some("10s".into()),
        ..request
    };
    let protocol = read(&timed).unwrap().protocol;
    assert_eq!(protocol.time, Some(Duration::from_secs(10)));
    assert!(!protocol.within.unwrap().chooses_time);
}

#[test]
fn tables_that_a_load_changes_are_restored_before_each_trial() {
    let request = BenchRequest {
        workload: "tpcc".into(),
        changes_its_data: true,
        scale: Some("2".into()),
        ..update_index()
    };
    let experiment = read(&request).unwrap();
    let section = experiment.base.workload.unwrap();
    assert_eq!(section["scale"].as_integer(), Some(2));
    assert_eq!(section["reload"].as_bool(), Some(true));
    assert!(!experiment.protocol.series);
}

#[test]
fn queries_of_the_user_run_in_rounds() {
    let request = BenchRequest {
        workload: "sql".into(),
        clients: Vec::new(),
        time: None,
        sql: SqlRequest {
            schema: Some("shop".into()),
            queries: Some("q.sql".into()),
            ..SqlRequest::default()
        },
        ..update_index()
    };
    let file: Table = bench(&request).parse().unwrap();
    let section = &file["workload"]["sql"];
    assert_eq!(section["queries_file"].as_str(), Some("q.sql"));
    assert_eq!(section["schema"].as_str(), Some("shop"));
    assert_eq!(file["title"].as_str(), Some("sql: q.sql on shop"));
    let rounds = |request: &BenchRequest| -> Vec<String> {
        let file: Table = bench(request).parse().unwrap();
        let rounds = file["protocol"]["rounds"].as_array().unwrap().clone();
        let rounds = rounds.iter().map(|round| round.as_str().unwrap().into());
        rounds.collect()
    };
    assert_eq!(rounds(&request), ["hot", "hot", "hot"]);
    let dump = SqlRequest {
        schema: None,
        dump: Some("shop.sql".into()),
        ..request.sql.clone()
    };
    let request = BenchRequest {
        sql: dump,
        ..request
    };
    assert_eq!(rounds(&request), ["cold", "hot", "hot", "hot"]);
}

#[test]
fn a_workload_without_a_server_has_the_keys_of_its_flags() {
    let file = bench(&BenchRequest {
        workload: "fileio".into(),
        time: Some("5s".into()),
        engine: Some("io_uring".into()),
        fileio: FileioRequest {
            directory: Some("/mnt/disk".into()),
            pattern: Some("random-write".into()),
            direct: Some(false),
            fsync: Some("100".into()),
            depth: Some(8),
            ..FileioRequest::default()
        },
        ..BenchRequest::default()
    });
    let file: Table = file.parse().unwrap();
    assert_eq!(file.get("server"), None);
    assert_eq!(file["host"]["directory"].as_str(), Some("/mnt/disk"));
    let section = file["workload"]["fileio"].as_table().unwrap();
    assert_eq!(section["fsync"].as_integer(), Some(100));
    assert_eq!(section["direct"].as_bool(), Some(false));
    assert_eq!(section["engine"].as_str(), Some("io_uring"));
    assert_eq!(section["depth"].as_integer(), Some(8));
    assert_eq!(section.len(), 5);
}

#[test]
fn rates_and_workers_make_an_open_load() {
    let request = BenchRequest {
        clients: Vec::new(),
        rate: vec!["500".into(), "60% of max".into()],
        workers: vec![8],
        ..update_index()
    };
    let LoadSpec::Open(open) = read(&request).unwrap().load else {
        panic!("open")
    };
    assert_eq!((open.rate, open.workers), (RateSpec::PerSecond(500.0), 8));
}

#[test]
fn without_a_load_there_is_one_client() {
    let request = BenchRequest {
        clients: Vec::new(),
        ..update_index()
    };
    let experiment = read(&request).unwrap();
    assert!(matches!(
        experiment.load,
        LoadSpec::Closed { clients: 1, .. }
    ));
    assert!(!experiment.protocol.series);
}

#[test]
fn flags_of_both_kinds_of_load_are_refused_by_the_reader() {
    let request = BenchRequest {
        rate: vec!["500".into()],
        ..update_index()
    };
    assert_eq!(
        read(&request).unwrap_err().to_string(),
        "a file can have only one load, closed or open"
    );
}

#[test]
fn queries_measure_the_schema_of_the_dsn() {
    let of = |sql: SqlRequest| {
        let request = BenchRequest {
            servers: vec!["shop=mysql://db/shop".into()],
            sql,
            ..update_index()
        };
        request.schema_of_a_dsn()
    };
    let queries = SqlRequest {
        queries: Some("q.sql".into()),
        ..SqlRequest::default()
    };
    assert_eq!(of(queries.clone()).as_deref(), Some("shop"));
    let setup = Some("t.sql".into());
    assert_eq!(of(SqlRequest { setup, ..queries }), None);
    assert_eq!(of(SqlRequest::default()), None);
}

#[test]
fn a_mistake_names_its_flag() {
    let request = BenchRequest {
        servers: vec!["mysqld".into()],
        time: Some("30".into()),
        ..update_index()
    };
    let error = read(&request).unwrap_err().text_of_flags();
    assert!(error.contains("error: --server: "), "{error}");
    assert!(error.contains("error: --time: "), "{error}");
    assert!(!error.contains("bench.toml"), "{error}");
    let source = "[workload.sql]\nqueries_file = \"q.sql\"\n\n[workload.sql.load]\nt = \"t.csv\"\n[settings]\nx = 1\n";
    let flag = |text: &str| flag_at(source, source.find(text).unwrap());
    assert_eq!(flag("q.sql").as_deref(), Some("--queries"));
    assert_eq!(flag("t.csv").as_deref(), Some("--load t"));
    assert_eq!(flag("x = 1").as_deref(), Some("--set x"));
    assert_eq!(flag("[workload.sql]"), None);
}

#[test]
fn a_password_is_in_the_build_and_not_in_the_kept_source() {
    let request = BenchRequest {
        servers: vec![
            "mysql://me:s3cret@db:3307/x".into(),
            "mysql://db:x:y".into(),
            "mine=mysql://me:s3cret@db".into(),
        ],
        ..update_index()
    };
    let error = read(&request).unwrap_err();
    assert!(!error.text(None).contains("s3cret"));
    let right = BenchRequest {
        servers: vec![request.servers[0].clone(), request.servers[0].clone()],
        ..request
    };
    let experiment = read(&right).unwrap();
    assert!(!experiment.source.contains("s3cret"));
    let servers: Vec<&str> = experiment
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    assert_eq!(servers, ["db:3307", "db:3307 (2)"]);
}

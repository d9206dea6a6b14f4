//! Tests of TPC-H with real servers: schema, load, deferred indexes (also SSB's), and the answers of the 22 queries.
//!
//! Tiers: default, all, long.

use crate::support::fresh::Fresh;
use server::{Node, Session};
use std::sync::Arc;
use std::time::{Duration, Instant};
use workload::answers::Canonical;
use workload::loader::{self, Indexes, Job, Piece, PiecePart, Table};
use workload::{self, AllowDrop, Dataset, DatasetState, Dialect, LoadError, Loaded, Workload};

type Connect<'a> = &'a (dyn Fn() -> Session + Sync);

fn opened(name: &str, section: &str) -> Arc<dyn Workload> {
    workload::open(name, &section.parse().unwrap()).unwrap()
}

/// Starts a server with this buffer pool size and runs the function; does nothing if the build is not available.
fn on(build: &'static str, pool: &str, then: impl FnOnce(Connect<'_>)) {
    let Some(fresh) = Fresh::of(build) else {
        return;
    };
    let known = fresh.distribution.known_settings(&fresh.leases).unwrap();
    let settings = [
        ("local_infile", "1"),
        ("innodb_buffer_pool_size", pool),
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_doublewrite", "0"),
        ("skip_log_bin", "1"),
    ];
    let settings: Vec<_> = settings
        .into_iter()
        .filter(|(name, _)| known.knows(name))
        .collect();
    let server = fresh.started(&settings);
    then(&|| server.connect().unwrap());
    server.stop().unwrap();
}

fn load(dataset: &dyn Dataset, connect: Connect<'_>) -> Loaded {
    dataset.create(&mut connect(), &AllowDrop::No).unwrap();
    let loaded = dataset.load(&|| Ok(connect()), &|_| {}, &|| false).unwrap();
    dataset.verify(&mut connect()).unwrap();
    loaded
}

/// Describes every query whose answer differs from the reference, except those in `but`. Prints the time of each query.
fn differences(workload: &dyn Workload, session: &mut Session, but: &[&str]) -> Vec<String> {
    workload.data().unwrap().enter(session).unwrap();
    let mut differences = Vec::new();
    let queries = workload.queries().unwrap();
    let operations = queries.operations().into_iter();
    for operation in operations.filter(|operation| !but.contains(&&*operation.name)) {
        let begun = Instant::now();
        let reply = session.query(operation.sql(Dialect::MySql)).unwrap();
        eprintln!("{}: {:.2?}", operation.name, begun.elapsed());
        let reference = queries.reference(&operation.name).unwrap();
        let differs = Canonical::of(&operation, &reply).difference(&reference);
        differences.extend(differs.map(|text| format!("{}: {text}", operation.name)));
    }
    differences
}

fn answers_are_right(build: &'static str, pool: &str, section: &str) {
    answers_are_right_but(build, pool, section, &[]);
}

fn answers_are_right_but(build: &'static str, pool: &str, section: &str, but: &[&str]) {
    on(build, pool, |connect| {
        let tpch = opened("tpch", section);
        load(tpch.data().unwrap(), connect);
        let none: [String; 0] = [];
        assert_eq!(differences(&*tpch, &mut connect(), but), none);
    });
}

#[test]
fn all_queries_return_the_right_answers_on_mariadb() {
    answers_are_right("mariadb", "64M", "scale = 0.01");
}

#[test]
fn all_queries_return_the_right_answers_on_mysql_5_6_14() {
    answers_are_right("mysql@5.6.14", "64M", "scale = 0.01");
}

/// MySQL 5.5 runs the subquery of Q18, which groups all of lineitem, once per order: that takes hours even at this scale.
#[test]
#[cfg(tier_all)]
fn all_queries_but_q18_return_the_right_answers_on_mysql_5_5_34() {
    answers_are_right_but("mysql@5.5.34", "64M", "scale = 0.01", &["Q18"]);
}

#[test]
#[cfg(tier_all)]
fn all_queries_return_the_right_answers_on_mysql_8_0_33() {
    answers_are_right("mysql@8.0.33", "64M", "scale = 0.01");
}

#[test]
#[cfg(tier_all)]
fn all_queries_return_the_right_answers_on_mysql_9_7() {
    answers_are_right("mysql@9.7", "64M", "scale = 0.01");
}

#[test]
#[cfg(tier_all)]
fn all_queries_return_the_right_answers_on_mariadb_11_8() {
    answers_are_right("mariadb@11.8", "64M", "scale = 0.01");
}

#[test]
#[cfg(tier_all)]
fn all_queries_return_the_right_answers_at_scale_0_1() {
    answers_are_right("mariadb", "512M", "scale = 0.1");
}

/// The validation that the specification prescribes.
#[test]
#[cfg(tier_long)]
fn all_queries_answer_as_the_specification_says_at_scale_1_on_mariadb() {
    answers_are_right("mariadb", "3G", "scale = 1");
}

#[test]
#[cfg(tier_long)]
fn all_queries_answer_as_the_specification_says_at_scale_1_on_mysql_5_6_14() {
    answers_are_right("mysql@5.6.14", "3G", "scale = 1");
}

#[test]
#[cfg(tier_long)]
fn all_queries_answer_as_the_specification_says_at_scale_1_on_mysql_8_0_33() {
    answers_are_right("mysql@8.0.33", "3G", "scale = 1");
}

/// The hints name existing indexes and do not change the answers.
#[test]
#[cfg(tier_all)]
fn the_published_variants_use_their_forced_indexes_and_return_the_same_answers() {
    on("mariadb", "64M", |connect| {
        let tpch = opened("tpch", "scale = 0.01\nform = \"published\"");
        load(tpch.data().unwrap(), connect);
        let mut session = connect();
        let none: [String; 0] = [];
        assert_eq!(differences(&*tpch, &mut session, &[]), none);
        for operation in tpch.queries().unwrap().operations() {
            let forced = match operation.name.as_str() {
                "Q3" => "o_custkey",
                "Q10" => "o_orderdate",
                "Q19" => "l_partkey_quantity",
                _ => continue,
            };
            let plan = session
                .query(&format!("EXPLAIN {}", operation.mysql))
                .unwrap();
            let key = plan.columns.iter().position(|name| name == "key").unwrap();
            let keys: Vec<_> = plan.rows.iter().map(|row| row[key].as_deref()).collect();
            assert!(
                keys.contains(&Some(forced.as_bytes())),
                "{}: {keys:?}",
                operation.name
            );
        }
    });
}

/// Table, index and columns of every index of the schema.
fn indexes(session: &mut Session, schema: &str) -> Vec<String> {
    let sql = format!(
        "SELECT CONCAT_WS(' ', table_name, index_name, GROUP_CONCAT(column_name ORDER BY seq_in_index), MAX(comment)) FROM information_schema.statistics WHERE table_schema = '{schema}' GROUP BY table_name, index_name ORDER BY 1"
    );
    let reply = session.query(&sql).unwrap();
    let cell = |row: &Vec<Option<Vec<u8>>>| row[0].clone().unwrap();
    let texts = reply.rows.iter().map(|row| String::from_utf8(cell(row)));
    texts.map(Result::unwrap).collect()
}

/// The tables whose indexes were built and timed after the load. Asserts that the indexes equal those built during the load.
fn built_afterwards(connect: Connect<'_>, name: &str, engine: &str) -> Vec<String> {
    let section =
        |build: &str| format!("scale = 0.01\nengine = {engine:?}\nindex_build = {build:?}");
    let with = opened(name, &section("with"));
    let with = with.data().unwrap();
    assert!(load(with, connect).index_s.is_empty());
    let mut session = connect();
    let expected = indexes(&mut session, with.schema());
    let after = opened(name, &section("after"));
    let after = after.data().unwrap();
    after.create(&mut session, &AllowDrop::Pronys).unwrap();
    assert_eq!(after.state(&mut session).unwrap(), DatasetState::Partial);
    let loaded = after.load(&|| Ok(connect()), &|_| {}, &|| false).unwrap();
    after.verify(&mut session).unwrap();
    assert_eq!(indexes(&mut session, after.schema()), expected, "{engine}");
    assert!(loaded.index_s.values().all(|&seconds| seconds > 0.0));
    loaded.index_s.into_keys().collect()
}

#[test]
#[cfg(tier_all)]
fn deferred_indexes_equal_immediate_indexes() {
    on("mariadb", "64M", |connect| {
        for engine in ["InnoDB", "MyISAM"] {
            assert_eq!(
                built_afterwards(connect, "tpch", engine),
                [
                    "customer", "lineitem", "nation", "orders", "partsupp", "supplier"
                ]
            );
            assert_eq!(built_afterwards(connect, "ssb", engine), ["lineorder"]);
            for schema in ["prony_tpch", "prony_ssb"] {
                connect()
                    .execute(&format!("DROP DATABASE {schema}"))
                    .unwrap();
            }
        }
    });
}

#[test]
fn a_load_can_be_cancelled_during_the_index_build() {
    on("mariadb", "64M", |connect| {
        connect().execute("CREATE DATABASE t").unwrap();
        connect().execute("CREATE TABLE t.t (n INT)").unwrap();
        let part = PiecePart {
            write: Box::new(|to| to.write_all(b"1|\n").map(|()| 1)),
        };
        let job = Job {
            prepare: vec!["USE t".into()],
            tables: vec![Table {
                name: "t".to_string(),
                columns: 1,
                rows: 1,
            }],
            pieces: vec![Piece {
                table: 0,
                parts: vec![part],
            }],
            is_part: false,
            indexes: vec![Indexes {
                table: 0,
                statement: "SELECT SLEEP(600)".into(),
            }],
            connections: 1,
            data_bytes: 1,
        };
        let begun = Instant::now();
        // The loader polls this ten times per second. When the statement runs, the only row is loaded.
        let building =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'";
        let cancel = || connect().query(building).unwrap().first_text().as_deref() != Some("0");
        let ended = loader::run(job, &|| Ok(connect()), &|_| {}, &cancel);
        assert!(
            matches!(ended, Err(LoadError::Cancelled { rows: 1, .. })),
            "{ended:?}"
        );
        assert!(begun.elapsed() < Duration::from_secs(300));
    });
}

//! Tests of the workloads `oltp` and `sql` with real servers: load, preload, every operation, conflicts.
//!
//! Tiers: default, all.

use crate::real::driven::{self, now};
use crate::support::fresh::Fresh;
use load::{Failure, Io, Outcome, Request, Workload as _};
use server::{Managed, Node as _, Session};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};
use wire::Login;
use workload::oltp::Oltp;
use workload::script::{Driver, Script};
use workload::sql::Sql;
use workload::{AllowDrop, Dataset, DatasetState, LoadError, Target, Workload};

/// Servers need memory and disk, so only one runs at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const TABLES: u64 = 2;
const ROWS: u64 = 3_000;
const OPERATIONS: u64 = 200;
const SEED: u64 = 11;

struct Running {
    server: Managed,
    login: Login,
    _fresh: Fresh,
}

impl Running {
    /// None if the build is not available.
    fn of(build: &'static str) -> Option<Running> {
        let fresh = Fresh::of(build)?;
        let (server, login) = driven::started(&fresh, "64M");
        Some(Running {
            server,
            login,
            _fresh: fresh,
        })
    }

    fn session(&self) -> Session {
        Session::open(&self.server.endpoint().unwrap()).unwrap()
    }

    fn number(&self, sql: &str) -> i64 {
        let reply = self.session().query(sql).unwrap();
        let text = reply.first_text().unwrap_or_else(|| panic!("{sql}"));
        text.parse().unwrap_or_else(|_| panic!("{sql}: {text}"))
    }

    fn load(&self, opened: &Opened, allow: &AllowDrop) -> workload::Loaded {
        let connect = || Session::open(&self.server.endpoint().unwrap());
        let dataset = opened.data();
        dataset.create(&mut self.session(), allow).unwrap();
        dataset.load(&connect, &|_| {}, &|| false).unwrap()
    }

    fn driver(&self, opened: &Opened) -> Driver {
        self.driver_with(opened, &[])
    }

    fn driver_with(&self, opened: &Opened, session: &[String]) -> Driver {
        let target = Target::Server {
            readers: None,
            login: self.login.clone(),
            session: session.to_vec(),
        };
        Driver::on(&target, &opened.script, opened.data().schema(), SEED).unwrap()
    }

    /// Opens a session, runs `OPERATIONS` operations and closes it.
    fn drive(&self, opened: &Opened) -> Vec<Outcome> {
        let driver = self.driver(opened);
        let mut session = now(driver.open(&Io::blocking(), 0)).unwrap();
        let outcomes = (0..OPERATIONS).map(|number| operate(&driver, &mut session, number));
        let outcomes = outcomes.collect();
        now(driver.close(session));
        outcomes
    }
}

fn operate(
    driver: &Driver,
    session: &mut <Driver as load::Workload>::Session,
    number: u64,
) -> Outcome {
    with_retries(driver, session, number).1
}

/// Runs an operation as the engine does; returns the error codes before each retry, and the outcome.
fn with_retries(
    driver: &Driver,
    session: &mut <Driver as load::Workload>::Session,
    number: u64,
) -> (Vec<u16>, Outcome) {
    let mut request = Request {
        operation: driver.pick(number),
        number,
        scheduled_ns: 0,
        started_ns: 0,
        zero_ns: 0,
        retries: 0,
    };
    let mut errors = Vec::new();
    loop {
        match now(driver.operate(session, &request)) {
            Outcome::Retry(code) => errors.push(code),
            outcome => return (errors, outcome),
        }
        request.retries += 1;
    }
}

/// A workload's data and script, for tests that run operations themselves.
struct Opened {
    workload: Box<dyn Workload>,
    script: Arc<Script>,
}

impl Opened {
    fn data(&self) -> &dyn Dataset {
        self.workload.data().unwrap()
    }
}

fn oltp(keys: &str) -> Opened {
    let section = format!("tables = {TABLES}\nrows = {ROWS}\n{keys}");
    let section = spec::read_text(&section, workload::oltp::Section::read).unwrap();
    let workload = Oltp::new(section);
    Opened {
        script: Arc::clone(workload.script()),
        workload: Box::new(workload),
    }
}

fn sql(keys: &str) -> Opened {
    let section = spec::read_text(keys, workload::sql::Section::read).unwrap();
    let workload = Sql::new(section);
    Opened {
        script: Arc::clone(workload.script().unwrap()),
        workload: Box::new(workload),
    }
}

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn tables_are_loaded_and_counted(build: &'static str) {
    let _alone = alone();
    let Some(running) = Running::of(build) else {
        return;
    };
    let dataset = oltp("");
    let session = &mut running.session();
    assert_eq!(dataset.data().state(session).unwrap(), DatasetState::Absent);
    let loaded = running.load(&dataset, &AllowDrop::No);
    assert_eq!(loaded.rows, TABLES * ROWS);
    assert_eq!(loaded.method, "LOAD DATA LOCAL INFILE");
    dataset.data().verify(session).unwrap();
    let state = dataset.data().state(session).unwrap();
    assert_eq!(state, DatasetState::Complete(dataset.data().fingerprint()));
    let bytes = dataset.data().data_bytes(session).unwrap() as f64;
    let estimate = dataset.data().estimate().data_bytes as f64;
    assert!(
        (0.5..2.0).contains(&(bytes / estimate)),
        "{bytes} bytes, estimated {estimate}"
    );
    let indexes = "select count(*) from information_schema.statistics where table_schema = 'prony_oltp' and index_name like 'k\\_%'";
    assert_eq!(running.number(indexes), TABLES as i64);

    let preloaded = dataset.data().preload(session).unwrap();
    assert_eq!((preloaded.indexes, preloaded.held), (4, Some(true)));

    session
        .execute("delete from prony_oltp.sbtest2 where id = 7")
        .unwrap();
    let wrong = dataset.data().verify(session).unwrap_err().to_string();
    assert!(
        wrong.starts_with("sbtest2: it has 2999 rows but should have 3000"),
        "{wrong}"
    );
    let refused = dataset.data().create(session, &AllowDrop::No).unwrap_err();
    assert!(matches!(refused, LoadError::Exists { .. }), "{refused}");
    let other = oltp("secondary_index = false\nengine = \"MyISAM\"");
    running.load(&other, &AllowDrop::Pronys);
    other.data().verify(session).unwrap();
    assert_eq!(running.number(indexes), 0);
}

fn every_operation_runs(build: &'static str) {
    let _alone = alone();
    let Some(running) = Running::of(build) else {
        return;
    };
    running.load(&oltp(""), &AllowDrop::No);
    let rows = |n: u64| running.number(&format!("select count(*) from prony_oltp.sbtest{n}"));
    let k = || {
        let sum = |n| running.number(&format!("select sum(k) from prony_oltp.sbtest{n}"));
        sum(1) + sum(2)
    };
    for operation in [
        "point-select",
        "range-simple",
        "range-sum",
        "range-order",
        "range-distinct",
        "read-only",
        "update-non-index",
        "delete-insert",
        "write-only",
        "read-write",
    ] {
        for more in ["", "transactions = false\ndistribution = \"zipfian\""] {
            let outcomes = running.drive(&oltp(&format!("operations = \"{operation}\"\n{more}")));
            assert!(
                outcomes.iter().all(|outcome| *outcome == Outcome::Done),
                "{operation}: {outcomes:?}"
            );
        }
    }
    assert_eq!((rows(1), rows(2)), (ROWS as i64, ROWS as i64));

    let before = k();
    running.drive(&oltp(
        "operations = \"update-index\"\ndistribution = \"pareto\"",
    ));
    assert_eq!(k() - before, OPERATIONS as i64);

    running.drive(&oltp("operations = \"insert\""));
    assert_eq!(rows(1) + rows(2), (TABLES * ROWS + OPERATIONS) as i64);

    let before = k();
    let mixed = oltp("operations = { point-select = 3, update-index = 1 }");
    let driver = running.driver(&mixed);
    let updates = (0..OPERATIONS)
        .filter(|&number| driver.pick(number) == 1)
        .count();
    running.drive(&mixed);
    assert_eq!(k() - before, updates as i64);
}

fn user_defined_statements_run_on_numbered_tables(build: &'static str) {
    let _alone = alone();
    let Some(running) = Running::of(build) else {
        return;
    };
    let dataset = sql(&format!(
        r#"
        oltp = {{ tables = {TABLES}, rows = 100 }}
        operation.a.statements = "insert into sbtest{{n}} (k, c) values (1, 'a')"
    "#
    ));
    running.load(&dataset, &AllowDrop::No);
    let outcomes = running.drive(&dataset);
    assert!(
        outcomes.iter().all(|outcome| *outcome == Outcome::Done),
        "{outcomes:?}"
    );
    let rows = |n: u64| running.number(&format!("select count(*) from prony_oltp.sbtest{n}"));
    assert_eq!(rows(1) + rows(2), (TABLES * 100 + OPERATIONS) as i64);
    assert!(rows(1) > 100 && rows(2) > 100, "{} {}", rows(1), rows(2));
}

fn tables_and_views_with_any_name_are_created_preloaded_and_replaced(build: &'static str) {
    let _alone = alone();
    let Some(running) = Running::of(build) else {
        return;
    };
    let dataset = sql(r#"
        setup = """
        /*!40101 SET NAMES utf8 */;
        create table `order` (a int, b varchar(200)) engine=InnoDB;
        create table `my-table` (a int primary key, b int not null, key b (b)) engine=InnoDB;
        create view `seen` as select a from `order`;
        insert into `order` values (1, 'b'), (2, 'c');
        insert into `my-table` values (1, 1);
        """
        operation.a.statements = "select a from seen"
    "#);
    assert_eq!(running.load(&dataset, &AllowDrop::No).rows, 3);
    let session = &mut running.session();
    // Two tables without indexes (one is the marker), and the two indexes of the third.
    let preloaded = dataset.data().preload(session).unwrap();
    assert_eq!((preloaded.indexes, preloaded.held), (4, Some(true)));
    let refused = dataset
        .data()
        .create(session, &AllowDrop::No)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("my-table, order, prony_dataset, seen"),
        "{refused}"
    );
    running.load(&dataset, &AllowDrop::Pronys);
    dataset.data().verify(session).unwrap();

    session.execute("drop table prony_sql.`order`").unwrap();
    session.execute("drop table prony_sql.`my-table`").unwrap();
    session
        .execute("delete from prony_sql.prony_dataset")
        .unwrap();
    assert_eq!(
        dataset.data().state(session).unwrap(),
        DatasetState::Partial
    );
    running.load(&dataset, &AllowDrop::Pronys);
    dataset.data().verify(session).unwrap();
}

fn a_cancelled_setup_ends_during_its_statement(build: &'static str) {
    let _alone = alone();
    let Some(running) = Running::of(build) else {
        return;
    };
    let dataset = sql(r#"
        setup = "create table t (a int); do sleep(600)"
        operation.a.statements = "select a from t"
    "#);
    dataset
        .data()
        .create(&mut running.session(), &AllowDrop::No)
        .unwrap();
    let begun = Instant::now();
    let connect = || Session::open(&running.server.endpoint().unwrap());
    let sleeping =
        "select count(*) from information_schema.processlist where info = 'do sleep(600)'";
    let is_cancelled = AtomicBool::new(false);
    let cancel =
        || is_cancelled.load(SeqCst) || is_cancelled.fetch_or(running.number(sleeping) > 0, SeqCst);
    let ended = dataset.data().load(&connect, &|_| {}, &cancel).unwrap_err();
    assert!(
        matches!(&ended, LoadError::Interrupted { place } if place == "setup:1"),
        "{ended}"
    );
    assert!(begun.elapsed() < Duration::from_secs(500));
}

const ACCOUNTS: &str = r#"
    setup = "create table accounts (id int primary key, balance int not null) engine=InnoDB; insert into accounts values (1, 100), (2, 100)"
"#;

/// Runs one operation on each of two sessions concurrently.
fn at_once(driver: &Driver, numbers: [u64; 2]) -> [(Vec<u16>, Outcome); 2] {
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        let client = |number| {
            let barrier = &barrier;
            scope.spawn(move || {
                let mut session = now(driver.open(&Io::blocking(), 0)).unwrap();
                barrier.wait();
                let outcome = with_retries(driver, &mut session, number);
                now(driver.close(session));
                outcome
            })
        };
        numbers.map(client).map(|client| client.join().unwrap())
    })
}

/// A request number that selects the operation.
fn number_of(driver: &Driver, operation: u16) -> u64 {
    (0..)
        .find(|&number| driver.pick(number) == operation)
        .unwrap()
}

fn conflicts_are_reported_by_their_codes(build: &'static str) {
    let _alone = alone();
    let Some(running) = Running::of(build) else {
        return;
    };
    let crossing = |policy: &str| {
        sql(&format!(
            r#"{ACCOUNTS} {policy}
            [operation.there]
            statements = "begin; update accounts set balance = balance - 1 where id = 1; do sleep(0.3); update accounts set balance = balance + 1 where id = 2; commit"
            [operation.back]
            statements = "begin; update accounts set balance = balance - 1 where id = 2; do sleep(0.3); update accounts set balance = balance + 1 where id = 1; commit""#
        ))
    };
    let retried = crossing("");
    running.load(&retried, &AllowDrop::No);
    retried.data().verify(&mut running.session()).unwrap();
    let driver = running.driver(&retried);
    let numbers = [0, 1].map(|operation| number_of(&driver, operation));
    // If the machine is busy for 0.3 s, the operations do not conflict.
    let outcomes = (0..20)
        .map(|_| at_once(&driver, numbers))
        .find(|outcomes| outcomes.iter().any(|(errors, _)| errors.contains(&1213)))
        .expect("a deadlock that is retried");
    assert!(
        outcomes
            .iter()
            .all(|(_, outcome)| *outcome == Outcome::Done),
        "{outcomes:?}"
    );

    let failing = crossing("on_deadlock = \"fail\"");
    let driver = running.driver(&failing);
    let failed = (Vec::new(), Outcome::Failed(1213));
    assert!((0..20).any(|_| at_once(&driver, numbers).contains(&failed)));
    // Failed operations were rolled back, and a retried operation counts once.
    assert_eq!(
        running.number("select sum(balance) from prony_sql.accounts"),
        200
    );
}

fn a_lock_wait_fails_and_leaves_nothing_behind(build: &'static str) {
    let _alone = alone();
    let Some(running) = Running::of(build) else {
        return;
    };
    let waiting = sql(&format!(
        r#"{ACCOUNTS}
        on_deadlock = "fail"
        operation.both.statements = "/* both */ begin; update accounts set balance = 7 where id = 1; update accounts set balance = 7 where id = 2; commit""#
    ));
    running.load(&waiting, &AllowDrop::No);
    let first = ["SET SESSION innodb_lock_wait_timeout = 1".to_string()];
    let driver = running.driver_with(&waiting, &first);
    let mut holder = running.session();
    holder.execute("begin").unwrap();
    holder
        .execute("update prony_sql.accounts set balance = 0 where id = 2")
        .unwrap();
    let mut session = now(driver.open(&Io::blocking(), 0)).unwrap();
    assert_eq!(operate(&driver, &mut session, 0), Outcome::Failed(1205));
    // The operation's earlier locks are released.
    for free in [
        "set session innodb_lock_wait_timeout = 5",
        "update prony_sql.accounts set balance = 0 where id = 1",
        "rollback",
    ] {
        holder.execute(free).unwrap();
    }
    assert_eq!(
        running.number("select sum(balance) from prony_sql.accounts"),
        200
    );
    assert_eq!(operate(&driver, &mut session, 1), Outcome::Done);
    assert_eq!(
        running.number("select sum(balance) from prony_sql.accounts"),
        14
    );
}

fn a_failed_prepare_fails_the_open_and_a_killed_server_loses_the_connection(build: &'static str) {
    let _alone = alone();
    let Some(running) = Running::of(build) else {
        return;
    };
    let dataset = sql(r#"
        operation.a.statements = "select connection_id(), :text, :one, :n"
        parameter.text.text = [0, 300]
        parameter.one.one_of = [1, 0.5, "x"]
        parameter.n.sequence = [5, 9]
    "#);
    running.load(&dataset, &AllowDrop::No);
    let outcomes = running.drive(&dataset);
    assert!(
        outcomes.iter().all(|outcome| *outcome == Outcome::Done),
        "{outcomes:?}"
    );

    let driver = running.driver(&dataset);
    let failure =
        |driver: &Driver| -> Failure { now(driver.open(&Io::blocking(), 0)).err().unwrap() };
    running
        .session()
        .execute("set global max_prepared_stmt_count = 0")
        .unwrap();
    let refused = failure(&driver);
    assert_eq!((refused.code, refused.transient), (1461, false));
    assert!(
        refused.text.contains("raise max_prepared_stmt_count"),
        "{}",
        refused.text
    );
    running
        .session()
        .execute("set global max_prepared_stmt_count = 100")
        .unwrap();

    let unknown = sql("operation.a.statements = \"select a from nowhere\"");
    let refused = failure(&running.driver(&unknown));
    assert_eq!((refused.code, refused.transient), (1146, false));
    assert!(
        refused.text.starts_with("select a from nowhere: "),
        "{}",
        refused.text
    );

    let mut session = now(driver.open(&Io::blocking(), 0)).unwrap();
    running.server.kill().unwrap();
    assert!(matches!(
        operate(&driver, &mut session, 0),
        Outcome::Lost(_)
    ));
    assert!(failure(&driver).transient);
}

macro_rules! on_each {
    ($($behaviour:ident),*) => {
        mod mariadb {
            $(#[test] fn $behaviour() { super::$behaviour("mariadb") })*
        }
        mod mysql_5_6_14 {
            $(#[test] fn $behaviour() { super::$behaviour("mysql@5.6.14") })*
        }
        #[cfg(tier_all)]
        mod mysql_5_5_34 {
            $(#[test] fn $behaviour() { super::$behaviour("mysql@5.5.34") })*
        }
        #[cfg(tier_all)]
        mod mysql_8_0_33 {
            $(#[test] fn $behaviour() { super::$behaviour("mysql@8.0.33") })*
        }
        #[cfg(tier_all)]
        mod mysql_9_7 {
            $(#[test] fn $behaviour() { super::$behaviour("mysql@9.7") })*
        }
        #[cfg(tier_all)]
        mod mariadb_11_8 {
            $(#[test] fn $behaviour() { super::$behaviour("mariadb@11.8") })*
        }
    };
}

on_each!(
    tables_are_loaded_and_counted,
    every_operation_runs,
    user_defined_statements_run_on_numbered_tables,
    tables_and_views_with_any_name_are_created_preloaded_and_replaced,
    a_cancelled_setup_ends_during_its_statement,
    conflicts_are_reported_by_their_codes,
    a_lock_wait_fails_and_leaves_nothing_behind,
    a_failed_prepare_fails_the_open_and_a_killed_server_loses_the_connection
);

//! Tests of TPC-C's tables with real servers: the load, the twelve conditions, and 36 planted violations.
//!
//! Tiers: default, all, long.

use crate::real::tpcc_planted::plants;
use crate::support::fresh::Fresh;
use crate::support::tier::{Tier, tier};
use server::{Managed, Node, ServerError, Session, StartRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use workload::tpcc::SCHEMA;
use workload::tpcc::conditions::{Violation, Violations, When, check};
use workload::{AllowDrop, Audited, DatasetState, Ended, LoadError, Progress, Target, Workload};

/// A started server with the settings of a load.
struct Running {
    server: Managed,
    request: StartRequest,
    _fresh: Fresh,
}

impl Running {
    fn of(build: &'static str, more: &[(&str, &str)]) -> Option<Running> {
        let fresh = Fresh::of(build)?;
        let server = fresh.managed();
        let known = fresh.distribution.known_settings(&fresh.leases).unwrap();
        let usual = [
            ("local_infile", "1"),
            ("innodb_buffer_pool_size", "256M"),
            ("innodb_log_file_size", "64M"),
            ("innodb_flush_log_at_trx_commit", "0"),
            ("innodb_doublewrite", "0"),
            ("skip_log_bin", "1"),
        ];
        let changed = |name: &str| more.iter().any(|(other, _)| *other == name);
        let settings = usual.iter().filter(|(name, _)| !changed(name)).chain(more);
        let settings: Vec<_> = settings
            .filter(|(name, _)| known.knows(name))
            .copied()
            .collect();
        let request = fresh.request(&settings);
        server.start(&request).unwrap();
        Some(Running {
            server,
            request,
            _fresh: fresh,
        })
    }

    fn connect(&self) -> Result<Session, ServerError> {
        self.server.connect()
    }

    fn session(&self) -> Session {
        self.connect().unwrap()
    }

    /// Loads this many warehouses and returns how.
    fn load(&self, warehouses: u32) -> String {
        let absent = of(warehouses).data().unwrap().state(&mut self.session());
        assert_eq!(absent.unwrap(), DatasetState::Absent);
        self.load_anew(warehouses)
    }

    /// Drops prony's tables, loads this many warehouses and returns how.
    fn load_anew(&self, warehouses: u32) -> String {
        let workload = of(warehouses);
        let data = workload.data().unwrap();
        let session = &mut self.session();
        data.create(session, &AllowDrop::Pronys).unwrap();
        let connect = || self.connect();
        let loaded = data.load(&connect, &|_| {}, &|| false).unwrap();
        data.verify(session).unwrap();
        data.verify_rules(&connect).unwrap();
        let complete = DatasetState::Complete(data.fingerprint());
        assert_eq!(data.state(session).unwrap(), complete);
        eprintln!("{:.0} rows/s by {}", loaded.rows_per_s(), loaded.method);
        loaded.method
    }

    fn check(&self, warehouses: u32, when: When) -> Violations {
        let began = Instant::now();
        let found = check(&|| self.connect(), SCHEMA, warehouses, when).unwrap();
        let elapsed_s = began.elapsed().as_secs_f64();
        eprintln!("conditions of {warehouses} warehouses: {elapsed_s:.2} s");
        found
    }

    fn assert_consistent(&self, warehouses: u32) {
        let sentences = self.check(warehouses, When::AfterLoad).sentences();
        assert_eq!(sentences, Vec::<String>::new());
    }

    fn number(&self, sql: &str) -> u64 {
        let text = self.session().query(sql).unwrap().first_text();
        text.unwrap().parse().unwrap()
    }
}

/// The audit after a load in which no client did anything.
impl Running {
    fn audit_s(&self, warehouses: u32) -> f64 {
        let dsn = self.server.endpoint().unwrap();
        let target = Target::Server {
            readers: None,
            login: server::login(&dsn, Duration::from_secs(120)),
            session: Vec::new(),
        };
        let mut auditor = of(warehouses).work(&target, 1).unwrap().audit.unwrap();
        let connect = || {
            let mut session = Session::open(&dsn)?;
            session.execute(&format!("USE {SCHEMA}"))?;
            Ok(session)
        };
        let place = || Audited::Server {
            connect: &connect,
            further: &[],
        };
        auditor.before(place(), &std::env::temp_dir()).unwrap();
        let ended = Ended {
            tallies: &[],
            crashes_ns: &[],
        };
        let began = Instant::now();
        let note = auditor.audit(place(), &ended).unwrap().unwrap();
        assert!(note.violations.is_empty(), "{:?}", note.violations);
        began.elapsed().as_secs_f64()
    }
}

fn of(warehouses: u32) -> Arc<dyn Workload> {
    let section = format!("scale = {warehouses}").parse().unwrap();
    workload::open("tpcc", &section).unwrap()
}

fn a_loaded_warehouse_is_consistent(build: &'static str) {
    let Some(running) = Running::of(build, &[]) else {
        return;
    };
    assert_eq!(running.load(1), "LOAD DATA LOCAL INFILE");
    running.assert_consistent(1);
    let undelivered = "SELECT COUNT(*) FROM prony_tpcc.orders WHERE o_carrier_id IS NULL";
    assert_eq!(running.number(undelivered), 9_000);
    let data = of(1);
    let data = data.data().unwrap();
    let bytes = data.data_bytes(&mut running.session()).unwrap() as f64;
    let estimate = data.estimate().data_bytes as f64;
    assert!((0.85..1.15).contains(&(bytes / estimate)), "{bytes}");
}

#[test]
fn a_loaded_warehouse_is_consistent_on_mariadb() {
    a_loaded_warehouse_is_consistent("mariadb");
}

#[test]
#[cfg(tier_all)]
fn a_loaded_warehouse_is_consistent_on_mysql_5_5() {
    a_loaded_warehouse_is_consistent("mysql@5.5.34");
}

#[test]
#[cfg(tier_all)]
fn a_loaded_warehouse_is_consistent_on_mysql_9() {
    a_loaded_warehouse_is_consistent("mysql@9.7");
}

#[test]
#[cfg(tier_all)]
fn rows_loaded_by_insert_have_their_nulls() {
    let Some(running) = Running::of("mariadb", &[("local_infile", "0")]) else {
        return;
    };
    assert_eq!(running.load(1), "INSERT");
    running.assert_consistent(1);
}

#[test]
#[cfg(tier_long)]
fn the_audit_of_ten_warehouses_takes_less_than_five_seconds() {
    for build in ["mariadb", "mysql@5.5.34", "mysql@9.7"] {
        let Some(running) = Running::of(build, &[("innodb_buffer_pool_size", "1G")]) else {
            continue;
        };
        running.load(10);
        let began = Instant::now();
        running.assert_consistent(10);
        let checked_s = began.elapsed().as_secs_f64();
        let audited_s = running.audit_s(10);
        assert!(
            checked_s < 5.0 && audited_s < 5.0,
            "{build}: conditions {checked_s:.1} s, audit {audited_s:.1} s"
        );
    }
}

/// Loads a warehouse and does `after_10_000_rows` to it. Returns why the load failed.
fn interrupted(
    running: &Running,
    after_10_000_rows: impl Fn() + Sync,
    is_cancelled: bool,
) -> LoadError {
    let workload = of(1);
    let data = workload.data().unwrap();
    let reached = AtomicBool::new(false);
    let progress = |progress: Progress| {
        if progress.rows > 10_000 && !reached.swap(true, SeqCst) {
            after_10_000_rows();
        }
    };
    let cancel = || is_cancelled && reached.load(SeqCst);
    data.create(&mut running.session(), &AllowDrop::Pronys)
        .unwrap();
    let loaded = data.load(&|| running.connect(), &progress, &cancel);
    loaded.unwrap_err()
}

#[test]
#[cfg(tier_all)]
fn a_load_starts_cleanly_after_an_interruption_and_after_a_killed_server() {
    let Some(running) = Running::of("mariadb", &[]) else {
        return;
    };
    let workload = of(1);
    let data = workload.data().unwrap();
    let cancelled = interrupted(&running, || {}, true);
    assert!(
        matches!(cancelled, LoadError::Cancelled { .. }),
        "{cancelled}"
    );
    let state = data.state(&mut running.session()).unwrap();
    assert_eq!(state, DatasetState::Partial);
    let refused = data
        .create(&mut running.session(), &AllowDrop::No)
        .unwrap_err();
    assert!(refused.to_string().contains("--allow-drop"), "{refused}");

    let died = interrupted(&running, || running.server.kill().unwrap(), false);
    assert!(matches!(died, LoadError::Died { .. }), "{died}");
    let says = died.to_string();
    assert!(says.contains("the next load starts over"), "{says}");
    running.server.start(&running.request).unwrap();
    let state = data.state(&mut running.session()).unwrap();
    assert_eq!(state, DatasetState::Partial);
    running.load_anew(1);
    running.assert_consistent(1);
}

#[test]
#[cfg(tier_all)]
fn tables_that_a_run_has_changed_are_not_taken_for_loaded_ones() {
    let Some(running) = Running::of("mariadb", &[]) else {
        return;
    };
    running.load(1);
    let workload = of(1);
    let (data, session) = (workload.data().unwrap(), &mut running.session());
    let changed = DatasetState::Changed(data.fingerprint());
    for (change, undo) in [
        (
            "UPDATE prony_tpcc.district SET d_ytd = d_ytd + 5 WHERE d_id = 7",
            "UPDATE prony_tpcc.district SET d_ytd = d_ytd - 5 WHERE d_id = 7",
        ),
        (
            "UPDATE prony_tpcc.district SET d_next_o_id = 3002 WHERE d_id = 7",
            "UPDATE prony_tpcc.district SET d_next_o_id = 3001 WHERE d_id = 7",
        ),
        (
            "DELETE FROM prony_tpcc.new_order WHERE no_d_id = 7 AND no_o_id = 2101",
            "INSERT INTO prony_tpcc.new_order VALUES (2101, 7, 1)",
        ),
    ] {
        session.execute(change).unwrap();
        assert_eq!(data.state(session).unwrap(), changed, "{change}");
        let refused = data
            .create(session, &AllowDrop::No)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("which a run has changed"), "{refused}");
        session.execute(undo).unwrap();
    }
    let complete = DatasetState::Complete(data.fingerprint());
    assert_eq!(data.state(session).unwrap(), complete);
}

#[test]
fn a_schema_with_tables_of_others_is_refused() {
    let Some(running) = Running::of("mariadb", &[]) else {
        return;
    };
    let session = &mut running.session();
    session.execute("CREATE DATABASE prony_tpcc").unwrap();
    session
        .execute("CREATE TABLE prony_tpcc.theirs (n INT)")
        .unwrap();
    let workload = of(1);
    for allow in [AllowDrop::No, AllowDrop::Pronys] {
        let refused = workload.data().unwrap().create(session, &allow);
        let says = refused.unwrap_err().to_string();
        assert!(
            says.contains("also holds theirs, which prony did not create"),
            "{says}"
        );
    }
}

#[test]
#[cfg(tier_all)]
fn a_read_only_server_is_named_as_such() {
    let Some(running) = Running::of("mysql@9.7", &[]) else {
        return;
    };
    let session = &mut running.session();
    session.execute("SET GLOBAL super_read_only = 1").unwrap();
    let refused = of(1)
        .data()
        .unwrap()
        .create(session, &AllowDrop::No)
        .unwrap_err();
    assert!(matches!(refused, LoadError::ReadOnly { .. }), "{refused}");
    session.execute("SET GLOBAL super_read_only = 0").unwrap();
}

#[test]
fn each_planted_violation_is_found_and_named() {
    let Some(running) = Running::of("mariadb", &[]) else {
        return;
    };
    running.load(1);
    let session = &mut running.session();
    let plants = plants();
    let kinds = |condition| {
        plants
            .iter()
            .filter(move |one| one.condition == condition)
            .count()
    };
    assert!((1..=12).all(|condition| kinds(condition) == 3));
    // Of each condition, another kind than of the one before.
    let is_due = |n: usize| tier() > Tier::Default || n % 3 == (n / 3) % 3;
    for (n, plant) in plants.iter().enumerate() {
        if !is_due(n) {
            continue;
        }
        plant.damage(session);
        let found = running.check(1, When::AfterLoad);
        let is_planted = |one: &&Violation| {
            (one.condition, one.warehouse) == (plant.condition, plant.warehouse)
                && (one.district, one.row) == (plant.district, plant.row)
        };
        let sentences = found.sentences().join("\n");
        let named = found.listed().iter().find(is_planted);
        assert!(named.is_some(), "{}:\n{sentences}", plant.name());
        plant.repair(session);
    }
    running.assert_consistent(1);
}

//! Tests of the storage's states with real servers: what is written shows in the checkpoint age and in the dirty pages.
//!
//! Tiers: default, all.

use crate::support::fresh::Fresh;
use observe::{StateReader, States};
use record::State;
use server::{Node, Session};

/// Starts a build whose redo log has two files of 8 MiB, or 16 MiB by its own setting.
fn with_session(build: &'static str, log: &[(&str, &str)], then: impl FnOnce(&mut Session)) {
    let Some(fresh) = Fresh::of(build) else {
        return;
    };
    let server = fresh.started(log);
    then(&mut server.connect().unwrap());
    server.stop().unwrap();
}

/// Writes 8 MB of rows, half of them in the last statement. Returns the states after each statement.
fn write_rows(session: &mut Session, reader: &StateReader) -> Vec<States> {
    for sql in [
        "CREATE DATABASE written",
        "CREATE TABLE written.t (id INT PRIMARY KEY AUTO_INCREMENT, text VARCHAR(1000)) ENGINE = InnoDB",
        "INSERT INTO written.t (text) VALUES (REPEAT('x', 1000))",
    ] {
        session.execute(sql).unwrap();
    }
    let double = |_| {
        let doubled = "INSERT INTO written.t (text) SELECT text FROM written.t";
        session.execute(doubled).unwrap();
        reader.read(session).unwrap()
    };
    (0..13).map(double).collect()
}

/// The states that every server has.
const EVERYWHERE: [State; 6] = [
    State::CheckpointAge,
    State::CheckpointAgeLimit,
    State::LogCapacity,
    State::DirtyPages,
    State::CachePages,
    State::HistoryLength,
];

fn rows_show_in_the_states(build: &'static str, log: &[(&str, &str)]) {
    with_session(build, log, |session| {
        let reader = StateReader::new(session, true).unwrap();
        let before = reader.read(session).unwrap();
        let written = write_rows(session, &reader);
        let after = written.last().unwrap();
        for state in EVERYWHERE {
            assert!(after.get(state).is_some(), "{build}: {state} in {after:?}");
        }
        // The largest, because MySQL 5.5 flushes and writes a checkpoint as soon as it is idle.
        let largest = |state| {
            let values = written.iter().filter_map(|states| states.get(state));
            values.fold(0.0, f64::max)
        };
        let pages = largest(State::DirtyPages) - before.get(State::DirtyPages).unwrap();
        assert!(pages > 50.0, "{build}: {pages} pages");
        let bytes = largest(State::CheckpointAge);
        assert!((5e5..16e6).contains(&bytes), "{build}: {bytes} bytes");
        is_plausible(build, after);
    });
}

/// The limit is below the capacity and above half of it.
fn is_plausible(build: &str, states: &States) {
    let [limit, capacity] =
        [State::CheckpointAgeLimit, State::LogCapacity].map(|state| states.get(state).unwrap());
    assert_eq!(capacity, f64::from(16 << 20), "{build}");
    assert!(
        limit > capacity / 2.0 && limit < capacity,
        "{build}: {limit}"
    );
    let percent = states.percent(State::CheckpointAge).unwrap();
    assert!((0.0..110.0).contains(&percent), "{build}: {percent} %");
}

const TWO_FILES: [(&str, &str); 2] = [
    ("innodb_log_file_size", "8388608"),
    ("innodb_log_files_in_group", "2"),
];

macro_rules! on {
    ($($(#[$attribute:meta])* $name:ident => $build:literal, $log:expr;)*) => { $(
        #[test]
        $(#[$attribute])*
        fn $name() {
            rows_show_in_the_states($build, $log);
        }
    )* };
}

on! {
    rows_show_in_the_states_of_mariadb => "mariadb", &[("innodb_log_file_size", "16777216")];
    rows_show_in_the_states_of_mysql_5_6 => "mysql@5.6.14", &TWO_FILES;
    #[cfg(tier_all)]
    rows_show_in_the_states_of_mysql_5_5 => "mysql@5.5.34", &TWO_FILES;
    #[cfg(tier_all)]
    rows_show_in_the_states_of_mysql_8_0 => "mysql@8.0.33", &[("innodb_redo_log_capacity", "16777216")];
    #[cfg(tier_all)]
    rows_show_in_the_states_of_mysql_9_7 => "mysql@9.7", &[("innodb_redo_log_capacity", "16777216")];
    #[cfg(tier_all)]
    rows_show_in_the_states_of_mariadb_11_8 => "mariadb@11.8", &[("innodb_log_file_size", "16777216")];
}

#[test]
fn the_age_limit_of_older_servers_is_computed_as_mysql_5_6_reports_it() {
    with_session("mysql@5.6.14", &TWO_FILES, |session| {
        let reported = StateReader::new(session, true).unwrap();
        let reported = reported.read(session).unwrap();
        session
            .execute("SET GLOBAL innodb_monitor_disable = 'module_log'")
            .unwrap();
        let computed = StateReader::new(session, false).unwrap();
        let computed = computed.read(session).unwrap();
        let limits = [reported, computed].map(|states| states.get(State::CheckpointAgeLimit));
        assert_eq!(limits[0], limits[1]);
    });
}

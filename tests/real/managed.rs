//! Tests of managed servers with real builds: start, stop, kill, failures.
//!
//! Tiers: default, all.

use crate::support::fresh::Fresh;
use host::{Home, Leases};
use server::{Managed, Node, ServerError, StartRequest};

use std::path::Path;

fn one(server: &Managed, sql: &str) -> String {
    server
        .connect()
        .unwrap()
        .query(sql)
        .unwrap()
        .first_text()
        .unwrap()
}

/// The tests for each build that must be available on every development machine.
macro_rules! for_each_server {
    ($($name:ident => $build:literal,)*) => { $(
        mod $name {
            use super::*;

            fn fresh() -> Option<Fresh> {
                Fresh::of($build)
            }

            #[test]
            fn it_starts_with_the_requested_settings_and_stops_cleanly() {
                let Some(fresh) = fresh() else { return };
                let server = fresh.managed();
                let pool = [("innodb_buffer_pool_size", "13M"), ("innodb_old_blocks_time", "7")];
                let started = server.start(&fresh.request(&pool)).unwrap();
                assert!(started.elapsed_s > 0.0);
                assert_eq!(one(&server, "SELECT @@innodb_old_blocks_time"), "7");
                assert_eq!(one(&server, "SELECT @@innodb_fast_shutdown"), "0");
                assert_eq!(one(&server, "SELECT @@bind_address"), "127.0.0.1");
                let port: u16 = one(&server, "SELECT @@port").parse().unwrap();
                assert!(port < 32_768);
                assert!(server.identity().unwrap().version.contains(&fresh.distribution.version_text));
                let mut session = server.connect().unwrap();
                let pool: u64 = one(&server, "SELECT @@innodb_buffer_pool_size").parse().unwrap();
                let adjusted = server.adjusted(&mut session).unwrap();
                assert_eq!(adjusted.len(), usize::from(pool != 13 << 20), "{adjusted:?}");
                assert!(server.exit_reason().is_none());
                server.stop().unwrap();
                assert!(server.pid().is_none() && server.connect().is_err());
                let stopped = server.log_tail(15).join("\n").to_lowercase();
                assert!(stopped.contains("shutdown complete"), "{stopped}");
            }

            #[test]
            fn only_the_generated_password_can_log_in() {
                let Some(fresh) = fresh() else { return };
                let server = fresh.managed();
                server.start(&fresh.request(&[])).unwrap();
                let accounts = "SELECT count(*) FROM mysql.user WHERE user = '' OR (user = 'root' AND host <> 'localhost')";
                assert_eq!(one(&server, accounts), "0");
                let port: u16 = one(&server, "SELECT @@port").parse().unwrap();
                let nobody = spec::Dsn { password: None, host: "127.0.0.1".into(), port, socket: None, ..server.endpoint().unwrap() };
                let refused = server::Session::open(&nobody).err().unwrap().to_string();
                assert!(refused.contains("refused the login of `root`"), "{refused}");
                let left: Vec<_> = std::fs::read_dir(fresh.instance()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                assert!(!left.iter().any(|name| name == "first.sql"), "{left:?}");
                server.stop().unwrap();
                server.start(&fresh.request(&[])).unwrap();
                assert_eq!(one(&server, "SELECT 1"), "1");
            }

            #[test]
            fn committed_data_survives_a_kill() {
                let Some(fresh) = fresh() else { return };
                let server = fresh.managed();
                server.start(&fresh.request(&[])).unwrap();
                let mut session = server.connect().unwrap();
                session.execute("CREATE DATABASE prony_test").unwrap();
                session.execute("CREATE TABLE prony_test.t (n int) ENGINE=InnoDB").unwrap();
                session.execute("INSERT INTO prony_test.t VALUES (7)").unwrap();
                server.kill().unwrap();
                assert!(matches!(session.query("SELECT 1"), Err(ServerError::Lost(_))));
                server.start(&fresh.request(&[])).unwrap();
                assert_eq!(one(&server, "SELECT n FROM prony_test.t"), "7");
                drop(server);
            }

            #[test]
            fn the_error_for_an_unknown_setting_names_it() {
                let Some(fresh) = fresh() else { return };
                let server = fresh.managed();
                let message = server.start(&fresh.request(&[("inodb_flush", "1")])).unwrap_err().to_string();
                assert!(message.contains(concat!($build, " does not start: it exited with status")), "{message}");
                assert!(message.contains("this server does not know the setting `inodb_flush`"), "{message}");
                assert!(server.pid().is_none());
            }

            #[test]
            fn the_error_for_an_invalid_value_names_it() {
                let Some(fresh) = fresh() else { return };
                let server = fresh.managed();
                let wrong = [("innodb_flush_method", "with_a_broom")];
                let message = server.start(&fresh.request(&wrong)).unwrap_err().to_string();
                assert!(message.contains("innodb_flush_method") || message.contains("with_a_broom"), "{message}");
            }

            #[test]
            fn the_exit_reason_of_a_killed_server_names_the_signal() {
                let Some(fresh) = fresh() else { return };
                let server = fresh.managed();
                server.start(&fresh.request(&[])).unwrap();
                let pid = rustix::process::Pid::from_raw(server.pid().unwrap() as i32).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                let reason = std::iter::repeat_with(|| server.exit_reason()).flatten().next().unwrap();
                assert!(reason.contains("signal 9"), "{reason}");
                assert!(matches!(server.stop(), Err(ServerError::Lost(_))));
                server.stop().unwrap();
            }

            #[test]
            fn the_process_ends_when_the_value_is_dropped() {
                let Some(fresh) = fresh() else { return };
                let server = fresh.managed();
                server.start(&fresh.request(&[])).unwrap();
                let process = format!("/proc/{}", server.pid().unwrap());
                let environment = std::fs::read(format!("{process}/environ")).unwrap();
                let is_mark = |variable: &[u8]| variable.starts_with(b"PRONY_LEASE=");
                assert!(environment.split(|byte| *byte == 0).any(is_mark), "the guard finds the process by its mark");
                drop(server);
                assert!(!Path::new(&process).exists());
            }

            #[test]
            fn it_starts_in_a_folder_with_a_path_too_long_for_a_socket() {
                let Some(fresh) = fresh() else { return };
                let folder = fresh.instance().join("long".repeat(30));
                let server = Managed::new(fresh.distribution.clone(), fresh.leases.clone(), folder);
                server.start(&fresh.request(&[])).unwrap();
                assert_eq!(one(&server, "SELECT 1"), "1");
                server.stop().unwrap();
            }
        }
    )* }
}

for_each_server! {
    mysql_5_6 => "mysql@5.6.14",
    mariadb => "mariadb",
}

#[test]
fn the_error_for_a_missing_data_folder_names_it() {
    let Some(fresh) = Fresh::of("mysql@5.6.14") else {
        return;
    };
    let server = fresh.managed();
    let nowhere = StartRequest {
        data_folder: fresh.instance().join("nowhere"),
        settings: Vec::new(),
        groups: Vec::new(),
    };
    let message = server.start(&nowhere).unwrap_err().to_string();
    assert!(message.contains("nowhere"), "{message}");
}

#[test]
fn two_servers_run_concurrently() {
    let (Some(one_of), Some(other_of)) = (Fresh::of("mysql@5.6.14"), Fresh::of("mysql@5.6.14"))
    else {
        return;
    };
    let (first, second) = (one_of.managed(), other_of.managed());
    first.start(&one_of.request(&[])).unwrap();
    second.start(&other_of.request(&[])).unwrap();
    assert_ne!(one(&first, "SELECT @@port"), one(&second, "SELECT @@port"));
}

/// In a temporary home, so that it does not touch the leftovers of other prony processes.
#[test]
fn leases_of_a_new_home_have_a_guard() {
    let home = tempfile::tempdir().unwrap();
    assert!(
        Leases::open(&Home::at(home.path()).unwrap())
            .unwrap()
            .guard_pid()
            .is_some()
    );
}

/// It sets its password in a way of its own, and no other test starts it with one.
#[test]
#[cfg(tier_all)]
fn mariadb_10_2_11_starts() {
    let Some(fresh) = Fresh::of("mariadb@10.2.11") else {
        return;
    };
    let server = fresh.started(&[("innodb_buffer_pool_size", "64M")]);
    assert_eq!(one(&server, "SELECT @@innodb_buffer_pool_size"), "67108864");
    server.stop().unwrap();
}

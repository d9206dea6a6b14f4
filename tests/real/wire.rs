//! Tests of the crate `wire` with real servers of each version.
//!
//! All tests of a build share one server. Each test uses its own schema, and the guard ends the server.
//!
//! Tiers: default, all.

use crate::real::driven::now;
use crate::real::wired::{self, Running};
use load::{Backend, Io, executor};
use std::time::Instant;
use wire::{Connection, Login, Param, Protection, ServerKey, Tls, Value, Verification, WireError};

/// The single value that a query returns, as text.
fn one(connection: &mut Connection, sql: &str) -> String {
    let mut text = String::new();
    now(connection.query_rows(sql, &mut |row| {
        if let Some(Value::Bytes(bytes)) = row.first() {
            text = String::from_utf8_lossy(bytes).into_owned();
        }
    }))
    .unwrap();
    text
}

fn login_fails(login: &Login) -> String {
    let error = wired::open(login).err().expect("this login is wrong");
    assert!(error.is_lost());
    let message = error.to_string();
    let password = login.password.as_deref().unwrap_or("\0");
    assert!(!message.contains(password), "{message}");
    message
}

/// Logs in twice by socket and by TCP: a server that caches password hashes uses the cache the second time.
fn logs_in_by(running: &Running, plugin: &str, user: &str) {
    for login in [running.socket(), running.tcp()] {
        for round in ["first", "second"] {
            let mut login = login.clone();
            login.user = user.into();
            login.password = Some(wired::PASSWORD.into());
            let mut connection =
                wired::open(&login).unwrap_or_else(|error| panic!("{plugin}, {round}: {error}"));
            let who = one(&mut connection, "SELECT current_user()");
            assert!(who.starts_with(&format!("{user}@")), "{who}");
            now(connection.close());
        }
        running.admin("FLUSH PRIVILEGES");
    }
}

fn rows(connection: &mut Connection, sql: &str, params: &[Param]) -> Vec<Vec<String>> {
    let statement = now(connection.prepare(sql)).unwrap();
    let mut rows = Vec::new();
    let done = now(connection.execute_rows(&statement, params, &mut |row| {
        rows.push(row.iter().map(shown).collect::<Vec<String>>());
    }))
    .unwrap();
    assert_eq!(done.rows as usize, rows.len());
    now(connection.close_statement(statement)).unwrap();
    rows
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Int(value) => value.to_string(),
        Value::Double(value) => format!("{value:?}"),
        Value::Bytes(bytes) => bytes.escape_ascii().to_string(),
    }
}

fn large_packets_on_every_backend(login: &Login) {
    for backend in [executor::backend(), Backend::Epoll] {
        let ran = executor::run(backend, Instant::now(), None, 2, |io| {
            (0..2)
                .map(|client| {
                    let (io, login) = (io.clone(), login.clone());
                    Box::pin(async move { send_large(&io, &login, client).await }) as executor::Task
                })
                .collect()
        });
        assert!(ran.is_ok(), "{backend:?}: {ran:?}");
    }
}

async fn send_large(io: &Io, login: &Login, client: u32) {
    let mut connection = Connection::open(io, login, client).await.unwrap();
    let statement = connection.prepare("SELECT ?, 7").await.unwrap();
    let large = vec![b'z'; 20_000_000];
    let params = [Param::Bytes(&large)];
    assert_eq!(
        connection.execute(&statement, &params).await.unwrap().rows,
        1
    );
    let mut is_same = false;
    let mut see = |row: &[Value]| is_same = row == [Value::Bytes(&large), Value::Int(7)];
    let done = connection.execute_rows(&statement, &params, &mut see).await;
    assert!(done.unwrap().rows == 1 && is_same);
    connection.close().await;
}

/// The tests for each build.
macro_rules! for_each_server {
    ($($(#[$tier:meta])? $name:ident => $build:literal,)*) => { $(
        $(#[$tier])?
        mod $name {
            use super::*;
            use std::sync::LazyLock;

            static RUNNING: LazyLock<Option<Running>> = LazyLock::new(|| Running::of($build));

            fn running() -> Option<&'static Running> {
                RUNNING.as_ref()
            }

            #[test]
            fn a_login_by_socket_or_tcp_reports_the_version() {
                let Some(running) = running() else { return };
                for login in [running.socket(), running.tcp()] {
                    let mut connection = wired::open(&login).unwrap();
                    let version = one(&mut connection, "SELECT version()");
                    assert!(version.contains(connection.server_version().split('-').next().unwrap()), "{version}");
                    assert_eq!(one(&mut connection, "SELECT @@character_set_client"), "utf8mb4");
                }
            }

            #[test]
            fn every_authentication_plugin_of_the_server_works() {
                let Some(running) = running() else { return };
                let users = running.users();
                assert!(!users.is_empty());
                for (plugin, user) in users {
                    logs_in_by(running, plugin, user);
                }
            }

            #[test]
            fn a_full_password_is_encrypted_only_with_a_key_that_the_user_accepts() {
                let Some(running) = running() else { return };
                if !running.users().iter().any(|(plugin, _)| *plugin == "caching_sha2") {
                    return;
                }
                running.admin(&format!("CREATE USER keyed@'127.0.0.1' IDENTIFIED BY '{}'", wired::PASSWORD));
                let mut login = running.tcp();
                (login.user, login.password) = ("keyed".into(), Some(wired::PASSWORD.into()));
                login.protection = Protection::default();
                let message = login_fails(&login);
                assert!(message.contains("get_server_public_key=true"), "{message}");
                let mut admin = wired::open(&running.socket()).unwrap();
                let file = one(&mut admin, "SELECT CONCAT(@@datadir, @@caching_sha2_password_public_key_path)");
                login.protection.server_key = ServerKey::File("/no/such.pem".into());
                let message = login_fails(&login);
                assert!(message.contains("/no/such.pem, cannot be used"), "{message}");
                login.protection.server_key = ServerKey::File(file.into());
                assert_eq!(one(&mut wired::open(&login).unwrap(), "SELECT 1"), "1");
            }

            #[test]
            fn a_login_without_a_password_and_with_a_schema_works() {
                let Some(running) = running() else { return };
                let mut login = running.socket();
                (login.user, login.password) = (running.user_without_password(), None);
                login.schema = Some("information_schema".into());
                let mut connection = wired::open(&login).unwrap();
                assert_eq!(one(&mut connection, "SELECT database()"), "information_schema");
            }

            #[test]
            fn errors_for_failed_logins_name_the_cause_but_not_the_password() {
                let Some(running) = running() else { return };
                let mut wrong = running.tcp();
                wrong.password = Some("not-this-one".into());
                let message = login_fails(&wrong);
                assert!(message.starts_with("127.0.0.1:") && message.contains("the login of `root` (1045 ") && message.ends_with("from this host"), "{message}");
                let mut wrong = running.socket();
                wrong.schema = Some("no_such_schema".into());
                let message = login_fails(&wrong);
                assert!(message.contains("(1049 ") && message.ends_with("create the schema, or omit it from the DSN"), "{message}");
            }

            #[test]
            fn tls_works_or_fails_with_a_clear_error() {
                let Some(running) = running() else { return };
                let mut login = running.tcp();
                login.protection.tls = Tls::Required;
                if !running.has_tls {
                    let message = login_fails(&login);
                    assert!(message.contains("TLS: the server does not offer it"), "{message}");
                    return;
                }
                let mut connection = wired::open(&login).unwrap();
                let mut cipher = String::new();
                now(connection.query_rows("SHOW STATUS LIKE 'Ssl_cipher'", &mut |row| cipher = shown(&row[1]))).unwrap();
                assert!(cipher.contains("AES") || cipher.contains("CHACHA"), "{cipher}");
                let long = "x".repeat(100_000);
                assert_eq!(rows(&mut connection, "SELECT ?", &[Param::Bytes(long.as_bytes())]), [[long]]);
                // No authority of this machine issued the certificate.
                login.protection.tls = Tls::Verified(Verification { issuers: None, identity: true });
                let message = login_fails(&login);
                assert!(message.contains("certificate is not accepted") || message.contains("no trusted certificates"), "{message}");
                let issuer = one(&mut connection, "SELECT IF(@@ssl_ca LIKE '%.pem', CONCAT(@@datadir, @@ssl_ca), COALESCE(@@ssl_cert, ''))");
                // MariaDB 11.4 and later keep a certificate of their own in memory only.
                if std::path::Path::new(&issuer).is_file() {
                    let verified = |identity| Tls::Verified(Verification { issuers: Some(issuer.clone().into()), identity });
                    login.protection.tls = verified(false);
                    assert_eq!(one(&mut wired::open(&login).unwrap(), "SELECT 1"), "1");
                    login.protection.tls = verified(true);
                    let message = login_fails(&login);
                    assert!(message.contains("certificate is not accepted (certificate not valid for name"), "{message}");
                }
            }

            #[test]
            fn an_unreachable_endpoint_is_skipped() {
                let Some(running) = running() else { return };
                let mut login = running.socket();
                login.endpoints.insert(0, load::Endpoint::Unix("/no/such.sock".into()));
                assert_eq!(one(&mut wired::open(&login).unwrap(), "SELECT 1"), "1");
                login.endpoints.truncate(1);
                assert!(login_fails(&login).starts_with("/no/such.sock: "));
            }

            #[test]
            fn parameters_of_every_type_are_returned_unchanged() {
                let Some(running) = running() else { return };
                let mut connection = running.schema("params");
                now(connection.query("CREATE TABLE t (id int PRIMARY KEY, i bigint, d double, s varchar(40), b blob, n decimal(10,2)) CHARACTER SET utf8mb4")).unwrap();
                let insert = now(connection.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)")).unwrap();
                assert_eq!((insert.params, insert.columns), (6, 0));
                let all = [Param::Int(1), Param::Int(i64::MIN), Param::Double(-1.5e300), Param::Bytes("süß 🦀".as_bytes()), Param::Bytes(b"\0\xff"), Param::Bytes(b"12.34")];
                let none = [Param::Int(2), Param::Null, Param::Null, Param::Null, Param::Null, Param::Null];
                let other = [Param::Bytes(b"3"), Param::Double(7.0), Param::Int(8), Param::Int(9), Param::Null, Param::Double(0.5)];
                for params in [all, none, other] {
                    assert_eq!(now(connection.execute(&insert, &params)).unwrap().affected, 1);
                }
                let crab = "süß 🦀".as_bytes().escape_ascii().to_string();
                let kept = [
                    ["1", "-9223372036854775808", "-1.5e300", &crab, "\\x00\\xff", "12.34"],
                    ["2", "NULL", "NULL", "NULL", "NULL", "NULL"],
                    ["3", "7", "8.0", "9", "NULL", "0.50"],
                ];
                assert_eq!(rows(&mut connection, "SELECT * FROM t ORDER BY id", &[]), kept);
                let mut text = Vec::new();
                now(connection.query_rows("SELECT i, s, n FROM t ORDER BY id", &mut |row| text.push(row.iter().map(shown).collect::<Vec<_>>()))).unwrap();
                assert_eq!(text[0], ["-9223372036854775808", &crab, "12.34"]);
                assert_eq!(text[1], ["NULL"; 3]);
                let update = now(connection.prepare("UPDATE t SET i = i + ? WHERE id = ?")).unwrap();
                assert_eq!(now(connection.execute(&update, &[Param::Int(1), Param::Int(3)])).unwrap().affected, 1);
                assert_eq!(now(connection.execute(&update, &[Param::Int(1), Param::Int(99)])).unwrap().affected, 0);
                assert_eq!(rows(&mut connection, "SELECT i FROM t WHERE id = ?", &[Param::Int(3)]), [["8"]]);
            }

            #[test]
            fn numbers_of_every_width_and_sign_are_decoded() {
                let Some(running) = running() else { return };
                let mut connection = running.schema("numbers");
                now(connection.query("CREATE TABLE t (a tinyint, b tinyint unsigned, c smallint, d smallint unsigned, e mediumint, f mediumint unsigned, g int, h int unsigned, i bigint unsigned, j year, k float, l date, m bit(9), n enum('x','y'))")).unwrap();
                now(connection.query("INSERT INTO t VALUES (-128, 255, -32768, 65535, -8388608, 16777215, -2147483648, 4294967295, 9223372036854775807, 1999, 0.5, '2024-02-29', 257, 'y')")).unwrap();
                let kept = rows(&mut connection, "SELECT * FROM t", &[]);
                assert_eq!(kept, [["-128", "255", "-32768", "65535", "-8388608", "16777215", "-2147483648", "4294967295", "9223372036854775807", "1999", "0.5", "\\xe8\\x07\\x02\\x1d", "\\x01\\x01", "y"]]);
            }

            #[test]
            fn result_sets_of_any_size_are_counted_and_read() {
                let Some(running) = running() else { return };
                let mut connection = running.schema("sizes");
                now(connection.query("CREATE TABLE t (id int PRIMARY KEY AUTO_INCREMENT, s varchar(200))")).unwrap();
                let values = vec![format!("('{}')", "y".repeat(150)); 1000].join(",");
                let inserted = now(connection.query(&format!("INSERT INTO t (s) VALUES {values}"))).unwrap();
                assert_eq!((inserted.affected, inserted.insert_id), (1000, 1));
                let select = now(connection.prepare("SELECT id, s FROM t WHERE id <= ?")).unwrap();
                for count in [0, 1, 2, 1000] {
                    assert_eq!(now(connection.execute(&select, &[Param::Int(count)])).unwrap().rows, count as u64);
                    assert_eq!(now(connection.query(&format!("SELECT id, s FROM t LIMIT {count}"))).unwrap().rows, count as u64);
                    let read = rows(&mut connection, "SELECT id, s FROM t WHERE id <= ? ORDER BY id", &[Param::Int(count)]);
                    assert_eq!(read.len(), count as usize);
                    assert!(read.iter().enumerate().all(|(place, row)| row[0] == (place + 1).to_string() && row[1].len() == 150));
                }
            }

            #[test]
            fn rows_and_requests_larger_than_a_packet_work() {
                let Some(running) = running() else { return };
                let mut connection = running.schema("large");
                const CHUNK: usize = 0xff_ffff;
                for size in [CHUNK - 20, CHUNK - 4, CHUNK, 2 * CHUNK + 5] {
                    let large = vec![b'z'; size];
                    let statement = now(connection.prepare("SELECT ?, 7")).unwrap();
                    assert_eq!(now(connection.execute(&statement, &[Param::Bytes(&large)])).unwrap().rows, 1);
                    let mut seen = (0, 0);
                    now(connection.execute_rows(&statement, &[Param::Bytes(&large)], &mut |row| {
                        let Value::Bytes(bytes) = row[0] else { panic!("{:?}", row[0]) };
                        assert_eq!(row[1], Value::Int(7));
                        seen = (bytes.len(), bytes.iter().filter(|byte| **byte == b'z').count());
                    })).unwrap();
                    assert_eq!(seen, (size, size));
                }
                let many = "SELECT repeat('x', 1000000) FROM information_schema.collations LIMIT 40";
                assert_eq!(now(connection.query(many)).unwrap().rows, 40);
                let mut bytes = 0;
                now(connection.query_rows(many, &mut |row| bytes += shown(&row[0]).len())).unwrap();
                assert_eq!(bytes, 40_000_000);
            }

            #[test]
            fn every_io_backend_sends_and_receives_large_packets() {
                let Some(running) = running() else { return };
                for login in [running.socket(), running.tcp()] {
                    large_packets_on_every_backend(&login);
                }
            }

            #[test]
            fn the_error_for_a_too_large_request_names_max_allowed_packet() {
                let Some(running) = running() else { return };
                for login in [running.socket(), running.tcp()] {
                    let mut connection = wired::open(&login).unwrap();
                    let statement = now(connection.prepare("SELECT length(?)")).unwrap();
                    let error = now(connection.execute(&statement, &[Param::Bytes(&vec![b'x'; 70 << 20])])).unwrap_err();
                    let message = error.to_string();
                    assert!(message.contains("max_allowed_packet"), "{message}");
                    let lost = now(connection.query("SELECT 1"));
                    assert!(lost.is_ok() || lost.unwrap_err().is_lost());
                }
            }

            #[test]
            fn a_connection_is_usable_after_an_error() {
                let Some(running) = running() else { return };
                let mut connection = running.schema("errors");
                let error = now(connection.prepare("SELECT nothing FROM nowhere")).unwrap_err();
                assert_eq!((error.code(), error.is_lost()), (1146, false));
                let error = now(connection.query("SELEC 1")).unwrap_err();
                assert!(error.to_string().starts_with("error 1064 (42000): "), "{error}");
                now(connection.query("CREATE TABLE t (id int PRIMARY KEY)")).unwrap();
                let insert = now(connection.prepare("INSERT INTO t VALUES (?)")).unwrap();
                now(connection.execute(&insert, &[Param::Int(1)])).unwrap();
                let error = now(connection.execute(&insert, &[Param::Int(1)])).unwrap_err();
                assert_eq!((error.code(), error.is_lost()), (1062, false));
                now(connection.execute(&insert, &[Param::Int(2)])).unwrap();
                // The server sends the first row, then an error.
                let middle = "SELECT (SELECT id FROM t u WHERE u.id <= t.id) FROM t ORDER BY id";
                let error = now(connection.query(middle)).unwrap_err();
                assert_eq!((error.code(), error.is_lost()), (1242, false));
                let misuse = now(connection.execute(&insert, &[])).unwrap_err();
                assert!(matches!(misuse, WireError::Misuse(_)), "{misuse}");
                now(connection.close_statement(insert.clone())).unwrap();
                assert!(matches!(now(connection.execute(&insert, &[Param::Int(3)])), Err(WireError::Misuse(_))));
                assert_eq!(one(&mut connection, "SELECT count(*) FROM t"), "2");
            }

            #[test]
            fn all_result_sets_of_a_call_are_read() {
                let Some(running) = running() else { return };
                let mut connection = running.schema("calls");
                now(connection.query("CREATE PROCEDURE p() BEGIN SELECT 1 UNION SELECT 2; SELECT 3; DO 0; END")).unwrap();
                assert_eq!(now(connection.query("CALL p()")).unwrap().rows, 3);
                assert_eq!(rows(&mut connection, "CALL p()", &[]), [["1"], ["2"], ["3"]]);
                assert_eq!(one(&mut connection, "SELECT 4"), "4");
            }

            #[test]
            fn a_statement_is_decoded_correctly_after_its_table_was_altered() {
                let Some(running) = running() else { return };
                let mut connection = running.schema("altered");
                now(connection.query("CREATE TABLE t (id int)")).unwrap();
                now(connection.query("INSERT INTO t VALUES (5)")).unwrap();
                let select = now(connection.prepare("SELECT * FROM t WHERE id = ?")).unwrap();
                assert_eq!(now(connection.execute(&select, &[Param::Int(5)])).unwrap().rows, 1);
                now(connection.query("ALTER TABLE t ADD COLUMN s varchar(9) DEFAULT 'new'")).unwrap();
                let mut seen = Vec::new();
                now(connection.execute_rows(&select, &[Param::Int(5)], &mut |row| seen = row.iter().map(shown).collect())).unwrap();
                assert_eq!(seen, ["5", "new"]);
            }

            #[test]
            fn a_killed_connection_stays_lost() {
                let Some(running) = running() else { return };
                for login in [running.socket(), running.tcp()] {
                    let mut connection = wired::open(&login).unwrap();
                    let id = one(&mut connection, "SELECT connection_id()");
                    running.admin(&format!("KILL {id}"));
                    // The server reacts to KILL with a delay.
                    let error = std::iter::repeat_with(|| now(connection.query("SELECT 1"))).find_map(Result::err).unwrap();
                    assert!(error.is_lost(), "{error}");
                    assert!(now(connection.query("SELECT 1")).unwrap_err().is_lost());
                }
            }
        }
    )* };
}

for_each_server! {
    mariadb => "mariadb",
    mysql_5_6_14 => "mysql@5.6.14",
    #[cfg(tier_all)]
    mysql_5_5_34 => "mysql@5.5.34",
    #[cfg(tier_all)]
    mysql_8_0_33 => "mysql@8.0.33",
    #[cfg(tier_all)]
    mysql_9_7 => "mysql@9.7",
    #[cfg(tier_all)]
    mariadb_11_8 => "mariadb@11.8",
}

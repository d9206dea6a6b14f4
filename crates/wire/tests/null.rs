//! The null server, and how the client handles the faults that it injects.

use load::Io;
use std::future::Future;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use wire::null::{Behaviour, NullServer};
use wire::{Connection, Login, Param, Tls, Value, WireError};

/// Runs a future to its end. On blocking streams it never waits.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a blocking stream is never pending"),
    }
}

fn login(server: &NullServer) -> Login {
    Login {
        endpoints: vec![server.endpoint()],
        user: "app".into(),
        password: Some("secret word".into()),
        schema: Some("sbtest".into()),
        protection: Default::default(),
        login_timeout: Duration::from_secs(20),
        stall_timeout: Some(Duration::from_secs(3)),
    }
}

fn open(server: &NullServer) -> Connection {
    now(Connection::open(&Io::blocking(), &login(server), 0)).unwrap()
}

/// The error of the third of three statements on one connection.
fn third(behaviour: Behaviour) -> WireError {
    let server = NullServer::tcp(behaviour).unwrap();
    let mut connection = open(&server);
    let select = now(connection.prepare("SELECT c FROM sbtest1 WHERE id = ?")).unwrap();
    for id in 0..2 {
        now(connection.execute(&select, &[Param::Int(id)])).unwrap();
    }
    let error = now(connection.execute(&select, &[Param::Int(2)])).unwrap_err();
    if error.is_lost() {
        let again = now(connection.query("SELECT 1")).unwrap_err();
        assert!(matches!(again, WireError::Ended), "{again}");
    } else {
        now(connection.query("SELECT 1")).unwrap();
    }
    error
}

#[test]
fn a_select_returns_one_row_and_other_statements_return_ok() {
    let folder = tempfile::tempdir().unwrap();
    let server = NullServer::unix(&folder.path().join("s"), Behaviour::default()).unwrap();
    let mut connection = open(&server);
    let select = now(connection.prepare("SELECT c FROM sbtest1 WHERE id = ?")).unwrap();
    assert_eq!((select.params, select.columns), (1, 1));
    assert_eq!(
        now(connection.execute(&select, &[Param::Int(7)]))
            .unwrap()
            .rows,
        1
    );
    let mut bytes = 0;
    let done = now(
        connection.execute_rows(&select, &[Param::Int(7)], &mut |row| {
            let [Value::Bytes(text)] = row else {
                panic!("{row:?}")
            };
            bytes += text.len();
        }),
    );
    assert_eq!((done.unwrap().rows, bytes), (1, 119));
    let insert = now(connection.prepare("INSERT INTO t VALUES (?, ?)")).unwrap();
    assert_eq!((insert.params, insert.columns), (2, 0));
    let done = now(connection.execute(&insert, &[Param::Null, Param::Int(1)])).unwrap();
    assert_eq!((done.affected, done.rows), (1, 0));
    assert_eq!(now(connection.query("BEGIN")).unwrap().rows, 0);
    now(connection.close_statement(insert)).unwrap();
    now(connection.close());
}

#[test]
fn an_error_leaves_the_connection_usable() {
    let error = third(Behaviour {
        error_every: Some((3, 1213)),
        ..Behaviour::default()
    });
    assert_eq!((error.code(), error.is_lost()), (1213, false));
}

#[test]
fn a_closed_connection_is_lost() {
    let error = third(Behaviour {
        reset_after: Some(2),
        ..Behaviour::default()
    });
    assert_eq!((error.code(), error.is_lost()), (2013, true), "{error}");
}

#[test]
fn a_server_that_stops_answering_times_out() {
    let error = third(Behaviour {
        stall_after: Some(2),
        ..Behaviour::default()
    });
    assert!(
        matches!(&error, WireError::Io(cause) if cause.kind() == std::io::ErrorKind::TimedOut),
        "{error}"
    );
}

#[test]
fn a_malformed_answer_is_a_protocol_error() {
    let error = third(Behaviour {
        malformed_after: Some(2),
        ..Behaviour::default()
    });
    assert!(
        error.to_string().contains("violates the MySQL protocol") && error.is_lost(),
        "{error}"
    );
}

#[test]
fn a_full_server_makes_the_login_try_the_next_endpoint() {
    let full = NullServer::tcp(Behaviour {
        refuse: Some(1040),
        ..Behaviour::default()
    })
    .unwrap();
    let free = NullServer::tcp(Behaviour::default()).unwrap();
    let mut login = login(&full);
    let error = now(Connection::open(&Io::blocking(), &login, 0))
        .err()
        .unwrap();
    assert!(
        error.is_transient() && error.to_string().contains("raise max_connections"),
        "{error}"
    );
    login.endpoints.push(free.endpoint());
    for client in 0..2 {
        now(Connection::open(&Io::blocking(), &login, client)).unwrap();
    }
}

/// The error of a login at an endpoint that does not accept it.
fn unreachable(endpoint: load::Endpoint) -> WireError {
    let login = Login {
        endpoints: vec![endpoint],
        user: "app".into(),
        password: None,
        schema: None,
        protection: Default::default(),
        login_timeout: Duration::from_secs(20),
        stall_timeout: None,
    };
    let opened = now(Connection::open(&Io::blocking(), &login, 0));
    opened.err().expect("the login fails")
}

#[test]
fn an_unreachable_server_is_a_transient_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.sock");
    let unbound = folder.path().join("left behind.sock");
    drop(std::os::unix::net::UnixListener::bind(&unbound).unwrap());
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let closed = load::Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    };
    for (endpoint, kind) in [
        (load::Endpoint::Unix(missing), std::io::ErrorKind::NotFound),
        (
            load::Endpoint::Unix(unbound),
            std::io::ErrorKind::ConnectionRefused,
        ),
        (closed, std::io::ErrorKind::ConnectionRefused),
    ] {
        let error = unreachable(endpoint);
        assert!(error.is_transient(), "{error}");
        assert!(
            matches!(&error, WireError::Unreachable { cause, .. } if cause.kind() == kind),
            "{error}"
        );
    }
}

#[test]
fn wrong_credentials_are_not_transient() {
    let server = NullServer::tcp(Behaviour {
        refuse: Some(1045),
        ..Behaviour::default()
    })
    .unwrap();
    let error = unreachable(server.endpoint());
    assert_eq!((error.code(), error.is_transient()), (1045, false));
}

#[test]
fn required_tls_without_server_support_is_an_error() {
    let server = NullServer::tcp(Behaviour::default()).unwrap();
    let mut login = login(&server);
    login.protection.tls = Tls::Required;
    let error = now(Connection::open(&Io::blocking(), &login, 0))
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("the server does not offer it") && !error.contains("secret word"),
        "{error}"
    );
}

#[test]
fn a_delayed_answer_takes_at_least_the_delay() {
    let delay = Duration::from_millis(50);
    let server = NullServer::tcp(Behaviour {
        delay,
        ..Behaviour::default()
    })
    .unwrap();
    let mut connection = open(&server);
    let begin = Instant::now();
    now(connection.query("SELECT 1")).unwrap();
    assert!(begin.elapsed() >= delay);
}

#[test]
fn a_dropped_request_makes_the_connection_unusable() {
    let server = NullServer::tcp(Behaviour::default()).unwrap();
    let mut connection = open(&server);
    let select = now(connection.prepare("SELECT ?")).unwrap();
    drop(connection.execute(&select, &[Param::Int(1)]));
    let error = now(connection.execute(&select, &[Param::Int(2)])).unwrap_err();
    assert!(matches!(error, WireError::Ended));
}

#[test]
fn every_engine_backend_serves_many_connections() {
    use load::{Backend, executor};
    for backend in [executor::backend(), Backend::Epoll, Backend::Blocking] {
        let server = NullServer::tcp(Behaviour::default()).unwrap();
        let login = login(&server);
        let ran = executor::run(backend, Instant::now(), None, 20, |io| {
            (0..20)
                .map(|client| {
                    let (io, login) = (io.clone(), login.clone());
                    Box::pin(async move {
                        let mut connection = Connection::open(&io, &login, client).await.unwrap();
                        let select = connection.prepare("SELECT ?").await.unwrap();
                        for id in 0..50 {
                            let done = connection.execute(&select, &[Param::Int(id)]).await;
                            assert_eq!(done.unwrap().rows, 1);
                        }
                        connection.close().await;
                    }) as executor::Task
                })
                .collect()
        });
        assert!(ran.is_ok(), "{backend:?}: {ran:?}");
    }
}

#[test]
fn a_request_received_in_parts_is_answered_once() {
    let server = NullServer::tcp(Behaviour::default()).unwrap();
    let mut connection = open(&server);
    let long = format!("SELECT '{}'", "x".repeat(3 << 20));
    for sql in [&long, "SELECT 1", &long] {
        assert_eq!(now(connection.query(sql)).unwrap().rows, 1);
    }
}

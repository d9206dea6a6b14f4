//! Opens connections.
//!
//! The crate `wire` explains why a login fails, for both sessions and loads. The password of a DSN is the concern of `external`,
//! waiting for a starting server that of `managed`.

use super::{ServerError, Session, query_mysql, run_mysql, watch};
use spec::{Dsn, TlsMode};
use std::time::Duration;
use wire::{Blocking, Endpoint, Login, Protection, ServerKey, Tls, Verification, WireError};

/// Timeout of connecting, greeting and login together.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Session {
    /// Connects by the DSN's socket, or by TCP if it names none, with the DSN's password. Autocommit is on, whatever the server's
    /// default is.
    pub fn open(dsn: &Dsn) -> Result<Session, ServerError> {
        let login = Login {
            schema: dsn.schema.clone(),
            ..login(dsn, TIMEOUT)
        };
        let opened = Blocking::open(&login, &dsn.to_string(), host::interrupt::asked);
        match opened {
            Ok(mut connection) => {
                let before = connection.set_statement_timeout(Some(TIMEOUT));
                commit_each_statement(&mut connection)?;
                connection.set_statement_timeout(before);
                connection.on_silence(watch::on_silence(dsn.clone(), connection.id()));
                Ok(Session::MySql(Box::new(connection)))
            }
            Err(error) => Err(login_error(dsn, &error)),
        }
    }
}

/// What every session sets: a server whose `sql_select_limit` is low would cut each answer in silence, and one whose `wait_timeout` is
/// short would close sessions that wait for their turn: those that hold a lock, and those that stop other sessions' statements.
const FIRST: &str =
    "SET SESSION autocommit = 1, sql_select_limit = 18446744073709551615, wait_timeout = 2147483";

/// Turns autocommit on and makes sure that it is: the global value or `init_connect` may have turned it off, and then the server keeps
/// nothing of what it acknowledges.
fn commit_each_statement(connection: &mut Blocking) -> Result<(), ServerError> {
    if run_mysql(connection, FIRST)?.autocommits() {
        return Ok(());
    }
    // A proxy may not pass the state of the session on.
    let value = query_mysql(connection, "SELECT @@autocommit")?.first_text();
    match value.as_deref() {
        Some("1") => Ok(()),
        other => Err(ServerError::Unusable(format!(
            "the server keeps autocommit = {} although the session sets it to 1; correct the server or the proxy before it",
            other.unwrap_or("NULL")
        ))),
    }
}

/// How clients log in to the nodes of a DSN, without a schema.
pub fn login(dsn: &Dsn, login_timeout: Duration) -> Login {
    let node = |(host, port): &(String, u16)| Endpoint::Tcp {
        host: host.clone(),
        port: *port,
    };
    let first = match &dsn.socket {
        Some(path) => Endpoint::Unix(path.clone()),
        None => node(&(dsn.host.clone(), dsn.port)),
    };
    let others = dsn.others.iter().map(node);
    Login {
        endpoints: [first].into_iter().chain(others).collect(),
        user: dsn.user.clone(),
        password: dsn.password.clone(),
        schema: None,
        protection: protection(dsn),
        login_timeout,
        stall_timeout: None,
    }
}

fn protection(dsn: &Dsn) -> Protection {
    let given = &dsn.protection;
    let verified = |identity| {
        Tls::Verified(Verification {
            issuers: given.tls_ca.clone(),
            identity,
        })
    };
    let tls = match given.tls {
        TlsMode::ByHost if dsn.is_local() && given.tls_ca.is_none() => Tls::Off,
        TlsMode::ByHost | TlsMode::VerifyIdentity => verified(true),
        TlsMode::VerifyCa => verified(false),
        TlsMode::Required => Tls::Required,
        TlsMode::Off => Tls::Off,
    };
    let server_key = match &given.server_key {
        spec::ServerKey::Refused => ServerKey::Refused,
        spec::ServerKey::Requested => ServerKey::Requested,
        spec::ServerKey::File(file) => ServerKey::File(file.clone()),
    };
    Protection { tls, server_key }
}

/// Waiting helps only against a lost or refused connection.
fn login_error(dsn: &Dsn, error: &WireError) -> ServerError {
    match error {
        WireError::Unreachable { text, .. } => ServerError::Lost(text.clone()),
        WireError::Login { code: 1045, text } if dsn.open.password_was_decoded => {
            ServerError::Unusable(format!(
                "{text}; in a DSN a % begins two hexadecimal digits (%41 is A), so write %25 for a % of the password"
            ))
        }
        other => ServerError::Unusable(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn dsn(port: u16) -> Dsn {
        let dsn = format!("mysql://app:secret word@127.0.0.1:{port}");
        dsn.parse().unwrap()
    }

    /// The error of `open` for a peer that sends these bytes and closes the connection.
    fn error_for_a_peer_that_sends(bytes: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let peer = std::thread::spawn(move || {
            let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
            let _ = stream.write_all(bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let message = Session::open(&dsn(port))
            .err()
            .expect("this is no server")
            .to_string();
        peer.join().unwrap();
        message
    }

    /// How the connections of `mysql://me@` and this are encrypted.
    fn tls_of(address: &str) -> Tls {
        protection(&format!("mysql://me@{address}").parse().unwrap()).tls
    }

    #[test]
    fn connections_that_leave_the_machine_are_verified_unless_the_dsn_says_otherwise() {
        let of_the_host = Tls::Verified(Verification {
            issuers: None,
            identity: true,
        });
        for remote in ["db", "10.0.0.1:3307", "localhost,db", "127.0.0.1.example"] {
            assert_eq!(tls_of(remote), of_the_host, "{remote}");
        }
        for local in ["localhost", "127.0.0.1", "[::1]:3307", "db?socket=/s"] {
            assert_eq!(tls_of(local), Tls::Off, "{local}");
        }
        assert_eq!(tls_of("db?tls=off"), Tls::Off);
        assert_eq!(tls_of("db?tls=required"), Tls::Required);
        let by_issuer = Tls::Verified(Verification {
            issuers: Some("/ca.pem".into()),
            identity: false,
        });
        assert_eq!(tls_of("db?tls=verify-ca&tls_ca=/ca.pem"), by_issuer);
        assert!(matches!(tls_of("localhost?tls_ca=/ca.pem"), Tls::Verified(own) if own.identity));
    }

    #[test]
    fn a_port_without_a_listener_is_reported_as_refused() {
        // The kernel gives this port to no other test.
        let message = Session::open(&dsn(1)).err().unwrap().to_string();
        assert_eq!(
            message,
            "mysql://app@127.0.0.1:1: connection refused: no server listens there; start the server, or correct the port or socket"
        );
    }

    #[test]
    fn the_error_for_a_missing_socket_names_it() {
        let dsn = Dsn {
            socket: Some("/no/such.sock".into()),
            ..dsn(3306)
        };
        let message = Session::open(&dsn).err().unwrap().to_string();
        assert!(
            message.contains("/no/such.sock: the socket does not exist"),
            "{message}"
        );
    }

    #[test]
    fn the_error_for_an_unknown_host_names_it() {
        let dsn = Dsn {
            host: "no.such.host.invalid".into(),
            ..dsn(3306)
        };
        let message = Session::open(&dsn).err().unwrap().to_string();
        assert!(
            message.contains("the host `no.such.host.invalid` is unknown"),
            "{message}"
        );
    }

    #[test]
    fn the_error_for_another_service_shows_its_banner() {
        let message = error_for_a_peer_that_sends(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n");
        assert!(
            message.contains("not a MySQL server (it sent `SSH-2.0-OpenSSH_9.2p1 Debian`)"),
            "{message}"
        );
    }

    #[test]
    fn a_peer_that_closes_the_connection_is_reported() {
        let message = error_for_a_peer_that_sends(b"");
        assert!(
            message.contains("closed the connection at once"),
            "{message}"
        );
    }

    #[test]
    fn a_truncated_greeting_is_an_aborted_login() {
        let message = error_for_a_peer_that_sends(b"\x4a\x00\x00\x00\x0a5.6.14\x00\x01");
        assert!(message.contains("the login was aborted"), "{message}");
    }

    #[test]
    fn a_greeting_of_protocol_9_is_rejected_without_a_panic() {
        let message = error_for_a_peer_that_sends(
            b"\x0d\x00\x00\x00\x093.23.58\x00\x01\x00\x00\x00abcdefgh\x00",
        );
        assert!(
            message.contains("too old") || message.contains("not a MySQL server"),
            "{message}"
        );
    }

    #[test]
    fn the_error_for_a_disallowed_host_says_what_to_do() {
        let message =
            error_for_a_peer_that_sends(b"\x1d\x00\x00\x00\xff\x6a\x04Host 'h' is not allowed ..");
        assert!(
            message.contains("1130") && message.contains("create a user"),
            "{message}"
        );
    }

    #[test]
    fn no_error_contains_the_password() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"",
            b"\x01\x00\x00\x00\xff",
        ] {
            assert!(!error_for_a_peer_that_sends(bytes).contains("secret word"));
        }
    }
}

//! Explains why a login failed: the place, the cause and the fix, in one message. It is the same for loads and sessions.
//!
//! The message never contains the password.

use crate::error::WireError;
use crate::login::Login;
use load::Endpoint;
use std::io::{self, ErrorKind};

/// Characters of a foreign peer's first line that are shown.
const BANNER_BYTES_MAX: usize = 64;

/// Completes the error of a login at `endpoint`, which the message calls `place`.
pub(crate) fn explain(
    place: &str,
    endpoint: &Endpoint,
    login: &Login,
    error: WireError,
) -> WireError {
    let code = error.code();
    match error {
        WireError::Io(cause) => WireError::Unreachable {
            text: format!("{place}: {}", not_connected(endpoint, login, &cause)),
            cause,
        },
        WireError::Unreachable { text, cause } => WireError::Unreachable {
            text: format!("{place}: {text}"),
            cause,
        },
        WireError::Server { code, message, .. } => {
            let user = &login.user;
            let fix = fix(code).map(|fix| format!("; {fix}")).unwrap_or_default();
            let text = format!(
                "{place}: the server refused the login of `{user}` ({code} {message}){fix}"
            );
            WireError::Login { code, text }
        }
        other => WireError::Login {
            code,
            text: format!("{place}: {other}"),
        },
    }
}

/// The cause and fix of a connection that was not established.
fn not_connected(endpoint: &Endpoint, login: &Login, cause: &io::Error) -> String {
    match (cause.kind(), endpoint) {
        (ErrorKind::ConnectionRefused, _) => {
            "connection refused: no server listens there; start the server, or correct the port or socket".into()
        }
        (ErrorKind::NotFound, Endpoint::Unix(_)) => {
            "the socket does not exist; start the server, or correct the path (`select @@socket` shows it)".into()
        }
        (ErrorKind::NotFound, Endpoint::Tcp { host, .. }) => {
            format!("the host `{host}` is unknown; correct the name, or use an IP address")
        }
        (ErrorKind::PermissionDenied, Endpoint::Unix(_)) => {
            "no permission to open the socket; use TCP, or run prony as a user of the server's group".into()
        }
        (ErrorKind::TimedOut, _) => format!(
            "no answer within {} s; check the host, the port and the firewall",
            login.login_timeout.as_secs()
        ),
        (ErrorKind::Interrupted, _) => said(cause),
        _ => format!("{cause}; check the host, the port and the network"),
    }
}

/// The error of a peer that accepted the connection and then sent `bytes`, but no greeting.
pub(crate) fn no_greeting(bytes: &[u8], login: &Login, error: WireError) -> WireError {
    match error {
        WireError::Io(cause) if cause.kind() == ErrorKind::Interrupted => aborted(cause.into()),
        WireError::Io(cause) if bytes.is_empty() => {
            let text = match cause.kind() {
                ErrorKind::TimedOut => format!(
                    "the port is open, but sent nothing for {} s; check that it is a MySQL or MariaDB server, and that it is not hung",
                    login.login_timeout.as_secs()
                ),
                _ => "the peer closed the connection at once; check that it is a MySQL or MariaDB server, and check its log".into(),
            };
            WireError::Unreachable { text, cause }
        }
        error if begins_like_a_greeting(bytes) => aborted(error),
        _ => WireError::unsuitable(format!(
            "not a MySQL server (it sent `{}`); correct the host or the port",
            banner(bytes)
        )),
    }
}

/// The error of a login that ended after the greeting had begun.
pub(crate) fn aborted(error: WireError) -> WireError {
    match error {
        WireError::Io(cause) => WireError::Unreachable {
            text: format!(
                "the login was aborted ({}); check the server's log",
                said(&cause)
            ),
            cause,
        },
        other => other,
    }
}

/// An I/O error in words.
fn said(cause: &io::Error) -> String {
    match cause.kind() {
        ErrorKind::UnexpectedEof => "the server closed the connection".into(),
        ErrorKind::TimedOut => "the server did not answer in time".into(),
        ErrorKind::Interrupted => "interrupted".into(),
        _ => cause.to_string(),
    }
}

/// The first bytes of a server: a packet with sequence number 0 and a protocol version, or an error (255). It may be incomplete.
fn begins_like_a_greeting(bytes: &[u8]) -> bool {
    let is =
        |place: usize, allowed: &[u8]| bytes.get(place).is_none_or(|byte| allowed.contains(byte));
    is(2, &[0]) && is(3, &[0]) && is(4, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255])
}

/// The first line of a foreign peer.
fn banner(bytes: &[u8]) -> String {
    let line = bytes.iter().take(BANNER_BYTES_MAX);
    line.take_while(|byte| !matches!(byte, b'\r' | b'\n'))
        .map(|byte| match byte {
            b' '..=b'~' => char::from(*byte),
            _ => '.',
        })
        .collect()
}

/// What the user can do about a login that the server refuses with this error; None for any other error.
fn fix(code: u16) -> Option<&'static str> {
    Some(match code {
        1698 => {
            "this account logs in by socket: add ?socket=/run/mysqld/mysqld.sock to the DSN (select @@socket shows the path) and run prony as the system user of that name, or create an account with a password"
        }
        1045 => {
            "set the password in PRONY_PASSWORD (one for all servers), in the DSN, or in ~/.my.cnf under [client], and check that the user may connect from this host"
        }
        1044 => "grant the user privileges on the schema",
        1049 => "create the schema, or omit it from the DSN",
        1040 | 1203 => "close other connections, or raise max_connections",
        1129 => "run FLUSH HOSTS on the server",
        1130 => "create a user that may connect from this host",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn login() -> Login {
        Login {
            endpoints: Vec::new(),
            user: "app".into(),
            password: Some("secret word".into()),
            schema: None,
            protection: Default::default(),
            login_timeout: Duration::from_secs(10),
            stall_timeout: None,
        }
    }

    fn refused_greeting(bytes: &[u8], kind: ErrorKind) -> String {
        no_greeting(bytes, &login(), WireError::Io(kind.into())).to_string()
    }

    #[test]
    fn a_silent_peer_is_hung_or_no_server() {
        let text = refused_greeting(b"", ErrorKind::TimedOut);
        assert!(
            text.starts_with("the port is open, but sent nothing for 10 s"),
            "{text}"
        );
    }

    #[test]
    fn a_foreign_peer_is_shown_with_its_first_line() {
        let text = refused_greeting(b"HTTP/1.1 400\r\nServer: x", ErrorKind::UnexpectedEof);
        assert_eq!(
            text,
            "not a MySQL server (it sent `HTTP/1.1 400`); correct the host or the port"
        );
    }

    #[test]
    fn a_part_of_a_greeting_is_an_aborted_login() {
        for part in [&b"\x4a"[..], b"\x4a\0\0\0", b"\x4a\0\0\0\x0a8.0.33"] {
            let text = refused_greeting(part, ErrorKind::TimedOut);
            assert!(
                text.contains("aborted (the server did not answer in time)"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_failed_connection_stays_transient_with_its_explanation() {
        let endpoint = Endpoint::Unix("/no/such.sock".into());
        let error = WireError::Io(ErrorKind::NotFound.into());
        let explained = explain("/no/such.sock", &endpoint, &login(), error);
        assert!(explained.is_transient());
        assert!(
            explained
                .to_string()
                .starts_with("/no/such.sock: the socket does not exist")
        );
    }

    proptest! {
        #[test]
        fn no_bytes_of_a_peer_make_the_explanation_panic(bytes: Vec<u8>) {
            let text = refused_greeting(&bytes, ErrorKind::UnexpectedEof);
            prop_assert!(!text.chars().any(char::is_control), "{}", text);
            prop_assert!(!text.contains("secret word"));
        }
    }
}

//! Opens connections, and explains failures in one message.
//!
//! Each cause (connection refused, unknown host, wrong password, not a MySQL server, too old, no answer) comes with its fix.
//! The password of a DSN is the concern of `external`, waiting for a starting server that of `managed`.

use super::{ServerError, Session};
use mysql::{DriverError, OptsBuilder, SslOpts};
use spec::Dsn;
use std::io::{ErrorKind, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Timeout of connecting, and of each answer during the login.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The oldest supported server version.
const OLDEST: (u16, u16, u16) = (5, 1, 0);

impl Session {
    /// Connects by the DSN's socket, or by TCP if it names none, with the DSN's password. Autocommit is on.
    pub fn open(dsn: &Dsn) -> Result<Session, ServerError> {
        let connection = mysql::Conn::new(options(dsn)).map_err(|error| explain(dsn, error))?;
        remove_timeouts(&connection)
            .map_err(|error| ServerError::Lost(format!("{dsn}: {error}")))?;
        if connection.server_version() < OLDEST {
            let (major, minor, patch) = connection.server_version();
            return Err(too_old(dsn, &format!("{major}.{minor}.{patch}")));
        }
        Ok(Session::MySql(Box::new(connection)))
    }
}

fn options(dsn: &Dsn) -> OptsBuilder {
    // Certificates are not verified, like in the standard clients with ssl-mode REQUIRED.
    let tls = dsn.tls_required.then(|| {
        SslOpts::default()
            .with_danger_accept_invalid_certs(true)
            .with_danger_skip_domain_validation(true)
    });
    OptsBuilder::new()
        .ip_or_hostname(Some(dsn.host.clone()))
        .tcp_port(dsn.port)
        .socket(
            dsn.socket
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
        )
        .user(Some(dsn.user.clone()))
        .pass(dsn.password.clone())
        .db_name(dsn.schema.clone())
        .ssl_opts(tls)
        .tcp_connect_timeout(Some(TIMEOUT))
        .read_timeout(Some(TIMEOUT))
        .write_timeout(Some(TIMEOUT))
        // Use exactly what the DSN says: do not silently switch to the server's socket.
        .prefer_socket(false)
        // Saves a query for the server's limit; the server rejects packets that are too large anyway.
        .max_allowed_packet(Some(1 << 30))
        .stmt_cache_size(0)
}

/// Removes the timeouts after the login, because a query may take any time. The options belong to the socket, so setting
/// them on a duplicated descriptor is enough.
fn remove_timeouts(connection: &mysql::Conn) -> std::io::Result<()> {
    // SAFETY: the descriptor is open for as long as the connection is borrowed.
    let descriptor = unsafe { BorrowedFd::borrow_raw(connection.as_raw_fd()) };
    let socket = UnixStream::from(descriptor.try_clone_to_owned()?);
    socket.set_read_timeout(None)?;
    socket.set_write_timeout(None)
}

fn explain(dsn: &Dsn, error: mysql::Error) -> ServerError {
    match error {
        mysql::Error::MySqlError(answer) => refused(dsn, answer.code, answer.message),
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, text, kind)))) => {
            unreachable_server(dsn, &text, kind)
        }
        mysql::Error::DriverError(DriverError::ConnectTimeout) => lost(
            dsn,
            &format!("no answer within {} s", TIMEOUT.as_secs()),
            "check the host, the port and the firewall",
        ),
        mysql::Error::DriverError(DriverError::TlsNotSupported) => unusable(
            dsn,
            "the DSN requires TLS, but the server does not offer it",
            "enable TLS in the server, or remove `tls=required` from the DSN",
        ),
        mysql::Error::DriverError(DriverError::OldMysqlPasswordDisabled) => unusable(
            dsn,
            "the user has a password in the format before MySQL 4.1",
            "give the user a new password with old_passwords=0",
        ),
        mysql::Error::DriverError(DriverError::UnknownAuthPlugin(name)) => unusable(
            dsn,
            &format!("the user logs in with the plugin `{name}`, which prony does not support"),
            "create a user with caching_sha2_password, ed25519 or mysql_native_password",
        ),
        mysql::Error::DriverError(
            DriverError::UnsupportedProtocol(_) | DriverError::Protocol41NotSet,
        ) => too_old(dsn, "by its greeting"),
        mysql::Error::TlsError(cause) => unusable(
            dsn,
            &format!("the TLS handshake failed ({cause})"),
            "the server must support TLS 1.2 or later (5.5 and 5.6 do not): remove `tls=required`, or use a tunnel",
        ),
        other => not_understood(dsn, &other),
    }
}

fn refused(dsn: &Dsn, code: u16, message: String) -> ServerError {
    let Some(fix) = wire::login_fix(code) else {
        return ServerError::Refused { code, message };
    };
    let cause = match code {
        1045 | 1698 => format!(
            "the server refused the login of `{}` ({code} {message})",
            dsn.user
        ),
        _ => format!("{code} {message}"),
    };
    unusable(dsn, &cause, fix)
}

fn unreachable_server(dsn: &Dsn, text: &str, kind: ErrorKind) -> ServerError {
    match kind {
        ErrorKind::ConnectionRefused => lost(
            dsn,
            "connection refused: no server listens there",
            "start the server, or correct the port or socket",
        ),
        ErrorKind::NotFound => lost(
            dsn,
            "the socket does not exist",
            "start the server, or correct the path (`select @@socket` shows it)",
        ),
        ErrorKind::PermissionDenied => lost(
            dsn,
            "no permission to open the socket",
            "use TCP, or run prony as a user of the server's group",
        ),
        _ if dsn.socket.is_none() && (dsn.host.as_str(), dsn.port).to_socket_addrs().is_err() => {
            lost(
                dsn,
                &format!("the host `{}` is unknown", dsn.host),
                "correct the name, or use an IP address",
            )
        }
        _ => lost(dsn, text, "check the host, the port and the network"),
    }
}

/// The peer accepted the connection and then broke the protocol. Diagnoses it from what it sends first.
fn not_understood(dsn: &Dsn, error: &mysql::Error) -> ServerError {
    match greeting(dsn) {
        Greeting::Silent => lost(
            dsn,
            &format!(
                "the port is open, but sent nothing for {} s",
                TIMEOUT.as_secs()
            ),
            "check that it is a MySQL or MariaDB server, and that it is not hung",
        ),
        Greeting::Closed => lost(
            dsn,
            "the peer closed the connection at once",
            "check that it is a MySQL or MariaDB server, and check its log",
        ),
        Greeting::Foreign(banner) => unusable(
            dsn,
            &format!("not a MySQL server (it sent `{banner}`)"),
            "correct the host or the port",
        ),
        Greeting::MySql => lost(
            dsn,
            &format!("the login was aborted ({error})"),
            "check the server's log",
        ),
    }
}

enum Greeting {
    Silent,
    Closed,
    Foreign(String),
    MySql,
}

/// Reads the first bytes of a peer. The server speaks first in this protocol, so they identify it.
fn greeting(dsn: &Dsn) -> Greeting {
    let mut start = [0; 64];
    let read = match &dsn.socket {
        Some(path) => read_socket(path, &mut start),
        None => read_tcp(dsn, &mut start),
    };
    match read {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Greeting::Silent
        }
        Err(_) | Ok(0) => Greeting::Closed,
        Ok(count) => judge_greeting(&start[..count]),
    }
}

fn read_socket(path: &Path, to: &mut [u8]) -> std::io::Result<usize> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.read(to)
}

fn read_tcp(dsn: &Dsn, to: &mut [u8]) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect((dsn.host.as_str(), dsn.port))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.read(to)
}

/// A MySQL greeting is a packet (3 bytes of length, sequence number 0) with protocol version 10 or an error (255).
fn judge_greeting(start: &[u8]) -> Greeting {
    match start {
        [_, _, 0, 0, 10 | 255, ..] => Greeting::MySql,
        _ => Greeting::Foreign(printable(start)),
    }
}

fn printable(bytes: &[u8]) -> String {
    let line = bytes
        .split(|byte| matches!(byte, b'\r' | b'\n'))
        .next()
        .unwrap_or_default();
    line.iter()
        .map(|&byte| {
            if (b' '..=b'~').contains(&byte) {
                char::from(byte)
            } else {
                '.'
            }
        })
        .collect()
}

fn too_old(dsn: &Dsn, what: &str) -> ServerError {
    unusable(
        dsn,
        &format!("the server is too old ({what})"),
        "use MySQL 5.1 or MariaDB 5.1, or later",
    )
}

fn lost(dsn: &Dsn, cause: &str, fix: &str) -> ServerError {
    ServerError::Lost(format!("{dsn}: {cause}; {fix}"))
}

fn unusable(dsn: &Dsn, cause: &str, fix: &str) -> ServerError {
    ServerError::Unusable(format!("{dsn}: {cause}; {fix}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    fn dsn(port: u16) -> Dsn {
        Dsn {
            user: "app".into(),
            password: Some("secret word".into()),
            host: "127.0.0.1".into(),
            port,
            schema: None,
            socket: None,
            others: Vec::new(),
            tls_required: false,
        }
    }

    /// The error of `open` for a peer that sends these bytes to each connection and closes it.
    fn error_for_a_peer_that_sends(bytes: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let peer = std::thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.write_all(bytes);
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = stream.read_to_end(&mut Vec::new());
            }
        });
        let message = Session::open(&dsn(port))
            .err()
            .expect("this is no server")
            .to_string();
        // Not every diagnosis connects a second time, and the peer waits for two connections.
        let _ = TcpStream::connect(("127.0.0.1", port));
        peer.join().unwrap();
        message
    }

    #[test]
    fn a_port_without_a_listener_is_reported_as_refused() {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let message = Session::open(&dsn(port)).err().unwrap().to_string();
        assert_eq!(
            message,
            format!(
                "mysql://app@127.0.0.1:{port}: connection refused: no server listens there; start the server, or correct the port or socket"
            )
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

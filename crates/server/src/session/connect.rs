//! Opening a connection, and saying in one message why that did not work.
//!
//! Goal: each cause (refused, unknown host, wrong password, not MySQL at all, too old, silent) with its way out.
//! Non-goals: where the password of a DSN comes from (`external`), waiting for a server that is just starting (`managed`).

use super::{ServerError, Session};
use mysql::{DriverError, OptsBuilder, SslOpts};
use spec::Dsn;
use std::io::{ErrorKind, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// For the connection to be made, and for each answer until the login is through.
const PATIENCE: Duration = Duration::from_secs(10);

/// The oldest server whose protocol and catalogues prony relies on.
const OLDEST: (u16, u16, u16) = (5, 1, 0);

impl Session {
    /// Connects by the DSN's socket, or by TCP where it names none, with the DSN's own password. Autocommit is on.
    pub fn open(dsn: &Dsn) -> Result<Session, ServerError> {
        let connection = mysql::Conn::new(options(dsn)).map_err(|error| explain(dsn, error))?;
        wait_for_ever(&connection).map_err(|error| ServerError::Lost(format!("{dsn}: {error}")))?;
        if connection.server_version() < OLDEST {
            let (major, minor, patch) = connection.server_version();
            return Err(too_old(dsn, &format!("{major}.{minor}.{patch}")));
        }
        Ok(Session::MySql(Box::new(connection)))
    }
}

fn options(dsn: &Dsn) -> OptsBuilder {
    // A server that asks for encryption is believed whoever it is, as the server's own clients do with REQUIRED.
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
        .tcp_connect_timeout(Some(PATIENCE))
        .read_timeout(Some(PATIENCE))
        .write_timeout(Some(PATIENCE))
        // What the DSN says is what is used: no change to the server's socket behind the user's back.
        .prefer_socket(false)
        // Saves asking the server for it; a packet that is too large is refused by the server itself.
        .max_allowed_packet(Some(1 << 30))
        .stmt_cache_size(0)
}

/// A query may take as long as it likes. (The options belong to the socket, so setting them on a duplicate is enough.)
fn wait_for_ever(connection: &mysql::Conn) -> std::io::Result<()> {
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
            &format!("no answer within {} s", PATIENCE.as_secs()),
            "check the host, the port and the firewall between here and there",
        ),
        mysql::Error::DriverError(DriverError::TlsNotSupported) => unusable(
            dsn,
            "the server offers no TLS, and the DSN asks for it",
            "switch TLS on in the server, or take `tls=required` out of the DSN",
        ),
        mysql::Error::DriverError(DriverError::OldMysqlPasswordDisabled) => unusable(
            dsn,
            "the user has a password of the form before MySQL 4.1",
            "give the user a new password with old_passwords=0",
        ),
        mysql::Error::DriverError(DriverError::UnknownAuthPlugin(name)) => unusable(
            dsn,
            &format!("the user logs in by the plugin `{name}`, which prony does not have"),
            "make a user that logs in by caching_sha2_password, ed25519 or mysql_native_password",
        ),
        mysql::Error::DriverError(
            DriverError::UnsupportedProtocol(_) | DriverError::Protocol41NotSet,
        ) => too_old(dsn, "its greeting"),
        mysql::Error::TlsError(cause) => unusable(
            dsn,
            &format!("TLS could not be agreed on ({cause})"),
            "the server must speak TLS 1.2 or later (5.5 and 5.6 do not): leave `tls=required` out, or go through a tunnel",
        ),
        other => not_understood(dsn, &other),
    }
}

fn refused(dsn: &Dsn, code: u16, message: String) -> ServerError {
    let Some(way_out) = wire::login_fix(code) else {
        return ServerError::Refused { code, message };
    };
    let cause = match code {
        1045 | 1698 => format!(
            "the server refused the login of `{}` ({code} {message})",
            dsn.user
        ),
        _ => format!("{code} {message}"),
    };
    unusable(dsn, &cause, way_out)
}

fn unreachable_server(dsn: &Dsn, text: &str, kind: ErrorKind) -> ServerError {
    match kind {
        ErrorKind::ConnectionRefused => lost(
            dsn,
            "connection refused: nothing listens there",
            "start the server, or correct the port or socket",
        ),
        ErrorKind::NotFound => lost(
            dsn,
            "there is no such socket",
            "start the server, or correct the path (`select @@socket` tells it)",
        ),
        ErrorKind::PermissionDenied => lost(
            dsn,
            "this user may not open the socket",
            "use TCP, or a user of the server's group",
        ),
        _ if dsn.socket.is_none() && (dsn.host.as_str(), dsn.port).to_socket_addrs().is_err() => {
            lost(
                dsn,
                &format!("the host `{}` is not known", dsn.host),
                "correct its name, or give its address",
            )
        }
        _ => lost(dsn, text, "check the host, the port and the network"),
    }
}

/// The peer took the connection and then did something that the protocol does not know: look at what it says by itself.
fn not_understood(dsn: &Dsn, error: &mysql::Error) -> ServerError {
    match greeting(dsn) {
        Greeting::Silent => lost(
            dsn,
            &format!(
                "something listens there but says nothing for {} s",
                PATIENCE.as_secs()
            ),
            "check that it is a MySQL or MariaDB server, and that it is not hanging",
        ),
        Greeting::HungUp => lost(
            dsn,
            "something listens there but hangs up at once",
            "check that it is a MySQL or MariaDB server, and its log",
        ),
        Greeting::Foreign(banner) => unusable(
            dsn,
            &format!("what listens there is not a MySQL server (it says `{banner}`)"),
            "correct the host or the port",
        ),
        Greeting::MySql => lost(
            dsn,
            &format!("the login broke off ({error})"),
            "look into the server's log",
        ),
    }
}

enum Greeting {
    Silent,
    HungUp,
    Foreign(String),
    MySql,
}

/// What a peer says first: the server speaks first in this protocol, so that a banner is enough to tell.
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
        Err(_) | Ok(0) => Greeting::HungUp,
        Ok(count) => judge_greeting(&start[..count]),
    }
}

fn read_socket(path: &Path, to: &mut [u8]) -> std::io::Result<usize> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.read(to)
}

fn read_tcp(dsn: &Dsn, to: &mut [u8]) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect((dsn.host.as_str(), dsn.port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.read(to)
}

/// A greeting is a packet (3 bytes of length, number 0) with the protocol's version 10 or an error (255) in it.
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
        "prony needs MySQL 5.1 or MariaDB 5.1, or later",
    )
}

fn lost(dsn: &Dsn, cause: &str, way_out: &str) -> ServerError {
    ServerError::Lost(format!("{dsn}: {cause}; {way_out}"))
}

fn unusable(dsn: &Dsn, cause: &str, way_out: &str) -> ServerError {
    ServerError::Unusable(format!("{dsn}: {cause}; {way_out}"))
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

    /// What `open` says about a peer that sends these bytes to everybody and hangs up.
    fn says_about_a_peer_that_sends(bytes: &'static [u8]) -> String {
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
        // The diagnosis looks at the peer a second time only when the first look was not enough.
        let _ = TcpStream::connect(("127.0.0.1", port));
        peer.join().unwrap();
        message
    }

    #[test]
    fn a_port_without_a_listener_is_a_refused_connection() {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let message = Session::open(&dsn(port)).err().unwrap().to_string();
        assert_eq!(
            message,
            format!(
                "mysql://app@127.0.0.1:{port}: connection refused: nothing listens there; start the server, or correct the port or socket"
            )
        );
    }

    #[test]
    fn a_socket_that_is_not_there_is_named() {
        let dsn = Dsn {
            socket: Some("/no/such.sock".into()),
            ..dsn(3306)
        };
        let message = Session::open(&dsn).err().unwrap().to_string();
        assert!(
            message.contains("/no/such.sock: there is no such socket"),
            "{message}"
        );
    }

    #[test]
    fn an_unknown_host_is_named() {
        let dsn = Dsn {
            host: "no.such.host.invalid".into(),
            ..dsn(3306)
        };
        let message = Session::open(&dsn).err().unwrap().to_string();
        assert!(
            message.contains("the host `no.such.host.invalid` is not known"),
            "{message}"
        );
    }

    #[test]
    fn another_services_banner_is_shown() {
        let message = says_about_a_peer_that_sends(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n");
        assert!(
            message.contains("not a MySQL server (it says `SSH-2.0-OpenSSH_9.2p1 Debian`)"),
            "{message}"
        );
    }

    #[test]
    fn a_peer_that_hangs_up_is_told_as_such() {
        let message = says_about_a_peer_that_sends(b"");
        assert!(message.contains("hangs up at once"), "{message}");
    }

    #[test]
    fn half_a_greeting_is_a_login_that_broke_off() {
        let message = says_about_a_peer_that_sends(b"\x4a\x00\x00\x00\x0a5.6.14\x00\x01");
        assert!(message.contains("the login broke off"), "{message}");
    }

    #[test]
    fn a_greeting_of_protocol_nine_is_too_old_or_foreign_but_never_a_panic() {
        let message = says_about_a_peer_that_sends(
            b"\x0d\x00\x00\x00\x093.23.58\x00\x01\x00\x00\x00abcdefgh\x00",
        );
        assert!(
            message.contains("too old") || message.contains("not a MySQL server"),
            "{message}"
        );
    }

    #[test]
    fn a_host_that_is_not_allowed_is_answered_with_the_way_out() {
        let message =
            says_about_a_peer_that_sends(b"\x1d\x00\x00\x00\xff\x6a\x04Host 'h' is not allowed ..");
        assert!(
            message.contains("1130") && message.contains("create a user"),
            "{message}"
        );
    }

    #[test]
    fn no_message_holds_the_password() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"",
            b"\x01\x00\x00\x00\xff",
        ] {
            assert!(!says_about_a_peer_that_sends(bytes).contains("secret word"));
        }
    }
}

//! External servers: servers that somebody else runs, addressed by a DSN.
//!
//! prony measures such a server as it is. This module contains no code that could stop or reconfigure it. Cold rounds,
//! settings and snapshots are therefore not available (see [`Abilities`]).

use crate::session::option_file::{self, Options};
use crate::{Abilities, Connector, Node, ServerError, Session, StartRequest, Started, lock};
use record::ServerIdentity;
use spec::{Dsn, TlsMode};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

/// The environment variable with the password of DSNs that have none.
const PASSWORD: &str = "PRONY_PASSWORD";

/// What it held. Never printed.
static GIVEN: OnceLock<Option<String>> = OnceLock::new();

/// Reads PRONY_PASSWORD and removes it from the environment, so that no child process inherits it.
///
/// # Safety
/// No other thread may run, because it could read the environment meanwhile.
pub unsafe fn take_password() {
    GIVEN.get_or_init(|| std::env::var(PASSWORD).ok());
    // SAFETY: no other thread runs.
    unsafe { std::env::remove_var(PASSWORD) };
}

/// A server that prony does not control.
pub struct External {
    dsn: Dsn,
    identity: Mutex<Option<ServerIdentity>>,
}

impl External {
    /// A server addressed by this DSN. What it leaves open comes from `~/.my.cnf` under [client], as for the clients; the password
    /// from PRONY_PASSWORD before (see [`take_password`]).
    pub fn new(dsn: Dsn) -> External {
        let dsn = completed(dsn, &option_file::of_user());
        External {
            dsn,
            identity: Mutex::default(),
        }
    }

    fn query_identity(&self) -> Result<ServerIdentity, ServerError> {
        let mut session = self.connect()?.for_control();
        let mut text = |sql: &str| {
            Ok::<String, ServerError>(session.query(sql)?.first_text().unwrap_or_default())
        };
        Ok(ServerIdentity {
            build: self.dsn.to_string(),
            version: text("select version()")?,
            comment: text("select concat(@@version_comment, ', ', @@version_compile_machine)")?
                + unverified(&self.dsn),
            binary_sha256: String::new(),
        })
    }
}

impl Node for External {
    fn abilities(&self) -> Abilities {
        Abilities {
            restart: false,
            settings: false,
            mysql: true,
            snapshots: false,
        }
    }

    fn identity(&self) -> Option<ServerIdentity> {
        lock(&self.identity).clone()
    }

    fn start(&self, _request: &StartRequest) -> Result<Started, ServerError> {
        let begun = Instant::now();
        let identity = self.query_identity()?;
        *lock(&self.identity) = Some(identity);
        Ok(Started {
            elapsed_s: begun.elapsed().as_secs_f64(),
        })
    }

    fn stop(&self) -> Result<(), ServerError> {
        Ok(())
    }

    fn kill(&self) -> Result<(), ServerError> {
        Err(ServerError::Unusable(format!(
            "{}: prony never kills an external server; use a build that prony starts itself",
            self.dsn
        )))
    }

    fn connector(&self) -> Result<Connector, ServerError> {
        let dsn = self.dsn.clone();
        Ok(Box::new(move || Session::open(&dsn)))
    }

    fn endpoint(&self) -> Option<Dsn> {
        Some(self.dsn.clone())
    }
}

/// What a report says of a connection that is encrypted for whoever answers.
fn unverified(dsn: &Dsn) -> &'static str {
    match dsn.protection.tls {
        TlsMode::Required => ", encrypted but not verified (tls=required)",
        _ => "",
    }
}

/// Where servers place their socket: Debian, Red Hat, the defaults of the sources.
const SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
    "/tmp/mysqld.sock",
];

/// The DSN with the options of the user where it leaves something open.
fn completed(mut dsn: Dsn, options: &Options) -> Dsn {
    let given = GIVEN.get().cloned().flatten();
    dsn.password = dsn.password.or(given).or_else(|| options.password.clone());
    if let (true, Some(user)) = (dsn.open.user, &options.user) {
        dsn.user = user.clone();
    }
    if let (true, Some(port)) = (dsn.open.port, options.port) {
        dsn.port = port;
    }
    if dsn.socket.is_some() || !dsn.others.is_empty() {
        return dsn;
    }
    if let (true, Some(host)) = (dsn.open.host, &options.host) {
        dsn.host = host.clone();
    }
    // Clients take localhost for the socket. A port in the DSN says that TCP is meant.
    if dsn.host == "localhost" && dsn.open.port && !options.is_tcp {
        let mut known = SOCKETS.iter().map(PathBuf::from);
        let own = options.socket.clone();
        dsn.socket = own.or_else(|| known.find(|path| path.exists()));
    }
    dsn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable() -> External {
        let dsn = "mysql://app:secret word@127.0.0.1:1?socket=/no/such.sock";
        External::new(dsn.parse().unwrap())
    }

    #[test]
    fn what_a_dsn_leaves_open_comes_from_the_option_file() {
        let options = Options {
            user: Some("bench".into()),
            password: Some("a#b".into()),
            host: None,
            port: Some(3307),
            socket: Some("/run/own.sock".into()),
            is_tcp: false,
        };
        let of = |text: &str| {
            let dsn = completed(text.parse().unwrap(), &options);
            (dsn.to_string(), dsn.password)
        };
        let password = Some("a#b".to_string());
        let by_socket = "mysql://bench@localhost:3307?socket=/run/own.sock";
        assert_eq!(of("mysql:///"), (by_socket.into(), password.clone()));
        assert_eq!(
            of("mysql://localhost/"),
            (by_socket.into(), password.clone())
        );
        let by_port = "mysql://bench@localhost:3306";
        assert_eq!(
            of("mysql://localhost:3306/"),
            (by_port.into(), password.clone())
        );
        let other = "mysql://me@db:3307";
        assert_eq!(of("mysql://me:x@db/"), (other.into(), Some("x".into())));
        let options = Options {
            is_tcp: true,
            ..options
        };
        let dsn = completed("mysql:///".parse().unwrap(), &options);
        assert_eq!(dsn.to_string(), "mysql://bench@localhost:3307");
    }

    #[test]
    fn an_external_server_is_never_stopped_or_killed() {
        let server = unreachable();
        assert!(server.stop().is_ok());
        assert!(
            server
                .kill()
                .unwrap_err()
                .to_string()
                .contains("never kills an external server")
        );
        assert!(
            !server.abilities().restart && !server.abilities().settings && server.pid().is_none()
        );
    }

    #[test]
    fn the_error_for_an_unreachable_server_hides_the_password() {
        let message = unreachable()
            .start(&StartRequest::default())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("/no/such.sock") && !message.contains("secret word"),
            "{message}"
        );
    }
}

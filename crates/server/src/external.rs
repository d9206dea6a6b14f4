//! External servers: servers that somebody else runs, addressed by a DSN.
//!
//! prony measures such a server as it is. This module contains no code that could stop or reconfigure it. Cold rounds,
//! settings and snapshots are therefore not available (see [`Abilities`]).

use crate::session::option_file;
use crate::{Abilities, Connector, Node, ServerError, Session, StartRequest, Started};
use record::ServerIdentity;
use spec::{Dsn, TlsMode};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
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
    /// A server addressed by this DSN. If the DSN has no password, PRONY_PASSWORD provides it (see [`take_password`]), or else
    /// `~/.my.cnf` under [client].
    pub fn new(dsn: Dsn) -> External {
        let password = dsn.password.clone().or_else(password_from_environment);
        External {
            dsn: Dsn { password, ..dsn },
            identity: Mutex::default(),
        }
    }

    fn lock_identity(&self) -> MutexGuard<'_, Option<ServerIdentity>> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.lock_identity().clone()
    }

    fn start(&self, _request: &StartRequest) -> Result<Started, ServerError> {
        let begun = Instant::now();
        let identity = self.query_identity()?;
        *self.lock_identity() = Some(identity);
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

    fn pid(&self) -> Option<u32> {
        None
    }

    fn data_folder(&self) -> Option<PathBuf> {
        None
    }

    fn log_tail(&self, _lines: usize) -> Vec<String> {
        Vec::new()
    }
}

/// What a report says of a connection that is encrypted for whoever answers.
fn unverified(dsn: &Dsn) -> &'static str {
    match dsn.protection.tls {
        TlsMode::Required => ", encrypted but not verified (tls=required)",
        _ => "",
    }
}

fn password_from_environment() -> Option<String> {
    let given = GIVEN.get().cloned().flatten();
    given.or_else(|| {
        let file = PathBuf::from(std::env::var_os("HOME")?).join(".my.cnf");
        option_file::password(&std::fs::read_to_string(file).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable() -> External {
        External::new(Dsn {
            user: "app".into(),
            password: Some("secret word".into()),
            host: "127.0.0.1".into(),
            port: 1,
            schema: None,
            socket: Some("/no/such.sock".into()),
            others: Vec::new(),
            protection: Default::default(),
        })
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

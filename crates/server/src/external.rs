//! A server that somebody else runs, named by a DSN.
//!
//! Goal: to be measured as it is. It is never stopped and never reconfigured: there is no code here that could.
//! Non-goal: cold rounds, settings, snapshots (see [`Abilities`]; the protocol marks them "not available").

use crate::session::option_file;
use crate::{Abilities, Connector, Node, ServerError, Session, StartRequest, Started};
use record::ServerIdentity;
use spec::Dsn;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub struct External {
    dsn: Dsn,
    identity: Mutex<Option<ServerIdentity>>,
}

impl External {
    /// A password that the DSN lacks is taken from PRONY_PASSWORD, or else from `~/.my.cnf` under [client].
    pub fn new(dsn: Dsn) -> External {
        let password = dsn.password.clone().or_else(password_of_the_environment);
        External {
            dsn: Dsn { password, ..dsn },
            identity: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Option<ServerIdentity>> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_who_it_is(&self) -> Result<ServerIdentity, ServerError> {
        let mut session = self.connect()?;
        let mut text = |sql: &str| {
            Ok::<String, ServerError>(session.query(sql)?.first_text().unwrap_or_default())
        };
        Ok(ServerIdentity {
            build: self.dsn.to_string(),
            version: text("select version()")?,
            comment: text("select concat(@@version_comment, ', ', @@version_compile_machine)")?,
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
        self.known().clone()
    }

    fn start(&self, _request: &StartRequest) -> Result<Started, ServerError> {
        let begun = Instant::now();
        let identity = self.ask_who_it_is()?;
        *self.known() = Some(identity);
        Ok(Started {
            elapsed_s: begun.elapsed().as_secs_f64(),
        })
    }

    fn stop(&self) -> Result<(), ServerError> {
        Ok(())
    }

    fn kill(&self) -> Result<(), ServerError> {
        Err(ServerError::Unusable(format!(
            "{} is not prony's to kill; use a build that prony starts itself",
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

fn password_of_the_environment() -> Option<String> {
    let given = std::env::var("PRONY_PASSWORD").ok();
    given.or_else(|| {
        let file = PathBuf::from(std::env::var_os("HOME")?).join(".my.cnf");
        option_file::password(&std::fs::read_to_string(file).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere() -> External {
        External::new(Dsn {
            user: "app".into(),
            password: Some("secret word".into()),
            host: "127.0.0.1".into(),
            port: 1,
            schema: None,
            socket: Some("/no/such.sock".into()),
            others: Vec::new(),
            tls_required: false,
        })
    }

    #[test]
    fn it_is_never_stopped_and_never_killed() {
        let server = nowhere();
        assert!(server.stop().is_ok());
        assert!(
            server
                .kill()
                .unwrap_err()
                .to_string()
                .contains("not prony's to kill")
        );
        assert!(
            !server.abilities().restart && !server.abilities().settings && server.pid().is_none()
        );
    }

    #[test]
    fn a_server_that_is_not_there_is_told_without_the_password() {
        let message = nowhere()
            .start(&StartRequest::default())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("/no/such.sock") && !message.contains("secret word"),
            "{message}"
        );
    }
}

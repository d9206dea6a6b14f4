//! A running server with a user for each of its authentication plugins, and logins for it.

use crate::real::driven::now;
use crate::support::fresh::Fresh;
use load::{Endpoint, Io};
use server::{Managed, Node, StartRequest};
use spec::Dsn;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use wire::{Connection, Login, Protection, ServerKey, WireError};

pub(crate) const PASSWORD: &str = "Secret-word-7";

pub(crate) fn open(login: &Login) -> Result<Connection, WireError> {
    now(Connection::open(&Io::blocking(), login, 0))
}

pub(crate) struct Running {
    dsn: Dsn,
    /// (plugin, user).
    users: Vec<(&'static str, &'static str)>,
    pub has_tls: bool,
    _server: Mutex<(Managed, Fresh)>,
}

impl Running {
    /// Starts a server; None if the build is not available.
    pub(crate) fn of(build: &'static str) -> Option<Running> {
        let fresh = Fresh::of(build)?;
        let server = fresh.managed();
        let mut settings = vec![("max_allowed_packet".to_string(), "64M".to_string())];
        if build == "mariadb" {
            settings.extend(certificate(&fresh.data_folder));
        }
        let request = StartRequest {
            data_folder: fresh.data_folder.clone(),
            settings,
            groups: Vec::new(),
        };
        server.start(&request).unwrap();
        let mut running = Running {
            dsn: server.endpoint().unwrap(),
            users: Vec::new(),
            has_tls: !build.starts_with("mysql@5"),
            _server: Mutex::new((server, fresh)),
        };
        running.users = running.create_users(build);
        Some(running)
    }

    pub(crate) fn socket(&self) -> Login {
        let path = self.dsn.socket.clone().unwrap();
        self.login(Endpoint::Unix(path))
    }

    pub(crate) fn tcp(&self) -> Login {
        self.login(Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port: self.dsn.port,
        })
    }

    fn login(&self, endpoint: Endpoint) -> Login {
        Login {
            endpoints: vec![endpoint],
            user: self.dsn.user.clone(),
            password: self.dsn.password.clone(),
            schema: None,
            // caching_sha2_password wants the password in full at a user's first login.
            protection: Protection {
                server_key: ServerKey::Requested,
                ..Protection::default()
            },
            login_timeout: Duration::from_secs(120),
            stall_timeout: Some(Duration::from_secs(600)),
        }
    }

    /// Runs a statement as the administrator.
    pub(crate) fn admin(&self, sql: &str) {
        now(open(&self.socket()).unwrap().query(sql))
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    fn installs(&self, plugin: &str) -> bool {
        let install = format!("INSTALL SONAME '{plugin}'");
        now(open(&self.socket()).unwrap().query(&install)).is_ok()
    }

    /// Creates a schema and connects to it.
    pub(crate) fn schema(&self, name: &str) -> Connection {
        self.admin(&format!("CREATE DATABASE wire_{name}"));
        let mut login = self.socket();
        login.schema = Some(format!("wire_{name}"));
        open(&login).unwrap()
    }

    /// The users as (plugin, user).
    pub(crate) fn users(&self) -> &[(&'static str, &'static str)] {
        &self.users
    }

    pub(crate) fn user_without_password(&self) -> String {
        "nopassword".into()
    }

    fn create_users(&self, build: &str) -> Vec<(&'static str, &'static str)> {
        self.admin("CREATE USER nopassword@localhost");
        let mut users = Vec::new();
        let mut create = |plugin, user, how: &str| {
            for host in ["localhost", "127.0.0.1"] {
                self.admin(&format!("CREATE USER {user}@{host} {how}"));
            }
            users.push((plugin, user));
        };
        let by_password = format!("IDENTIFIED BY '{PASSWORD}'");
        match build {
            "mysql@5.5.34" | "mysql@5.6.14" => create("native", "native", &by_password),
            "mysql@8.0.33" => {
                let native = format!("IDENTIFIED WITH mysql_native_password BY '{PASSWORD}'");
                create("native", "native", &native);
                create("caching_sha2", "sha2", &by_password);
            }
            "mysql@9.7" => create("caching_sha2", "sha2", &by_password),
            _ => {
                create("native", "native", &by_password);
                // The distribution's server core package lacks the plugin.
                if self.installs("auth_ed25519") {
                    let ed25519 = format!("IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')");
                    create("ed25519", "edward", &ed25519);
                }
            }
        }
        users
    }
}

/// Creates a self-signed certificate and returns the settings that name it.
fn certificate(folder: &Path) -> Vec<(String, String)> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let files = [
        ("ssl_cert", "server-cert.pem", made.cert.pem()),
        (
            "ssl_key",
            "server-key.pem",
            made.signing_key.serialize_pem(),
        ),
    ];
    files
        .into_iter()
        .map(|(setting, name, pem)| {
            let path = folder.join(name);
            std::fs::write(&path, pem).unwrap();
            (setting.to_string(), path.display().to_string())
        })
        .collect()
}

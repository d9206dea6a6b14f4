//! How the connections of a DSN are protected: encryption, whose certificates are trusted, whose public key.
//!
//! Boundary: what the parameters say. What they do is the concern of `wire`.

use std::net::IpAddr;
use std::path::PathBuf;

/// The parameters `tls`, `tls_ca`, `server_public_key` and `get_server_public_key` of a DSN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DsnSecurity {
    pub tls: TlsMode,
    /// PEM file of the certificates that are trusted; None: those of the system.
    pub tls_ca: Option<PathBuf>,
    pub server_key: ServerKey,
}

/// `tls`: the modes of the server's own clients (`ssl-mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Not given: `VerifyIdentity` where connections leave the machine or `tls_ca` is given, otherwise `Off`.
    #[default]
    ByHost,
    Off,
    /// Encrypted, but the server may be anyone.
    Required,
    /// The server's certificate is issued by a trusted one.
    VerifyCa,
    /// As `VerifyCa`, and for the host of the DSN.
    VerifyIdentity,
}

/// The server's RSA key that encrypts a password which is sent without TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerKey {
    /// Such a password is not sent.
    #[default]
    Refused,
    /// `get_server_public_key=true`: the key that the server sends, whoever it is.
    Requested,
    /// `server_public_key=FILE`, in PEM.
    File(PathBuf),
}

impl DsnSecurity {
    /// Sets a parameter of a DSN. None: there is no such parameter, or it has no such value.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match (name, value) {
            ("tls", mode) => self.tls = TlsMode::from_name(mode)?,
            ("ssl-mode" | "ssl_mode", mode) => self.tls = TlsMode::from_client(mode)?,
            ("get_server_public_key", "true") => self.server_key = ServerKey::Requested,
            ("get_server_public_key", "false") => self.server_key = ServerKey::Refused,
            (_, "") => return None,
            ("tls_ca", file) => self.tls_ca = Some(file.into()),
            ("server_public_key", file) => self.server_key = ServerKey::File(file.into()),
            _ => return None,
        }
        Some(())
    }

    /// What differs from the defaults, as parameters of a DSN.
    pub(crate) fn parameters(&self) -> Vec<String> {
        let mode = self.tls.name().map(|name| format!("tls={name}"));
        let trusted = self.tls_ca.as_ref();
        let trusted = trusted.map(|file| format!("tls_ca={}", file.display()));
        let key = match &self.server_key {
            ServerKey::Refused => None,
            ServerKey::Requested => Some("get_server_public_key=true".to_string()),
            ServerKey::File(file) => Some(format!("server_public_key={}", file.display())),
        };
        mode.into_iter().chain(trusted).chain(key).collect()
    }
}

impl TlsMode {
    fn from_name(name: &str) -> Option<TlsMode> {
        [
            TlsMode::Off,
            TlsMode::Required,
            TlsMode::VerifyCa,
            TlsMode::VerifyIdentity,
        ]
        .into_iter()
        .find(|mode| mode.name() == Some(name))
    }

    /// The words of the clients' option: `VERIFY_CA`. PREFERRED has no mode here: it may not encrypt.
    fn from_client(word: &str) -> Option<TlsMode> {
        match word.to_ascii_lowercase().replace('_', "-").as_str() {
            "off" => None,
            "disabled" => Some(TlsMode::Off),
            name => TlsMode::from_name(name),
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            TlsMode::ByHost => None,
            TlsMode::Off => Some("off"),
            TlsMode::Required => Some("required"),
            TlsMode::VerifyCa => Some("verify-ca"),
            TlsMode::VerifyIdentity => Some("verify-identity"),
        }
    }
}

/// Whether connections to the host stay on this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_they_are_shown() {
        for parameters in [
            &["tls=off"][..],
            &["tls=required", "get_server_public_key=true"],
            &["tls=verify-ca", "tls_ca=/etc/ca.pem"],
            &[
                "tls=verify-identity",
                "server_public_key=/etc/public_key.pem",
            ],
            &[],
        ] {
            let mut read = DsnSecurity::default();
            for parameter in parameters {
                let (name, value) = parameter.split_once('=').unwrap();
                read.set(name, value).unwrap();
            }
            assert_eq!(read.parameters(), parameters);
        }
    }

    #[test]
    fn modes_may_have_the_words_of_the_clients() {
        for (value, name) in [
            ("REQUIRED", "tls=required"),
            ("VERIFY_CA", "tls=verify-ca"),
            ("verify_identity", "tls=verify-identity"),
            ("DISABLED", "tls=off"),
        ] {
            let mut read = DsnSecurity::default();
            read.set("ssl-mode", value).unwrap();
            assert_eq!(read.parameters(), [name], "{value}");
        }
    }

    #[test]
    fn unknown_modes_and_missing_files_are_refused() {
        for (name, value) in [
            ("tls", "preferred"),
            ("tls", ""),
            ("ssl-mode", "PREFERRED"),
            ("tls_ca", ""),
            ("get_server_public_key", "1"),
            ("ssl", "1"),
        ] {
            assert_eq!(DsnSecurity::default().set(name, value), None, "{name}");
        }
    }

    #[test]
    fn addresses_that_only_look_local_are_not() {
        assert!(["localhost", "127.0.0.1", "127.3.2.1", "::1"].map(is_loopback) == [true; 4]);
        assert!(["db", "127.0.0.1.example", "0.0.0.0", "10.0.0.1"].map(is_loopback) == [false; 4]);
    }
}

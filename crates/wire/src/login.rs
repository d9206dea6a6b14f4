//! Login parameters: endpoints, credentials, protection, timeouts.

use load::Endpoint;
use std::path::PathBuf;
use std::time::Duration;

/// Where and how a client logs in.
#[derive(Clone)]
pub struct Login {
    /// At least one. Client n starts with endpoint n modulo their number and tries the next one if an endpoint is unreachable or
    /// full.
    pub endpoints: Vec<Endpoint>,
    pub user: String,
    /// Never printed.
    pub password: Option<String>,
    pub schema: Option<String>,
    pub protection: Protection,
    /// Limit for connecting to and logging in at one endpoint, in total.
    pub login_timeout: Duration,
    /// Limit for each operation after the login, see [`load::Stream::set_stall_timeout`].
    pub stall_timeout: Option<Duration>,
}

/// How a connection and the password are protected from others on the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    pub tls: Tls,
    pub server_key: ServerKey,
}

/// Whether a connection is encrypted, and for whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    #[default]
    Off,
    /// Encrypted without verifying the certificate, so a man in the middle can read everything: `ssl-mode=REQUIRED` of the server's
    /// client.
    Required,
    /// Encrypted for a server with a certificate of a trusted issuer: `ssl-mode=VERIFY_CA` and `VERIFY_IDENTITY`.
    Verified(Verification),
}

/// Which certificates are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// PEM file of the trusted issuers; None: those of the system.
    pub issuers: Option<PathBuf>,
    /// Whether the certificate must be for the host that the client connects to.
    pub identity: bool,
}

/// Whose RSA key encrypts the password that caching_sha2_password wants in full over a connection without TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerKey {
    /// The password is not sent.
    #[default]
    Refused,
    /// The key that the server sends. A man in the middle can send another one.
    Requested,
    /// The key in this PEM file.
    File(PathBuf),
}

impl Login {
    /// The endpoints in the order in which a client tries them.
    pub(crate) fn endpoints_for(&self, client: u32) -> impl Iterator<Item = &Endpoint> {
        let count = self.endpoints.len();
        let first = client as usize % count.max(1);
        self.endpoints.iter().cycle().skip(first).take(count)
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{:?}", self.user, self.endpoints)
    }
}

/// An endpoint as text: `db1:3306`, or a socket's path.
pub(crate) fn name(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Tcp { host, port } => format!("{host}:{port}"),
        Endpoint::Unix(path) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(endpoints: &[u16]) -> Login {
        Login {
            endpoints: endpoints
                .iter()
                .map(|&port| Endpoint::Tcp {
                    host: "db".into(),
                    port,
                })
                .collect(),
            user: "app".into(),
            password: Some("secret word".into()),
            schema: None,
            protection: Protection::default(),
            login_timeout: Duration::from_secs(1),
            stall_timeout: None,
        }
    }

    fn order(endpoints: &[u16], client: u32) -> Vec<String> {
        login(endpoints).endpoints_for(client).map(name).collect()
    }

    #[test]
    fn clients_start_at_different_endpoints_and_try_all() {
        assert_eq!(order(&[1, 2, 3], 0), ["db:1", "db:2", "db:3"]);
        assert_eq!(order(&[1, 2, 3], 4), ["db:2", "db:3", "db:1"]);
        assert!(order(&[], 7).is_empty());
    }

    #[test]
    fn debug_output_of_a_login_omits_the_password() {
        assert!(!format!("{:?}", login(&[1])).contains("secret"));
    }
}

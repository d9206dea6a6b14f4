//! Login parameters: endpoints, credentials, TLS, timeouts.

use load::Endpoint;
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
    pub tls: Tls,
    /// Limit for connecting to and logging in at one endpoint, in total.
    pub login_timeout: Duration,
    /// Limit for each operation after the login, see [`load::Stream::set_stall_timeout`].
    pub stall_timeout: Option<Duration>,
}

/// Whether a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    Off,
    /// Encrypted without verifying the certificate: `?tls=required` in a DSN, `ssl-mode=REQUIRED` of the server's client.
    Required,
}

impl Login {
    /// The endpoints in the order in which a client tries them.
    pub fn endpoints_for(&self, client: u32) -> impl Iterator<Item = &Endpoint> {
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
            tls: Tls::Off,
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

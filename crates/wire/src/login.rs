//! Who logs in where.

use load::Endpoint;
use std::time::Duration;

#[derive(Clone)]
pub struct Login {
    /// At least one. Client n begins with endpoint n modulo their number, and tries the next where one cannot be reached
    /// or is full.
    pub endpoints: Vec<Endpoint>,
    pub user: String,
    /// Never printed.
    pub password: Option<String>,
    pub schema: Option<String>,
    pub tls: Tls,
    /// For connecting and logging in at one endpoint, together.
    pub within: Duration,
    /// See [`load::Stream::stalled_after`].
    pub stalled: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    Off,
    /// Encrypted, the certificate not verified: what `?tls=required` means, as the server's own client has it.
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

/// `db1:3306`, or a socket's path.
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
            within: Duration::from_secs(1),
            stalled: None,
        }
    }

    fn order(endpoints: &[u16], client: u32) -> Vec<String> {
        login(endpoints).endpoints_for(client).map(name).collect()
    }

    #[test]
    fn clients_begin_at_the_endpoints_in_turn_and_try_all_of_them() {
        assert_eq!(order(&[1, 2, 3], 0), ["db:1", "db:2", "db:3"]);
        assert_eq!(order(&[1, 2, 3], 4), ["db:2", "db:3", "db:1"]);
        assert!(order(&[], 7).is_empty());
    }

    #[test]
    fn a_printed_login_holds_no_password() {
        assert!(!format!("{:?}", login(&[1])).contains("secret"));
    }
}

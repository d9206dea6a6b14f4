//! Who logs in where.

use load::Endpoint;
use std::time::Duration;

#[derive(Clone)]
pub struct Login {
    pub endpoint: Endpoint,
    pub user: String,
    /// Never printed.
    pub password: Option<String>,
    pub schema: Option<String>,
    pub tls: Tls,
    /// For connecting and logging in, together.
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

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{:?}", self.user, self.endpoint)
    }
}

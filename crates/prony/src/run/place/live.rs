//! The connections of a server that is being measured.

use crate::run::watch::Watch;
use observe::{Observer, ServerProcess};
use server::Session;

/// The connections of a server that is being measured.
pub(crate) struct Live {
    /// The first client's connection, which runs the queries.
    pub session: Session,
    pub watch: Watch,
    /// The other clients, if the round has several.
    pub others: Vec<Client>,
    /// None if the server has no counters.
    pub observer: Option<Observer>,
    /// None if prony did not start the server as a process.
    pub process: Option<ServerProcess>,
}

impl Live {
    /// Whether a statement of any client could not be stopped, so that its connection was cut: the server hangs.
    pub(crate) fn is_cut(&self) -> bool {
        self.watch.is_cut() || self.others.iter().any(|client| client.watch.is_cut())
    }
}

/// A further client's connection.
pub(crate) struct Client {
    pub session: Session,
    pub watch: Watch,
}

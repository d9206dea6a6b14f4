//! Whether the server of a trial is still the one that is measured, and why a trial failed.

use super::ServerPlace;
use crate::run::event::kinds::has_outage;
use crate::run::machine::limits::Held;
use crate::run::place::live::Live;
use crate::run::prepare::crash_cause;
use record::ServerIdentity;
use server::{ServerError, StartRequest};

impl ServerPlace<'_> {
    /// # Errors
    /// The server has ended, or an external server is gone or has been replaced by another one.
    pub(crate) fn still_runs(&self) -> Result<(), ServerError> {
        if let Some(reason) = self.instance.nodes().find_map(|node| node.exit_reason()) {
            return Err(ServerError::Lost(reason));
        }
        let is_one = self.instance.formation().is_none();
        if is_one && has_outage(&self.planned.events) && self.node().pid().is_none() {
            return Err(ServerError::Lost(
                "an event ended the server, and it was down at the end of the load".into(),
            ));
        }
        if self.is_external() {
            self.node().start(&StartRequest::default())?;
        }
        self.is_the_same()
    }

    /// Checks that an external address still leads to the same server, and that the installed one was not replaced.
    pub(super) fn is_the_same(&self) -> Result<(), ServerError> {
        let begun = self.server.identity();
        match self.node().identity() {
            Some(now) if self.is_external() && now != *begun => {
                Err(ServerError::Unusable(format!(
                    "{} was {} ({}) when the run started and is {} ({}) now; measure it in a separate run",
                    begun.build, begun.version, begun.comment, now.version, now.comment
                )))
            }
            Some(now) if !self.is_external() && !now.version.starts_with(exact_version(begun)) => {
                Err(ServerError::Unusable(format!(
                    "{} was {} when the run started and is {} now: the installed server was replaced; start a new run",
                    begun.build,
                    exact_version(begun),
                    now.version
                )))
            }
            _ => Ok(()),
        }
    }

    /// Why a trial failed. If the server is gone, with the cause from its log.
    pub(crate) fn explain(&self, error: &ServerError) -> String {
        if let Some(broken) = self.disks.broken() {
            return format!("{broken}; the server lost its data directory: {error}");
        }
        if self.live.as_ref().is_some_and(Live::is_cut) {
            self.give_up();
            return error.to_string();
        }
        let of_limits = self.held.as_ref().and_then(Held::last_words);
        let reason = match error {
            ServerError::Lost(_) => crash_cause::reason(self.node().as_ref()),
            _ => self.node().exit_reason(),
        };
        match (error, reason) {
            (ServerError::Lost(_), Some(reason)) => match of_limits {
                Some(words) => format!("the server ended: {words}"),
                None => format!("the server ended: {reason}"),
            },
            // The complete log is stored with the run.
            (ServerError::NotStarted { message: says, .. }, _) => match of_limits {
                Some(words) => format!("{says}\n  - {words}"),
                None => says.clone(),
            },
            (_, Some(reason)) => format!("{error}; the server ended: {reason}"),
            (_, None) => error.to_string(),
        }
    }

    /// Keeps where a server hangs, and kills it: it would not stop by itself. An external server is never killed.
    fn give_up(&self) {
        crash_cause::keep_stacks(self.node().as_ref());
        let _ = self.node().kill();
    }
}

/// `10.11.18-MariaDB-0+deb12u1`, as far as it is known before the first start. A server may append words such as `-log` to it.
fn exact_version(identity: &ServerIdentity) -> &str {
    if identity.comment.starts_with(&identity.version) {
        &identity.comment
    } else {
        &identity.version
    }
}

//! Whether the server of a trial is still the one that is measured, and the end of one that hangs.

use super::ServerPlace;
use crate::run::prepare::crash_cause;
use record::ServerIdentity;
use server::ServerError;

impl ServerPlace<'_> {
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

    /// Keeps where a server hangs, and kills it: it would not stop by itself. An external server is never killed.
    pub(super) fn give_up(&self) {
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

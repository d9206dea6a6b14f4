//! `prony guard JOURNAL`, hidden: prony starts itself by it (see `host::guard`); people never do.

use crate::host::guard;
use std::path::Path;
use std::process::ExitCode;

/// Waits for the end of the standard input, then works off the journal.
pub fn run(journal: &Path) -> ExitCode {
    match guard::serve(journal) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody listens any more; the journal stays for the next start.
        Err(_) => ExitCode::FAILURE,
    }
}

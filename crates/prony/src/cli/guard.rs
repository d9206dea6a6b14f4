//! `prony guard JOURNAL`, hidden: prony starts itself by it (see `host::guard`); people never do.

use super::failure::{Failure, Status};
use host::guard;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    journal: PathBuf,
}

/// Waits for the end of the standard input, then works off the journal. Where that fails nobody listens any more; the
/// journal stays for the next start.
pub fn run(args: Args) -> Result<Status, Failure> {
    guard::serve(&args.journal).map_err(Failure::failed)?;
    Ok(Status::Done)
}

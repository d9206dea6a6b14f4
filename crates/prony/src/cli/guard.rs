//! `prony guard JOURNAL` (hidden): prony starts it (see `host::guard`). Users never run it.

use super::failure::{Failure, Status};
use host::guard;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Args {
    journal: PathBuf,
}

/// Waits until stdin closes, then cleans up what the journal lists. If that fails, no one reads its errors; the journal stays for the
/// next start.
pub(super) fn run(args: Args) -> Result<Status, Failure> {
    guard::serve(&args.journal).map_err(Failure::failed)?;
    Ok(Status::Done)
}

//! `prony supervise PID TICKS` (hidden): prony starts it (see `host::supervisor`). Users never run it.

use super::failure::{Failure, Status};
use host::supervisor;

#[derive(clap::Args)]
pub(super) struct Args {
    pid: u32,
    /// When the process started, as /proc shows it.
    start_ticks: u64,
}

pub(super) fn run(args: &Args) -> Result<Status, Failure> {
    supervisor::serve(args.pid, args.start_ticks).map_err(Failure::failed)?;
    Ok(Status::Done)
}

//! `prony disk IMAGE POINT` (hidden): prony starts it to serve a volatile disk (see `host::volume`). Users never run it.

use super::failure::{Failure, Status};
use host::volume::{DiskOptions, serve};
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct Args {
    image: PathBuf,
    point: PathBuf,
    #[arg(long)]
    lies: bool,
    #[arg(long, default_value_t = 0)]
    slow_flush_us: u64,
    #[arg(long)]
    recording: Option<PathBuf>,
}

/// Serves the disk until stdin closes.
pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let options = DiskOptions {
        lies: args.lies,
        slow_flush: Duration::from_micros(args.slow_flush_us),
        recording: args.recording,
    };
    serve(&args.image, &args.point, options).map_err(Failure::failed)?;
    Ok(Status::Done)
}

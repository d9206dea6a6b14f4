//! `prony gauge` (hidden): prony starts it inside a control group to measure a limit (see `host::gauge`). Users never run it.

use super::failure::{Failure, Status};
use clap::Subcommand;
use host::gauge::{self, What};
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: Measurement,
    #[arg(long, global = true, default_value_t = 1000)]
    window_ms: u64,
}

#[derive(Subcommand)]
enum Measurement {
    Read { file: PathBuf, request_bytes: usize },
    Write { file: PathBuf, request_bytes: usize },
    Cpu { busy: usize },
}

/// Prints the measured figure.
pub(super) fn run(args: Args) -> Result<Status, Failure> {
    let what = match args.what {
        Measurement::Read {
            file,
            request_bytes,
        } => What::Disk {
            is_write: false,
            file,
            request_bytes,
        },
        Measurement::Write {
            file,
            request_bytes,
        } => What::Disk {
            is_write: true,
            file,
            request_bytes,
        },
        Measurement::Cpu { busy } => What::Cpu { busy },
    };
    let window = Duration::from_millis(args.window_ms);
    println!(
        "{}",
        gauge::measure(&what, window).map_err(Failure::failed)?
    );
    Ok(Status::Done)
}

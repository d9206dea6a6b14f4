//! `prony doctor DIR`: what a disk can do for a database, in one table.

use super::failure::{Failure, Status, print};
use crate::doctor::{self, DoctorError};
use crate::run::Progress;
use host::{Home, interrupt};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder on the disk; prony makes a folder of its own in it and removes it again
    directory: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Plain ASCII of 80 columns, to paste into a ticket
    Table,
    Json,
}

pub(super) fn run(args: &Args) -> Result<Status, Failure> {
    interrupt::install().map_err(Failure::failed)?;
    let home = Home::from_environment().map_err(Failure::usage)?;
    let leases = super::leases(&home)?;
    let progress = Progress::stderr();
    let found = doctor::examine(&args.directory, &leases, &progress);
    progress.end();
    match found {
        Ok(findings) => {
            print(&match args.format {
                Format::Table => doctor::text(&findings),
                Format::Json => doctor::json(&findings),
            });
            Ok(Status::Done)
        }
        Err(error) => Err(failure(error)),
    }
}

fn failure(error: DoctorError) -> Failure {
    match error {
        DoctorError::NoFolder(_) => Failure::usage(error),
        DoctorError::NoSpace { .. } | DoctorError::Failed(_) => Failure::failed(error),
        DoctorError::Interrupted => Failure::from(crate::run::RunError::Interrupted),
    }
}

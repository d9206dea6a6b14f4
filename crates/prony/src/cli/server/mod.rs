//! `prony server list|get|start|stop|shell`: server builds, and servers started by hand.
//!
//! Purpose: download a build before a run (for a machine that goes offline later), and inspect a server without installing it.
//! Outside this module: a server that outlives its prony process.

mod get;
mod instance;
mod list;
mod shell;
mod start;
mod stop;

use super::failure::{Failure, Status};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List the available builds, and which of them are in the cache
    List,
    /// Download a build into the cache, unless it is there
    Get(get::Args),
    /// Start a server on an empty data folder; Ctrl-C or `prony server stop` stops it and deletes its data
    Start(instance::Args),
    /// Stop all servers that `prony server start` started
    Stop,
    /// Start a server on an empty data folder and open its client; both end together, and the data is deleted
    Shell(instance::Args),
}

pub(super) fn run(command: Command) -> Result<Status, Failure> {
    match command {
        Command::List => list::run().map(|()| Status::Done),
        Command::Get(args) => get::run(&args).map(|()| Status::Done),
        Command::Start(args) => start::run(&args),
        Command::Stop => stop::run(),
        Command::Shell(args) => shell::run(&args),
    }
}

//! `prony server list|get|start|stop|shell`: builds that prony can have, and one of them started by hand.
//!
//! Goal: get a build before a run (on a machine that goes offline later), and look around in a server without installing
//! it. Non-goal: a server that outlives its prony.

mod get;
mod instance;
mod list;
mod shell;
mod start;
mod stop;

use super::failure::{Failure, Status};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// The builds that can be had, and what the cache holds of them
    List,
    /// Fetch a build into the cache, unless it is there
    Get(get::Args),
    /// Start a server with an empty data folder; it runs until Ctrl-C or `prony server stop`, and its data goes with it
    Start(instance::Args),
    /// Stop the servers of `prony server start`
    Stop,
    /// Start a server with an empty data folder and open its own client; both end together, and the data goes with them
    Shell(instance::Args),
}

pub fn run(command: Command) -> Result<Status, Failure> {
    match command {
        Command::List => list::run().map(|()| Status::Done),
        Command::Get(args) => get::run(&args).map(|()| Status::Done),
        Command::Start(args) => start::run(&args),
        Command::Stop => stop::run(),
        Command::Shell(args) => shell::run(&args),
    }
}

//! `prony server`
use super::failure::{Failure, Status, print};
use crate::host::{Home, Leases};
#[derive(clap::Subcommand)]
pub enum Command {
    Get { build: String },
}
pub fn run(command: Command) -> Result<Status, Failure> {
    let Command::Get { build } = command;
    let home = Home::from_environment().map_err(Failure::asked)?;
    let leases = Leases::open(&home).map_err(Failure::failed)?;
    let build = build.parse().map_err(Failure::asked)?;
    let got = crate::server::Cache::new(&home).get(&build, &leases, &|line| eprintln!("{line}")).map_err(Failure::failed)?;
    print(&format!("{} {}", got.build, got.version_text));
    Ok(Status::Done)
}

//! `prony server shell BUILD`: the build's own client on a server of its own, on this terminal.

use super::instance::{Args, Instance};
use crate::cli::failure::{Failure, Status};
use host::{interrupt, process};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Between two looks whether prony was asked to end while the client has the terminal.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub fn run(args: &Args) -> Result<Status, Failure> {
    let instance = Instance::start(args, "shell")?;
    let Some(mut client) = instance.distribution.client_command() else {
        return Err(Failure::asked(format!(
            "{} comes without a client; use prony server start, and connect with another client",
            instance.distribution.build
        )));
    };
    // Not the extra file: what ~/.my.cnf says would count more.
    let mut option = std::ffi::OsString::from("--defaults-file=");
    option.push(instance.option_file());
    client.arg(option);
    let ended = with_the_terminal(client).map_err(|error| {
        Failure::failed(format!(
            "the client of {} cannot be run: {error}",
            instance.distribution.build
        ))
    })?;
    instance.stop().map_err(Failure::failed)?;
    Ok(match ended {
        Some(status) if status.success() => Status::Done,
        Some(_) => Status::Failed,
        None => Status::Interrupted,
    })
}

/// Runs the client to its end; None where prony was asked to end before. Ctrl-C is the client's meanwhile.
fn with_the_terminal(mut client: Command) -> std::io::Result<Option<ExitStatus>> {
    interrupt::lend_ctrl_c(true);
    let mut client = client.spawn()?;
    let ended = loop {
        if let Some(status) = process::wait_within(&mut client, LOOK_EVERY)? {
            break Some(status);
        }
        if interrupt::asked() {
            client.kill()?;
            client.wait()?;
            break None;
        }
    };
    interrupt::lend_ctrl_c(false);
    Ok(ended)
}

//! `prony server shell BUILD`: starts a server and opens the build's client on this terminal.

use super::instance::{Args, Instance};
use crate::cli::failure::{Failure, Status};
use host::{interrupt, process};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// How often prony checks for a stop signal while the client has the terminal.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Args) -> Result<Status, Failure> {
    let instance = Instance::start(args, "shell")?;
    let Some(mut client) = instance.distribution.client_command() else {
        return Err(Failure::usage(format!(
            "{} has no client; use `prony server start` and connect with another client",
            instance.distribution.build
        )));
    };
    // Not --defaults-extra-file, which ~/.my.cnf would override.
    let mut option = std::ffi::OsString::from("--defaults-file=");
    option.push(instance.option_file());
    client.arg(option);
    let ended = with_the_terminal(client).map_err(|error| {
        Failure::failed(format!(
            "cannot run the client of {}: {error}",
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

/// Runs the client to its end. Returns None if prony received a stop signal first. Ctrl-C goes to the client meanwhile.
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

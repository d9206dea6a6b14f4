//! `prony server start BUILD`: runs a server until prony is stopped.

use super::instance::{Args, Instance};
use super::stop::Note;
use crate::cli::failure::{Failure, Status, print};
use host::interrupt;
use server::Node;
use std::time::Duration;

/// How often prony checks for a stop signal and for the end of the server. Ctrl-C need not act faster.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(super) fn run(args: &Args) -> Result<Status, Failure> {
    let instance = Instance::start(args, "server")?;
    Note::of_this_prony(&instance.distribution.build).write(instance.folder())?;
    print(&how_to_connect(&instance));
    while !interrupt::asked() {
        if let Some(reason) = instance.server.exit_reason() {
            return Err(Failure::failed(format!(
                "{} exited: {reason}",
                instance.distribution.build
            )));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    instance.stop().map_err(Failure::failed)?;
    Ok(Status::Done)
}

/// How to connect. The password is in the option file only.
fn how_to_connect(instance: &Instance) -> String {
    let build = &instance.distribution;
    let mut lines = vec![format!(
        "{} ({}) runs with process ID {}",
        build.build,
        build.version_text,
        instance.server.pid().unwrap_or(0)
    )];
    if let Some(dsn) = instance.server.endpoint() {
        let socket = dsn.socket.unwrap_or_default();
        lines.push(format!("socket:  {}", socket.display()));
        lines.push(format!("port:    {} on 127.0.0.1", dsn.port));
    }
    let options = instance.option_file();
    lines.push(format!(
        "options: {} (user and password, for any client of the family: mysql --defaults-file={0})",
        options.display()
    ));
    lines.push("Ctrl-C or `prony server stop` stops it and deletes its data".into());
    lines.join("\n")
}

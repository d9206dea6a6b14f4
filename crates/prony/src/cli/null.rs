//! `prony null`: the null server as a process of its own.
//!
//! Goal: it ends with the one that started it, whose end of the pipe it reads. Non-goal: being asked for by people.

use super::failure::{Failure, Status};
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::null::{Behaviour, Listener, serve};

#[derive(clap::Args)]
pub struct Args {
    /// The socket to listen on
    socket: PathBuf,
}

pub fn run(args: &Args) -> Result<Status, Failure> {
    let listener = UnixListener::bind(&args.socket).map_err(|error| {
        Failure::failed(format!(
            "cannot listen on {}: {error}",
            args.socket.display()
        ))
    })?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rest = Vec::new();
            let _ = std::io::stdin().read_to_end(&mut rest);
            stop.store(true, Ordering::Relaxed);
        });
        serve(&Listener::Unix(listener), &Behaviour::default(), &stop)
    })
    .map_err(Failure::failed)?;
    Ok(Status::Done)
}

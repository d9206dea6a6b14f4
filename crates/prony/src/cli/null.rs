//! `prony null`: the null server as a process of its own.
//!
//! Goal: it ends with the one that started it, whose end of the pipe it reads. Non-goal: being asked for by people.

use super::failure::{Failure, Status};
use crate::host::machine;
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
    let listener = Listener::Unix(listener);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rest = Vec::new();
            let _ = std::io::stdin().read_to_end(&mut rest);
            stop.store(true, Ordering::Relaxed);
        });
        let serving = || serve(&listener, &Behaviour::default(), &stop);
        // One a core, as the engine has its reactors: with fewer the target would be the limit and not the engine.
        let others: Vec<_> = (1..machine::cores())
            .map(|_| scope.spawn(serving))
            .collect();
        let own = serving();
        let others = others.into_iter().map(|other| other.join());
        others.fold(own, |sum, other| sum.and(other.unwrap_or(Ok(()))))
    })
    .map_err(Failure::failed)?;
    Ok(Status::Done)
}

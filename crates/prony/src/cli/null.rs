//! `prony null`: the null server in its own process.
//!
//! Purpose: it ends with its parent, because it reads a pipe that the parent holds open. A client can choose the core that answers it.
//! Users never run it.

use super::failure::{Failure, Status};
use std::io::{self, Read};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use wire::null::{Behaviour, Listener, serve};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Sockets to listen on; each has a thread, the first on the first core and so on
    #[arg(required = true)]
    sockets: Vec<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Status, Failure> {
    let listeners = args.sockets.iter().map(|socket| {
        UnixListener::bind(socket).map_err(|error| {
            Failure::failed(format!("cannot listen on {}: {error}", socket.display()))
        })
    });
    let listeners = listeners.collect::<Result<Vec<UnixListener>, Failure>>()?;
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rest = Vec::new();
            let _ = io::stdin().read_to_end(&mut rest);
            stop.store(true, Ordering::Relaxed);
        });
        let cores = load::cores();
        let cores = cores.into_iter().cycle();
        let serving: Vec<_> = listeners
            .into_iter()
            .zip(cores)
            .map(|(listener, core)| scope.spawn(move || serve_on(core, listener, stop)))
            .collect();
        serving.into_iter().try_for_each(joined)
    })
    .map_err(Failure::failed)?;
    Ok(Status::Done)
}

fn serve_on(core: usize, listener: UnixListener, stop: &AtomicBool) -> io::Result<()> {
    load::pin(&[core])?;
    serve(&Listener::Unix(listener), &Behaviour::default(), stop)
}

fn joined(serving: ScopedJoinHandle<io::Result<()>>) -> io::Result<()> {
    serving
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

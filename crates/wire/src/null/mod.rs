//! A server that speaks the protocol and does nothing: the ceiling of a load generator, and the faults that it has to stand.
//!
//! Goals: cheap enough that the client is the limit; every fault of a connection can be asked for. Non-goals: SQL (a
//! statement that begins with SELECT answers one row as a point select of workload `oltp` does, every other one OK), TLS,
//! passwords (everybody is let in).

mod conversation;
mod serve;

pub use serve::serve;

use load::Endpoint;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How it answers; by default at once and well. Statements are counted for each connection by itself: queries and
/// executions, not preparing.
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// Each statement's answer comes so much later.
    pub delay: Duration,
    /// After so many statements it falls silent.
    pub stall_after: Option<u64>,
    /// After so many it closes the connection instead of answering.
    pub reset_after: Option<u64>,
    /// After so many it answers what is no packet of the protocol.
    pub malformed_after: Option<u64>,
    /// Each statement whose number from 1 is a multiple of the first is answered with the second, an error's number.
    pub error_every: Option<(u64, u16)>,
    /// Logins are answered with this error.
    pub refuse: Option<u16>,
}

/// What it listens on.
pub enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// One on a thread of its own; dropping it closes its connections.
pub struct NullServer {
    endpoint: Endpoint,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl NullServer {
    /// Listens on a socket that is not there yet.
    ///
    /// # Errors
    /// What the system says of the path.
    pub fn unix(path: &Path, behaviour: Behaviour) -> io::Result<NullServer> {
        let listener = Listener::Unix(UnixListener::bind(path)?);
        Ok(NullServer::start(
            Endpoint::Unix(path.into()),
            listener,
            behaviour,
        ))
    }

    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// What the system says.
    pub fn tcp(behaviour: Behaviour) -> io::Result<NullServer> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let endpoint = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port: listener.local_addr()?.port(),
        };
        Ok(NullServer::start(
            endpoint,
            Listener::Tcp(listener),
            behaviour,
        ))
    }

    fn start(endpoint: Endpoint, listener: Listener, behaviour: Behaviour) -> NullServer {
        let stop = Arc::new(AtomicBool::new(false));
        let stops = stop.clone();
        let thread = std::thread::spawn(move || serve(&listener, &behaviour, &stops));
        NullServer {
            endpoint,
            stop,
            thread: Some(thread),
        }
    }

    pub fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

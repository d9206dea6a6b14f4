//! A null server: it speaks the MySQL protocol and does no work. It measures the maximum throughput of a load generator and injects
//! faults.
//!
//! Goals: cheap enough that the client is the bottleneck; every kind of connection fault can be configured. Non-goals: SQL (a
//! statement that begins with SELECT returns one row like a point select of workload `oltp`, any other returns OK), TLS,
//! passwords (every login succeeds).

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

/// How the server answers. By default it answers immediately and without errors. Statements (queries and executions, not
/// prepares) are counted per connection.
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// Delay of each statement's answer.
    pub delay: Duration,
    /// After this many statements it no longer answers.
    pub stall_after: Option<u64>,
    /// After this many statements it closes the connection instead of answering.
    pub reset_after: Option<u64>,
    /// After this many statements it answers with an invalid packet.
    pub malformed_after: Option<u64>,
    /// (n, code): every n-th statement is answered with the error `code`.
    pub error_every: Option<(u64, u16)>,
    /// Every login is answered with this error code.
    pub refuse: Option<u16>,
}

/// The socket on which a null server listens.
pub enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// A null server on its own thread. Dropping it closes its connections.
pub struct NullServer {
    endpoint: Endpoint,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl NullServer {
    /// Listens on a Unix socket. The path must not exist.
    ///
    /// # Errors
    /// I/O errors for the path.
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
    /// I/O errors of the listener.
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

    /// Where clients connect.
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

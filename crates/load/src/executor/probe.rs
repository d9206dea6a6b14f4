//! Detects the backend that this machine supports.

use super::Task;
use crate::io::{Backend, Io};
use std::cell::RefCell;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time limit of the test exchange.
const LONGEST: Duration = Duration::from_secs(2);

/// The default backend: io_uring if the kernel supports everything that is needed, otherwise epoll. Detected once per process by a
/// test exchange.
pub fn backend() -> Backend {
    static FOUND: OnceLock<Backend> = OnceLock::new();
    *FOUND.get_or_init(|| match exchanges(Backend::Uring) {
        true => Backend::Uring,
        false => Backend::Epoll,
    })
}

/// Runs the test exchange on a separate thread, because a ring belongs to the thread that created it.
fn exchanges(backend: Backend) -> bool {
    let probe = std::thread::spawn(move || exchange(backend).is_ok());
    probe.join().unwrap_or(false)
}

fn exchange(backend: Backend) -> io::Result<()> {
    let io = Io::new(backend, Instant::now(), 1)?;
    let outcome = Rc::new(RefCell::new(Err(io::ErrorKind::Unsupported.into())));
    let (task_io, result) = (io.clone(), outcome.clone());
    let task: Task = Box::pin(async move {
        let exchanged = exchange_with_peer(&task_io).await;
        *result.borrow_mut() = exchanged;
    });
    super::poll_all(&io, vec![task])?;
    outcome.replace(Ok(()))
}

/// Exchanges a message with a peer that has already sent its answer.
async fn exchange_with_peer(io: &Io) -> io::Result<()> {
    let (near, mut far) = UnixStream::pair()?;
    far.write_all(b"answer")?;
    let mut stream = io.adopt(near.into())?;
    stream.set_stall_timeout(Some(LONGEST));
    stream.outgoing().extend_from_slice(b"question");
    stream.exchange().await?;
    match stream.incoming() {
        b"answer" => Ok(()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

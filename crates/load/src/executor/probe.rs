//! Which backend this machine can use.

use super::Spawner;
use crate::io::{Backend, Io};
use std::cell::RefCell;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// An exchange that takes longer is one that does not work.
const LONGEST: Duration = Duration::from_secs(2);

/// io_uring where the kernel has everything that is needed, else epoll. Found out once, by an exchange.
pub fn backend() -> Backend {
    static FOUND: OnceLock<Backend> = OnceLock::new();
    *FOUND.get_or_init(|| match exchanges(Backend::Uring) {
        true => Backend::Uring,
        false => Backend::Epoll,
    })
}

/// A ring stays with the thread that made it, so the probe has one of its own.
fn exchanges(backend: Backend) -> bool {
    let probe = std::thread::spawn(move || exchange(backend).is_ok());
    probe.join().unwrap_or(false)
}

fn exchange(backend: Backend) -> io::Result<()> {
    let io = Io::new(backend, Instant::now(), 1)?;
    let outcome = Rc::new(RefCell::new(Err(io::ErrorKind::Unsupported.into())));
    let (asking, found) = (io.clone(), outcome.clone());
    let task = async move {
        let asked = ask(&asking).await;
        *found.borrow_mut() = asked;
    };
    let spawner = Spawner::default();
    spawner.spawn(task);
    super::poll_all(&io, &spawner)?;
    outcome.replace(Ok(()))
}

/// Sends to a peer whose answer lies ready.
async fn ask(io: &Io) -> io::Result<()> {
    let (near, mut far) = UnixStream::pair()?;
    far.write_all(b"answer")?;
    let mut stream = io.adopt(near.into())?;
    stream.stalled_after(Some(LONGEST))?;
    stream.outgoing().extend_from_slice(b"question");
    stream.exchange().await?;
    match stream.incoming() {
        b"answer" => Ok(()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

//! How operations reach the kernel: the keys `engine` and `depth`.
//!
//! Boundaries: submitting and completing is the load engine's; here is whether this machine permits it.

use load::{Backend, Io, Placement};
use std::io;
use std::time::Instant;

/// How operations reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// pread, pwrite and fsync, a thread per client.
    Sync,
    /// Registered files and buffers, a ring per core.
    IoUring,
    /// io_submit and io_getevents, a context per core.
    Libaio,
}

impl Engine {
    pub(super) const NAMES: [(&str, Engine); 3] = [
        ("sync", Engine::Sync),
        ("io_uring", Engine::IoUring),
        ("libaio", Engine::Libaio),
    ];

    pub(super) fn name(self) -> &'static str {
        record::name_of(&self, &Engine::NAMES)
    }

    /// None: blocking calls.
    fn backend(self) -> Option<Backend> {
        match self {
            Engine::Sync => None,
            Engine::IoUring => Some(Backend::Uring),
            Engine::Libaio => Some(Backend::Aio),
        }
    }

    pub(super) fn placement(self) -> Placement {
        self.backend().map_or(Placement::Threads, Placement::On)
    }

    /// Whether this machine permits it.
    ///
    /// # Errors
    /// One sentence with the cause and the way out.
    pub(super) fn check(self) -> Result<(), String> {
        let Some(backend) = self.backend() else {
            return Ok(());
        };
        let made = Io::new(backend, Instant::now(), 1);
        made.map(drop).map_err(|error| self.explain(&error))
    }

    fn explain(self, error: &io::Error) -> String {
        let name = self.name();
        let (why, other) = match self {
            Engine::IoUring => (uring_cause(error), "engine = \"libaio\", or "),
            Engine::Sync | Engine::Libaio => (aio_cause(error), ""),
        };
        format!(
            "engine = \"{name}\" cannot be used here: {why} ({error}); write {other}engine = \"sync\""
        )
    }
}

fn uring_cause(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "the sysctl kernel.io_uring_disabled or the container's seccomp profile forbids io_uring"
        }
        io::ErrorKind::OutOfMemory => "the limit of locked memory is too low (ulimit -l)",
        io::ErrorKind::Unsupported => "the kernel is built without io_uring or older than 5.19",
        _ => "the kernel refuses a ring",
    }
}

fn aio_cause(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::WouldBlock => "other processes use up the sysctl fs.aio-max-nr",
        io::ErrorKind::Unsupported => "the kernel is built without asynchronous I/O",
        _ => "the kernel refuses a context",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_io_uring_is_forbidden_or_missing_the_message_names_the_cause_and_the_way_out() {
        for (code, cause) in [
            (rustix::io::Errno::PERM, "kernel.io_uring_disabled"),
            (rustix::io::Errno::NOSYS, "built without io_uring"),
        ] {
            let error = io::Error::from(code);
            let says = Engine::IoUring.explain(&error);
            assert!(says.contains(cause), "{says}");
            let way_out = "; write engine = \"libaio\", or engine = \"sync\"";
            assert!(says.ends_with(way_out), "{says}");
        }
    }

    #[test]
    fn where_the_contexts_are_used_up_the_message_names_the_limit_and_the_way_out() {
        let says = Engine::Libaio.explain(&rustix::io::Errno::AGAIN.into());
        assert!(says.contains("fs.aio-max-nr"), "{says}");
        assert!(says.ends_with("; write engine = \"sync\""), "{says}");
    }
}

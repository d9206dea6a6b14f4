//! Reads and writes of files, on io_uring, Linux AIO and blocking calls.
//!
//! Goals: the same session code on every backend; a short read or write continues with the rest. Non-goals: opening files, and
//! positions in them (the workload); cancelling the I/O of a disk, which the kernel cannot.

use super::aligned::Aligned;
use super::attempts::{Access, Attempt};
use super::schedule::Schedule;
use super::{aio, blocking, uring};
use std::fs::File;
use std::future::Future;
use std::io;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A buffer and the files that it is written to and read from, one operation at a time.
///
/// A transfer whose operation was cancelled (its future was dropped) is unusable until that operation has ended in the kernel.
pub struct Transfer {
    backend: Inner,
    files: Arc<[File]>,
    /// Empty during an operation.
    buffer: Aligned,
}

pub(super) enum Inner {
    Uring(Rc<uring::Reactor>, uring::AttemptPlace),
    Aio(Rc<aio::Reactor>, u32),
    Blocking(Rc<blocking::Reactor>),
}

/// Why a read or a write ended before the end of its buffer.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Cut {
    /// Bytes that were transferred.
    pub done: usize,
    /// [`io::ErrorKind::UnexpectedEof`] at the end of the file; [`io::ErrorKind::Interrupted`], see [`crate::Stopper`].
    pub error: io::Error,
}

impl Transfer {
    pub(super) fn new(backend: Inner, files: &Arc<[File]>, buffer: Aligned) -> Transfer {
        Transfer {
            backend,
            files: files.clone(),
            buffer,
        }
    }

    /// What is written next, or what was read last. Empty after a cancelled operation.
    #[inline]
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Fills the buffer from this offset of a file, in bytes. `file` is an index.
    ///
    /// # Errors
    /// The first error, with the bytes that were read before it.
    #[inline]
    pub async fn read(&mut self, file: u32, offset: u64) -> Result<(), Cut> {
        self.whole(Access::Read, file, offset).await
    }

    /// Writes the buffer to this offset of a file, in bytes. `file` is an index.
    ///
    /// # Errors
    /// The first error, with the bytes that were written before it.
    #[inline]
    pub async fn write(&mut self, file: u32, offset: u64) -> Result<(), Cut> {
        self.whole(Access::Write, file, offset).await
    }

    /// fsync(2) of a file.
    ///
    /// # Errors
    /// I/O errors.
    pub async fn sync(&mut self, file: u32) -> io::Result<()> {
        self.once(Access::Sync, file).await
    }

    /// fdatasync(2) of a file.
    ///
    /// # Errors
    /// I/O errors.
    pub async fn sync_data(&mut self, file: u32) -> io::Result<()> {
        self.once(Access::SyncData, file).await
    }

    /// A no-op of the kernel, which measures the engine itself. Only io_uring has one.
    ///
    /// # Errors
    /// EINVAL on the other backends.
    #[inline]
    pub async fn nothing(&mut self) -> io::Result<()> {
        self.once(Access::Nothing, 0).await
    }

    #[inline]
    async fn whole(&mut self, access: Access, file: u32, offset: u64) -> Result<(), Cut> {
        let (mut done, length) = (0, self.buffer.len());
        while done < length {
            let attempt = Attempt {
                access,
                file,
                offset: offset + done as u64,
                skip: done,
            };
            let result = self.attempt(attempt).await;
            match result {
                1.. => done += result as usize,
                _ if self.may_retry(result) => {}
                _ => {
                    let error = short(access, done, result);
                    return Err(Cut { done, error });
                }
            }
        }
        Ok(())
    }

    #[inline]
    async fn once(&mut self, access: Access, file: u32) -> io::Result<()> {
        let attempt = Attempt {
            access,
            file,
            offset: 0,
            skip: 0,
        };
        loop {
            let result = self.attempt(attempt).await;
            if result >= 0 {
                return Ok(());
            }
            if !self.may_retry(result) {
                return Err(io::Error::from_raw_os_error(-result));
            }
        }
    }

    #[cold]
    fn may_retry(&self, result: i32) -> bool {
        let schedule: &Schedule = match &self.backend {
            Inner::Uring(reactor, _) => &reactor.schedule,
            Inner::Aio(reactor, _) => &reactor.schedule,
            Inner::Blocking(reactor) => &reactor.schedule,
        };
        !schedule.stopper.is_interrupted() && matches!(-result, libc::EINTR | libc::EAGAIN)
    }

    #[inline]
    fn attempt(&mut self, attempt: Attempt) -> Attempting<'_> {
        Attempting {
            transfer: self,
            attempt,
            is_begun: false,
        }
    }

    #[inline]
    fn begin(&mut self, attempt: Attempt) -> Option<i32> {
        let file = self.files.get(attempt.file as usize);
        let descriptor = file.map_or(-1, AsRawFd::as_raw_fd);
        let begun = match &self.backend {
            Inner::Uring(reactor, place) => {
                reactor.begin_attempt(place, descriptor, attempt, &mut self.buffer)
            }
            Inner::Aio(reactor, slot) => {
                reactor.begin(*slot, descriptor, attempt, &mut self.buffer)
            }
            Inner::Blocking(_) => return Some(blocking::attempt(file, attempt, &mut self.buffer)),
        };
        begun
            .err()
            .map(|error| -error.raw_os_error().unwrap_or(libc::EIO))
    }

    #[inline]
    fn outcome(&mut self) -> Option<i32> {
        match &self.backend {
            Inner::Uring(reactor, place) => reactor.attempted(place, &mut self.buffer),
            Inner::Aio(reactor, slot) => reactor.outcome(*slot, &mut self.buffer),
            Inner::Blocking(_) => None,
        }
    }
}

/// The error of a read or a write that did not continue.
#[cold]
fn short(access: Access, done: usize, result: i32) -> io::Error {
    match (result, access) {
        // The rest of a direct read that ended at the end of the file is no longer aligned.
        (0, Access::Read) => io::ErrorKind::UnexpectedEof.into(),
        (result, Access::Read) if result == -libc::EINVAL && done > 0 => {
            io::ErrorKind::UnexpectedEof.into()
        }
        (0, _) => io::ErrorKind::WriteZero.into(),
        (error, _) => io::Error::from_raw_os_error(-error),
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        match &self.backend {
            Inner::Uring(reactor, place) => reactor.abandon_attempt(place),
            Inner::Aio(reactor, slot) => reactor.abandon(*slot),
            Inner::Blocking(_) => {}
        }
    }
}

/// The future of one attempt. It is hand-written because every operation awaits one.
struct Attempting<'a> {
    transfer: &'a mut Transfer,
    attempt: Attempt,
    is_begun: bool,
}

impl Future for Attempting<'_> {
    type Output = i32;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<i32> {
        let this = &mut *self;
        let result = if std::mem::replace(&mut this.is_begun, true) {
            this.transfer.outcome()
        } else {
            this.transfer.begin(this.attempt)
        };
        result.map_or(Poll::Pending, Poll::Ready)
    }
}

#[cfg(test)]
mod tests;

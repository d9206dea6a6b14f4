//! The FUSE protocol, as far as one file needs it: a file system whose only file is a disk.
//!
//! Purpose: mount it, read requests from /dev/fuse, answer them. Boundaries: no cache of the kernel's (FOPEN_DIRECT_IO, no
//! FUSE_WRITEBACK_CACHE), so a write is answered when it was taken and a fsync means what it says. Requests and answers are in
//! native byte order (include/uapi/linux/fuse.h, fuse(4)); no libfuse.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name of the only file.
pub(super) const FILE: &str = "disk";

pub(super) const DEVICE: &str = "/dev/fuse";

/// An error number for the kernel.
pub(super) type Errno = i32;

/// The contents of the file.
pub(super) trait Blocks {
    fn bytes(&self) -> u64;
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Errno>;
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno>;
    fn flush(&self) -> Result<(), Errno>;
}

const ROOT: u64 = 1;
const DISK: u64 = 2;

/// The largest write, and the pages that it has.
const WRITE_BYTES_MAX: u32 = 1 << 20;
const PAGES_MAX: u16 = 256;
/// Requests that the kernel keeps under way, and where it calls that congested.
const BACKGROUND: u16 = 64;
const CONGESTED: u16 = 48;

const IN_HEADER_BYTES: usize = 40;
const OUT_HEADER_BYTES: usize = 16;

/// The protocol's version that the answers here have the shape of.
const MAJOR: u32 = 7;
const MINOR: u32 = 31;

const ASYNC_READ: u32 = 1 << 0;
const BIG_WRITES: u32 = 1 << 5;
const ASYNC_DIO: u32 = 1 << 15;
const MAX_PAGES: u32 = 1 << 22;
const FOPEN_DIRECT_IO: u32 = 1;

mod opcode {
    pub(super) const LOOKUP: u32 = 1;
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const WRITE: u32 = 16;
    pub(super) const STATFS: u32 = 17;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const FSYNC: u32 = 20;
    pub(super) const FLUSH: u32 = 25;
    pub(super) const INIT: u32 = 26;
    pub(super) const INTERRUPT: u32 = 36;
    pub(super) const DESTROY: u32 = 38;
    pub(super) const BATCH_FORGET: u32 = 42;
}

/// The daemon's side of a mounted file system. The kernel ends every request with an error once it is closed.
pub(super) struct Connection {
    device: File,
}

impl Connection {
    /// Mounts the file system. Requires root.
    pub(super) fn mount(point: &Path) -> io::Result<Connection> {
        let device = File::options().read(true).write(true).open(DEVICE)?;
        let point = CString::new(point.as_os_str().as_bytes())?;
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0",
            device.as_raw_fd()
        );
        let options = CString::new(options)?;
        // SAFETY: texts that end with a zero byte and outlive the call.
        let status = unsafe {
            libc::mount(
                c"prony-disk".as_ptr(),
                point.as_ptr(),
                c"fuse".as_ptr(),
                libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
                options.as_ptr().cast(),
            )
        };
        match status {
            0 => Ok(Connection { device }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Answers requests until the file system is unmounted. Several threads may do so at once.
    pub(super) fn serve(&self, blocks: &impl Blocks) -> io::Result<()> {
        let mut buffer = vec![0; WRITE_BYTES_MAX as usize + 4096];
        loop {
            let length = match (&self.device).read(&mut buffer) {
                Ok(length) => length,
                Err(error) => match error.raw_os_error() {
                    Some(libc::ENODEV) => return Ok(()),
                    // The request was interrupted before it was read.
                    Some(libc::ENOENT | libc::EINTR | libc::EAGAIN) => continue,
                    _ => return Err(error),
                },
            };
            let Some(reply) = answer(blocks, &buffer[..length]) else {
                continue;
            };
            match (&self.device).write_all(&reply) {
                // The request was interrupted, or the file system is unmounted.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV)) => {
                }
                done => done?,
            }
        }
    }
}

/// The answer to one request; None if the kernel expects none.
fn answer(blocks: &impl Blocks, request: &[u8]) -> Option<Vec<u8>> {
    let (opcode, unique) = (u32_at(request, 4)?, u64_at(request, 8)?);
    if matches!(
        opcode,
        opcode::FORGET | opcode::BATCH_FORGET | opcode::INTERRUPT
    ) {
        return None;
    }
    let node = u64_at(request, 16)?;
    let body = request.get(IN_HEADER_BYTES..)?;
    let reply = reply(blocks, opcode, node, body);
    let (error, body) = match reply {
        Ok(body) => (0, body),
        Err(errno) => (-errno, Vec::new()),
    };
    let mut answer = Vec::with_capacity(OUT_HEADER_BYTES + body.len());
    answer.extend(((OUT_HEADER_BYTES + body.len()) as u32).to_ne_bytes());
    answer.extend(error.to_ne_bytes());
    answer.extend(unique.to_ne_bytes());
    answer.extend(body);
    Some(answer)
}

fn reply(blocks: &impl Blocks, opcode: u32, node: u64, body: &[u8]) -> Result<Vec<u8>, Errno> {
    let short = libc::EINVAL;
    match opcode {
        opcode::INIT => Ok(init(u32_at(body, 8).ok_or(short)?)),
        opcode::LOOKUP => match body.strip_suffix(&[0]) {
            Some(name) if node == ROOT && name == FILE.as_bytes() => Ok(entry(blocks.bytes())),
            _ => Err(libc::ENOENT),
        },
        opcode::GETATTR => Ok(attributes(node, blocks.bytes())),
        opcode::OPEN if node == DISK => Ok(opened()),
        opcode::READ => {
            let (offset, length) = (u64_at(body, 8), u32_at(body, 16));
            blocks.read(offset.ok_or(short)?, length.ok_or(short)? as usize)
        }
        opcode::WRITE => {
            let (offset, length) = (u64_at(body, 8), u32_at(body, 16));
            let (offset, length) = (offset.ok_or(short)?, length.ok_or(short)?);
            let data = body.get(40..40 + length as usize).ok_or(short)?;
            blocks.write(offset, data)?;
            Ok(words([length, 0]))
        }
        opcode::FSYNC => blocks.flush().map(|()| Vec::new()),
        opcode::STATFS => Ok(vec![0; 80]),
        // A close promises nothing about the disk.
        opcode::FLUSH | opcode::RELEASE | opcode::DESTROY => Ok(Vec::new()),
        _ => Err(libc::ENOSYS),
    }
}

/// `struct fuse_init_out`.
fn init(offered: u32) -> Vec<u8> {
    let flags = offered & (ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES);
    let mut out = Vec::with_capacity(64);
    out.extend(words([MAJOR, MINOR, WRITE_BYTES_MAX, flags]));
    out.extend([BACKGROUND, CONGESTED].map(u16::to_ne_bytes).concat());
    let time_granularity_ns = 1;
    out.extend(words([WRITE_BYTES_MAX, time_granularity_ns]));
    out.extend([PAGES_MAX, 0].map(u16::to_ne_bytes).concat());
    out.resize(64, 0);
    out
}

/// `struct fuse_entry_out`. What the kernel keeps of it never changes, so it may keep it for an hour.
fn entry(bytes: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    let (generation, valid_s) = (0, 3600);
    out.extend(long_words([DISK, generation, valid_s, valid_s]));
    out.extend([0; 8]);
    out.extend(attribute(DISK, bytes));
    out
}

/// `struct fuse_attr_out`.
fn attributes(node: u64, bytes: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(104);
    out.extend(3600u64.to_ne_bytes());
    out.extend([0; 8]);
    out.extend(attribute(node, bytes));
    out
}

/// `struct fuse_attr`.
fn attribute(node: u64, bytes: u64) -> Vec<u8> {
    let (mode, links, bytes) = match node {
        ROOT => (libc::S_IFDIR | 0o700, 2, 0),
        _ => (libc::S_IFREG | 0o600, 1, bytes),
    };
    let mut out = Vec::with_capacity(88);
    out.extend(long_words([node, bytes, bytes / 512, 0, 0, 0]));
    let (owner, device, block_bytes) = (0, 0, 4096);
    let rest = [0, 0, 0, mode, links, owner, owner, device, block_bytes, 0];
    out.extend(words(rest));
    out
}

/// `struct fuse_open_out`.
fn opened() -> Vec<u8> {
    let mut out = vec![0; 8];
    out.extend(words([FOPEN_DIRECT_IO, 0]));
    out
}

fn words<const COUNT: usize>(values: [u32; COUNT]) -> Vec<u8> {
    values.map(u32::to_ne_bytes).concat()
}

fn long_words<const COUNT: usize>(values: [u64; COUNT]) -> Vec<u8> {
    values.map(u64::to_ne_bytes).concat()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at + 8)?;
    Some(u64::from_ne_bytes(eight.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[derive(Default)]
    struct Noted(RefCell<Vec<String>>);

    impl Noted {
        fn note(&self, text: String) {
            self.0.borrow_mut().push(text);
        }
    }

    impl Blocks for Noted {
        fn bytes(&self) -> u64 {
            1 << 20
        }
        fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
            self.note(format!("read {offset} {length}"));
            Ok(vec![7; length])
        }
        fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno> {
            self.note(format!("write {offset} {}", data.len()));
            Ok(())
        }
        fn flush(&self) -> Result<(), Errno> {
            Err(libc::EIO)
        }
    }

    fn request(opcode: u32, node: u64, body: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        all.extend(((IN_HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        all.extend(opcode.to_ne_bytes());
        all.extend(99u64.to_ne_bytes());
        all.extend(node.to_ne_bytes());
        all.extend([0; 16]);
        all.extend(body);
        all
    }

    fn transfer(offset: u64, length: u32, data: &[u8]) -> Vec<u8> {
        let mut body = vec![0; 8];
        body.extend(offset.to_ne_bytes());
        body.extend(length.to_ne_bytes());
        body.resize(40, 0);
        body.extend(data);
        body
    }

    /// The error and the length of the answer's body.
    fn answered(opcode: u32, node: u64, body: &[u8]) -> (i32, usize) {
        let answer = answer(&Noted::default(), &request(opcode, node, body)).unwrap();
        assert_eq!(u32_at(&answer, 0).unwrap() as usize, answer.len());
        assert_eq!(u64_at(&answer, 8), Some(99));
        let error = u32_at(&answer, 4).unwrap() as i32;
        (error, answer.len() - OUT_HEADER_BYTES)
    }

    #[test]
    fn answers_have_the_sizes_of_the_kernels_structures() {
        assert_eq!(answered(opcode::INIT, 0, &[0xff; 16]), (0, 64));
        assert_eq!(answered(opcode::LOOKUP, ROOT, b"disk\0"), (0, 128));
        assert_eq!(answered(opcode::GETATTR, DISK, &[0; 16]), (0, 104));
        assert_eq!(answered(opcode::OPEN, DISK, &[0; 8]), (0, 16));
        assert_eq!(answered(opcode::STATFS, ROOT, &[]), (0, 80));
        assert_eq!(answered(opcode::RELEASE, DISK, &[0; 24]), (0, 0));
    }

    #[test]
    fn reads_and_writes_carry_their_offset_and_length() {
        let noted = Noted::default();
        let read = request(opcode::READ, DISK, &transfer(512, 1024, &[]));
        assert_eq!(answer(&noted, &read).unwrap().len(), 16 + 1024);
        let write = request(opcode::WRITE, DISK, &transfer(4096, 512, &[1; 512]));
        let written = answer(&noted, &write).unwrap();
        assert_eq!(u32_at(&written, 16), Some(512));
        assert_eq!(*noted.0.borrow(), ["read 512 1024", "write 4096 512"]);
    }

    #[test]
    fn a_writeback_cache_is_never_accepted() {
        const WRITEBACK_CACHE: u32 = 1 << 16;
        assert_eq!(u32_at(&init(u32::MAX), 12).unwrap() & WRITEBACK_CACHE, 0);
        assert_eq!(u32_at(&opened(), 8), Some(FOPEN_DIRECT_IO));
    }

    #[test]
    fn a_failed_flush_and_unknown_requests_answer_with_their_error() {
        assert_eq!(answered(opcode::FSYNC, DISK, &[0; 16]), (-libc::EIO, 0));
        let fallocate = 43;
        assert_eq!(answered(fallocate, DISK, &[0; 32]), (-libc::ENOSYS, 0));
        assert_eq!(
            answered(opcode::LOOKUP, ROOT, b"other\0"),
            (-libc::ENOENT, 0)
        );
    }

    #[test]
    fn torn_requests_are_refused_and_forgetting_has_no_answer() {
        let torn = transfer(0, 4096, &[1; 512]);
        assert_eq!(answered(opcode::WRITE, DISK, &torn), (-libc::EINVAL, 0));
        assert_eq!(answered(opcode::READ, DISK, &[0; 10]), (-libc::EINVAL, 0));
        let forget = request(opcode::FORGET, DISK, &[0; 8]);
        assert!(answer(&Noted::default(), &forget).is_none());
        assert!(answer(&Noted::default(), &[1, 2, 3]).is_none());
    }
}

//! The operations as pread(2), pwrite(2) and fsync(2), a thread per client.
//!
//! Goal: an operation is one system call. Non-goal: asynchronous I/O. The first operation that fails is kept with its place, since
//! an error number does not say where.

use super::files::{self, Aligned};
use super::places::{Block, Kind, Places};
use super::section::{Section, SyncCall, SyncPolicy};
use crate::seam::{AuditError, Audited, Auditor, Ended, Work};
use load::{Failure, Io, Outcome, Placement, Request};
use record::AuditNote;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The codes of failed operations are the system's error numbers above this.
const SYSTEM_ERROR: u16 = 60_000;
/// An operation that was cut short.
const SHORT: u16 = SYSTEM_ERROR + 4_999;
/// Data that is written is unique in each of these parts, so that no device can deduplicate it.
const STAMPED_BYTES: usize = 4_096;

/// The operations of one load.
pub(super) struct Driver {
    section: Section,
    folder: PathBuf,
    places: Places,
    kinds: Vec<Kind>,
    seed: u64,
    first_failure: FirstFailure,
}

/// The first operation of the load that failed, in one sentence.
type FirstFailure = Arc<OnceLock<String>>;

/// What a client owns.
pub(super) struct Session {
    files: Vec<File>,
    buffer: Aligned,
}

impl Driver {
    pub(super) fn new(section: &Section, folder: &Path, seed: u64) -> Driver {
        let places = Places::new(section, seed);
        Driver {
            kinds: places.kinds(),
            places,
            section: section.clone(),
            folder: folder.to_path_buf(),
            seed,
            first_failure: FirstFailure::default(),
        }
    }

    /// With the audit that reports the first failure.
    pub(super) fn work(self) -> Work {
        let failures = Failures {
            first: self.first_failure.clone(),
        };
        Work {
            driver: Box::new(self),
            audit: Some(Box::new(failures)),
        }
    }

    fn run(&self, session: &mut Session, kind: Kind, number: u64) -> io::Result<()> {
        if kind == Kind::Sync {
            return session.files.iter().try_for_each(|file| self.sync(file));
        }
        let block = self.places.block(number);
        let file = &session.files[block.file as usize];
        if kind == Kind::Read {
            return file.read_exact_at(&mut session.buffer, block.offset);
        }
        stamp(&mut session.buffer, number);
        file.write_all_at(&session.buffer, block.offset)?;
        match self.section.sync {
            SyncPolicy::Each => self.sync(file),
            SyncPolicy::Never | SyncPolicy::Every(_) => Ok(()),
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        match self.section.call {
            SyncCall::Fsync => file.sync_all(),
            SyncCall::Fdatasync => file.sync_data(),
            SyncCall::Dsync => Ok(()),
        }
    }

    fn failed(&self, kind: Kind, number: u64, error: &io::Error) -> Outcome {
        self.first_failure.get_or_init(|| {
            let Block { file, offset } = self.places.block(number);
            let path = files::path(&self.folder, file);
            let at = match kind {
                Kind::Sync => String::new(),
                _ => format!(
                    " of {} bytes at offset {offset} of {}",
                    self.section.io_bytes,
                    path.display()
                ),
            };
            format!("the first {}{at} that failed: {error}", kind.name())
        });
        Outcome::Failed(code(error))
    }
}

impl load::Workload for Driver {
    type Session = Session;

    fn placement(&self) -> Placement {
        Placement::Threads
    }

    fn operations(&self) -> Vec<String> {
        self.kinds
            .iter()
            .map(|kind| kind.name().to_string())
            .collect()
    }

    fn pick(&self, number: u64) -> u16 {
        let kind = self.places.kind(number);
        let index = self.kinds.iter().position(|one| *one == kind);
        index.unwrap_or_default() as u16
    }

    async fn open(&self, _: &Io, client: u32) -> Result<Session, Failure> {
        let open = |file| {
            files::open(&self.section, &self.folder, file).map_err(|error| Failure {
                code: code(&error),
                text: format!(
                    "cannot open {}: {error}",
                    files::path(&self.folder, file).display()
                ),
                transient: false,
            })
        };
        let mut buffer = Aligned::new(self.section.io_bytes as usize);
        files::randomise(&mut buffer, self.seed ^ u64::from(client));
        Ok(Session {
            files: (0..self.section.files)
                .map(open)
                .collect::<Result<_, _>>()?,
            buffer,
        })
    }

    async fn operate(&self, session: &mut Session, request: &Request) -> Outcome {
        let kind = self.kinds[usize::from(request.operation)];
        match self.run(session, kind, request.number) {
            Ok(()) => Outcome::Done,
            Err(error) => self.failed(kind, request.number, &error),
        }
    }

    async fn close(&self, _: Session) {}
}

/// Marks every part of a buffer with the number of its operation.
fn stamp(buffer: &mut [u8], number: u64) {
    for (part, start) in buffer.chunks_mut(STAMPED_BYTES).zip(0u64..) {
        let mark = datagen::random::hash(number ^ (start << 48)).to_le_bytes();
        let length = part.len().min(mark.len());
        part[..length].copy_from_slice(&mark[..length]);
    }
}

fn code(error: &io::Error) -> u16 {
    let number = error
        .raw_os_error()
        .and_then(|number| u16::try_from(number).ok());
    number.map_or(SHORT, |number| SYSTEM_ERROR.saturating_add(number))
}

/// Reports the first failure, which makes the trial invalid: its figures are those of a disk that did not do the work.
struct Failures {
    first: FirstFailure,
}

impl Auditor for Failures {
    fn audit(self: Box<Self>, _: Audited, _: &Ended) -> Result<Option<AuditNote>, AuditError> {
        let first = self.first.get().cloned();
        Ok(first.map(|first| AuditNote {
            violations: vec![first],
            ..AuditNote::default()
        }))
    }
}

#[cfg(test)]
mod tests;

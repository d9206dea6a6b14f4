//! The operations of the files: read, write and sync, on the engine of the section.
//!
//! Goal: the same operations on every engine. Each keeps one buffer for its life. Non-goals: submitting (`load`); where operations go
//! (`places`). The first operation that fails is kept with its place, since an error number does not say where.

use super::failures::{Failures, Fault, FirstFailure, code};
use super::files;
use super::group::Group;
use super::places::{Block, IoKind, Places};
use super::section::{Extents, Section, SyncCall, SyncPolicy};
use super::verify::{Ledger, Reader, Wrong, Wrote};
use crate::interface::{Auditor, Work};
use load::{Aligned, Background, Cut, Failure, Io, Left, Outcome, Placement, Request, Transfer};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{
    AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};
use std::sync::{Arc, OnceLock};

/// The operations of one load.
pub(super) struct Driver {
    section: Section,
    folder: PathBuf,
    places: Places,
    kinds: Vec<IoKind>,
    seed: u64,
    /// Opened once for all sessions.
    files: OnceLock<Result<Arc<[File]>, Failure>>,
    last_sync: LastSync,
    first_failure: FirstFailure,
    /// What was written, if it is verified.
    ledger: Option<Arc<Ledger>>,
    group: Group,
    /// Blocks that were appended to files that grow.
    appended: AtomicU64,
}

/// When the sync at the end is due: once, when only its own session is open.
#[derive(Default)]
struct LastSync {
    open_sessions: AtomicU32,
    /// The start of the drive on the clock of [`Io::now_ns`], from the first session that closes. 0: none did, or it was taken.
    zero_ns: AtomicU64,
}

/// What a session owns.
pub(super) struct Session {
    io: Io,
    transfer: Transfer,
    /// With the pages of a batch; None without a doublewrite buffer.
    doublewrite: Option<Transfer>,
    /// As [`Request::zero_ns`]. 0 before the first operation.
    zero_ns: u64,
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
            files: OnceLock::new(),
            last_sync: LastSync::default(),
            first_failure: FirstFailure::default(),
            ledger: section.verify.then(|| Arc::new(Ledger::new(section))),
            group: Group::default(),
            appended: AtomicU64::new(0),
        }
    }

    /// With the audit that reports the first failure, and blocks that are not as they were written.
    pub(super) fn work(self) -> Work {
        let failures = Box::new(Failures::new(&self.section, self.first_failure.clone()));
        let audit: Box<dyn Auditor> = match &self.ledger {
            Some(ledger) => Box::new(Reader {
                section: self.section.clone(),
                ledger: ledger.clone(),
                inner: failures,
                wrong_before: Wrong::default(),
            }),
            None => failures,
        };
        Work {
            driver: Box::new(self),
            audit: Some(audit),
            witness: None,
        }
    }

    fn opened(&self) -> Result<Arc<[File]>, Failure> {
        let open = |file| {
            files::open(&self.section, &self.folder, file).map_err(|error| {
                let path = files::path(&self.folder, file);
                failure(&error, &format!("cannot open {}", path.display()))
            })
        };
        let files = self
            .files
            .get_or_init(|| (0..self.section.files).map(open).collect());
        files.clone()
    }

    #[inline]
    async fn run(&self, session: &mut Session, kind: IoKind, number: u64) -> Result<(), Fault> {
        match kind {
            IoKind::Read => {
                let block = self.places.block(number);
                let read = session.transfer.read(block.file, block.offset).await;
                read.map_err(|cut| fault(kind, block, cut))
            }
            IoKind::Write => self.write(&mut session.transfer, number).await,
            IoKind::Doublewrite => match &mut session.doublewrite {
                Some(buffer) => self.doublewrite(buffer, number).await,
                None => Ok(()),
            },
            IoKind::Sync => self.sync_all(&mut session.transfer).await,
        }
    }

    async fn doublewrite(&self, buffer: &mut Transfer, number: u64) -> Result<(), Fault> {
        renew(buffer.buffer(), number);
        let start = Block { file: 0, offset: 0 };
        let written = buffer.write(start.file, start.offset).await;
        written.map_err(|cut| fault(IoKind::Doublewrite, start, cut))?;
        self.sync(buffer, start.file).await
    }

    #[inline]
    async fn write(&self, transfer: &mut Transfer, number: u64) -> Result<(), Fault> {
        let block = self.place_of_write(number);
        renew(transfer.buffer(), number);
        let Some(ledger) = &self.ledger else {
            return self.write_at(transfer, block).await;
        };
        let begun = ledger.begin(block, transfer.buffer());
        let wrote = self.write_at(transfer, block).await;
        ledger.ended(begun, Wrote::of(wrote.is_ok(), self.section.sync));
        wrote
    }

    /// Appends follow each other in the order in which they begin. Clients draw their numbers in runs, which would leave holes.
    #[inline]
    fn place_of_write(&self, number: u64) -> Block {
        match self.section.extents {
            Extents::None => self.places.nth(self.appended.fetch_add(1, Relaxed)),
            Extents::Written | Extents::Unwritten => self.places.block(number),
        }
    }

    #[inline]
    async fn write_at(&self, transfer: &mut Transfer, block: Block) -> Result<(), Fault> {
        let written = transfer.write(block.file, block.offset).await;
        written.map_err(|cut| fault(IoKind::Write, block, cut))?;
        match self.section.sync {
            SyncPolicy::Each => self.sync(transfer, block.file).await,
            SyncPolicy::Group => {
                let sync = async || self.sync_all(transfer).await;
                self.group.commit(sync).await
            }
            SyncPolicy::Never | SyncPolicy::Every(_) | SyncPolicy::End => Ok(()),
        }
    }

    async fn sync_all(&self, transfer: &mut Transfer) -> Result<(), Fault> {
        let begun = self.ledger.as_ref().map(|ledger| ledger.sync_begins());
        for file in 0..self.section.files {
            self.sync(transfer, file).await?;
        }
        if let Some((ledger, begun)) = self.ledger.as_ref().zip(begun) {
            ledger.sync_ended(begun);
        }
        Ok(())
    }

    async fn sync(&self, transfer: &mut Transfer, file: u32) -> Result<(), Fault> {
        let synced = match self.section.call {
            SyncCall::Fsync => transfer.sync(file).await,
            SyncCall::Fdatasync => transfer.sync_data(file).await,
            SyncCall::Dsync => Ok(()),
        };
        synced.map_err(|error| Fault {
            kind: IoKind::Sync,
            file,
            offset: 0,
            error,
        })
    }

    #[cold]
    fn failed(&self, fault: &Fault) -> Outcome {
        self.first_failure
            .get_or_init(|| fault.says(&self.section, &self.folder));
        Outcome::Failed(code(&fault.error))
    }
}

impl load::Workload for Driver {
    type Session = Session;

    fn placement(&self) -> Placement {
        self.section.engine.placement()
    }

    fn depth(&self) -> u32 {
        self.section.depth
    }

    fn operations(&self) -> Vec<String> {
        self.kinds
            .iter()
            .map(|kind| kind.name().to_string())
            .collect()
    }

    #[inline]
    fn pick(&self, number: u64) -> u16 {
        let kind = self.places.kind(number);
        let index = self.kinds.iter().position(|one| *one == kind);
        index.unwrap_or_default() as u16
    }

    /// One session syncs all files at the end.
    fn background(&self, _: u32) -> Option<Background> {
        (self.section.sync == SyncPolicy::End).then_some(Background { workers: 1 })
    }

    fn take(&self, session: &mut Session) -> Option<Left> {
        if self.last_sync.open_sessions.load(Acquire) > 1 {
            return None;
        }
        let zero_ns = self.last_sync.zero_ns.swap(0, AcqRel);
        (zero_ns > 0).then(|| Left {
            number: 0,
            since_ns: session.io.now_ns() - zero_ns,
        })
    }

    async fn open(&self, io: &Io, client: u32) -> Result<Session, Failure> {
        let files = self.opened()?;
        let mut buffer = Aligned::new(self.section.io_bytes as usize);
        files::randomise(&mut buffer, self.seed ^ u64::from(client));
        let transfer = |buffer| {
            let made = io.transfer(&files, buffer);
            made.map_err(|error| failure(&error, "cannot prepare the engine for the files"))
        };
        let doublewrite = self.section.doublewrite_bytes().map(|bytes| {
            let mut buffer = Aligned::new(bytes as usize);
            files::randomise(&mut buffer, !self.seed ^ u64::from(client));
            buffer
        });
        let doublewrite = doublewrite.map(transfer).transpose()?;
        let transfer = transfer(buffer)?;
        self.last_sync.open_sessions.fetch_add(1, AcqRel);
        Ok(Session {
            io: io.clone(),
            transfer,
            doublewrite,
            zero_ns: 0,
        })
    }

    #[inline]
    async fn operate(&self, session: &mut Session, request: &Request) -> Outcome {
        session.zero_ns = request.zero_ns;
        let kind = self.kinds[usize::from(request.operation)];
        match self.run(session, kind, request.number).await {
            Ok(()) => Outcome::Done,
            Err(fault) => self.failed(&fault),
        }
    }

    async fn close(&self, session: Session) {
        self.last_sync.zero_ns.fetch_max(session.zero_ns, AcqRel);
        self.last_sync.open_sessions.fetch_sub(1, AcqRel);
    }
}

fn fault(kind: IoKind, block: Block, cut: Cut) -> Fault {
    Fault {
        kind,
        file: block.file,
        offset: block.offset + cut.done as u64,
        error: cut.error,
    }
}

fn failure(error: &io::Error, what: &str) -> Failure {
    Failure {
        code: code(error),
        text: format!("{what}: {error}"),
        transient: false,
    }
}

/// Changes every word of a buffer of random bytes by the number of its operation. What a client writes has nothing in common with what it
/// wrote or read before, so a file system that compresses or deduplicates finds nothing.
fn renew(buffer: &mut [u8], number: u64) {
    let mask = datagen::random::hash(number);
    let (words, rest) = buffer.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_le_bytes(*word) ^ mask).to_le_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.to_le_bytes()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests;

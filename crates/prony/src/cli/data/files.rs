//! Several files written by several threads.
//!
//! Purpose: keep all cores busy with a few megabytes of memory. A thread generates the next piece of a table in memory, waits until
//! the lengths of the pieces before it are known, and writes it at its offset. Outside this module: resuming a file.

use crate::lock;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use datagen::{Benchmark, Chunk, Format};

/// Approximate bytes of a piece. It fits into a core's own cache until it is written.
const PIECE_BYTES: u64 = 512 << 10;

/// Why files could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("cannot create folder {}: {cause}; choose another folder with --out", path.display())]
    Folder { path: PathBuf, cause: io::Error },
    #[error(
        "cannot write {}: the disk is full; the file needs about {} MB; choose a folder with more space with --out, or a smaller \
         --scale; the unfinished files are removed",
        path.display(),
        bytes_estimate / 1_000_000
    )]
    Full { path: PathBuf, bytes_estimate: u64 },
    #[error("cannot write {}: {cause}; choose another folder with --out; the unfinished files are removed", path.display())]
    File { path: PathBuf, cause: io::Error },
}

/// A part of a table of any benchmark.
pub(super) trait Rows: Send + Sync {
    /// Part `i` (from 0) of `n`.
    fn part(&self, i: u64, n: u64) -> Box<dyn Rows>;

    /// Approximate bytes as `.tbl` text.
    fn bytes_estimate(&self) -> u64;

    /// Writes the rows of part `i` (from 0) of `n`. Returns their number.
    fn write_part(&self, i: u64, n: u64, to: &mut dyn Write, format: Format) -> io::Result<u64>;
}

impl<B: Benchmark> Rows for Chunk<B> {
    fn part(&self, i: u64, n: u64) -> Box<dyn Rows> {
        Box::new(self.part(i, n))
    }

    fn bytes_estimate(&self) -> u64 {
        self.bytes_estimate()
    }

    fn write_part(&self, i: u64, n: u64, to: &mut dyn Write, format: Format) -> io::Result<u64> {
        self.part(i, n).write(to, format)
    }
}

/// Creates a folder and its missing parents.
pub(super) fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|cause| Failure::Folder {
        path: path.to_owned(),
        cause,
    })
}

/// A file that is being written. It has a temporary name until it is complete. If dropped before, it is removed.
pub(super) struct Output {
    table: Box<dyn Rows>,
    path: PathBuf,
    part: PathBuf,
    file: File,
    pieces: u64,
    end: Mutex<End>,
    grown: Condvar,
}

/// How much of a file has an assigned offset.
#[derive(Default)]
struct End {
    pieces: u64,
    rows: u64,
    bytes: u64,
    stopped: bool,
}

/// A complete file.
pub(super) struct Written {
    pub(super) path: PathBuf,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

impl Output {
    /// Creates the file under a temporary name. When it is complete, it replaces any older file at `path`.
    pub(super) fn create(table: Box<dyn Rows>, path: PathBuf) -> Result<Output, Failure> {
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|cause| Failure::File {
            path: part.clone(),
            cause,
        })?;
        let pieces = table.bytes_estimate() / PIECE_BYTES + 1;
        Ok(Output {
            table,
            path,
            part,
            file,
            pieces,
            end: Mutex::default(),
            grown: Condvar::new(),
        })
    }

    pub(super) fn bytes_estimate(&self) -> u64 {
        self.table.bytes_estimate()
    }

    /// Waits until the lengths of the pieces before this one are known. Returns its offset, or None if writing was stopped.
    fn place(&self, piece: u64, rows: u64, bytes: u64) -> Option<u64> {
        let waiting = |end: &mut End| end.pieces != piece && !end.stopped;
        let mut end = self
            .grown
            .wait_while(lock(&self.end), waiting)
            .unwrap_or_else(PoisonError::into_inner);
        if end.stopped {
            return None;
        }
        let begin = end.bytes;
        end.pieces += 1;
        end.rows += rows;
        end.bytes += bytes;
        self.grown.notify_all();
        Some(begin)
    }

    fn stop(&self) {
        lock(&self.end).stopped = true;
        self.grown.notify_all();
    }

    fn failure(&self, cause: io::Error) -> Failure {
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::Full {
                path: self.path.clone(),
                bytes_estimate: self.bytes_estimate(),
            },
            _ => Failure::File {
                path: self.path.clone(),
                cause,
            },
        }
    }

    fn finish(&self) -> Result<Written, Failure> {
        fs::rename(&self.part, &self.path).map_err(|cause| self.failure(cause))?;
        let end = lock(&self.end);
        Ok(Written {
            path: self.path.clone(),
            rows: end.rows,
            bytes: end.bytes,
        })
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // A complete file has been renamed, so there is nothing to remove.
        let _ = fs::remove_file(&self.part);
    }
}

/// Writes all files on `threads` threads. Calls `progress` with the bytes of each piece.
///
/// # Errors
/// The first failure. Incomplete files are removed.
pub(super) fn write(
    outputs: Vec<Output>,
    format: Format,
    threads: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Written>, Failure> {
    let work = Work {
        outputs: &outputs,
        next: AtomicU64::new(0),
        format,
        progress,
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work.run())).collect();
        let mut results = workers.into_iter().map(|worker| worker.join());
        results
            .try_for_each(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    outputs.iter().map(Output::finish).collect()
}

/// State shared by the threads.
struct Work<'a> {
    outputs: &'a [Output],
    /// The next piece to take, counted over all files.
    next: AtomicU64,
    format: Format,
    progress: &'a (dyn Fn(u64) + Sync),
}

impl Work<'_> {
    fn run(&self) -> Result<(), Failure> {
        // If this thread fails or panics, the others must not wait for its piece.
        let alarm = Alarm(self.outputs);
        let mut text = Vec::new();
        while let Some((output, piece)) = self.take() {
            if !self
                .write_piece(output, piece, &mut text)
                .map_err(|cause| output.failure(cause))?
            {
                break;
            }
        }
        std::mem::forget(alarm);
        Ok(())
    }

    fn take(&self) -> Option<(&Output, u64)> {
        let mut number = self.next.fetch_add(1, Ordering::Relaxed);
        for output in self.outputs {
            if number < output.pieces {
                return Some((output, number));
            }
            number -= output.pieces;
        }
        None
    }

    /// Writes one piece. Returns false if writing was stopped.
    fn write_piece(&self, output: &Output, piece: u64, text: &mut Vec<u8>) -> io::Result<bool> {
        text.clear();
        let (table, pieces) = (&output.table, output.pieces);
        let rows = table.write_part(piece, pieces, text, self.format)?;
        let Some(begin) = output.place(piece, rows, text.len() as u64) else {
            return Ok(false);
        };
        output.file.write_all_at(text, begin)?;
        (self.progress)(text.len() as u64);
        Ok(true)
    }
}

/// Stops the writing of all files when dropped.
struct Alarm<'a>(&'a [Output]);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(Output::stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datagen::ssb::{Ssb, Table};

    #[test]
    fn a_full_disk_is_named_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let ssb = Ssb::new(0.02).unwrap();
        let mut output = Output::create(
            Box::new(ssb.whole(Table::Lineorder)),
            folder.path().join("lineorder.tbl"),
        )
        .unwrap();
        output.file = File::options().write(true).open("/dev/full").unwrap();
        let failure = write(vec![output], Format::Tbl, 4, &|_| ()).err().unwrap();
        assert!(matches!(failure, Failure::Full { .. }), "{failure}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn more_threads_than_pieces_write_every_piece_once() {
        let folder = tempfile::tempdir().unwrap();
        let ssb = Ssb::new(0.02).unwrap();
        let path = folder.path().join("lineorder.tbl");
        let output = Output::create(Box::new(ssb.whole(Table::Lineorder)), path.clone()).unwrap();
        let written = write(vec![output], Format::Tbl, 50, &|_| ()).unwrap();
        let mut whole = Vec::new();
        assert_eq!(
            ssb.whole(Table::Lineorder)
                .write(&mut whole, Format::Tbl)
                .unwrap(),
            written[0].rows
        );
        assert_eq!(fs::read(path).unwrap(), whole);
    }
}

//! Opens `run.sqlite` to create, read or resume a run, and refuses other files.

use super::{SCHEMA_VERSION, StoreError, packed};
use rusqlite::{Connection, ErrorCode, OpenFlags, Result, TransactionBehavior};
use std::cmp::Ordering;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `pron` in ASCII, <https://sqlite.org/pragma.html#pragma_application_id>.
const APPLICATION_ID: i32 = 0x7072_6f6e;

/// `prsl`: a slim record. It has its own number, so that a prony that does not know slim records refuses it.
pub(super) const SLIM_ID: i32 = 0x7072_736c;

/// How long a statement waits for another process's lock. A trial is written in milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// SQLite's own default, <https://sqlite.org/pragma.html#pragma_wal_autocheckpoint>.
const CHECKPOINT_PAGES: i32 = 1000;

/// Creates the file with `create_new`, so that of two runs with the same name one is refused.
pub(super) fn new(path: &Path) -> Result<Connection, StoreError> {
    File::create_new(path).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => StoreError::Exists(path.to_path_buf()),
        _ => StoreError::file(path, e),
    })?;
    let opened = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let prepared = opened.and_then(prepare);
    prepared.map_err(|e| StoreError::at(path, e))
}

/// Creates the tables in an empty file and leaves the transaction open for the run's row.
pub(super) fn lay(at: &Connection) -> Result<()> {
    at.execute_batch("begin immediate")?;
    at.execute_batch(include_str!("schema.sql"))?;
    at.pragma_update(None, "application_id", APPLICATION_ID)?;
    at.pragma_update(None, "user_version", SCHEMA_VERSION)
}

/// Whether its series and histograms were left out.
pub(super) fn is_slim(at: &Connection) -> Result<bool> {
    let id: i32 = at.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(id == SLIM_ID)
}

pub(super) fn writing(path: &Path) -> Result<Connection, StoreError> {
    exists(path)?;
    if packed::is_packed(path)? {
        return Err(StoreError::Packed(path.to_path_buf()));
    }
    let opened = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let at = opened.map_err(|e| StoreError::at(path, e))?;
    recognise(&at, path, file_bytes(path))?;
    if is_slim(&at).map_err(|e| StoreError::at(path, e))? {
        return Err(StoreError::Slim(path.to_path_buf()));
    }
    prepare(at).map_err(|e| StoreError::at(path, e))
}

/// Commits reach the disk (`synchronous = full`), readers and the writer do not wait for each other (`wal`).
fn prepare(at: Connection) -> Result<Connection> {
    at.busy_timeout(PATIENCE)?;
    at.pragma_update(None, "journal_mode", "wal")?;
    at.pragma_update(None, "synchronous", "full")?;
    at.pragma_update(None, "foreign_keys", true)?;
    Ok(at)
}

/// A transaction whose commit neither waits for the disk nor folds the log into the file. The next one that does wait
/// puts it on the disk with its own.
pub(super) fn without_waiting(
    at: &mut Connection,
    work: impl FnOnce(&Connection) -> Result<()>,
) -> Result<()> {
    at.pragma_update(None, "synchronous", "off")?;
    at.pragma_update(None, "wal_autocheckpoint", 0)?;
    let run = || {
        let transaction = at.transaction_with_behavior(TransactionBehavior::Immediate)?;
        work(&transaction)?;
        transaction.commit()
    };
    let done = run();
    at.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    at.pragma_update(None, "synchronous", "full")?;
    done
}

pub(super) fn reading(path: &Path) -> Result<Connection, StoreError> {
    exists(path)?;
    match packed::unpacked(path)? {
        Some(bytes) => in_memory(path, &bytes),
        None => in_file(path),
    }
}

/// A kept record. Its log, if it was packed while it was written, is not with it: SQLite refuses it.
fn in_memory(path: &Path, bytes: &[u8]) -> Result<Connection, StoreError> {
    let open = || {
        let mut at = Connection::open_in_memory()?;
        at.deserialize_read_exact("main", bytes, bytes.len(), true)?;
        Ok(at)
    };
    let at = open().map_err(|e| StoreError::at(path, e))?;
    match recognise(&at, path, Some(bytes.len() as u64)) {
        Err(StoreError::Sqlite { source, .. }) if needs_shared_memory(&source) => {
            Err(StoreError::PackedTooEarly(path.to_path_buf()))
        }
        recognised => recognised.map(|()| at),
    }
}

fn in_file(path: &Path) -> Result<Connection, StoreError> {
    let recognised = |opened: Result<Connection>| {
        let at = opened.map_err(|e| StoreError::at(path, e))?;
        recognise(&at, path, file_bytes(path)).map(|()| at)
    };
    let plainly = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    match recognised(plainly) {
        Err(StoreError::Sqlite { source, .. }) if needs_shared_memory(&source) => {
            recognised(alone(path))
        }
        opened => opened,
    }
}

fn exists(path: &Path) -> Result<(), StoreError> {
    File::open(path).map(drop).map_err(|e| match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => StoreError::Missing(path.to_path_buf()),
        _ => StoreError::file(path, e),
    })
}

/// The errors that SQLite returns if it cannot create the index file of its log.
fn needs_shared_memory(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
    )
}

/// A file in a folder that cannot be written, which nobody writes therefore: without locks, the index of the log (where
/// a killed run left one) in this process's memory.
fn alone(path: &Path) -> Result<Connection> {
    let how = if has_log(path) {
        "vfs=unix-none"
    } else {
        "immutable=1"
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let at = Connection::open_with_flags(format!("file:{}?mode=ro&{how}", escaped(path)), flags)?;
    at.pragma_update(None, "locking_mode", "exclusive")?;
    Ok(at)
}

/// Whether there is a log with pages that may not be in the file yet.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
        .metadata()
        .is_ok_and(|file| file.len() > 0)
}

/// A path inside a URI, <https://sqlite.org/uri.html#uri_path>.
fn escaped(path: &Path) -> String {
    path.display()
        .to_string()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

/// The size of a file without a log; None if a log may hold more.
fn file_bytes(path: &Path) -> Option<u64> {
    let file = path.metadata().ok().filter(|_| !has_log(path))?;
    Some(file.len())
}

/// Refuses what is not a run, what has fewer bytes than pages, and runs of other schemas.
fn recognise(at: &Connection, path: &Path, there: Option<u64>) -> Result<(), StoreError> {
    let number = |pragma: &str| at.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let name = |e| StoreError::at(path, e);
    at.busy_timeout(PATIENCE).map_err(name)?;
    if ![APPLICATION_ID, SLIM_ID].contains(&number("application_id").map_err(name)?) {
        return Err(StoreError::NotARun(path.to_path_buf()));
    }
    // SQLite counts a truncated page as whole and reads its end as zeros.
    let bytes =
        number("page_count").map_err(name)? as u64 * number("page_size").map_err(name)? as u64;
    if there.is_some_and(|there| there < bytes) {
        return Err(StoreError::Damaged(path.to_path_buf()));
    }
    let (found, known) = (number("user_version").map_err(name)?, SCHEMA_VERSION);
    let path = path.to_path_buf();
    match found.cmp(&known) {
        Ordering::Less => Err(StoreError::Older { path, found, known }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(StoreError::Newer { path, found, known }),
    }
}

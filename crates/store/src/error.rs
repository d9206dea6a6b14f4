//! Errors of `run.sqlite`, each with the file, the cause and the fix.

use record::TrialKey;
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: a run exists here; choose another results folder, or resume it with --resume", .0.display())]
    Exists(PathBuf),
    #[error("{}: no run here; give the folder of a run, which contains run.sqlite", .0.display())]
    Missing(PathBuf),
    #[error("{}: not the record of a prony run, or truncated at its beginning; check the path", .0.display())]
    NotARun(PathBuf),
    #[error("{}: the file is damaged or truncated; restore it from a copy, or repeat the run", .0.display())]
    Damaged(PathBuf),
    #[error("{}: a compressed record can be read, not continued; unpack it first", .0.display())]
    Packed(PathBuf),
    #[error("{}: a slim record has no seconds, so it can be read, not continued; use the whole record", .0.display())]
    Slim(PathBuf),
    #[error("{}: compressed while prony wrote to it, so its end is missing; compress the run again", .0.display())]
    PackedTooEarly(PathBuf),
    #[error("{}: written by a newer prony (schema {found}, this one knows {known}); use that prony", path.display())]
    Newer {
        path: PathBuf,
        found: i32,
        known: i32,
    },
    #[error("{}: written by an older prony (schema {found}, this one reads {known}); use that prony, or repeat the run", path.display())]
    Older {
        path: PathBuf,
        found: i32,
        known: i32,
    },
    #[error("{}: the disk is full, so the trial was not recorded; free space and continue with --resume", .0.display())]
    Full(PathBuf),
    #[error("{}: another program has locked the record; close the program that has it open (sqlite3, for example) and try again, a run with --resume", .0.display())]
    Locked(PathBuf),
    #[error("{}: the trial ({}) is already recorded; finished trials are never repeated", path.display(), key)]
    Recorded { path: PathBuf, key: TrialKey },
    #[error("{}: cannot read a value ({what}); another program wrote to the file", path.display())]
    Unreadable { path: PathBuf, what: String },
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: {source}", path.display())]
    Sqlite {
        path: PathBuf,
        source: rusqlite::Error,
    },
}

impl StoreError {
    pub(super) fn file(path: &Path, source: std::io::Error) -> StoreError {
        let path = path.to_path_buf();
        StoreError::File { path, source }
    }

    /// Gives SQLite's error the file's name and, where one is known, the meaning it has here.
    pub(super) fn at(path: &Path, source: rusqlite::Error) -> StoreError {
        let path = path.to_path_buf();
        if let rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..) = source
        {
            return StoreError::Unreadable {
                path,
                what: source.to_string(),
            };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotARun(path),
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged(path),
            Some(ErrorCode::DiskFull) => StoreError::Full(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked(path),
            _ => StoreError::Sqlite { path, source },
        }
    }
}

//! What can go wrong with `run.sqlite`, each with the file, the cause and the way out.

use crate::trial::TrialKey;
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: there is already a run; choose another results folder, or go on with it by --resume", .0.display())]
    Exists(PathBuf),
    #[error("{}: there is no run here; name the run's folder, one that holds a run.sqlite", .0.display())]
    Missing(PathBuf),
    #[error("{}: this is not the record of a prony run, or it was cut off at its beginning", .0.display())]
    NotARun(PathBuf),
    #[error("{}: the file is damaged or cut off; restore it from a copy, or repeat the run", .0.display())]
    Damaged(PathBuf),
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
    #[error("{}: the disk is full, the trial was not recorded; make room and go on by --resume", .0.display())]
    Full(PathBuf),
    #[error("{}: the trial ({}) is already recorded; a finished trial is never repeated or replaced", path.display(), key)]
    Recorded { path: PathBuf, key: TrialKey },
    #[error("{}: a value in it cannot be read ({what}); another program wrote into the file", path.display())]
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
    /// Gives SQLite's error the file's name and, where one is known, the meaning it has here.
    pub(super) fn of(path: &Path, source: rusqlite::Error) -> StoreError {
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
            _ => StoreError::Sqlite { path, source },
        }
    }
}

//! A file of the user, as messages name it.

use crate::LoadError;
use std::path::Path;

/// The name by which messages call a file: the last part of its path.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// The error of a file that cannot be read.
pub(super) fn not_opened(path: &Path, cause: &std::io::Error) -> LoadError {
    LoadError::Written {
        place: path.display().to_string(),
        says: format!("the file cannot be read: {cause}"),
    }
}

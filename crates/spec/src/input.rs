//! Reads text files that the user names: an experiment, its SQL, a trace.
//!
//! Purpose: a wrong path never hangs and never fills the memory, and a broken text has its place. Boundaries: data files, which are
//! streamed (`workload`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The largest text file that is read.
const BYTES_MAX: u64 = 16 << 20;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is {0}, not a regular file")]
    NotRegular(&'static str),
    #[error("it is larger than {} MiB", BYTES_MAX >> 20)]
    TooLarge,
    /// Line and byte of the line count from 1.
    #[error(
        "line {line}, byte {byte} of the line (0x{value:02x}) is not UTF-8; save the file as UTF-8"
    )]
    NotUtf8 { line: usize, byte: usize, value: u8 },
}

/// Reads a regular file of at most 16 MiB.
///
/// # Errors
/// The file cannot be read, is something else or larger, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, InputError> {
    // Before it is opened, because opening a pipe waits for its writer.
    check_regular(path)?;
    let mut bytes = Vec::new();
    File::open(path)?
        .take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(InputError::TooLarge);
    }
    String::from_utf8(bytes).map_err(|error| {
        let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
        let before = &bytes[..at];
        let start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        InputError::NotUtf8 {
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            byte: at - start + 1,
            value: bytes[at],
        }
    })
}

/// Checks that a path leads to a regular file, without opening it.
///
/// # Errors
/// It does not exist, or is something else.
pub(crate) fn check_regular(path: &Path) -> Result<(), InputError> {
    let kind = fs::metadata(path)?.file_type();
    match (kind.is_file(), kind.is_dir()) {
        (true, _) => Ok(()),
        (_, true) => Err(InputError::NotRegular("a folder")),
        _ => Err(InputError::NotRegular("a device, a pipe or a socket")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        read_text(path).unwrap_err().to_string()
    }

    #[test]
    fn what_never_ends_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [Path::new("/dev/zero"), &socket] {
            let says = "it is a device, a pipe or a socket, not a regular file";
            assert_eq!(refused(path), says);
        }
        assert_eq!(refused(folder.path()), "it is a folder, not a regular file");
    }

    #[test]
    fn a_file_of_more_than_16_mib_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(BYTES_MAX).unwrap();
        assert_eq!(read_text(file.path()).unwrap().len() as u64, BYTES_MAX);
        file.as_file().set_len(1 << 40).unwrap();
        assert_eq!(refused(file.path()), "it is larger than 16 MiB");
    }

    #[test]
    fn a_byte_that_is_not_utf8_has_its_place() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"title = \"t\"\n# \xc3\xa4 \xff\n").unwrap();
        let says = "line 2, byte 6 of the line (0xff) is not UTF-8; save the file as UTF-8";
        assert_eq!(refused(file.path()), says);
    }
}

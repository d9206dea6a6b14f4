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
    #[error("it begins as UTF-16, and is broken; save the file as UTF-8")]
    NotUtf16,
    #[error("it is compressed with {0}; unpack it first")]
    Compressed(&'static str),
}

/// The first bytes of compressed files.
const COMPRESSED: [(&[u8], &str); 5] = [
    (&[0x1f, 0x8b], "gzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
];

const BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// Reads a regular file of at most 16 MiB, in UTF-8, or in UTF-16 with a byte order mark, without that mark.
///
/// # Errors
/// The file cannot be read, is something else or larger, or is no such text.
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
    text_of(bytes)
}

fn text_of(mut bytes: Vec<u8>) -> Result<String, InputError> {
    let compressed = COMPRESSED.iter().find(|(mark, _)| bytes.starts_with(mark));
    if let Some((_, name)) = compressed {
        return Err(InputError::Compressed(name));
    }
    match bytes[..] {
        [0xff, 0xfe, ..] => return utf16(&bytes[2..], u16::from_le_bytes),
        [0xfe, 0xff, ..] => return utf16(&bytes[2..], u16::from_be_bytes),
        _ if bytes.starts_with(BOM) => {
            bytes.drain(..BOM.len());
        }
        _ => {}
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

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, InputError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    match String::from_utf16(&units) {
        Ok(text) if rest.is_empty() => Ok(text),
        _ => Err(InputError::NotUtf16),
    }
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
    fn what_editors_write_before_a_text_is_no_part_of_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "select 'ä';\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            [BOM, text.as_bytes()].concat(),
            [&[0xff, 0xfe], &little[..]].concat(),
            [&[0xfe, 0xff], &big[..]].concat(),
        ] {
            fs::write(file.path(), bytes).unwrap();
            assert_eq!(read_text(file.path()).unwrap(), text);
        }
        fs::write(file.path(), [0xff, 0xfe, 0x41]).unwrap();
        assert!(refused(file.path()).starts_with("it begins as UTF-16"));
    }

    #[test]
    fn a_byte_that_is_not_utf8_has_its_place() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"title = \"t\"\n# \xc3\xa4 \xff\n").unwrap();
        let says = "line 2, byte 6 of the line (0xff) is not UTF-8; save the file as UTF-8";
        assert_eq!(refused(file.path()), says);
    }
}

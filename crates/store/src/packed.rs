//! Kept records: `run.sqlite` compressed by gzip or zstd.
//!
//! Purpose: such a file is read as if it were unpacked. Boundary: it is never written.

use super::StoreError;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::fs::File;
use std::io::{Error, Read};
use std::path::Path;

/// RFC 1952, 2.3.1.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// RFC 8878, 3.1.1.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

#[derive(Clone, Copy)]
enum Packing {
    Gzip,
    Zstd,
}

/// The bytes of a packed record; None for a file that is not packed.
pub(super) fn unpacked(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(packing) = packing(path)? else {
        return Ok(None);
    };
    let file = open(path)?;
    let mut bytes = Vec::new();
    let read = match packing {
        Packing::Gzip => MultiGzDecoder::new(file).read_to_end(&mut bytes),
        Packing::Zstd => StreamingDecoder::new(file)
            .map_err(Error::other)
            .and_then(|mut decoder| decoder.read_to_end(&mut bytes)),
    };
    // Whatever a decoder finds wrong is damage, but for an error of the disk, which has a number.
    read.map_err(|e| match e.raw_os_error() {
        Some(_) => StoreError::file(path, e),
        None => StoreError::Damaged(path.to_path_buf()),
    })?;
    Ok(Some(bytes))
}

pub(super) fn is_packed(path: &Path) -> Result<bool, StoreError> {
    Ok(packing(path)?.is_some())
}

/// Recognises the packing by the first bytes, whatever the file's name.
fn packing(path: &Path) -> Result<Option<Packing>, StoreError> {
    let mut start = Vec::new();
    let read = open(path)?.take(ZSTD.len() as u64).read_to_end(&mut start);
    read.map_err(|e| StoreError::file(path, e))?;
    Ok(match start {
        start if start.starts_with(&GZIP) => Some(Packing::Gzip),
        start if start.starts_with(&ZSTD) => Some(Packing::Zstd),
        _ => None,
    })
}

fn open(path: &Path) -> Result<File, StoreError> {
    File::open(path).map_err(|e| StoreError::file(path, e))
}

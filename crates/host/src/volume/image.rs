//! Writes every byte of an image, so that no later write allocates space in the file system below it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const CHUNK_BYTES: u64 = 4 << 20;
/// The byte that fills the image. It is not zero, because a file system may keep zeros as a hole.
const FILLING: u8 = 0xa5;

/// Writes `bytes` to a new file and waits until they are on disk. Ends early, with an error, if prony is interrupted.
pub(super) fn write(file: &File, bytes: u64) -> io::Result<()> {
    let chunk = vec![FILLING; CHUNK_BYTES as usize];
    for offset in (0..bytes).step_by(CHUNK_BYTES as usize) {
        if crate::interrupted() {
            return Err(io::Error::other("interrupted"));
        }
        let length = CHUNK_BYTES.min(bytes - offset) as usize;
        file.write_all_at(&chunk[..length], offset)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn every_block_of_the_image_is_allocated() {
        let file = tempfile::tempfile().unwrap();
        let bytes = CHUNK_BYTES + 4096;
        write(&file, bytes).unwrap();
        let about = file.metadata().unwrap();
        assert_eq!(about.len(), bytes);
        assert!(about.blocks() * 512 >= bytes, "{}", about.blocks());
    }
}

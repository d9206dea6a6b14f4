//! Files of data: plain, or compressed with gzip or zstd.
//!
//! Purpose: one reader for all three, which counts the bytes on disk. Boundaries: the first bytes decide, not the name.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use server::Sha256;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The text of a file.
pub(crate) type Source = Box<dyn BufRead + Send>;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BUFFER_BYTES: usize = 256 << 10;

/// Opens a file and expands it as it is read. `read` counts the bytes that were taken from the disk.
///
/// # Errors
/// The file cannot be opened or its first bytes cannot be read.
pub(crate) fn open(path: &Path, read: Arc<AtomicU64>) -> io::Result<Source> {
    let file = Counted {
        from: File::open(path)?,
        read,
    };
    let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
    let start = file.fill_buf()?;
    let expanded: Box<dyn Read + Send> = match start {
        _ if start.starts_with(GZIP) => Box::new(MultiGzDecoder::new(file)),
        _ if start.starts_with(ZSTD) => Box::new(Frames {
            from: Some(Frame::Next(file)),
        }),
        _ => return Ok(Box::new(file)),
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, expanded)))
}

/// The hash of a file's bytes, in hexadecimal digits. A file that cannot be read has none: loading it says why.
pub(crate) fn digest(path: &Path) -> String {
    let hash = File::open(path).and_then(|mut file| Sha256::of_rest(&mut file));
    hash.map(Sha256::hex).unwrap_or_default()
}

struct Counted {
    from: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(buffer)?;
        self.read.fetch_add(length as u64, Relaxed);
        Ok(length)
    }
}

/// The frames of a zstd file, one after another; the decoder reads only one.
struct Frames<R: BufRead> {
    /// None after an error.
    from: Option<Frame<R>>,
}

enum Frame<R: BufRead> {
    Next(R),
    Open(Box<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.from.take() {
                None => return Ok(0),
                Some(Frame::Next(mut from)) => {
                    if from.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = StreamingDecoder::new(from).map_err(io::Error::other)?;
                    self.from = Some(Frame::Open(Box::new(decoder)));
                }
                Some(Frame::Open(mut decoder)) => match decoder.read(buffer)? {
                    0 if !buffer.is_empty() => self.from = Some(Frame::Next(decoder.into_inner())),
                    length => {
                        self.from = Some(Frame::Open(decoder));
                        return Ok(length);
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write as _;

    const TEXT: &[u8] = b"select 1;\nselect 2;\n";

    /// Writes a file and reads it as text. Returns the bytes that were counted too.
    fn read(bytes: &[u8]) -> io::Result<(Vec<u8>, u64)> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), bytes)?;
        let counted = Arc::new(AtomicU64::new(0));
        let mut text = Vec::new();
        open(file.path(), Arc::clone(&counted))?.read_to_end(&mut text)?;
        Ok((text, counted.load(Relaxed)))
    }

    fn gzip() -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(TEXT).unwrap();
        gzip.finish().unwrap()
    }

    fn zstd() -> Vec<u8> {
        compress_to_vec(TEXT, CompressionLevel::Fastest)
    }

    #[test]
    fn plain_and_compressed_files_have_the_same_text() {
        for bytes in [TEXT.to_vec(), gzip(), zstd()] {
            let (text, counted) = read(&bytes).unwrap();
            assert_eq!((text.as_slice(), counted), (TEXT, bytes.len() as u64));
        }
    }

    #[test]
    fn a_file_of_several_parts_is_read_to_its_end() {
        for part in [gzip(), zstd()] {
            let (text, _) = read(&[part.clone(), part].concat()).unwrap();
            assert_eq!(text, [TEXT, TEXT].concat());
        }
    }

    #[test]
    fn a_compressed_file_that_was_cut_is_an_error() {
        for whole in [gzip(), zstd()] {
            assert!(read(&whole[..whole.len() - 6]).is_err());
        }
    }

    #[test]
    fn the_digest_follows_the_content() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let empty = digest(file.path());
        std::fs::write(file.path(), TEXT).unwrap();
        assert_ne!(digest(file.path()), empty);
        assert_eq!(digest(Path::new("/no/such/file")), "");
    }
}

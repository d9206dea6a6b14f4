//! Files of data: plain, or compressed with gzip or zstd; of any bytes, or UTF-16, which becomes UTF-8.
//!
//! Purpose: one reader for all, which counts the bytes on disk, without a byte order mark. Boundaries: the first bytes decide, not
//! the name; what is not read is named.

mod utf16;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use server::Sha256;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use utf16::Utf16;

/// The text of a file.
pub(crate) type Source = Box<dyn BufRead + Send>;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BUFFER_BYTES: usize = 256 << 10;
const BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// Formats that are not read: their first bytes, their name, and what unpacks them.
///
/// Source: the file formats' own descriptions, and `file`'s magic numbers.
const OTHERS: [(&[u8], &str, &str); 8] = [
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "xz -dk"),
    (b"BZh", "bzip2", "bzip2 -dk"),
    (b"PK\x03\x04", "zip", "unzip"),
    (&[b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c], "7-Zip", "7z x"),
    (b"Rar!\x1a\x07", "RAR", "unrar x"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "lz4 -dk"),
    (&[0x1f, 0x9d], "compress", "uncompress"),
    (b"LZIP", "lzip", "lzip -dk"),
];
/// Formats that are no text: their first bytes, and what they are.
const NO_TEXT: [(&[u8], &str); 8] = [
    (b"PAR1", "a Parquet file"),
    (b"Obj\x01", "an Avro file"),
    (b"ORC", "an ORC file"),
    (b"SQLite format 3\0", "a database file of SQLite"),
    (b"PGDMP", "an archive of pg_dump"),
    (b"ARROW1", "an Arrow file"),
    (b"\xd0\xcf\x11\xe0", SHEET),
    (b"\0\x01\0\0Standard ", "a database of Access"),
];
const SHEET: &str = "a file of a spreadsheet program";
/// What a download holds in place of the file: how it begins, in lower case, and what to do.
const NO_FILES: [(&[u8], &str); 3] = [
    (
        b"version https://git-lfs.github.com/",
        "it is a pointer of Git LFS to the file: download that (git lfs pull)",
    ),
    (b"<!doctype html", WEB_PAGE),
    (b"<html", WEB_PAGE),
];
const WEB_PAGE: &str = "it is a web page: download the file itself (on GitHub by the button Raw)";
/// Files of programs for tables are zip archives.
const SHEETS: [&str; 3] = ["xlsx", "xlsm", "ods"];
/// Where the mark of a tar archive lies, and the mark.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// Opens a file and expands it as it is read. `read` counts the bytes that were taken from the disk.
///
/// # Errors
/// The file cannot be opened or its first bytes cannot be read, or it has another format, which is named.
pub(crate) fn open(path: &Path, read: Arc<AtomicU64>) -> io::Result<Source> {
    let file = Counted {
        from: File::open(path)?,
        read,
    };
    let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
    let start = file.fill_buf()?;
    if let Some(what) = no_text(path, start) {
        return Err(io::Error::other(format!(
            "it is {what}, which prony does not read: write it as CSV (--load TABLE=FILE.csv)"
        )));
    }
    if let Some(says) = no_file(start) {
        return Err(io::Error::other(says));
    }
    if let Some((_, name, unpack)) = OTHERS.iter().find(|(mark, ..)| start.starts_with(mark)) {
        return Err(io::Error::other(format!(
            "it is compressed with {name}: unpack it first ({unpack} {})",
            path.display()
        )));
    }
    let expanded: Box<dyn Read + Send> = match start {
        _ if start.starts_with(GZIP) => Box::new(MultiGzDecoder::new(file)),
        _ if start.starts_with(ZSTD) || is_skippable(start) => Box::new(Frames {
            from: Some(Frame::Next(file)),
        }),
        _ => return text(path, Box::new(file)),
    };
    let expanded = BufReader::with_capacity(BUFFER_BYTES, expanded);
    text(path, Box::new(expanded))
}

/// What the file is, if it is no text and not compressed.
fn no_text(path: &Path, start: &[u8]) -> Option<&'static str> {
    let extension = path.extension().map(|end| end.to_ascii_lowercase());
    if extension.is_some_and(|end| SHEETS.iter().any(|sheet| end == *sheet)) {
        return Some(SHEET);
    }
    let (_, what) = NO_TEXT.iter().find(|(mark, _)| start.starts_with(mark))?;
    Some(what)
}

/// What is wrong with a download that is not the file.
fn no_file(start: &[u8]) -> Option<&'static str> {
    let start = start.trim_ascii_start();
    let begins = |mark: &[u8]| {
        let start = start.get(..mark.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(mark))
    };
    let (_, says) = NO_FILES.iter().find(|(mark, _)| begins(mark))?;
    Some(says)
}

/// The text without a byte order mark, as UTF-8 if it is UTF-16.
fn text(path: &Path, mut from: Source) -> io::Result<Source> {
    let start = from.fill_buf()?;
    if start.get(TAR.0..).is_some_and(|at| at.starts_with(TAR.1)) {
        return Err(io::Error::other(format!(
            "it is a tar archive: unpack it first (tar -xf {})",
            path.display()
        )));
    }
    let (skipped, is_big_endian) = match start {
        _ if start.starts_with(BOM) => (BOM.len(), None),
        [0xff, 0xfe, ..] => (2, Some(false)),
        [0xfe, 0xff, ..] => (2, Some(true)),
        [_, 0, _, 0, ..] | [0, _, 0, _, ..] => {
            return Err(io::Error::other(format!(
                "it is UTF-16 without a byte order mark: convert it first (iconv -f UTF-16LE -t UTF-8 {})",
                path.display()
            )));
        }
        _ => (0, None),
    };
    from.consume(skipped);
    Ok(match is_big_endian {
        None => from,
        Some(is_big_endian) => {
            let text = Utf16::new(from, is_big_endian);
            Box::new(BufReader::with_capacity(BUFFER_BYTES, text))
        }
    })
}

/// The path of a file in this folder.
///
/// # Errors
/// The file is in another folder, or does not exist.
pub(crate) fn beside(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let whole = |path: &Path| {
        path.canonicalize().map_err(|cause| {
            let says = format!("{} cannot be read: {cause}", path.display());
            io::Error::new(cause.kind(), says)
        })
    };
    let path = folder.join(name);
    let (folder, path) = (whole(folder)?, whole(&path)?);
    if path.starts_with(&folder) && path.is_file() {
        Ok(path)
    } else {
        Err(io::Error::other(format!(
            "prony reads files of the folder {} only",
            folder.display()
        )))
    }
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

/// Whether a frame of a zstd file has no content: pzstd writes one before each other frame, and seekable files end with one.
///
/// Source: "Skippable Frames" in RFC 8878.
fn is_skippable(start: &[u8]) -> bool {
    matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// The frames of a zstd file, one after another; the decoder reads only one.
struct Frames<R: BufRead> {
    /// None after an error.
    from: Option<Frame<R>>,
}

enum Frame<R: BufRead> {
    Next(R),
    Open(Box<StreamingDecoder<Whole<R>, ruzstd::decoding::FrameDecoder>>),
}

/// A frame whose first bytes were looked at, with what follows it.
type Whole<R> = io::Chain<io::Cursor<[u8; 4]>, R>;

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.from.take() {
                None => return Ok(0),
                Some(Frame::Next(mut from)) => {
                    if from.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let mut start = [0; 4];
                    from.read_exact(&mut start)?;
                    if is_skippable(&start) {
                        from.read_exact(&mut start)?;
                        let length = u64::from(u32::from_le_bytes(start));
                        io::copy(&mut (&mut from).take(length), &mut io::sink())?;
                        self.from = Some(Frame::Next(from));
                        continue;
                    }
                    let whole = io::Cursor::new(start).chain(from);
                    let decoder = StreamingDecoder::new(whole).map_err(io::Error::other)?;
                    self.from = Some(Frame::Open(Box::new(decoder)));
                }
                Some(Frame::Open(mut decoder)) => match decoder.read(buffer)? {
                    0 if !buffer.is_empty() => {
                        let state = &decoder.decoder;
                        let sum = state.get_checksum_from_data();
                        if sum.is_some() && sum != state.get_calculated_checksum() {
                            return Err(io::Error::other(
                                "its content does not have the checksum that zstd wrote: copy the file again",
                            ));
                        }
                        let (_, from) = decoder.into_inner().into_inner();
                        self.from = Some(Frame::Next(from));
                    }
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
    fn frames_of_zstd_without_content_are_passed_over() {
        let skipped = [&[0x50_u8, 0x2a, 0x4d, 0x18, 4, 0, 0, 0][..], b"size"].concat();
        let parts = [&skipped[..], &zstd(), &skipped, &zstd(), &skipped];
        let (text, _) = read(&parts.concat()).unwrap();
        assert_eq!(text, [TEXT, TEXT].concat());
    }

    #[test]
    fn a_compressed_file_that_was_cut_is_an_error() {
        for whole in [gzip(), zstd()] {
            assert!(read(&whole[..whole.len() - 6]).is_err());
        }
    }

    #[test]
    fn content_that_has_changed_since_it_was_compressed_is_an_error() {
        let whole = compress_to_vec(TEXT, CompressionLevel::Uncompressed);
        let at = whole.windows(6).position(|part| part == b"select").unwrap();
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert!(read(&whole).is_ok());
        let says = read(&changed).unwrap_err().to_string();
        assert!(says.contains("checksum"), "{says}");
    }

    #[test]
    fn a_byte_order_mark_is_no_text_and_utf_16_becomes_utf_8() {
        let text = "select 'ä𝄞';\r\n";
        let units = || text.encode_utf16();
        let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            [BOM, text.as_bytes()].concat(),
            [&[0xff, 0xfe], &little[..]].concat(),
            [&[0xfe, 0xff], &big[..]].concat(),
        ] {
            assert_eq!(read(&bytes).unwrap().0, text.as_bytes());
        }
        let says = read(&little).unwrap_err().to_string();
        assert!(says.contains("UTF-16 without a byte order mark"), "{says}");
    }

    #[test]
    fn other_formats_are_named_with_what_unpacks_them() {
        for (bytes, says) in [
            (
                &b"\xfd7zXZ\0\0"[..],
                "compressed with xz: unpack it first (xz -dk",
            ),
            (b"BZh91AY", "compressed with bzip2"),
            (b"PAR1\x15\x04", "a Parquet file, which prony does not read"),
            (b"\xd0\xcf\x11\xe0\xa1", "a file of a spreadsheet program"),
            (b"version https://git-lfs.github.com/spec", "git lfs pull"),
            (b"\n<!DOCTYPE html>\n<html>", "a web page"),
            (
                b"PK\x03\x04\x14",
                "compressed with zip: unpack it first (unzip",
            ),
        ] {
            let refused = read(bytes).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
        let mut tar = vec![0; 512];
        tar[..5].copy_from_slice(b"a.sql");
        tar[257..262].copy_from_slice(b"ustar");
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&tar).unwrap();
        let refused = read(&gzip.finish().unwrap()).unwrap_err().to_string();
        assert!(refused.contains("a tar archive"), "{refused}");
    }

    #[test]
    fn files_are_read_only_beside_the_dump() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("a.sql"), "").unwrap();
        std::fs::write(folder.path().join("b.sql"), "").unwrap();
        assert!(beside(&inner, "a.sql").is_ok());
        assert!(beside(folder.path(), "inner/a.sql").is_ok());
        for name in ["../b.sql", "/etc/passwd", "none.sql", "."] {
            assert!(beside(&inner, name).is_err(), "{name}");
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

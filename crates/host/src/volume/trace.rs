//! A recording of a disk: its writes and flushes in order, from which the image at each flush is built again.
//!
//! Purpose: the format, and the disk at a flush. A record is its kind (1 byte), a number (8 bytes, little-endian: the offset of a
//! write, or the microseconds from the beginning to a flush), a length (4 bytes) and the data. The last record may be torn.

use super::survive::Survive;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const HEADER: &[u8] = b"prony disk trace 1\n";
const WRITE: u8 = 1;
const FLUSH: u8 = 2;

/// Writes a recording.
pub(super) struct Recorder {
    file: BufWriter<File>,
    began: Instant,
}

impl Recorder {
    pub(super) fn create(path: &Path) -> io::Result<Recorder> {
        let mut file = BufWriter::new(File::create_new(path)?);
        file.write_all(HEADER)?;
        Ok(Recorder {
            file,
            began: Instant::now(),
        })
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.record(WRITE, offset, data)
    }

    /// Records a flush, and writes what came before to the file, so that a killed daemon leaves it readable up to here.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let at_us = self.began.elapsed().as_micros() as u64;
        self.record(FLUSH, at_us, &[])?;
        self.end()
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn record(&mut self, kind: u8, number: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all(&[kind])?;
        self.file.write_all(&number.to_le_bytes())?;
        self.file.write_all(&(data.len() as u32).to_le_bytes())?;
        self.file.write_all(data)
    }
}

enum Entry {
    Write { offset: u64, data: Vec<u8> },
    Flush { at: Duration },
}

struct Entries(BufReader<File>);

impl Entries {
    fn open(path: &Path) -> io::Result<Entries> {
        let mut file = BufReader::new(File::open(path)?);
        let mut header = Vec::new();
        file.by_ref()
            .take(HEADER.len() as u64)
            .read_to_end(&mut header)?;
        if header == HEADER {
            Ok(Entries(file))
        } else {
            Err(io::Error::other(format!(
                "{} is not a recording of a disk",
                path.display()
            )))
        }
    }

    /// The next entry; None at the end and before a torn one.
    fn next(&mut self) -> io::Result<Option<Entry>> {
        match self.read() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            entry => entry.map(Some),
        }
    }

    fn read(&mut self) -> io::Result<Entry> {
        let (mut kind, mut number, mut length) = ([0], [0; 8], [0; 4]);
        self.0.read_exact(&mut kind)?;
        self.0.read_exact(&mut number)?;
        self.0.read_exact(&mut length)?;
        let number = u64::from_le_bytes(number);
        let mut data = vec![0; u32::from_le_bytes(length) as usize];
        self.0.read_exact(&mut data)?;
        match kind {
            [WRITE] => Ok(Entry::Write {
                offset: number,
                data,
            }),
            [FLUSH] => Ok(Entry::Flush {
                at: Duration::from_micros(number),
            }),
            [other] => Err(io::Error::other(format!(
                "unknown record {other} in the recording of a disk"
            ))),
        }
    }
}

/// The flushes of a recording: how long after its beginning each one was.
///
/// # Errors
/// The file is missing or is not a recording.
pub fn flushes(recording: &Path) -> io::Result<Vec<Duration>> {
    let mut entries = Entries::open(recording)?;
    let mut flushes = Vec::new();
    while let Some(entry) = entries.next()? {
        if let Entry::Flush { at } = entry {
            flushes.push(at);
        }
    }
    Ok(flushes)
}

/// Plays a recording on a copy of the image that it began with, flush by flush.
pub struct Replay {
    entries: Entries,
    image: File,
    /// The flushes that the image has seen.
    flushed: usize,
    /// The writes after that flush and before the next one.
    pending: Vec<(u64, Vec<u8>)>,
}

impl Replay {
    /// `image` is changed: at the beginning it is the disk as it was when the recording began.
    ///
    /// # Errors
    /// A file cannot be opened, or is not a recording.
    pub fn open(recording: &Path, image: &Path) -> io::Result<Replay> {
        let image = File::options().read(true).write(true).open(image)?;
        let mut replay = Replay {
            entries: Entries::open(recording)?,
            image,
            flushed: 0,
            pending: Vec::new(),
        };
        replay.read_ahead()?;
        Ok(replay)
    }

    /// Brings the image to the moment after this flush, counted from 1. Never goes back.
    ///
    /// # Errors
    /// The image cannot be written or the recording cannot be read.
    pub fn advance_to(&mut self, flush: usize) -> io::Result<()> {
        while self.flushed < flush {
            for (offset, data) in std::mem::take(&mut self.pending) {
                self.image.write_all_at(&data, offset)?;
            }
            self.flushed += 1;
            self.read_ahead()?;
        }
        Ok(())
    }

    /// Writes what survives of the writes that followed the flush to another copy of the image.
    ///
    /// # Errors
    /// The image cannot be written.
    pub fn survivors_to(&self, image: &File, survive: Survive, seed: u64) -> io::Result<()> {
        let shapes: Vec<(u64, usize)> = self
            .pending
            .iter()
            .map(|(offset, data)| (*offset, data.len()))
            .collect();
        let chosen = survive.choose(&shapes, seed);
        for ((offset, data), parts) in self.pending.iter().zip(chosen) {
            for part in parts {
                let at = offset + part.start as u64;
                image.write_all_at(&data[part], at)?;
            }
        }
        Ok(())
    }

    fn read_ahead(&mut self) -> io::Result<()> {
        while let Some(Entry::Write { offset, data }) = self.entries.next()? {
            self.pending.push((offset, data));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("trace");
        let mut recorder = Recorder::create(&path).unwrap();
        recorder.write(0, &[1; 512]).unwrap();
        recorder.flush().unwrap();
        recorder.write(512, &[2; 512]).unwrap();
        recorder.write(0, &[3; 512]).unwrap();
        recorder.flush().unwrap();
        recorder.write(512, &[4; 512]).unwrap();
        recorder.end().unwrap();
        path
    }

    fn first_bytes(image: &Path) -> [u8; 2] {
        let bytes = std::fs::read(image).unwrap();
        [bytes[0], bytes[512]]
    }

    #[test]
    fn the_image_is_built_again_at_each_flush() {
        let folder = tempfile::tempdir().unwrap();
        let (trace, image) = (recording(folder.path()), folder.path().join("image"));
        assert_eq!(flushes(&trace).unwrap().len(), 2);
        std::fs::write(&image, [0; 1024]).unwrap();
        let mut replay = Replay::open(&trace, &image).unwrap();
        replay.advance_to(1).unwrap();
        assert_eq!(first_bytes(&image), [1, 0]);
        replay.advance_to(2).unwrap();
        assert_eq!(first_bytes(&image), [3, 2]);
    }

    #[test]
    fn writes_after_the_flush_survive_by_the_mode() {
        let folder = tempfile::tempdir().unwrap();
        let (trace, image) = (recording(folder.path()), folder.path().join("image"));
        let other = folder.path().join("other");
        std::fs::write(&image, [0; 1024]).unwrap();
        let mut replay = Replay::open(&trace, &image).unwrap();
        replay.advance_to(1).unwrap();
        for (mode, expected) in [(Survive::None, [1, 0]), (Survive::All, [3, 2])] {
            std::fs::copy(&image, &other).unwrap();
            let copy = File::options().write(true).open(&other).unwrap();
            replay.survivors_to(&copy, mode, 1).unwrap();
            assert_eq!(first_bytes(&other), expected);
        }
    }

    #[test]
    fn a_torn_last_record_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let trace = recording(folder.path());
        let bytes = std::fs::read(&trace).unwrap();
        std::fs::write(&trace, &bytes[..bytes.len() - 100]).unwrap();
        assert_eq!(flushes(&trace).unwrap().len(), 2);
    }

    #[test]
    fn another_file_is_not_taken_for_a_recording() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        for length in [100, 3, 0] {
            std::fs::write(&other, vec![7_u8; length]).unwrap();
            let says = flushes(&other).unwrap_err().to_string();
            assert!(says.ends_with("is not a recording of a disk"), "{says}");
        }
    }
}

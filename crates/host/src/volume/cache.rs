//! The volatile cache of a disk: writes that no flush has covered yet.
//!
//! Purpose: reads see every write; the image below sees a write only when a flush covers it, or when a cut lets it survive.
//! Outside this module: who sends the requests (`daemon`), which writes survive (`survive`).

use super::survive::{SECTOR_BYTES, Survive};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// An image and the writes that are not on it yet.
pub(super) struct Cache {
    image: File,
    /// The size of the disk.
    bytes: u64,
    /// Writes by their number, which is the order of arrival.
    writes: BTreeMap<u64, Write>,
    /// The number of the last unsynced write of each sector that has one.
    newest: HashMap<u64, u64>,
    next_number: u64,
}

struct Write {
    offset: u64,
    data: Vec<u8>,
    arrived: Instant,
}

impl Write {
    fn sectors(&self) -> Range<u64> {
        sectors(self.offset, self.data.len())
    }
}

fn sectors(offset: u64, length: usize) -> Range<u64> {
    let sector = SECTOR_BYTES as u64;
    offset / sector..(offset + length as u64) / sector
}

impl Cache {
    pub(super) fn over(image: File) -> io::Result<Cache> {
        let bytes = image.metadata()?.len();
        Ok(Cache {
            image,
            bytes,
            writes: BTreeMap::new(),
            newest: HashMap::new(),
            next_number: 0,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes that no flush has covered, and their bytes.
    pub(super) fn unsynced(&self) -> (u64, u64) {
        let bytes = self.writes.values().map(|write| write.data.len() as u64);
        (self.writes.len() as u64, bytes.sum())
    }

    /// Reads up to `length` bytes; fewer at the end of the disk.
    pub(super) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let left = self.bytes.saturating_sub(offset);
        let mut data = vec![0; length.min(usize::try_from(left).unwrap_or(usize::MAX))];
        self.image.read_exact_at(&mut data, offset)?;
        if self.newest.is_empty() {
            return Ok(data);
        }
        for sector in sectors(offset, data.len()) {
            let newest = self.newest.get(&sector);
            let Some(write) = newest.and_then(|number| self.writes.get(number)) else {
                continue;
            };
            let start = sector * SECTOR_BYTES as u64;
            let from = (start - write.offset) as usize;
            let to = (start - offset) as usize;
            data[to..to + SECTOR_BYTES].copy_from_slice(&write.data[from..from + SECTOR_BYTES]);
        }
        Ok(data)
    }

    /// Takes a write of whole sectors within the disk.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let sector = SECTOR_BYTES as u64;
        let end = offset.checked_add(data.len() as u64);
        if !offset.is_multiple_of(sector)
            || !data.len().is_multiple_of(SECTOR_BYTES)
            || end.is_none_or(|end| end > self.bytes)
        {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let number = self.next_number;
        self.next_number += 1;
        let write = Write {
            offset,
            data: data.to_vec(),
            arrived: Instant::now(),
        };
        self.newest
            .extend(write.sectors().map(|sector| (sector, number)));
        self.writes.insert(number, write);
        Ok(())
    }

    /// What a flush that arrives now covers.
    pub(super) fn mark(&self) -> u64 {
        self.next_number
    }

    /// Brings the writes before the mark onto the image.
    pub(super) fn settle(&mut self, before: u64) -> io::Result<()> {
        let later = self.writes.split_off(&before);
        let settled = std::mem::replace(&mut self.writes, later);
        for (number, write) in settled {
            self.image.write_all_at(&write.data, write.offset)?;
            for sector in write.sectors() {
                if self.newest.get(&sector) == Some(&number) {
                    self.newest.remove(&sector);
                }
            }
        }
        Ok(())
    }

    /// Brings the writes onto the image that arrived so long ago.
    pub(super) fn settle_older_than(&mut self, age: Duration) -> io::Result<()> {
        let mut writes = self.writes.iter();
        let recent = writes.find(|(_, write)| write.arrived.elapsed() < age);
        let before = recent.map_or(self.next_number, |(number, _)| *number);
        self.settle(before)
    }

    /// Brings what survives onto the image and forgets the rest. Returns the bytes that survived.
    pub(super) fn cut(&mut self, survive: Survive, seed: u64) -> io::Result<u64> {
        let writes = std::mem::take(&mut self.writes);
        self.newest.clear();
        let shapes: Vec<(u64, usize)> = writes
            .values()
            .map(|write| (write.offset, write.data.len()))
            .collect();
        let mut survived_bytes = 0;
        for (write, parts) in writes.values().zip(survive.choose(&shapes, seed)) {
            for part in parts {
                survived_bytes += part.len() as u64;
                let offset = write.offset + part.start as u64;
                self.image.write_all_at(&write.data[part], offset)?;
            }
        }
        Ok(survived_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (Cache, File) {
        let image = tempfile::tempfile().unwrap();
        image.set_len(64 * 512).unwrap();
        let seen = image.try_clone().unwrap();
        (Cache::over(image).unwrap(), seen)
    }

    fn on_image(image: &File, offset: u64) -> u8 {
        let mut byte = [0];
        image.read_exact_at(&mut byte, offset).unwrap();
        byte[0]
    }

    #[test]
    fn a_read_sees_the_newest_write_of_each_sector() {
        let (mut cache, _) = cache();
        cache.write(0, &[1; 2048]).unwrap();
        cache.write(512, &[2; 512]).unwrap();
        let read = cache.read(256 * 2, 1536).unwrap();
        assert_eq!((read[0], read[511], read[512], read[1535]), (2, 2, 1, 1));
        assert_eq!(cache.read(2048, 512).unwrap(), [0; 512]);
    }

    #[test]
    fn a_write_reaches_the_image_with_a_flush_only() {
        let (mut cache, image) = cache();
        cache.write(512, &[3; 512]).unwrap();
        assert_eq!(on_image(&image, 512), 0);
        cache.settle(cache.mark()).unwrap();
        assert_eq!(on_image(&image, 512), 3);
        assert_eq!(cache.unsynced(), (0, 0));
    }

    #[test]
    fn a_flush_covers_the_writes_before_it_and_no_later_one() {
        let (mut cache, image) = cache();
        cache.write(0, &[1; 512]).unwrap();
        let mark = cache.mark();
        cache.write(0, &[2; 512]).unwrap();
        cache.settle(mark).unwrap();
        assert_eq!(on_image(&image, 0), 1);
        assert_eq!(cache.read(0, 512).unwrap()[0], 2);
        assert_eq!(cache.unsynced(), (1, 512));
    }

    #[test]
    fn a_cut_forgets_what_does_not_survive() {
        let (mut cache, image) = cache();
        cache.write(0, &[1; 512]).unwrap();
        assert_eq!(cache.cut(Survive::None, 1).unwrap(), 0);
        assert_eq!((on_image(&image, 0), cache.read(0, 1).unwrap()[0]), (0, 0));
        cache.write(0, &[1; 512]).unwrap();
        assert_eq!(cache.cut(Survive::All, 1).unwrap(), 512);
        assert_eq!(on_image(&image, 0), 1);
    }

    #[test]
    fn a_later_write_of_a_sector_wins_over_an_earlier_one_that_survives_too() {
        let (mut cache, image) = cache();
        cache.write(0, &[1; 512]).unwrap();
        cache.write(0, &[2; 512]).unwrap();
        cache.cut(Survive::All, 1).unwrap();
        assert_eq!(on_image(&image, 0), 2);
    }

    #[test]
    fn only_old_writes_settle_by_age() {
        let (mut cache, image) = cache();
        cache.write(0, &[1; 512]).unwrap();
        cache.settle_older_than(Duration::from_secs(3600)).unwrap();
        assert_eq!(on_image(&image, 0), 0);
        cache.settle_older_than(Duration::ZERO).unwrap();
        assert_eq!(on_image(&image, 0), 1);
    }

    #[test]
    fn requests_outside_the_disk_or_of_half_sectors_are_refused() {
        let (mut cache, _) = cache();
        assert!(cache.write(63 * 512, &[0; 1024]).is_err());
        assert!(cache.write(1, &[0; 512]).is_err());
        assert!(cache.write(0, &[0; 100]).is_err());
        assert!(cache.write(u64::MAX - 511, &[0; 512]).is_err());
        assert_eq!(cache.read(63 * 512, 4096).unwrap().len(), 512);
        assert_eq!(cache.read(1 << 40, 4096).unwrap().len(), 0);
    }
}

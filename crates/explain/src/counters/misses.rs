//! Pages that missed the buffer pool, and where they came from: the disk, or the page cache of the operating system.
//!
//! A server counts a miss, whoever serves it. Only what the process or its disk read, by their own counters, came from the disk.
//! Those of the disk count all processes, so they can only understate the share of the page cache.

use record::names::{DEVICE_READ, SERVER_READ};
use record::percent;

/// The counter of misses.
pub(crate) const MISSES: &str = "Innodb_buffer_pool_reads";

/// InnoDB's default size of a page, the unit in which reads are counted (bytes). Compressed tables and other page sizes are rare in
/// benchmarks, and a setting says so.
pub(super) const PAGE_BYTES: f64 = 16384.0;
/// Up to this share of the pages is called none, and from the rest on all: redo log, binaries and read-ahead are read too.
const REST: f64 = 0.1;

/// Misses of the buffer pool, and the share of the pages that the page cache served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Misses {
    pub count: f64,
    /// The share from the page cache, from 0 to 1; none if neither the process nor the disk could be observed.
    pub from_page_cache: Option<f64>,
}

impl Misses {
    /// The misses of one span, from its values by name and the setting `innodb_page_size`. None without InnoDB's counters.
    pub fn of(value: impl Fn(&str) -> Option<f64>, page_size: Option<&str>) -> Option<Misses> {
        let read = value(SERVER_READ).or_else(|| value(DEVICE_READ));
        let page_bytes = page_size.and_then(|bytes| bytes.parse().ok());
        let pages = value("Innodb_pages_read");
        Some(Misses::new(value(MISSES)?, pages, read, page_bytes))
    }

    /// `pages`: all pages that were read, those of read-ahead among them. `read_bytes`: what came from the disk. `page_bytes`: the size
    /// of a page, if it is known.
    fn new(
        count: f64,
        pages: Option<f64>,
        read_bytes: Option<f64>,
        page_bytes: Option<f64>,
    ) -> Misses {
        let wanted = pages.unwrap_or(count).max(count) * page_bytes.unwrap_or(PAGE_BYTES);
        let from_disk = read_bytes.filter(|_| wanted > 0.0);
        Misses {
            count,
            from_page_cache: from_disk.map(|read| (1.0 - read / wanted).clamp(0.0, 1.0)),
        }
    }

    /// None without misses, and if the source is unknown.
    pub fn source(&self) -> Option<Source> {
        let cached = self.from_page_cache.filter(|_| self.count > 0.0)?;
        Some(match cached {
            cached if cached >= 1.0 - REST => Source::PageCache,
            cached if cached <= REST => Source::Disk,
            cached => Source::Both(cached),
        })
    }

    /// `served by the OS page cache`; none if the source is unknown.
    pub fn served(&self) -> Option<String> {
        Some(match self.source()? {
            Source::PageCache => "served by the OS page cache".to_string(),
            Source::Disk => "read from disk".to_string(),
            Source::Both(cached) => format!("{} served by the OS page cache", percent(cached)),
        })
    }
}

/// Who served the pages that missed the buffer pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    Disk,
    PageCache,
    /// The share of the page cache, from 0 to 1.
    Both(f64),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(read_bytes: f64) -> Option<String> {
        Misses::new(40_255.0, Some(40_300.0), Some(read_bytes), None).served()
    }

    #[test]
    fn misses_without_disk_reads_are_served_by_the_page_cache() {
        let says = |read_bytes| served(read_bytes).unwrap();
        assert_eq!(says(0.0), "served by the OS page cache");
        assert_eq!(says(40_300.0 * PAGE_BYTES), "read from disk");
        assert_eq!(
            says(10_075.0 * PAGE_BYTES),
            "75 % served by the OS page cache"
        );
    }

    #[test]
    fn nobody_is_named_where_nothing_was_observed_or_missed() {
        assert_eq!(Misses::new(7.0, None, None, None).served(), None);
        assert_eq!(Misses::new(0.0, None, Some(0.0), None).served(), None);
    }

    #[test]
    fn small_pages_need_fewer_bytes() {
        let read = Some(4096.0 * 100.0);
        let misses = Misses::new(100.0, None, read, Some(4096.0));
        assert_eq!(misses.from_page_cache, Some(0.0));
    }
}

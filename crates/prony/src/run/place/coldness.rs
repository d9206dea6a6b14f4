//! Rule 6: a round is cold only with proof. Otherwise it is lukewarm.
//!
//! Purpose: collect and judge the evidence before and after a cold round. Outside this module: emptying caches (`host`); caches below
//! the device, in a controller or a hypervisor, which are not visible here.

use host::cold::{device_reads, evict as evict_files, has_own_cache, residency};
use observe::Observer;
use record::Coldness;
use server::ServerError;
use std::path::Path;

/// InnoDB's default page size, of a server that does not tell its own.
const PAGE_BYTES: u64 = 16 * 1024;

/// Maximum share of the data in a cache before a cold round. A server that has started has read its dictionary and undo pages.
const MAX_RESIDENT: f64 = 0.02;

/// Pages in the pool after a start on an empty database. Pages above that count against `MAX_RESIDENT`.
const START_PAGES: u64 = 2_000;

/// Empties the page cache for a data folder. Returns the name of the method, for the record.
pub(crate) fn empty_page_cache(data: &Path) -> String {
    match evict_files(&[data.to_path_buf()]) {
        Ok(eviction) => eviction.text().to_string(),
        Err(_) => "none".into(),
    }
}

/// The evidence before the first query of a cold round.
pub(crate) struct Before {
    coldness: Coldness,
    /// The size of a page in the buffer pool; None if the pool could not be read.
    page_bytes: Option<u64>,
    device_read_bytes: Option<u64>,
}

impl Before {
    pub(crate) fn look(
        server_restarted: bool,
        eviction: String,
        data: Option<&Path>,
        observer: Option<&mut Observer>,
    ) -> Before {
        let pool = observer.map_or(Ok((None, PAGE_BYTES)), pool);
        let (pool_pages, page_bytes) = match pool {
            Ok((pages, bytes)) => (pages, Some(bytes)),
            Err(_) => (None, None),
        };
        let shown = data.filter(|data| !has_own_cache(data));
        let resident = shown.and_then(|data| residency(data).ok());
        Before {
            coldness: Coldness {
                proved: false,
                eviction,
                server_restarted,
                pool_pages,
                resident_bytes: resident.as_ref().map(|resident| resident.resident_bytes),
                file_bytes: resident.as_ref().map(|resident| resident.file_bytes),
                passes: Some(1),
                device_read_bytes: None,
                reason: None,
            },
            page_bytes,
            device_read_bytes: data.and_then(read_so_far),
        }
    }

    /// Completes the evidence after the round.
    pub(crate) fn after(self, data: Option<&Path>, data_bytes: u64) -> Coldness {
        let mut coldness = self.coldness;
        coldness.device_read_bytes = self
            .device_read_bytes
            .zip(data.and_then(read_so_far))
            .map(|(before, after)| after.saturating_sub(before));
        coldness.reason = objection(&coldness, self.page_bytes, data_bytes);
        coldness.proved = coldness.reason.is_none();
        coldness
    }
}

/// The pages with data in the buffer pool, none without InnoDB, and the bytes of each.
fn pool(observer: &mut Observer) -> Result<(Option<u64>, u64), ServerError> {
    let mut status = |name: &str| {
        let value = observer.status(name)?;
        Ok::<_, ServerError>(value.and_then(|value| u64::try_from(value).ok()))
    };
    let pages = status("Innodb_buffer_pool_pages_data")?;
    Ok((pages, status("Innodb_page_size")?.unwrap_or(PAGE_BYTES)))
}

/// Joins the proofs of a round whose queries were each made cold: keeps the weaker proof and adds up the disk reads.
pub(crate) fn join(one: Coldness, other: Coldness) -> Coldness {
    let device_read_bytes = one
        .device_read_bytes
        .zip(other.device_read_bytes)
        .map(|(a, b)| a + b);
    let passes = one.passes.zip(other.passes).map(|(a, b)| a + b);
    let one_is_weaker = match (one.proved, other.proved) {
        (false, true) => true,
        (true, false) => false,
        _ => one.resident_bytes >= other.resident_bytes,
    };
    let weaker = if one_is_weaker { one } else { other };
    Coldness {
        passes,
        device_read_bytes,
        ..weaker
    }
}

/// Why a round does not count as cold. None if all evidence is in order.
fn objection(coldness: &Coldness, page_bytes: Option<u64>, data_bytes: u64) -> Option<String> {
    if !coldness.server_restarted {
        return Some("the server was not restarted".into());
    }
    if coldness.eviction == "none" {
        return Some("the page cache could not be emptied".into());
    }
    let Some(page_bytes) = page_bytes else {
        return Some("the pages in the buffer pool could not be read".into());
    };
    let pages = coldness.pool_pages.unwrap_or(0).saturating_sub(START_PAGES);
    if (pages * page_bytes) as f64 > data_bytes as f64 * MAX_RESIDENT {
        return Some(format!(
            "the buffer pool held {} pages before the first query",
            coldness.pool_pages.unwrap_or(0)
        ));
    }
    let (Some(resident), Some(files)) = (coldness.resident_bytes, coldness.file_bytes) else {
        return Some(
            "the share of the data in memory is not known: its files cannot be read, or their file system has a cache of its own (ZFS)"
                .into(),
        );
    };
    if resident as f64 > files as f64 * MAX_RESIDENT {
        return Some(format!(
            "{} of {} MiB of the data files were still in the page cache",
            resident >> 20,
            files >> 20
        ));
    }
    if coldness.device_read_bytes == Some(0) {
        return Some("the disk read nothing during the round".into());
    }
    None
}

fn read_so_far(data: &Path) -> Option<u64> {
    device_reads(data).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cold() -> Coldness {
        Coldness {
            proved: false,
            eviction: "drop_caches".into(),
            server_restarted: true,
            pool_pages: Some(300),
            resident_bytes: Some(1 << 20),
            file_bytes: Some(1 << 30),
            passes: Some(1),
            device_read_bytes: Some(600 << 20),
            reason: None,
        }
    }

    #[test]
    fn an_empty_pool_and_an_empty_page_cache_prove_a_cold_round() {
        assert_eq!(objection(&cold(), Some(PAGE_BYTES), 1 << 30), None);
    }

    #[test]
    fn a_page_has_the_size_that_the_server_tells_and_an_unknown_pool_proves_nothing() {
        let of = |page_bytes| {
            let pages = Coldness {
                pool_pages: Some(START_PAGES + 1_000),
                ..cold()
            };
            objection(&pages, page_bytes, 1 << 30)
        };
        assert_eq!(of(Some(16 << 10)), None);
        assert!(of(Some(64 << 10)).unwrap().contains("3000 pages"));
        assert!(of(None).unwrap().contains("could not be read"));
    }

    #[test]
    fn each_missing_piece_of_evidence_is_named() {
        let cases: [(Coldness, &str); 6] = [
            (
                Coldness {
                    server_restarted: false,
                    ..cold()
                },
                "was not restarted",
            ),
            (
                Coldness {
                    eviction: "none".into(),
                    ..cold()
                },
                "could not be emptied",
            ),
            (
                Coldness {
                    pool_pages: Some(40_000),
                    ..cold()
                },
                "the buffer pool held 40000 pages",
            ),
            (
                Coldness {
                    resident_bytes: Some(512 << 20),
                    ..cold()
                },
                "512 of 1024 MiB",
            ),
            (
                Coldness {
                    resident_bytes: None,
                    file_bytes: None,
                    ..cold()
                },
                "a cache of its own (ZFS)",
            ),
            (
                Coldness {
                    device_read_bytes: Some(0),
                    ..cold()
                },
                "read nothing",
            ),
        ];
        for (coldness, part) in cases {
            let reason = objection(&coldness, Some(PAGE_BYTES), 1 << 30).unwrap();
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn a_round_is_as_cold_as_its_warmest_query() {
        let proved = Coldness {
            proved: true,
            ..cold()
        };
        let warm = Coldness {
            reason: Some("warm".into()),
            ..cold()
        };
        let joined = join(proved.clone(), warm.clone());
        assert_eq!(
            (joined.proved, joined.reason.as_deref()),
            (false, Some("warm"))
        );
        assert!(!join(warm, proved.clone()).proved);
        let both = join(proved.clone(), proved);
        assert_eq!(both.device_read_bytes, Some(1200 << 20));
        assert_eq!(both.passes, Some(2));
    }
}

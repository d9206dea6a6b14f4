//! Rule 6: cold is proved, or the round is called lukewarm.
//!
//! Goal: the evidence before and after a cold round, and what it says. Non-goals: how caches are emptied (`host`), and
//! caches below the device, in a controller or a hypervisor, which nothing here can see.

use host::cold::{device_reads, evict as evict_files, residency};
use observe::Observer;
use record::Coldness;
use std::path::Path;

/// The page size of the pool, for its share of the data.
const PAGE_BYTES: u64 = 16 * 1024;

/// A server has read its own dictionary and undo pages by the time it answers; more than this share of the data is not cold.
const MOST_RESIDENT: f64 = 0.02;

/// Pages that a server holds after a start on an empty database; what the pool holds above counts against `MOST_RESIDENT`.
const START_PAGES: u64 = 2_000;

/// Empties the file cache for a data folder; the name of the method for the record.
pub fn evict(data: &Path) -> String {
    match evict_files(&[data.to_path_buf()]) {
        Ok(eviction) => eviction.text().to_string(),
        Err(_) => "none".into(),
    }
}

/// What is seen before the first query of a cold round.
pub struct Before {
    coldness: Coldness,
    device_read_bytes: Option<u64>,
}

impl Before {
    pub fn look(
        server_restarted: bool,
        eviction: String,
        data: Option<&Path>,
        observer: Option<&mut Observer>,
    ) -> Before {
        let pool_pages = observer.and_then(|observer| {
            observer
                .status("Innodb_buffer_pool_pages_data")
                .ok()
                .flatten()
        });
        let resident = data.and_then(|data| residency(data).ok());
        Before {
            coldness: Coldness {
                proved: false,
                eviction,
                server_restarted,
                pool_pages: pool_pages.and_then(|pages| u64::try_from(pages).ok()),
                resident_bytes: resident.as_ref().map(|resident| resident.resident_bytes),
                file_bytes: resident.as_ref().map(|resident| resident.file_bytes),
                device_read_bytes: None,
                reason: None,
            },
            device_read_bytes: data.and_then(read_so_far),
        }
    }

    /// The evidence whole, after the round.
    pub fn after(self, data: Option<&Path>, data_bytes: u64) -> Coldness {
        let mut coldness = self.coldness;
        coldness.device_read_bytes = self
            .device_read_bytes
            .zip(data.and_then(read_so_far))
            .map(|(before, after)| after.saturating_sub(before));
        coldness.reason = objection(&coldness, data_bytes);
        coldness.proved = coldness.reason.is_none();
        coldness
    }
}

/// One proof for a round whose queries were each made cold: the weakest of them, with the device's reads added up.
pub fn join(one: Coldness, other: Coldness) -> Coldness {
    let device_read_bytes = one
        .device_read_bytes
        .zip(other.device_read_bytes)
        .map(|(a, b)| a + b);
    let one_is_weaker = match (one.proved, other.proved) {
        (false, true) => true,
        (true, false) => false,
        _ => one.resident_bytes >= other.resident_bytes,
    };
    let weaker = if one_is_weaker { one } else { other };
    Coldness {
        device_read_bytes,
        ..weaker
    }
}

/// Why a round does not count as cold; none where everything says that it does.
fn objection(coldness: &Coldness, data_bytes: u64) -> Option<String> {
    if !coldness.server_restarted {
        return Some("the server could not be restarted".into());
    }
    if coldness.eviction == "none" {
        return Some("the file cache could not be emptied".into());
    }
    let pages = coldness.pool_pages.unwrap_or(0).saturating_sub(START_PAGES);
    if (pages * PAGE_BYTES) as f64 > data_bytes as f64 * MOST_RESIDENT {
        return Some(format!(
            "the pool held {} pages before the first query",
            coldness.pool_pages.unwrap_or(0)
        ));
    }
    let (Some(resident), Some(files)) = (coldness.resident_bytes, coldness.file_bytes) else {
        return Some("the files' residency in the page cache cannot be seen".into());
    };
    if resident as f64 > files as f64 * MOST_RESIDENT {
        return Some(format!(
            "{} of {} MiB of the data files were still in the page cache",
            resident >> 20,
            files >> 20
        ));
    }
    if coldness.device_read_bytes == Some(0) {
        return Some("the device read nothing during the round".into());
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
            device_read_bytes: Some(600 << 20),
            reason: None,
        }
    }

    #[test]
    fn an_empty_pool_and_files_that_are_not_resident_prove_a_cold_round() {
        assert_eq!(objection(&cold(), 1 << 30), None);
    }

    #[test]
    fn each_missing_piece_of_evidence_is_named() {
        let cases: [(Coldness, &str); 5] = [
            (
                Coldness {
                    server_restarted: false,
                    ..cold()
                },
                "could not be restarted",
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
                "the pool held 40000 pages",
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
                    device_read_bytes: Some(0),
                    ..cold()
                },
                "read nothing",
            ),
        ];
        for (coldness, part) in cases {
            let reason = objection(&coldness, 1 << 30).unwrap();
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn a_round_of_single_queries_is_as_cold_as_its_warmest_one() {
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
        assert_eq!(
            join(proved.clone(), proved).device_read_bytes,
            Some(1200 << 20)
        );
    }
}

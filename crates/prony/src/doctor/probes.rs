//! The probes, as keys of `[workload.fileio]`.

use std::time::Duration;

/// A short load.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) name: &'static str,
    pub(crate) clients: u32,
    /// TOML, without the keys that depend on the disk.
    keys: &'static str,
    pub(crate) files: Files,
    pub(crate) unit: Unit,
    pub(crate) time: Duration,
}

/// What a probe works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// The file that all of these share. Their operations are direct where the file system can.
    Data,
    /// A folder of this name, with a file of its own.
    Own(&'static str),
}

/// How its rate is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Operations,
    /// Bytes per operation.
    Bandwidth(u64),
}

/// Of commits, whose rare slow ones matter.
const LONG: Duration = Duration::from_millis(2_000);
const SHORT: Duration = Duration::from_millis(1_200);
const SOME: u32 = 16;

/// The first one shows how the device is flushed.
pub(crate) const PROBES: [Probe; 9] = [
    append("append 512 B, fdatasync", "log-1", 1, r#"io_size = "512""#),
    append("append 4 KiB, fdatasync", "log-2", 1, r#"io_size = "4K""#),
    append(
        "append 4 KiB, fdatasync",
        "log-3",
        SOME,
        r#"io_size = "4K""#,
    ),
    data("random read 16 KiB", 1, r#"pattern = "random-read""#),
    data("random read 16 KiB", SOME, r#"pattern = "random-read""#),
    data("random write 16 KiB", 1, r#"pattern = "random-write""#),
    data("random write 16 KiB", SOME, r#"pattern = "random-write""#),
    bandwidth("sequential read 1 MiB", r#"pattern = "sequential-read""#),
    bandwidth("sequential write 1 MiB", r#"pattern = "sequential-write""#),
];

/// Appends to a file that grows, as a binary log does.
const fn append(name: &'static str, own: &'static str, clients: u32, keys: &'static str) -> Probe {
    Probe {
        name,
        clients,
        keys,
        files: Files::Own(own),
        unit: Unit::Operations,
        time: LONG,
    }
}

/// Pages, as the buffer pool reads and writes them.
const fn data(name: &'static str, clients: u32, keys: &'static str) -> Probe {
    Probe {
        name,
        clients,
        keys,
        files: Files::Data,
        unit: Unit::Operations,
        time: SHORT,
    }
}

/// Two clients, so that the disk never waits for the next request.
const fn bandwidth(name: &'static str, keys: &'static str) -> Probe {
    Probe {
        unit: Unit::Bandwidth(1 << 20),
        ..data(name, 2, keys)
    }
}

/// The file grows during the whole probe.
const LOG_KEYS: &str = r#"
    pattern = "sequential-write"
    extents = "none"
    direct = false
    fsync = "each"
    sync_call = "fdatasync"
"#;

impl Probe {
    /// The section of the workload. `log_bytes` is the most that an append writes.
    pub(crate) fn section(&self, data_bytes: u64, log_bytes: u64, is_direct: bool) -> toml::Table {
        let mut section = table(self.keys);
        let bytes = match self.files {
            Files::Own(_) => {
                section.extend(table(LOG_KEYS));
                log_bytes
            }
            Files::Data => {
                section.insert("direct".into(), is_direct.into());
                data_bytes
            }
        };
        section.insert("size".into(), format!("{}M", bytes >> 20).into());
        if let Unit::Bandwidth(bytes) = self.unit {
            section.insert("io_size".into(), format!("{}K", bytes >> 10).into());
        }
        section
    }
}

fn table(keys: &str) -> toml::Table {
    keys.parse().expect("a test parses the keys of every probe")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_is_a_workload_on_files() {
        for probe in &PROBES {
            for is_direct in [true, false] {
                let section = probe.section(64 << 20, 32 << 20, is_direct);
                let workload = workload::open("fileio", &section);
                let workload = workload.unwrap_or_else(|error| panic!("{}: {error}", probe.name));
                let files = workload.files().unwrap();
                let is_data = probe.files == Files::Data;
                let bytes = if is_data { 64 << 20 } else { 32 << 20 };
                assert_eq!(files.bytes(), bytes, "{}", probe.name);
                assert_eq!(files.are_direct(), is_direct && is_data, "{}", probe.name);
            }
        }
    }

    #[test]
    fn the_probes_leave_a_few_of_20_seconds_for_making_the_files() {
        let all: Duration = PROBES.iter().map(|probe| probe.time).sum();
        assert!(all <= Duration::from_secs(14), "{all:?}");
    }
}

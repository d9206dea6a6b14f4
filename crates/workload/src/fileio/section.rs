//! The section `[workload.fileio]` of an experiment file.
//!
//! Boundaries: what fits together is checked here; whether the file system can do it shows when the files are made.

use super::places::Pattern;
use crate::keys::{count, truth};
use crate::oltp::distribution;
use datagen::oltp::Distribution;
use spec::Node;

const KEYS: [&str; 13] = [
    "pattern",
    "read_share",
    "io_size",
    "files",
    "size",
    "direct",
    "fsync",
    "sync_call",
    "extents",
    "engine",
    "distribution",
    "zipf_exponent",
    "pareto_share",
];
const FILES_MAX: i64 = 4_096;
const IO_BYTES_MIN: u64 = 512;
const IO_BYTES_MAX: u64 = 16 << 20;
/// Direct I/O needs offsets and lengths in multiples of the device's logical blocks, which have at least this size.
const DIRECT_BYTES: u64 = 512;
const EVERY_MAX: i64 = 1_000_000_000;

/// The section, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub pattern: Pattern,
    /// Of a mixed pattern: the share of reads, from 0 to 1. Default: 0.6, which is sysbench's ratio of 1.5.
    pub read_share: f64,
    /// Bytes per operation. Default: 16 KiB, InnoDB's page.
    pub io_bytes: u64,
    /// Default: 1.
    pub files: u32,
    /// Bytes of one file; all files have the same size.
    pub file_bytes: u64,
    /// Whether the page cache is bypassed (O_DIRECT). Default: true.
    pub direct: bool,
    pub sync: SyncPolicy,
    pub call: SyncCall,
    pub extents: Extents,
    /// Of the places of random patterns. Default: uniform.
    pub distribution: Distribution,
}

/// When written data is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    Never,
    /// Each write ends when it is durable.
    Each,
    /// After this many operations, all files are made durable by an operation of its own.
    Every(u64),
}

/// How written data is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncCall {
    Fsync,
    Fdatasync,
    /// The files are opened with O_DSYNC.
    Dsync,
}

/// What the files consist of before the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extents {
    /// Every byte was written.
    Written,
    /// Allocated by fallocate(2) only: the first write to a block also changes the file system's metadata, and a read of an
    /// unwritten block does not reach the disk.
    Unwritten,
}

impl Section {
    /// Reads the section and notes mistakes.
    pub fn read(section: &spec::Section) -> Option<Section> {
        section.allow("[workload.fileio]", &KEYS);
        let notes_before = section.notes.count();
        let pattern = choice(section, "pattern", &Pattern::NAMES, Pattern::RandomRead);
        let files = count(section, "files", FILES_MAX, 1) as u32;
        let io_bytes = size(section, "io_size", 16 << 10);
        let bytes = size(section, "size", 1 << 30);
        let names = distribution::NAMES.map(|name| (name, name));
        let named = choice(section, "distribution", &names, "uniform");
        distribution::no_other_figure(named, section);
        let read = Section {
            pattern,
            read_share: read_share(section, pattern),
            io_bytes,
            files,
            file_bytes: bytes / u64::from(files),
            direct: truth(section, "direct", true),
            sync: section
                .get("fsync")
                .and_then(|node| sync(&node))
                .unwrap_or(SyncPolicy::Never),
            call: choice(section, "sync_call", &SYNC_CALLS, SyncCall::Fsync),
            extents: choice(section, "extents", &EXTENTS, Extents::Written),
            distribution: distribution::read(named, section)?,
        };
        choice(section, "engine", &[("sync", ())], ());
        read.fits(section);
        (section.notes.count() == notes_before).then_some(read)
    }

    /// The operations that fit into one file.
    pub fn blocks_of_a_file(&self) -> u64 {
        self.file_bytes / self.io_bytes
    }

    fn fits(&self, section: &spec::Section) {
        if !(IO_BYTES_MIN..=IO_BYTES_MAX).contains(&self.io_bytes) {
            let says = "an operation must have from 512 bytes to 16 MiB";
            note(section, &["io_size"], says, "write io_size = \"16K\"");
        } else if self.direct && !self.io_bytes.is_multiple_of(DIRECT_BYTES) {
            let says = "direct I/O needs a multiple of 512 bytes";
            note(
                section,
                &["io_size", "direct"],
                says,
                "write io_size = \"16K\", or direct = false",
            );
        } else if self.blocks_of_a_file() == 0 {
            let says = "a file is smaller than one operation";
            note(
                section,
                &["size", "files"],
                says,
                "use a larger size, or fewer files",
            );
        }
        if self.sync != SyncPolicy::Never && !self.pattern.writes() {
            let says = "a pattern that only reads has nothing to make durable";
            note(
                section,
                &["fsync"],
                says,
                "remove fsync, or use a pattern that writes",
            );
        }
        if self.call == SyncCall::Dsync && self.sync != SyncPolicy::Each {
            let says = "O_DSYNC makes each write durable";
            note(
                section,
                &["sync_call"],
                says,
                "write fsync = \"each\", or another sync_call",
            );
        }
    }
}

const SYNC_CALLS: [(&str, SyncCall); 3] = [
    ("fsync", SyncCall::Fsync),
    ("fdatasync", SyncCall::Fdatasync),
    ("dsync", SyncCall::Dsync),
];
const EXTENTS: [(&str, Extents); 2] = [
    ("written", Extents::Written),
    ("unwritten", Extents::Unwritten),
];

fn choice<T: Clone>(section: &spec::Section, key: &str, choices: &[(&str, T)], default: T) -> T {
    let chosen = section.get(key).and_then(|node| node.choice(choices));
    chosen.unwrap_or(default)
}

fn size(section: &spec::Section, key: &str, default: u64) -> u64 {
    let size = |node: Node| node.size(&format!("{key} = \"{}\"", spec::size_text(default)));
    section.get(key).and_then(size).unwrap_or(default)
}

fn read_share(section: &spec::Section, pattern: Pattern) -> f64 {
    let Some(node) = section.get("read_share") else {
        return 0.6;
    };
    if pattern != Pattern::Mixed {
        node.note(
            "only a mixed pattern has a share of reads",
            "no effect",
            "write pattern = \"mixed\", or remove it",
        );
    }
    let fits = |share: f64| (0.0..=1.0).contains(&share);
    node.number("from 0 to 1", fits, "read_share = 0.6")
        .unwrap_or(0.6)
}

/// `"never"`, `"each"`, or a number of operations.
fn sync(node: &Node) -> Option<SyncPolicy> {
    match node.value.as_str() {
        Some(_) => node.choice(&[("never", SyncPolicy::Never), ("each", SyncPolicy::Each)]),
        None => {
            let every = node.whole(1..=EVERY_MAX, "fsync = \"never\", \"each\" or 100")?;
            Some(SyncPolicy::Every(every as u64))
        }
    }
}

/// Notes a mistake at the first of these keys that the section has.
fn note(section: &spec::Section, keys: &[&str], says: &str, help: &str) {
    let node = keys.iter().find_map(|key| section.get(key));
    let at = node.map_or(section.at.clone(), |node| node.at());
    section
        .notes
        .note(at, says.to_string(), "does not fit", help);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;

    fn read(text: &str) -> Section {
        spec::read_text(text, Section::read).unwrap()
    }

    #[test]
    fn an_empty_section_reads_pages_of_16_kib_at_random_from_a_file_of_1_gib() {
        let section = read("");
        assert_eq!(section.pattern, Pattern::RandomRead);
        assert_eq!((section.io_bytes, section.file_bytes), (16 << 10, 1 << 30));
        assert_eq!((section.files, section.direct), (1, true));
        assert_eq!(
            (section.sync, section.extents),
            (SyncPolicy::Never, Extents::Written)
        );
    }

    #[test]
    fn the_size_is_that_of_all_files() {
        let section = read("size = \"1G\"\nfiles = 4");
        assert_eq!(section.file_bytes, 256 << 20);
        assert_eq!(section.blocks_of_a_file(), 16_384);
    }

    #[test]
    fn writes_are_made_durable_never_each_or_every_so_many() {
        let of = |fsync: &str| read(&format!("pattern = \"random-write\"\nfsync = {fsync}")).sync;
        assert_eq!(of("\"never\""), SyncPolicy::Never);
        assert_eq!(of("\"each\""), SyncPolicy::Each);
        assert_eq!(of("100"), SyncPolicy::Every(100));
    }

    #[test]
    fn what_does_not_fit_is_refused_at_its_key() {
        for (text, key) in [
            ("pattern = \"random\"", "pattern"),
            ("io_size = \"100\"", "io_size"),
            ("io_size = \"32M\"", "io_size"),
            ("io_size = \"1000\"", "io_size"),
            ("size = \"8K\"", "size"),
            ("fsync = 0", "fsync"),
            ("fsync = \"each\"", "fsync"),
            ("read_share = 0.5", "read_share"),
            (
                "pattern = \"random-write\"\nsync_call = \"dsync\"",
                "sync_call",
            ),
            ("engine = \"mmap\"", "engine"),
            ("zipf_exponent = 1", "zipf_exponent"),
            ("block_size = \"16K\"", "block_size"),
        ] {
            assert_mistake_at(text, key, Section::read);
        }
    }

    #[test]
    fn buffered_operations_may_have_any_size() {
        assert_eq!(read("io_size = \"1000\"\ndirect = false").io_bytes, 1_000);
    }
}

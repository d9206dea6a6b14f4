//! The section `[workload.fileio]` of an experiment file.
//!
//! Boundaries: what fits together is checked here; whether the file system can do it shows when the files are made.

use super::engine::Engine;
use super::pattern::Pattern;
use super::presets;
use crate::interface::Precondition;
use crate::keys::{choice, count, truth};
use crate::oltp::distribution;
use datagen::oltp::Distribution;
use spec::Node;
use std::time::Duration;

const KEYS: [&str; 20] = [
    "preset",
    "pattern",
    "read_share",
    "io_size",
    "files",
    "size",
    "direct",
    "fsync",
    "sync_call",
    "extents",
    "doublewrite",
    "verify",
    "precondition",
    "precondition_round",
    "engine",
    "depth",
    "distribution",
    "zipf_exponent",
    "pareto_share",
    "move_every",
];
const FILES_MAX: i64 = 4_096;
const IO_BYTES_MIN: u64 = 512;
const IO_BYTES_MAX: u64 = 16 << 20;
/// Direct I/O needs offsets and lengths in multiples of the device's logical blocks, which have at least this size.
const DIRECT_BYTES: u64 = 512;
const EVERY_MAX: i64 = 1_000_000_000;
const DEPTH_MAX: i64 = 4_096;
/// Every operation in flight has a buffer of its own.
const BUFFERS_MAX_BYTES: u64 = 1 << 30;
const DOUBLEWRITE_BYTES_MAX: u64 = 16 << 20;
const PASSES_MAX: u32 = 100;
/// Of a round of the preconditioning, as in the SNIA specification.
const ROUND: Duration = Duration::from_secs(60);

/// The section, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// What it copies: `the redo log of InnoDB`. None without a preset.
    pub copies: Option<&'static str>,
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
    pub engine: Engine,
    /// Operations that each client has in flight.
    pub depth: u32,
    /// Of the places of random patterns. Default: uniform.
    pub distribution: Distribution,
    /// Operations after which the blocks that the distribution prefers move by one block. None: they stay.
    pub move_every: Option<u64>,
    /// Whether the pages of a batch, which a sync ends, are first written at once to a buffer of their own and made durable there.
    /// Default: false.
    pub doublewrite: bool,
    /// Whether each block carries its place and a checksum, and is read back after the load. Default: false.
    pub verify: bool,
    pub precondition: Option<Precondition>,
}

/// When written data is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    Never,
    /// Each write ends when it is durable.
    Each,
    /// As `Each`, but writes that wait at the same time share one sync.
    Group,
    /// After this many operations, all files are made durable by an operation of its own.
    Every(u64),
    /// After the load, all files are made durable by an operation of its own.
    End,
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
    /// Nothing: the files are empty and grow.
    None,
}

impl Section {
    /// Reads the section and notes mistakes.
    pub fn read(section: &spec::Section) -> Option<Section> {
        let preset = presets::chosen(section);
        let (keys, copies) = preset.map_or(("", None), |one| (one.keys, Some(one.source)));
        let read = |preset: &spec::Section| Some(Section::read_over(section, preset));
        let read = spec::read_text(keys, read).ok().flatten()?;
        Some(Section { copies, ..read })
    }

    /// Reads the section; keys that it does not give come from the preset.
    fn read_over(section: &spec::Section, preset: &spec::Section) -> Option<Section> {
        section.allow("[workload.fileio]", &KEYS);
        let notes_before = section.notes.count();
        let of = |key| match section.get(key) {
            Some(_) => section,
            None => preset,
        };
        let pattern = choice(of("pattern"), "pattern", &Pattern::NAMES);
        let files = count(of("files"), "files", FILES_MAX, 1) as u32;
        let io_bytes = size(of("io_size"), "io_size", 16 << 10);
        let bytes = size(of("size"), "size", 1 << 30);
        let names = distribution::NAMES.map(|name| (name, name));
        let named = choice(section, "distribution", &names);
        distribution::no_other_figure(named, section);
        let read = Section {
            copies: None,
            pattern,
            read_share: read_share(section, pattern),
            io_bytes,
            files,
            file_bytes: bytes / u64::from(files),
            direct: truth(of("direct"), "direct", true),
            sync: of("fsync")
                .get("fsync")
                .and_then(|node| sync(&node))
                .unwrap_or(SyncPolicy::Never),
            call: choice(of("sync_call"), "sync_call", &SYNC_CALLS),
            extents: choice(of("extents"), "extents", &EXTENTS),
            engine: choice(section, "engine", &Engine::NAMES),
            depth: count(section, "depth", DEPTH_MAX, 1) as u32,
            distribution: distribution::read(named, section)?,
            move_every: section
                .get("move_every")
                .and_then(|node| node.whole(1..=EVERY_MAX, "move_every = 10"))
                .map(|every| every as u64),
            doublewrite: truth(of("doublewrite"), "doublewrite", false),
            verify: truth(section, "verify", false),
            precondition: precondition(section),
        };
        read.fits(section);
        (section.notes.count() == notes_before).then_some(read)
    }

    /// The operations that fit into one file.
    pub(crate) fn blocks_of_a_file(&self) -> u64 {
        self.file_bytes / self.io_bytes
    }

    /// The size of the doublewrite buffer. None without one, or without batches that fit into it.
    pub(super) fn doublewrite_bytes(&self) -> Option<u64> {
        let SyncPolicy::Every(pages) = self.sync else {
            return None;
        };
        let bytes = pages.checked_mul(self.io_bytes)?;
        (self.doublewrite && bytes <= DOUBLEWRITE_BYTES_MAX).then_some(bytes)
    }

    /// Notes what does not fit together: of each group the first mistake.
    #[rustfmt::skip]
    fn fits(&self, section: &spec::Section) {
        let (writes, is_sync) = (self.pattern.writes(), self.engine == Engine::Sync);
        let is_drawn = self.distribution != Distribution::Uniform;
        let has_hot_blocks = self.pattern.is_random() && is_drawn;
        let doublewrite_bytes = self.doublewrite_bytes();
        let buffers_bytes = self.io_bytes + doublewrite_bytes.unwrap_or(0);
        note_first(section, &[
            (!(IO_BYTES_MIN..=IO_BYTES_MAX).contains(&self.io_bytes), &["io_size"],
                "an operation must have from 512 bytes to 16 MiB", "write io_size = \"16K\""),
            (self.direct && !self.io_bytes.is_multiple_of(DIRECT_BYTES), &["io_size", "direct"],
                "direct I/O needs a multiple of 512 bytes", "write io_size = \"16K\", or direct = false"),
            (self.file_bytes < self.io_bytes, &["size", "files"],
                "a file is smaller than one operation", "use a larger size, or fewer files"),
        ]);
        note_first(section, &[(self.sync != SyncPolicy::Never && !writes, &["fsync"],
            "a pattern that only reads has nothing to make durable", "remove fsync, or use a pattern that writes")]);
        note_first(section, &[(self.call == SyncCall::Dsync && self.sync != SyncPolicy::Each, &["sync_call"],
            "O_DSYNC makes each write durable", "write fsync = \"each\", or another sync_call")]);
        note_first(section, &[
            (self.move_every.is_some() && !has_hot_blocks, &["move_every"],
                "no blocks are hotter than others, so none move",
                "write distribution = \"pareto\" and a random pattern, or remove move_every"),
            (is_drawn && !has_hot_blocks, &["distribution"],
                "a pattern that goes through the files in order prefers no blocks",
                "write a random pattern, or remove distribution"),
        ]);
        note_first(section, &[(self.extents == Extents::Unwritten && self.pattern.reads(), &["extents"],
            "a read of a block that was never written does not reach the disk",
            "write extents = \"written\", or a pattern that only writes")]);
        note_first(section, &[(self.extents == Extents::None && self.pattern != Pattern::SequentialWrite, &["extents", "pattern"],
            "an empty file can only be appended to", "write pattern = \"sequential-write\", or extents = \"written\"")]);
        note_first(section, &[(self.doublewrite && self.pattern != Pattern::RandomWrite, &["doublewrite", "pattern"],
            "only random writes go through a doublewrite buffer", "write pattern = \"random-write\", or remove doublewrite")]);
        note_first(section, &[(self.doublewrite && doublewrite_bytes.is_none(), &["fsync", "doublewrite"],
            "a doublewrite buffer holds the pages between two syncs, at most 16 MiB", "write fsync = 64")]);
        note_first(section, &[(self.doublewrite && self.verify, &["verify"],
            "the doublewrite buffer holds blocks of other places", "remove verify or doublewrite")]);
        note_first(section, &[(doublewrite_bytes.is_some_and(|bytes| bytes > self.file_bytes), &["size", "doublewrite"],
            "a file is smaller than the doublewrite buffer", "use a larger size")]);
        note_first(section, &[(self.verify && !writes, &["verify"],
            "a pattern that only reads changes no block", "remove verify, or use a pattern that writes")]);
        note_first(section, &[(self.precondition.is_some() && self.extents != Extents::Written, &["precondition"],
            "preconditioning writes every byte", "remove extents or precondition")]);
        note_first(section, &[
            (is_sync && self.depth > 1, &["depth"],
                "blocking calls have one operation in flight per client",
                "write engine = \"io_uring\" or \"libaio\", or use more clients"),
            (self.engine == Engine::Libaio && !self.direct, &["engine"],
                "the kernel runs libaio through the page cache one operation at a time",
                "write engine = \"io_uring\", or direct = true"),
            (!is_sync && self.sync == SyncPolicy::Group, &["engine"],
                "a client that waits for the sync of another one blocks its thread",
                "write engine = \"sync\", or fsync = \"each\""),
            (u64::from(self.depth) * buffers_bytes > BUFFERS_MAX_BYTES, &["depth"],
                "the buffers of a client would take more than 1 GiB", "use a smaller depth or io_size"),
        ]);
    }
}

const SYNC_CALLS: [(&str, SyncCall); 3] = [
    ("fsync", SyncCall::Fsync),
    ("fdatasync", SyncCall::Fdatasync),
    ("dsync", SyncCall::Dsync),
];
const EXTENTS: [(&str, Extents); 3] = [
    ("written", Extents::Written),
    ("unwritten", Extents::Unwritten),
    ("none", Extents::None),
];

/// `"2x"`, with the length of a round.
fn precondition(section: &spec::Section) -> Option<Precondition> {
    let round = section.get("precondition_round").and_then(|node| {
        if section.get("precondition").is_none() {
            let says = "there are no rounds without precondition";
            node.note(
                says,
                "no effect",
                "write precondition = \"2x\", or remove it",
            );
        }
        node.duration("precondition_round = \"60s\"")
    });
    let node = section.get("precondition")?;
    let text = node.text("precondition = \"2x\"")?;
    let passes = text.strip_suffix('x').and_then(|count| count.parse().ok());
    let passes = passes.filter(|passes| (1..=PASSES_MAX).contains(passes));
    if passes.is_none() {
        node.note(
            format!("\"{text}\" does not say how often the files are written"),
            "from \"1x\" to \"100x\"",
            "write precondition = \"2x\"",
        );
    }
    Some(Precondition {
        passes: passes?,
        round: round.unwrap_or(ROUND),
    })
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

/// `"never"`, `"each"`, `"group"`, `"end"`, or a number of operations.
fn sync(node: &Node) -> Option<SyncPolicy> {
    match node.value.as_str() {
        Some(_) => node.choice(&[
            ("never", SyncPolicy::Never),
            ("each", SyncPolicy::Each),
            ("group", SyncPolicy::Group),
            ("end", SyncPolicy::End),
        ]),
        None => {
            let every = node.whole(1..=EVERY_MAX, "fsync = \"never\", \"each\", \"end\" or 100")?;
            Some(SyncPolicy::Every(every as u64))
        }
    }
}

/// Keys that may not fit together: whether they do not, the keys, what is wrong, and the way out.
type Misfit = (bool, &'static [&'static str], &'static str, &'static str);

/// Notes the first mistake of a group, at the first of its keys that the section has.
fn note_first(section: &spec::Section, group: &[Misfit]) {
    let Some((_, keys, says, help)) = group.iter().find(|(is_wrong, ..)| *is_wrong) else {
        return;
    };
    let node = keys.iter().find_map(|key| section.get(key));
    let at = node.map_or(section.at.clone(), |node| node.at());
    section.notes.note(at, *says, "does not fit", *help);
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
    fn writes_are_made_durable_never_each_by_group_every_so_many_or_at_the_end() {
        let of = |fsync: &str| read(&format!("pattern = \"random-write\"\nfsync = {fsync}")).sync;
        assert_eq!(of("\"never\""), SyncPolicy::Never);
        assert_eq!(of("\"each\""), SyncPolicy::Each);
        assert_eq!(of("\"group\""), SyncPolicy::Group);
        assert_eq!(of("100"), SyncPolicy::Every(100));
        assert_eq!(of("\"end\""), SyncPolicy::End);
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
            ("depth = 8", "depth"),
            ("engine = \"io_uring\"\ndepth = 0", "depth"),
            ("engine = \"libaio\"\ndirect = false", "engine"),
            (
                "engine = \"libaio\"\ndepth = 4096\nio_size = \"1M\"",
                "depth",
            ),
            ("zipf_exponent = 1", "zipf_exponent"),
            ("move_every = 10", "move_every"),
            ("distribution = \"pareto\"\nmove_every = 0", "move_every"),
            (
                "pattern = \"sequential-read\"\ndistribution = \"pareto\"\nmove_every = 10",
                "move_every",
            ),
            (
                "pattern = \"sequential-read\"\ndistribution = \"zipfian\"",
                "distribution",
            ),
            ("extents = \"unwritten\"", "extents"),
            ("pattern = \"mixed\"\nextents = \"unwritten\"", "extents"),
            ("preset = \"scan\"\nextents = \"unwritten\"", "extents"),
            ("block_size = \"16K\"", "block_size"),
            ("preset = \"undo\"", "preset"),
            ("preset = \"redo\"\nengine = \"libaio\"", "engine"),
            ("extents = \"none\"", "extents"),
            (
                "doublewrite = true\npattern = \"mixed\"\nfsync = 64",
                "doublewrite",
            ),
            (
                "doublewrite = true\npattern = \"random-write\"",
                "doublewrite",
            ),
            ("verify = true", "verify"),
            ("precondition = \"twice\"", "precondition"),
            ("precondition = \"0x\"", "precondition"),
            ("precondition_round = \"1s\"", "precondition_round"),
            (
                "pattern = \"random-write\"\nprecondition = \"2x\"\nextents = \"unwritten\"",
                "precondition",
            ),
            ("preset = \"page-cleaner\"\nverify = true", "verify"),
            ("preset = \"page-cleaner\"\nsize = \"1M\"", "size"),
        ] {
            assert_mistake_at(text, key, Section::read);
        }
    }

    #[test]
    fn a_preset_gives_keys_that_the_section_does_not_give() {
        let redo = read("preset = \"redo\"");
        assert_eq!(redo.pattern, Pattern::SequentialWrite);
        assert_eq!(
            (redo.sync, redo.call),
            (SyncPolicy::Group, SyncCall::Fdatasync)
        );
        let changed = read("preset = \"redo\"\nio_size = \"8K\"\nsync_call = \"fsync\"");
        assert_eq!((changed.io_bytes, changed.call), (8 << 10, SyncCall::Fsync));
        let rest = Section {
            io_bytes: redo.io_bytes,
            call: redo.call,
            ..changed
        };
        assert_eq!(rest, redo);
    }

    #[test]
    fn every_preset_can_be_used_as_it_is() {
        for preset in &presets::PRESETS {
            let section = read(&format!("preset = \"{}\"", preset.name));
            assert_eq!(section.copies, Some(preset.source));
        }
    }

    #[test]
    fn preconditioning_has_rounds_of_a_minute_unless_the_section_says_otherwise() {
        let of = |text| read(text).precondition.unwrap();
        let default = of("precondition = \"2x\"");
        assert_eq!((default.passes, default.round), (2, ROUND));
        let short = of("precondition = \"1x\"\nprecondition_round = \"2s\"");
        assert_eq!((short.passes, short.round), (1, Duration::from_secs(2)));
    }

    #[test]
    fn buffered_operations_may_have_any_size() {
        assert_eq!(read("io_size = \"1000\"\ndirect = false").io_bytes, 1_000);
    }
}

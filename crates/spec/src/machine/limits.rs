//! `[limits]`: the resources that a managed server may use, and disk presets.
//!
//! Purpose: the keys, their ranges and the presets. Boundaries: `host::limits` applies them and checks that the machine can.

use crate::file::read::{NONE, Node};
use crate::text::setting::Setting;
use crate::text::unit;
use std::fmt;

/// What `[limits]` or a level changes: the outer None means "unchanged", the inner one "no limit".
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitsPatch {
    pub read_iops: Option<Option<u64>>,
    pub write_iops: Option<Option<u64>>,
    /// Bytes per second.
    pub read_bandwidth: Option<Option<u64>>,
    pub write_bandwidth: Option<Option<u64>>,
    pub memory: Option<Option<Memory>>,
    /// CPUs; 0.5 is half of one.
    pub cpus: Option<Option<f64>>,
}

/// A memory limit, which includes the page cache of the files that the server reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Memory {
    Bytes(u64),
    /// A multiple of the size of the loaded data: `"data / 3"`.
    OfData(f64),
}

impl Memory {
    pub fn bytes(self, data_bytes: u64) -> u64 {
        match self {
            Memory::Bytes(bytes) => bytes,
            Memory::OfData(factor) => (data_bytes as f64 * factor) as u64,
        }
    }
}

const KEYS: [&str; 7] = [
    "disk",
    "read_iops",
    "write_iops",
    "read_bandwidth",
    "write_bandwidth",
    "memory",
    "cpus",
];

/// A quota of 1 ms in each period of 100 ms, the minimum of the kernel's cpu controller.
const CPUS_MIN: f64 = 0.01;

/// The limits that emulate a kind of disk.
struct Disk {
    name: &'static str,
    read_iops: u64,
    write_iops: u64,
    /// Bytes per second.
    read_bandwidth: u64,
    write_bandwidth: u64,
}

const MB: u64 = 1_000_000;
const MIB: u64 = 1 << 20;

/// docs/REFERENCE.md, "Disks by name", cites the source of each figure.
#[rustfmt::skip]
const DISKS: [Disk; 4] = [
    // A request costs a seek and half a rotation: 1 / (8.5 ms + 4.17 ms) = 79.
    Disk { name: "7200rpm", read_iops: 79, write_iops: 79, read_bandwidth: 156 * MB, write_bandwidth: 156 * MB },
    // 1 / (12 ms + 5.56 ms) = 57.
    Disk { name: "5400rpm", read_iops: 57, write_iops: 57, read_bandwidth: 110 * MB, write_bandwidth: 110 * MB },
    // Intel 520, random 16 KiB requests: Vadim Tkachenko, 2012 (P4 in docs/REPLICATION.md).
    Disk {
        name: "sata-ssd",
        read_iops: 370 * MIB / (16 << 10),
        write_iops: 300 * MIB / (16 << 10),
        read_bandwidth: 550 * MB,
        write_bandwidth: 520 * MB,
    },
    Disk { name: "nvme", read_iops: 460_000, write_iops: 175_000, read_bandwidth: 2_800 * MB, write_bandwidth: 2_000 * MB },
];

/// Reads `[limits]` or the `limits` of a level. Explicit keys override those of a preset.
pub(crate) fn limits(node: &Node) -> Option<LimitsPatch> {
    let section = node.section("limits = { read_iops = 400 }")?;
    section.allow("limits", &KEYS);
    let given = LimitsPatch {
        read_iops: section.read_or_none("read_iops", operations),
        write_iops: section.read_or_none("write_iops", operations),
        read_bandwidth: section.read_or_none("read_bandwidth", bytes),
        write_bandwidth: section.read_or_none("write_bandwidth", bytes),
        memory: section.read_or_none("memory", memory),
        cpus: section.read_or_none("cpus", cpus),
    };
    Some(given.over(section.read("disk", disk).unwrap_or_default()))
}

fn disk(node: &Node) -> Option<LimitsPatch> {
    let name = node.text("disk = \"7200rpm x4\"")?;
    let found = striped(name).and_then(|(one, count)| {
        let disk = DISKS.iter().find(|disk| disk.name == one)?;
        Some((disk, count))
    });
    if found.is_none() && name != NONE {
        let names: Vec<&str> = DISKS.iter().map(|disk| disk.name).chain([NONE]).collect();
        node.notes.unknown(node.at(), "the disk", name, &names);
        return None;
    }
    let limit = |of: fn(&Disk) -> u64| Some(found.map(|(disk, count)| of(disk) * count));
    Some(LimitsPatch {
        read_iops: limit(|disk| disk.read_iops),
        write_iops: limit(|disk| disk.write_iops),
        read_bandwidth: limit(|disk| disk.read_bandwidth),
        write_bandwidth: limit(|disk| disk.write_bandwidth),
        ..LimitsPatch::default()
    })
}

/// Splits `7200rpm x4` into the preset and the number of striped disks, which share the requests evenly.
fn striped(name: &str) -> Option<(&str, u64)> {
    match name.split_once(" x") {
        Some((one, count)) => {
            let count: u64 = count.parse().ok()?;
            (1..=64).contains(&count).then_some((one, count))
        }
        None => Some((name, 1)),
    }
}

/// Reads a number of operations per second.
fn operations(node: &Node) -> Option<u64> {
    let example = format!("{} = 400", node.key);
    node.count(&example).map(u64::from)
}

/// Reads a size; a bandwidth is a size per second.
fn bytes(node: &Node) -> Option<u64> {
    let example = format!("{} = \"64M\"", node.key);
    let help = format!("write {example}");
    let bytes = unit::size_bytes(node.text(&example)?);
    let bytes = node.noted(bytes, "not a size", help.as_str())?;
    if bytes < MIB {
        let says = format!("{} is below 1M, which is too low to be useful", node.key);
        node.note(says, "too small", help);
        return None;
    }
    Some(bytes)
}

fn memory(node: &Node) -> Option<Memory> {
    let text = node.value.as_str();
    match text.and_then(|text| Setting::from_text(text).ok()) {
        Some(Setting::OfData(factor)) => Some(Memory::OfData(factor)),
        _ => bytes(node).map(Memory::Bytes),
    }
}

fn cpus(node: &Node) -> Option<f64> {
    let cpus = node.positive("cpus = 1.5")?;
    if cpus < CPUS_MIN {
        let says =
            format!("cpus = {cpus} is below {CPUS_MIN}, the minimum that the kernel supports");
        node.note(says, "too small", "write cpus = 1.5");
        return None;
    }
    Some(cpus)
}

/// What it changes: `write_iops = 200, memory = none`.
impl fmt::Display for LimitsPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys().map(|(name, value)| format!("{name} = {value}"));
        f.write_str(&keys.collect::<Vec<_>>().join(", "))
    }
}

impl LimitsPatch {
    /// The keys with their values; the inner None lifts a limit.
    fn all(&self) -> [(&'static str, Option<Option<String>>); 6] {
        let whole =
            |limit: Option<Option<u64>>| limit.map(|limit| limit.map(|one| one.to_string()));
        let memory = |memory: Memory| match memory {
            Memory::Bytes(bytes) => bytes.to_string(),
            Memory::OfData(factor) => Setting::OfData(factor).to_string(),
        };
        [
            ("read_iops", whole(self.read_iops)),
            ("write_iops", whole(self.write_iops)),
            ("read_bandwidth", whole(self.read_bandwidth)),
            ("write_bandwidth", whole(self.write_bandwidth)),
            ("memory", self.memory.map(|limit| limit.map(memory))),
            (
                "cpus",
                self.cpus.map(|limit| limit.map(|one| one.to_string())),
            ),
        ]
    }

    /// The keys in it, with their values as in a file.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&'static str, String)> {
        let given = self.all().into_iter();
        given.filter_map(|(name, value)| Some((name, value?.unwrap_or(NONE.to_string()))))
    }

    /// The keys of the limits in it, without those that it lifts.
    pub fn names(&self) -> Vec<&'static str> {
        let limited = self.all().into_iter();
        limited
            .filter_map(|(name, value)| value?.map(|_| name))
            .collect()
    }

    /// Overrides an earlier patch, key by key.
    pub fn over(self, earlier: LimitsPatch) -> LimitsPatch {
        LimitsPatch {
            read_iops: self.read_iops.or(earlier.read_iops),
            write_iops: self.write_iops.or(earlier.write_iops),
            read_bandwidth: self.read_bandwidth.or(earlier.read_bandwidth),
            write_bandwidth: self.write_bandwidth.or(earlier.write_bandwidth),
            memory: self.memory.or(earlier.memory),
            cpus: self.cpus.or(earlier.cpus),
        }
    }
}

//! What is compared: kept records, comparisons and merges, each with its reference in `bench/same_figures/reference/`.

use super::{compare, figures, packed};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folders of `bench/results/` of which every record has a reference.
const FOLDERS: [&str; 4] = ["before", "p1", "p2", "p6"];

/// Further records of `bench/results/`, without their extensions: a record of each kind of trial.
const RESULTS: [&str; 10] = [
    "decides/same-01-oltp",
    "decides/same-03-oltp",
    "p3/quick",
    "p4/ssd-write-threads",
    "p5/ext4-xfs-unwritten",
    "p7/workers",
    "p8/update-cached",
    "p9/node-lost-killed",
    "p9/nodes-1-2-3",
    "p9/shards-merged",
];

/// Small whole records in `bench/same_figures/records/`: a crash under TPC-C, two nodes, files.
const WHOLE: [&str; 3] = ["crash", "cluster", "files"];

/// A larger record stays in the tree in its slim form alone.
const LARGE_BYTES: u64 = 200 * 1024;

/// What prony is asked about a case.
pub(super) enum Asked {
    /// `prony show` of a record.
    Show(PathBuf),
    /// `prony compare` of records.
    Compare([PathBuf; 2]),
    /// `prony show` of what `prony merge` makes of the records of shards.
    Merge([PathBuf; 2]),
}

/// Something that prony reports figures of.
pub(super) struct Case {
    /// Such as `p1-scale-1-own-plans`.
    pub(super) name: String,
    pub(super) asked: Asked,
}

impl Case {
    pub(super) fn all() -> Vec<Case> {
        let results = bench().join("results");
        let in_folder = |folder: &str| {
            let records = entries(&results.join(folder)).into_iter();
            let names = records.filter_map(|path| Some(stem(&path)?.to_string()));
            names
                .map(|name| format!("{folder}/{name}"))
                .collect::<Vec<_>>()
        };
        let mut names: Vec<String> = FOLDERS.into_iter().flat_map(in_folder).collect();
        names.extend(RESULTS.map(String::from));
        names.sort();
        let shown = names.iter().map(|name| Case {
            name: name.replace('/', "-"),
            asked: Asked::Show(record(&results, name)),
        });
        shown.chain(of_own_records(&results)).collect()
    }

    fn file(&self) -> PathBuf {
        let folder = bench().join("same_figures/reference");
        folder.join(format!("{}.gz", self.name))
    }

    /// Whether only the slim form of its record is kept.
    pub(super) fn is_large(&self) -> bool {
        let bytes = |path: &PathBuf| path.metadata().map_or(0, |file| file.len());
        matches!(&self.asked, Asked::Show(record) if bytes(record) > LARGE_BYTES)
    }

    pub(super) fn has_reference(&self) -> bool {
        self.file().is_file()
    }

    /// The stored reference, if it exists.
    pub(super) fn reference(&self) -> Option<Value> {
        let packed = std::fs::read(self.file()).ok()?;
        Some(packed::unpack(&packed))
    }

    /// Where the figures that `prony` reports now differ from the reference; None without one.
    pub(super) fn differences(&self, prony: &Path) -> Option<Vec<String>> {
        let before = self.reference()?;
        let mut now = figures::of(prony, &self.asked);
        if before["samples"].is_null() {
            figures::leave_out_seconds(&mut now);
        }
        Some(compare::differences(&before, &now))
    }

    pub(super) fn keep(&self, figures: Value) {
        let file = self.file();
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a writable folder");
        std::fs::write(file, packed::pack(figures)).expect("a writable file");
    }
}

fn of_own_records(results: &Path) -> Vec<Case> {
    let own = bench().join("same_figures/records");
    let shown = WHOLE.map(|name| Case {
        name: format!("whole-{name}"),
        asked: Asked::Show(record(&own, name)),
    });
    let compare = ["decides/same-01-oltp", "decides/same-03-oltp"];
    let both = [
        (
            "compare",
            Asked::Compare(compare.map(|name| record(results, name))),
        ),
        (
            "merge",
            Asked::Merge(["shard-1", "shard-2"].map(|name| record(&own, name))),
        ),
    ];
    let both = both.map(|(name, asked)| Case {
        name: name.into(),
        asked,
    });
    shown.into_iter().chain(both).collect()
}

/// The SQLite file of this name, packed or not.
fn record(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let name = path.file_name().expect("a name").to_str();
    let mut records = entries(path.parent().expect("a folder")).into_iter();
    let found = records.find(|file| stem(file) == name);
    found.unwrap_or_else(|| panic!("{} is no record", path.display()))
}

/// The name of a record without its extensions; None for another file.
fn stem(path: &Path) -> Option<&str> {
    let (name, packing) = path.file_name()?.to_str()?.split_once(".sqlite")?;
    ["", ".gz", ".zst"].contains(&packing).then_some(name)
}

fn bench() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

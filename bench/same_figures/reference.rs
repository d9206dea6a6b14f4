//! What is compared: kept records, comparisons and merges, each with its reference in `bench/same_figures/reference/`.

use super::{compare, figures, packed};
use ruzstd::decoding::StreamingDecoder;
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folders of `bench/results/` of which every record has a reference.
const FOLDERS: [&str; 4] = ["before", "p1", "p2", "p6"];

/// Further records of `bench/results/`, without their extensions: a record of each kind of trial.
const RESULTS: [&str; 10] = [
    "decides/same-01-oltp",
    "decides/same-03-oltp",
    "p3/quick",
    "p4/ssd-write-threads",
    "p5/one-file",
    "p7/workers",
    "p8/update-cached",
    "p9/node-lost-killed",
    "p9/nodes-1-2-3",
    "p9/shards-merged",
];

/// Small whole records in `bench/same_figures/records/`: a crash under TPC-C, two nodes, files.
const WHOLE: [&str; 3] = ["crash", "cluster", "files"];

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
        folder.join(format!("{}.zst", self.name))
    }

    pub(super) fn has_reference(&self) -> bool {
        self.file().is_file()
    }

    /// The stored reference, if it exists.
    pub(super) fn reference(&self) -> Option<Value> {
        let file = File::open(self.file()).ok()?;
        let text = StreamingDecoder::new(file).expect("a reference compressed by zstd");
        let packed = serde_json::from_reader(BufReader::new(text)).expect("JSON");
        Some(packed::unpack(packed))
    }

    /// Where the figures that `prony` reports now differ from the reference; None without one.
    pub(super) fn differences(&self, prony: &Path) -> Option<Vec<String>> {
        let now = figures::of(prony, &self.asked);
        Some(compare::differences(&self.reference()?, &now))
    }

    /// Compresses them with the program `zstd`: a third of what gzip needs.
    pub(super) fn keep(&self, figures: Value) {
        let mut zstd = Command::new("zstd")
            .args(["--ultra", "-22", "-q", "-o"])
            .arg(self.file())
            .stdin(Stdio::piped())
            .spawn()
            .expect("zstd is installed");
        let text = zstd.stdin.take().expect("a pipe");
        serde_json::to_writer(text, &packed::pack(figures)).expect("zstd reads");
        assert!(zstd.wait().expect("zstd ends").success());
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

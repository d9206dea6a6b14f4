//! Finds the records in `bench/results/` and their references in `bench/same_figures/reference/`.

use super::packed;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folders of `bench/results/` with records of earlier versions. Newer records become references when their format changes.
const FOLDERS: [&str; 4] = ["before", "p1", "p2", "p6"];

pub(super) struct Record {
    /// Such as `p1-scale-1-own-plans`.
    pub(super) name: String,
    /// The SQLite file, packed or not.
    pub(super) path: PathBuf,
}

impl Record {
    /// Every `FOLDER/NAME.sqlite` and `FOLDER/NAME.sqlite.zst`, by name.
    pub(super) fn all() -> Vec<Record> {
        let in_folder = |folder: &str| {
            let entries = entries(&bench().join("results").join(folder));
            let record = |path| Record::at(folder, path);
            entries.into_iter().filter_map(record).collect::<Vec<_>>()
        };
        let mut records: Vec<Record> = FOLDERS.into_iter().flat_map(in_folder).collect();
        records.sort_by(|a, b| a.name.cmp(&b.name));
        records
    }

    /// None for a file that is not a record.
    fn at(folder: &str, path: PathBuf) -> Option<Record> {
        let file = path.file_name()?.to_str()?;
        let name = file.strip_suffix(".zst").unwrap_or(file);
        let name = format!("{folder}-{}", name.strip_suffix(".sqlite")?);
        Some(Record { name, path })
    }

    fn file(&self) -> PathBuf {
        let folder = bench().join("same_figures/reference");
        folder.join(format!("{}.gz", self.name))
    }

    pub(super) fn has_reference(&self) -> bool {
        self.file().is_file()
    }

    /// The stored reference, if it exists.
    pub(super) fn reference(&self) -> Option<Value> {
        let packed = std::fs::read(self.file()).ok()?;
        Some(packed::unpack(&packed))
    }

    pub(super) fn keep(&self, figures: Value) {
        let file = self.file();
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a writable folder");
        std::fs::write(file, packed::pack(figures)).expect("a writable file");
    }
}

fn bench() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

//! Finds the records in `bench/results/` and their references in `bench/same_figures/reference/`.

use super::packed;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(super) struct Record {
    /// Such as `p1-scale-1-own-plans`.
    pub(super) name: String,
    /// The SQLite file.
    pub(super) path: PathBuf,
}

impl Record {
    /// Every `bench/results/FOLDER/NAME.sqlite`, by name.
    pub(super) fn all() -> Vec<Record> {
        let mut records: Vec<Record> = entries(&bench().join("results"))
            .iter()
            .flat_map(|folder| entries(folder))
            .filter(|path| path.extension().is_some_and(|e| e == "sqlite"))
            .map(Record::at)
            .collect();
        records.sort_by(|a, b| a.name.cmp(&b.name));
        records
    }

    fn at(path: PathBuf) -> Record {
        let stem = |path: &Path| -> String {
            let stem = path.file_stem().unwrap_or_default();
            stem.to_string_lossy().into_owned()
        };
        let folder = path.parent().map(stem).unwrap_or_default();
        Record {
            name: format!("{folder}-{}", stem(&path)),
            path,
        }
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

/// The paths in a folder. Empty for a file.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

//! The records that are kept in the tree can be read, and are slim where they say so.

use record::Trial;
use std::path::{Path, PathBuf};
use store::Store;

/// Every file below a folder whose name is that of a record.
fn records(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(records(&path));
        } else if path.to_string_lossy().contains(".sqlite") {
            found.push(path);
        }
    }
    found
}

fn has_seconds(trial: &Trial) -> bool {
    let load = trial.load.as_ref();
    load.is_some_and(|load| !load.series.is_empty() || !load.histograms.is_empty())
}

#[test]
fn every_kept_record_can_be_read_and_the_slim_ones_have_no_seconds() {
    let kept = records(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench"));
    assert!(kept.len() > 20, "{kept:?}");
    for path in kept {
        let store = Store::open(&path).unwrap();
        let is_slim = store.run().unwrap().slim.is_some();
        let trials = store.trials_whole().unwrap();
        assert!(!trials.is_empty(), "{}", path.display());
        let loads = trials.iter().filter(|trial| trial.load.is_some()).count();
        let whole = trials.iter().filter(|trial| has_seconds(trial)).count();
        let expected = if is_slim { 0 } else { loads };
        assert_eq!(whole, expected, "{}", path.display());
    }
}

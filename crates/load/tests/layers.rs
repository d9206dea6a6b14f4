//! Checks the module layers: modules below `drive` do not import it.

use std::path::{Path, PathBuf};

const BELOW_DRIVE: [&str; 6] = ["arrivals", "executor", "io", "pacer", "recorder", "seam"];

fn sources(at: &Path) -> Vec<PathBuf> {
    if at.is_file() {
        return vec![at.to_path_buf()];
    }
    let entries = std::fs::read_dir(at).into_iter().flatten().flatten();
    entries.flat_map(|entry| sources(&entry.path())).collect()
}

#[test]
fn modules_below_drive_do_not_import_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for module in BELOW_DRIVE {
        let files = [src.join(module), src.join(format!("{module}.rs"))];
        let files: Vec<PathBuf> = files.iter().flat_map(|at| sources(at)).collect();
        assert!(
            !files.is_empty(),
            "module {module} does not exist: remove it from the list"
        );
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(!text.contains("crate::drive"), "{}", file.display());
        }
    }
}

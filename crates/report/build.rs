//! Puts the chart library where `html` can include it.
//!
//! Purpose: ECharts comes with the `charming` package, whose folder is wherever cargo unpacked it (a registry cache, a vendor
//! folder), so neither a copy in this repository nor a download is needed. Cargo does not pass the folder of a dependency to a build
//! script, but a panic carries the path of its source file: the script provokes a panic in `charming` and catches it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{env, fs, panic};

const LIBRARY: &str = "asset/echarts-5.5.1.min.js";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let source = source_folder_of_charming();
    let library = source.join(LIBRARY);
    let target =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("echarts.min.js");
    let text = fs::read_to_string(&library).unwrap_or_else(|error| {
        panic!(
            "the chart library is not at {}: {error}; is charming still the version in Cargo.lock?",
            library.display()
        )
    });
    fs::write(&target, text)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", target.display()));
}

/// The folder `src` of the package, found from the place of a panic inside `src/series/graph.rs`.
fn source_folder_of_charming() -> PathBuf {
    let place = place_of_panic(|| {
        let _ = charming::series::GraphLayout::from("no such layout");
    });
    let file = absolute(Path::new(&place));
    let source = file
        .ancestors()
        .nth(2)
        .unwrap_or_else(|| panic!("charming's source file {place} has no folder above it"));
    source.to_path_buf()
}

/// The source file of the panic that `f` ends with; nothing is printed.
fn place_of_panic(f: impl FnOnce() + panic::UnwindSafe) -> String {
    let place = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&place);
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if let (Some(location), Ok(mut seen)) = (info.location(), seen.lock()) {
            *seen = location.file().to_string();
        }
    }));
    let outcome = panic::catch_unwind(f);
    panic::set_hook(usual);
    assert!(
        outcome.is_err(),
        "charming accepts any layout now; its folder has to be found in another way"
    );
    place.lock().expect("the hook is gone").clone()
}

/// Below the workspace (a vendor folder) cargo compiles by paths that are relative to the workspace's root.
fn absolute(file: &Path) -> PathBuf {
    let here =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    here.ancestors()
        .map(|folder| folder.join(file))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| file.to_path_buf())
}

//! Puts the chart library where `html` can include it.
//!
//! Purpose: ECharts comes with the `charming` package, so neither a copy in this repository nor a download is needed. Crate `echarts`
//! makes cargo unpack it, wherever that is (a registry cache, a vendor folder), beside all other packages. Cargo does not pass the
//! folder of a dependency to a build script, but a panic carries the path of its source file: the script provokes a panic in a package
//! that is compiled anyway, and catches it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{env, fs, panic};

/// In a registry cache, and in a vendor folder.
const FOLDERS: [&str; 2] = ["charming-0.6.0", "charming"];
const LIBRARY: &str = "src/asset/echarts-5.5.1.min.js";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let packages = folder_of_packages();
    let candidates = FOLDERS.map(|folder| packages.join(folder).join(LIBRARY));
    let library = candidates.iter().find(|path| path.is_file());
    let library = library.unwrap_or_else(|| {
        panic!(
            "the chart library is neither {} nor {}; run `cargo fetch --locked` and build again; if charming is another version now, name \
             it in crates/report/build.rs",
            candidates[0].display(),
            candidates[1].display()
        )
    });
    let target =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("echarts.min.js");
    // Not `fs::copy`, which would copy the permissions too.
    let copied = fs::read(library).and_then(|text| fs::write(&target, text));
    copied.unwrap_or_else(|error| {
        panic!(
            "cannot copy {} to {}: {error}",
            library.display(),
            target.display()
        )
    });
}

/// The folder with all packages, found from the place of a panic inside `proc-macro2-VERSION/src/lib.rs`.
fn folder_of_packages() -> PathBuf {
    let place = place_of_panic(|| {
        let _ = proc_macro2::Literal::f64_unsuffixed(f64::NAN);
    });
    let file = absolute(Path::new(&place));
    let folder = file.ancestors().nth(3);
    let folder = folder.unwrap_or_else(|| panic!("the source file {place} is in no package"));
    folder.to_path_buf()
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
        "proc-macro2 accepts any number now; the folder of packages has to be found in another way"
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

//! Checks that the crates depend on each other as docs/ARCHITECTURE.md says.
//!
//! Tier: default.

use crate::support::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each crate of the workspace, and the workspace crates that it may depend on. Any other import does not compile.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("datagen", &[]),
    ("load", &[]),
    ("record", &[]),
    ("wire", &["load"]),
    ("stats", &["record"]),
    ("store", &["record", "stats"]),
    ("echarts", &[]),
    ("explain", &["record", "stats"]),
    ("report", &["record", "stats", "explain", "echarts"]),
    ("spec", &["record"]),
    ("host", &["record"]),
    ("server", &["spec", "host", "record", "wire"]),
    (
        "workload",
        &["server", "spec", "wire", "load", "datagen", "record"],
    ),
    ("observe", &["server", "host", "record"]),
    (
        "prony",
        &[
            "datagen", "load", "wire", "record", "stats", "store", "explain", "report", "spec",
            "host", "server", "workload", "observe",
        ],
    ),
];

fn manifest(name: &str) -> toml::Table {
    let path = root().join("crates").join(name).join("Cargo.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_table_lists_every_crate_of_the_workspace() {
    let mut listed: Vec<String> = MAY_USE.iter().map(|(name, _)| name.to_string()).collect();
    let folders = std::fs::read_dir(root().join("crates")).unwrap().flatten();
    let mut present: Vec<String> = folders
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    listed.sort();
    present.sort();
    assert_eq!(listed, present);
}

#[test]
fn each_crate_depends_only_on_the_crates_it_may() {
    for (name, allowed) in MAY_USE {
        let manifest = manifest(name);
        let dependencies = manifest["dependencies"].as_table().unwrap();
        for (other, _) in MAY_USE {
            assert!(
                !dependencies.contains_key(other) || allowed.contains(&other),
                "{name} must not depend on {other}"
            );
        }
    }
}

/// Words that only code with knowledge of a server uses: server names, counters, settings and statements.
const OF_SERVERS: [&str; 14] = [
    "MySQL",
    "mysql",
    "MariaDB",
    "mariadb",
    "InnoDB",
    "Innodb_",
    "innodb_",
    "MyISAM",
    "Handler_",
    "Threads_",
    "Com_",
    "EXPLAIN",
    "optimizer_switch",
    "LOAD DATA",
];

/// The lines of a crate outside its tests, as (file, line). Skips files that mod.rs compiles only for tests.
fn production_lines(source: &Path) -> Vec<(PathBuf, String)> {
    let is_for_tests = |file: &Path| {
        let siblings = std::fs::read_to_string(file.with_file_name("mod.rs")).unwrap_or_default();
        let stem = file.file_stem().unwrap().to_string_lossy();
        siblings.contains(&format!("#[cfg(test)]\nmod {stem};"))
    };
    let files = sources(source)
        .into_iter()
        .filter(|file| !is_for_tests(file));
    let lines = files.flat_map(|file| {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().map(|line| (file.clone(), line.to_string()));
        lines.collect::<Vec<_>>()
    });
    lines.collect()
}

#[test]
fn what_is_recorded_knows_nothing_of_servers() {
    let crates = ["record", "stats", "store"];
    let lines = crates.map(|name| production_lines(&root().join("crates").join(name).join("src")));
    let lines = lines.concat();
    let named: Vec<String> = lines
        .iter()
        .filter(|(_, line)| OF_SERVERS.iter().any(|word| line.contains(word)))
        .map(|(file, line)| format!("{}: {}", file.display(), line.trim()))
        .collect();
    assert!(named.is_empty(), "{}", named.join("\n"));
    assert!(lines.len() > 1000, "the test reads the crate's sources");
}

#[test]
fn the_protocol_does_not_use_the_command_line() {
    let wrong: Vec<String> = sources(&root().join("crates/prony/src/run"))
        .into_iter()
        .filter(|file| {
            std::fs::read_to_string(file)
                .unwrap()
                .contains("crate::cli")
        })
        .map(|file| file.display().to_string())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?} import crate::cli");
}

/// Modules of the load engine that `drive` is built from.
const BELOW_DRIVE: [&str; 6] = ["arrivals", "executor", "io", "pacer", "recorder", "seam"];

#[test]
fn modules_of_the_load_engine_below_drive_do_not_import_it() {
    let src = root().join("crates/load/src");
    for module in BELOW_DRIVE {
        let (folder, file) = (src.join(module), src.join(format!("{module}.rs")));
        let mut files = vec![file];
        if folder.is_dir() {
            files.extend(sources(&folder));
        }
        files.retain(|file| file.exists());
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

#[test]
fn no_crate_holds_more_than_a_quarter_of_the_code() {
    let lines = |name: &str| -> usize {
        let files = sources(&root().join("crates").join(name).join("src"));
        let texts = files
            .iter()
            .map(|file| std::fs::read_to_string(file).unwrap());
        texts.map(|text| text.lines().count()).sum()
    };
    let all: Vec<(&str, usize)> = MAY_USE
        .iter()
        .map(|(name, _)| (*name, lines(name)))
        .collect();
    let total: usize = all.iter().map(|(_, lines)| lines).sum();
    for (name, lines) in all {
        assert!(4 * lines <= total, "{name} has {lines} of {total} lines");
    }
}

#[test]
fn the_architecture_page_names_every_crate() {
    let page = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    for (name, _) in MAY_USE {
        assert!(
            page.contains(&format!("`crates/{name}`")),
            "crates/{name} is not in docs/ARCHITECTURE.md"
        );
    }
}

/// The paths in backticks on the page.
fn paths_named(page: &str) -> Vec<&str> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted
        .filter(|text| text.starts_with("crates/") && !text.contains(' '))
        .collect()
}

#[test]
fn the_page_about_the_architecture_names_only_what_exists() {
    let page = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let missing = paths_named(&page)
        .into_iter()
        .filter(|path| !root().join(path).exists());
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_lines_that_the_exercises_add_have_their_places() {
    let has = |file: &str, text: &str| {
        let source = std::fs::read_to_string(root().join(file)).unwrap();
        assert!(source.contains(text), "{file} has no {text}");
    };
    has("crates/workload/src/lib.rs", "const WORKLOADS: ");
    has(
        "crates/prony/src/run/event/kinds/mod.rs",
        "pub const KINDS: ",
    );
    has("crates/spec/src/experiment/event.rs", "const KINDS: ");
    has("crates/spec/src/experiment/event.rs", "\"kill\"");
    has("crates/load/src/seam.rs", "Unknown(u16)");
}

/// Packages with their features, as one build uses them.
fn packages(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--offline", "--locked", "--no-dedupe"])
        .args(["--prefix=none", "--format={p} {f}"])
        .args(selection)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(String::from).collect()
}

/// Today there are 107. Whoever adds some weighs them by the time that they add to the first build.
const CRATES_MAX: usize = 120;

#[test]
fn the_program_is_built_from_few_crates() {
    let crates = packages(&["--package=prony", "--edges=normal"]).len();
    assert!((50..=CRATES_MAX).contains(&crates), "{crates} crates");
}

#[test]
fn the_tests_compile_no_dependency_a_second_time_with_other_features() {
    let built = packages(&["--package=prony", "--edges=normal,build"]);
    let tested = packages(&["--workspace", "--edges=normal,build,dev"]);
    let twice: Vec<_> = built.difference(&tested).collect();
    assert!(built.len() > 100 && twice.is_empty(), "{twice:#?}");
}

/// The Rust files of all tests that are not in a crate's sources.
fn test_files() -> Vec<PathBuf> {
    let crates = MAY_USE.map(|(name, _)| root().join("crates").join(name).join("tests"));
    let folders = crates.into_iter().chain([root().join("tests")]);
    folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| sources(&folder))
        .collect()
}

#[test]
fn every_test_file_is_a_module_of_its_crates_one_program() {
    for file in test_files() {
        let (folder, name) = (file.parent().unwrap(), file.file_stem().unwrap());
        let parent = ["main.rs", "mod.rs"].map(|name| folder.join(name));
        let beside = folder.with_extension("rs");
        let named = parent.into_iter().chain([beside]).any(|parent| {
            let text = std::fs::read_to_string(parent).unwrap_or_default();
            text.contains(&format!("mod {};", name.to_string_lossy()))
        });
        let is_root = name == "main" || name == "mod";
        assert!(named || is_root, "{} is in no program", file.display());
    }
}

#[test]
fn every_file_of_tests_with_servers_says_its_tiers_and_no_test_is_ignored() {
    for file in test_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            !text.contains(&["#[", "ignore"].concat()),
            "{}: give the test a tier",
            file.display()
        );
        if !file.starts_with(root().join("tests")) || !text.contains("#[test]\n") {
            continue;
        }
        let header = text.lines().take_while(|line| line.starts_with("//!"));
        let mut lines = header.filter_map(|line| line.strip_prefix("//! Tier"));
        let said = lines.next().unwrap_or_else(|| {
            panic!("{} does not say its tier", file.display());
        });
        for tier in ["all", "long"] {
            let has = text.contains(&["cfg(tier_", tier, ")"].concat());
            let says = said.contains(tier);
            assert!(says || !has, "{}: {tier} is missing", file.display());
        }
    }
}

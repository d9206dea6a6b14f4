//! docs/METHODOLOGY.md and its appendix name the code behind each rule. Every name must exist, so that a renamed
//! function is renamed there too.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A source file: its folders and name without `.rs`, and its text.
struct Source {
    path: Vec<String>,
    text: String,
}

fn sources(folder: &Path, found: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = path.with_extension("");
            found.push(Source {
                path: module
                    .components()
                    .map(|component| component.as_os_str().to_string_lossy().into_owned())
                    .collect(),
                text: std::fs::read_to_string(&path).unwrap(),
            });
        }
    }
}

/// The Rust paths in backticks: `module::name`.
fn names(page: &str) -> Vec<String> {
    let is_path = |code: &&str| {
        code.contains("::")
            && code
                .chars()
                .all(|c| c.is_alphanumeric() || "_:".contains(c))
    };
    let codes = page.split('`').skip(1).step_by(2);
    codes.filter(is_path).map(String::from).collect()
}

impl Source {
    fn defines(&self, name: &str) -> bool {
        let kinds = ["fn", "struct", "enum", "const"];
        kinds.iter().any(|kind| {
            let definition = format!("{kind} {name}");
            let mut found = self.text.match_indices(&definition);
            found.any(|(at, _)| {
                let rest = &self.text[at + definition.len()..];
                !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        })
    }

    /// Whether it lies in all modules of the path, and is or defines its last name.
    fn holds(&self, path: &str) -> bool {
        let (modules, name) = path.rsplit_once("::").unwrap();
        let lies_in = |part: &str| self.path.iter().any(|folder| folder == part);
        let is_type = |part: &str| part.starts_with(char::is_uppercase);
        modules
            .split("::")
            .all(|part| is_type(part) || lies_in(part))
            && (lies_in(name) || self.defines(name))
    }
}

#[test]
fn every_function_that_the_methodology_names_exists() {
    let mut all = Vec::new();
    sources(&root().join("crates"), &mut all);
    let pages = ["docs/METHODOLOGY.md", "docs/METHODOLOGY-APPENDIX.md"];
    let named: Vec<String> = pages
        .iter()
        .flat_map(|page| names(&std::fs::read_to_string(root().join(page)).unwrap()))
        .collect();
    assert!(named.len() > 40);
    let missing: Vec<&String> = named
        .iter()
        .filter(|path| !all.iter().any(|source| source.holds(path)))
        .collect();
    assert_eq!(missing, [""; 0]);
}

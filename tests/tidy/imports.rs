//! The files of a folder do not import each other in a circle: then none can be read, tested or moved alone.
//!
//! Tier: default.

use super::{crates, files, is_for_tests, only_exceptions, production};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The names of a module's path below its crate.
type Names = Vec<String>;

struct Module {
    text: String,
    /// What it imports, by the last name, so that re-exports can be followed.
    imports: Vec<Names>,
}

type Modules = BTreeMap<Names, Module>;

fn modules(src: &Path) -> Modules {
    let sources = files(src, "rs")
        .into_iter()
        .filter(|file| !is_for_tests(file) && !file.ends_with("main.rs"));
    let module = |file: std::path::PathBuf| {
        let below = file.strip_prefix(src).unwrap().with_extension("");
        let mut path: Names = below
            .iter()
            .map(|name| name.to_str().unwrap().to_string())
            .collect();
        if ["mod", "lib"].contains(&path.last().unwrap().as_str()) {
            path.pop();
        }
        let text = production(&file);
        let imports = imports(&text);
        (path, Module { text, imports })
    };
    sources.map(module).collect()
}

/// The paths of all `use` items, without braces.
fn imports(text: &str) -> Vec<Names> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let line = rest[..at].rsplit('\n').next().unwrap();
        let is_item = ["", "pub", "pub(crate)", "pub(super)"].contains(&line.trim());
        rest = &rest[at + 4..];
        if is_item && let Some(end) = rest.find(';') {
            let tree: String = rest[..end].split_whitespace().collect::<Vec<_>>().join(" ");
            expand("", &tree, &mut all);
        }
    }
    all
}

fn expand(before: &str, tree: &str, all: &mut Vec<Names>) {
    match tree.split_once('{') {
        None => {
            let path = format!("{before}{}", tree.split(" as ").next().unwrap().trim());
            let path = path.trim_end_matches("::self");
            all.push(path.split("::").map(String::from).collect());
        }
        Some((head, rest)) => {
            let before = format!("{before}{}", head.trim());
            let (mut depth, mut from) = (0, 0);
            let body = &rest[..rest.rfind('}').unwrap()];
            for (at, sign) in body.char_indices() {
                match sign {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        expand(&before, body[from..at].trim(), all);
                        from = at + 1;
                    }
                    _ => (),
                }
            }
            if !body[from..].trim().is_empty() {
                expand(&before, body[from..].trim(), all);
            }
        }
    }
}

/// The paths that the code names without an import: `crate::a::b`, `super::c`.
fn named_in_place(text: &str) -> Vec<Names> {
    let mut all = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|sign| sign.is_alphanumeric() || sign == '_' || sign == ':') {
                continue;
            }
            let end = text[at..]
                .find(|sign: char| !(sign.is_alphanumeric() || sign == '_' || sign == ':'));
            let path = &text[at..end.map_or(text.len(), |end| at + end)];
            let names = path.split("::").filter(|name| !name.is_empty());
            all.push(names.map(String::from).collect());
        }
    }
    all
}

/// The module that a path in `from` leads to, through re-exports; None if it is in another crate.
fn resolved(modules: &Modules, from: &Names, path: &[String], depth: u8) -> Option<Names> {
    let (mut at, mut rest) = match path.first()?.as_str() {
        "crate" => (Names::new(), &path[1..]),
        "self" => (from.clone(), &path[1..]),
        "super" => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            (from[..from.len().checked_sub(ups)?].to_vec(), &path[ups..])
        }
        name => {
            let child = [from.as_slice(), &[name.to_string()]].concat();
            modules.get(&child)?;
            (child, &path[1..])
        }
    };
    while let [first, tail @ ..] = rest {
        let child = [at.as_slice(), std::slice::from_ref(first)].concat();
        if !modules.contains_key(&child) {
            break;
        }
        (at, rest) = (child, tail);
    }
    let Some(item) = rest.first().filter(|_| depth < 8) else {
        return Some(at);
    };
    let module = modules.get(&at)?;
    if at == *from {
        return Some(at);
    }
    let defines = |other: &Names| {
        let words = ["struct", "enum", "fn", "type", "trait", "const"];
        let text = &modules[other].text;
        let mut named = words.iter().map(|word| format!("pub {word} {item}"));
        named.any(|named| text.contains(&named))
    };
    let elsewhere = module.imports.iter().find_map(|import| {
        let (last, before) = import.split_last()?;
        if last == item {
            return resolved(modules, &at, import, depth + 1);
        }
        let all_of = (last == "*").then(|| resolved(modules, &at, before, depth + 1));
        all_of.flatten().filter(defines)
    });
    elsewhere.or(Some(at))
}

/// The circles among the files and folders of each folder: `folder: a b c`.
fn circles(name: &str, modules: &Modules) -> BTreeSet<String> {
    let mut edges: BTreeMap<Names, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (from, module) in modules {
        let paths = module.imports.iter().cloned();
        for path in paths.chain(named_in_place(&module.text)) {
            let Some(to) = resolved(modules, from, &path, 0) else {
                continue;
            };
            let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
                let folder = edges.entry(from[..common].to_vec()).or_default();
                folder.entry(a.clone()).or_default().insert(b.clone());
            }
        }
    }
    let mut found = BTreeSet::new();
    for (folder, edges) in &edges {
        let reach = |from: &String| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(one) = next.pop() {
                for other in edges.get(one).into_iter().flatten() {
                    if seen.insert(other) {
                        next.push(other);
                    }
                }
            }
            seen
        };
        for from in edges.keys().filter(|from| reach(from).contains(from)) {
            let circle = reach(from)
                .into_iter()
                .filter(|other| reach(other).contains(from));
            let circle: Vec<&str> = circle.map(String::as_str).collect();
            let place = [&[name.to_string()], folder.as_slice()].concat().join("/");
            found.insert(format!("{place}: {}", circle.join(" ")));
        }
    }
    found
}

#[test]
fn the_files_of_a_folder_do_not_import_each_other_in_a_circle() {
    let mut found = BTreeSet::new();
    for (name, src) in crates() {
        found.extend(circles(&name, &modules(&src)));
    }
    only_exceptions(found, &[], "move what both need to a file below them");
}

#[test]
fn a_circle_through_a_re_export_is_found() {
    let module = |text: &str| Module {
        text: text.into(),
        imports: imports(text),
    };
    let path = |path: &str| path.split('/').map(String::from).collect::<Names>();
    let modules = Modules::from([
        (
            Names::new(),
            module("mod a;\nmod b;\npub use b::{B, C as D};"),
        ),
        (path("a"), module("use crate::B;\nstruct A;")),
        (path("b"), module("fn b(a: super::a::A) {}")),
        (path("c"), module("use super::a::{self, A};")),
    ]);
    assert_eq!(
        circles("x", &modules),
        BTreeSet::from(["x: a b".to_string()])
    );
}

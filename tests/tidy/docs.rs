//! What the pages name exists, and they are written in plain English.
//!
//! Tier: default.

use super::{crates, files, only_exceptions, root, shown, text};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The pages for readers.
fn pages() -> Vec<PathBuf> {
    let own = std::fs::read_dir(root()).unwrap().flatten();
    let own = own.map(|entry| entry.path());
    let own = own.filter(|path| path.extension().is_some_and(|own| own == "md"));
    let folders = ["docs", "bench", "experiments", "packaging"];
    let below = folders
        .iter()
        .flat_map(|name| files(&root().join(name), "md"));
    own.chain(below).collect()
}

/// The page without its blocks of code.
fn prose(page: &Path) -> String {
    let text = text(page);
    let outside = text.split("```").step_by(2);
    outside.collect()
}

/// The anchors of a page's headings, as they are made on the pages of a repository.
fn anchors(page: &Path) -> BTreeSet<String> {
    let text = prose(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
        kept.map(|sign| if sign == ' ' { '-' } else { sign })
            .collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_of_a_page_leads_to_a_file_and_a_heading() {
    let mut broken = BTreeSet::new();
    for page in pages() {
        let prose = prose(&page);
        let links = prose.split("](").skip(1);
        for link in links.filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.starts_with("mailto:") || link.contains(' ') {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let has_anchor = || anchor.is_empty() || anchors(&target).contains(anchor);
            if !target.exists()
                || (target.extension().is_some_and(|own| own == "md") && !has_anchor())
            {
                broken.insert(format!("{}: {link}", shown(&page)));
            }
        }
    }
    only_exceptions(broken, &[], "these links lead nowhere");
}

/// The texts in backticks.
fn quoted(prose: &str) -> impl Iterator<Item = &str> {
    prose.split('`').skip(1).step_by(2)
}

/// Whether `crate::module::item` exists. `run` and `cli` are modules of `prony`.
fn exists(path: &str) -> bool {
    let mut names: Vec<&str> = path.split("::").collect();
    if ["run", "cli", "doctor"].contains(&names[0]) {
        names.insert(0, "prony");
    }
    let mut folder = root().join("crates").join(names[0]).join("src");
    let mut file = folder.join("lib.rs");
    let mut rest = &names[1..];
    while let [first, tail @ ..] = rest {
        let below = folder.join(first);
        let own = [below.join("mod.rs"), below.with_extension("rs")];
        let Some(module) = own.into_iter().find(|file| file.exists()) else {
            break;
        };
        (folder, file, rest) = (below, module, tail);
    }
    let Some(item) = rest.first() else {
        return true;
    };
    let words = [
        "struct", "enum", "fn", "trait", "const", "type", "mod", "static",
    ];
    let defines = |file: &PathBuf| {
        let text = text(file);
        words.iter().any(|word| {
            let named = format!("{word} {item}");
            let found = text.match_indices(&named);
            let mut ends = found.map(|(at, found)| text[at + found.len()..].chars().next());
            ends.any(|next| !next.is_some_and(|sign| sign.is_alphanumeric() || sign == '_'))
        })
    };
    // A crate shows the items of its private files.
    defines(&file) || files(&folder, "rs").iter().any(defines)
}

#[test]
fn the_code_that_a_page_names_exists() {
    let known: Vec<String> = crates().into_iter().map(|(name, _)| name).collect();
    let mut missing = BTreeSet::new();
    for page in pages()
        .iter()
        .filter(|page| page.starts_with(root().join("docs")))
    {
        for code in quoted(&prose(page)) {
            let is_path = code
                .chars()
                .all(|sign| sign.is_alphanumeric() || "_:".contains(sign));
            let first = code.split("::").next().unwrap_or_default();
            let is_own = known.iter().any(|name| name == first) || ["run", "cli"].contains(&first);
            if code.contains("::") && is_path && is_own && !exists(code) {
                missing.insert(format!("{}: {code}", shown(page)));
            }
            let is_file = ["crates/", "tests/", "docs/", "experiments/"];
            if is_file.iter().any(|start| code.starts_with(start))
                && !code.contains([' ', '*', '<', '{', '…'])
                && !root().join(code).exists()
            {
                missing.insert(format!("{}: {code}", shown(page)));
            }
        }
    }
    only_exceptions(missing, &[], "these pages name code that does not exist");
}

#[test]
fn every_flag_has_a_row_on_the_page_about_json() {
    let source = text(&root().join("crates/record/src/trial/flag.rs"));
    let words = source.lines().filter_map(|line| {
        let declared = line.trim().strip_suffix("\",")?;
        let (_, word) = declared.split_once(" = \"")?;
        Some(word.to_string())
    });
    let words: BTreeSet<String> = words.collect();
    assert!(words.contains("wrong_answer"), "{words:?}");
    let page = text(&root().join("docs/JSON.md"));
    let has_no_row = |word: &String| !page.contains(&format!("\n| `{word}` |"));
    let missing = words.into_iter().filter(has_no_row).collect();
    only_exceptions(missing, &[], "describe these flags in docs/JSON.md");
}

/// What a reader stumbles over. Each has a plain word in its place.
const BANNED: [&str; 16] = [
    " pronys ",
    "cannot be had",
    "to be had",
    "gone on with",
    "would flatter",
    "no blank",
    "to the letter",
    "stands still",
    "the bed ",
    "asked alike",
    "asked alone",
    "as it was asked",
    "nobody asked",
    "nobody knows",
    "Operations a second",
    "Milliseconds of",
];

#[test]
fn pages_and_sources_use_plain_words() {
    let sources = crates().into_iter().flat_map(|(_, src)| {
        let kinds = ["rs", "sql", "js", "toml"];
        kinds.map(|kind| files(&src, kind)).concat()
    });
    let mut found = BTreeSet::new();
    let is_result = |page: &PathBuf| page.starts_with(root().join("bench/results"));
    for file in sources.chain(pages().into_iter().filter(|page| !is_result(page))) {
        let text = text(&file);
        let used = BANNED.iter().filter(|word| text.contains(**word));
        found.extend(used.map(|word| format!("{}: {word}", shown(&file))));
    }
    only_exceptions(found, &[], "say it in plain words");
}

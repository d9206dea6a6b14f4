//! The files that a text may read: `source`, `\.` and LOAD DATA LOCAL INFILE.
//!
//! Purpose: the fingerprint of the tables follows each of them. Boundaries: lines, not statements, so a name in a text counts too,
//! which costs another load at worst.

use super::file;
use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows are in longer lines, and no command is.
const LINE_BYTES_MAX: usize = 16 << 10;

/// The files in the folder that the file may read, and those that they read, in a fixed order. A file that cannot be read has none:
/// loading it says why.
pub(crate) fn included(path: &Path, folder: &Path) -> Vec<PathBuf> {
    let text = file::open(path, Arc::default());
    text.map_or(Vec::new(), |text| included_in(text, folder))
}

/// The same for a text.
pub(crate) fn included_in(text: impl BufRead, folder: &Path) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    follow(text, folder, &mut found);
    found.into_iter().collect()
}

fn follow(text: impl BufRead, folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for path in mentioned(text, folder) {
        if found.insert(path.clone())
            && let Ok(text) = file::open(&path, Arc::default())
        {
            follow(text, folder, found);
        }
    }
}

/// The files in the folder that lines of the text name.
fn mentioned(mut text: impl BufRead, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut line = Vec::new();
    let mut follows_infile = false;
    while text
        .read_until(b'\n', &mut line)
        .is_ok_and(|bytes| bytes > 0)
    {
        if line.len() <= LINE_BYTES_MAX {
            let text = String::from_utf8_lossy(&line);
            let names = names(&text, &mut follows_infile);
            let files = names.iter().map(|name| file::beside(folder, name));
            found.extend(files.flatten());
        }
        line.clear();
    }
    found
}

/// `follows_infile`: the name of a file may be on the next line.
fn names(line: &str, follows_infile: &mut bool) -> Vec<String> {
    let sourced: Vec<String> = line.split(';').filter_map(sourced).collect();
    // Another delimiter may follow the name: `source a.sql //`.
    let word = |name: &String| name.split_whitespace().next().map(String::from);
    let mut names: Vec<String> = sourced.iter().filter_map(word).collect();
    names.extend(sourced);
    let lower = line.to_ascii_lowercase();
    let after = lower.match_indices("infile");
    let after = after.map(|(at, word)| &line[at + word.len()..]);
    let open = follows_infile.then_some(line);
    for rest in open.into_iter().chain(after) {
        let quoted = rest.split(['\'', '"']).nth(1);
        let is_behind = rest.len() < line.len();
        *follows_infile = quoted.is_none() && (is_behind || line.trim().is_empty());
        names.extend(quoted.map(String::from));
    }
    names
}

/// The name in `source a.sql` or `\. a.sql`.
fn sourced(part: &str) -> Option<String> {
    const SOURCE: &str = "source";
    let part = part.trim();
    let name = match part.strip_prefix("\\.") {
        Some(name) => name,
        None => {
            let (word, name) = part.split_at_checked(SOURCE.len())?;
            word.eq_ignore_ascii_case(SOURCE).then_some(name)?
        }
    };
    let name = name.trim().trim_matches(['\'', '"']);
    (!name.is_empty()).then(|| name.to_string())
}

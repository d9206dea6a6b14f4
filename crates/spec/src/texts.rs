//! External files of a workload's section.
//!
//! Purpose: `operations_file = "accounts.sql"` instead of `operations = "..."`, for every key. The workload gets the text with
//! the file's name, and the record stores both, so that a run can be resumed and repeated from the record alone. Data files
//! (`dump`, `load`) are too large for that: their paths become absolute, so that they do not depend on the experiment's folder.
//! Boundaries: the workload interprets the texts and reads the data.

use super::input::{self, InputError};
use super::mistake::Span;
use super::read::{Node, Section};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

const FILE: &str = "_file";
/// Keys whose values name files of data: a path, or a table whose values are paths or have a key `file`.
const DATA: [&str; 2] = ["dump", "load"];
const DATA_FILE: &str = "file";

/// The texts and paths, and the spans of the file names.
#[derive(Default)]
pub(crate) struct Texts {
    folder: PathBuf,
    found: RefCell<Vec<(Span, String)>>,
}

impl Texts {
    /// Paths are relative to `folder`, that of the experiment file.
    pub(crate) fn new(folder: &Path) -> Texts {
        Texts {
            folder: folder.into(),
            found: RefCell::default(),
        }
    }

    /// The section with each file name replaced by its text or its absolute path; None if a file cannot be read, which is
    /// noted.
    pub(crate) fn table<'s>(&self, section: &Section<'s>) -> Option<DeTable<'s>> {
        let mut table = DeTable::new();
        let mut is_whole = true;
        for (key, value) in section.table() {
            let (name, named) = (key.get_ref(), section.get(key.get_ref()));
            if let (true, Some(node)) = (DATA.contains(&name.as_ref()), section.get(name)) {
                match self.located(&node) {
                    Some(located) => {
                        table.insert(key.clone(), Spanned::new(value.span(), located));
                    }
                    None => is_whole = false,
                }
                continue;
            }
            let Some((node, own)) = named.zip(name.strip_suffix(FILE)) else {
                table.insert(key.clone(), value.clone());
                continue;
            };
            if section.get(own).is_some() {
                node.note(
                    format!("both {own} and {name} are set"),
                    "a second one",
                    "keep one of the two",
                );
                is_whole = false;
            } else if let Some(text) = self.read(&node, own) {
                let key = Spanned::new(key.span(), Cow::Owned(own.to_string()));
                table.insert(key, Spanned::new(value.span(), text));
            } else {
                is_whole = false;
            }
        }
        is_whole.then_some(table)
    }

    /// The text with the name of its file; see [`Node::written`].
    fn read<'s>(&self, node: &Node, key: &str) -> Option<DeValue<'s>> {
        let name = node.text(&format!("{} = \"{key}.sql\"", node.key))?;
        let path = self.folder.join(name);
        match input::read_text(&path) {
            Ok(text) => {
                let pair = [("file", name), ("text", text.as_str())];
                let pair = pair.map(|(key, value)| (key.to_string(), Value::from(value)));
                let in_place = format!("{key} = {}", inline(&Table::from_iter(pair)));
                let at = node.key_at.start..node.value_at().end;
                self.found.borrow_mut().push((at, in_place));
                Some(named_text(name, text, node.value_at()))
            }
            Err(error) => {
                not_read(node, &path, &error);
                None
            }
        }
    }

    /// The value of a key that names data files, with absolute paths.
    fn located<'s>(&self, node: &Node<'s>) -> Option<DeValue<'s>> {
        let Some(section) = node.section_if_table() else {
            return self.path(node);
        };
        let mut table = DeTable::new();
        for entry in section.entries() {
            let value = match entry.section_if_table() {
                Some(section) => self.with_path(&section),
                None => self.path(&entry),
            };
            let key = Spanned::new(entry.key_at.clone(), Cow::Owned(entry.key.to_string()));
            table.insert(key, Spanned::new(entry.value_at(), value?));
        }
        Some(DeValue::Table(table))
    }

    /// The table with the absolute path of its file.
    fn with_path<'s>(&self, section: &Section<'s>) -> Option<DeValue<'s>> {
        let mut table = section.table().clone();
        if let (Some(node), Some(file)) = (section.get(DATA_FILE), table.get_mut(DATA_FILE)) {
            *file = Spanned::new(file.span(), self.path(&node)?);
        }
        Some(DeValue::Table(table))
    }

    /// The absolute path of a file that can be opened. The workload reports values that are not strings.
    fn path<'s>(&self, node: &Node<'s>) -> Option<DeValue<'s>> {
        let Some(name) = node.value.as_str() else {
            return Some(node.value.clone());
        };
        let path = self.folder.join(name);
        let opened = input::check_regular(&path).and_then(|()| {
            std::fs::File::open(&path)?;
            Ok(std::path::absolute(&path)?)
        });
        match opened {
            Ok(path) => {
                let text = path.display().to_string();
                let in_place = Value::from(text.as_str()).to_string();
                self.found.borrow_mut().push((node.value_at(), in_place));
                Some(DeValue::String(Cow::Owned(text)))
            }
            Err(error) => {
                not_read(node, &path, &error);
                None
            }
        }
    }

    /// The texts that replace the file names in the record.
    pub(crate) fn in_place(self) -> Vec<(Span, String)> {
        self.found.into_inner()
    }
}

/// A text with the name of its file, as [`Node::written`] reads it.
fn named_text<'s>(name: &str, text: String, at: Span) -> DeValue<'s> {
    let pair = [("file", name.to_string()), ("text", text)];
    let pair = pair.map(|(key, value)| {
        let value = DeValue::String(Cow::Owned(value));
        let key = Spanned::new(at.clone(), Cow::Borrowed(key));
        (key, Spanned::new(at.clone(), value))
    });
    DeValue::Table(pair.into_iter().collect())
}

/// A table on one line, since it may replace a value in an inline table.
fn inline(table: &Table) -> String {
    let pairs: Vec<String> = table
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn not_read(node: &Node, path: &Path, error: &InputError) {
    node.note(
        format!("cannot read {}: {error}", path.display()),
        "not read",
        "give the path of a file, relative to the experiment's folder",
    );
}

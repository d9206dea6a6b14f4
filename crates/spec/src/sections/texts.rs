//! External files of a workload's section.
//!
//! Purpose: `operations_file = "accounts.sql"` instead of `operations = "..."`, for every key. The workload gets the text with
//! the file's name, and the record stores both, so that a run can be resumed and repeated from the record alone. Data files
//! (`dump`, `load`) are too large for that: their paths become absolute, so that they do not depend on the experiment's folder.
//! Boundaries: the workload interprets the texts and reads the data.

use crate::file::input::{self, InputError};
use crate::file::mistake::Span;
use crate::file::read::{Node, Section};
use crate::server::build::BuildSpec;
use crate::server::server_file::ServerFile;
use crate::text::setting::{Pairs, Setting};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

const FILE: &str = "_file";
/// Keys whose values name files of data: a path, or a table whose values are paths, lists of paths, or have a key `file`.
const DATA: [&str; 2] = ["dump", "load"];
const DATA_FILE: &str = "file";

/// The texts and paths, and the spans of the file names.
#[derive(Default)]
pub(crate) struct Texts {
    folder: PathBuf,
    found: RefCell<Vec<(Span, String)>>,
    /// What was passed over in files, as sentences.
    remarks: RefCell<Vec<String>>,
}

impl Texts {
    /// Paths are relative to `folder`, that of the experiment file.
    pub(crate) fn new(folder: &Path) -> Texts {
        Texts {
            folder: folder.into(),
            ..Texts::default()
        }
    }

    /// The section with each file name replaced by its text or its absolute path; None if a file cannot be read, which is
    /// noted.
    pub(crate) fn table<'s>(&self, section: &Section<'s>) -> Option<DeTable<'s>> {
        let entries = section.entries();
        // All of them are read before the first mistake ends it, so that each mistake is noted.
        let entries: Vec<_> = entries.map(|node| self.replaced(section, &node)).collect();
        entries.into_iter().collect()
    }

    /// A key of the section, with its file name replaced.
    fn replaced<'s>(&self, section: &Section, node: &Node<'s>) -> Option<Entry<'s>> {
        if DATA.contains(&node.key) {
            return Some(entry(node, node.key, self.located(node)?));
        }
        let Some(own) = node.key.strip_suffix(FILE) else {
            return Some(entry(node, node.key, node.value.clone()));
        };
        if section.get(own).is_some() {
            node.note(
                format!("both {own} and {} are set", node.key),
                "a second one",
                "keep one of the two",
            );
            return None;
        }
        Some(entry(node, own, self.read(node, own)?))
    }

    /// The text with the name of its file; see [`Node::written`].
    fn read<'s>(&self, node: &Node, key: &str) -> Option<DeValue<'s>> {
        let name = node.text(&format!("{} = \"{key}.sql\"", node.key))?;
        let path = self.folder.join(name);
        let text = found(node, &path, input::read_text(&path))?;
        let folder = (key == SETUP && reads_files(&text)).then(|| folder_of(&path));
        let parts = [("file", name.to_string()), ("text", text)];
        let folder = folder.flatten().map(|folder| ("folder", folder));
        let parts: Vec<(&str, String)> = parts.into_iter().chain(folder).collect();
        self.put_in_place(node, key, parts.iter().cloned());
        Some(named_text(parts, node.value_at()))
    }

    /// Replaces the key of a file by this table in the record.
    fn put_in_place<'p>(
        &self,
        node: &Node,
        key: &str,
        pairs: impl Iterator<Item = (&'p str, String)>,
    ) {
        let pairs = pairs.map(|(key, value)| (key.to_string(), Value::from(value)));
        let in_place = format!("{key} = {}", inline(&pairs.collect()));
        let at = node.key_at.start..node.value_at().end;
        self.found.borrow_mut().push((at, in_place));
    }

    /// The value of a key that names data files, with absolute paths.
    fn located<'s>(&self, node: &Node<'s>) -> Option<DeValue<'s>> {
        let Some(section) = node.section_if_table() else {
            return self.path(node);
        };
        let located = section.entries().map(|node| {
            let value = match node.section_if_table() {
                Some(section) => self.with_path(&section),
                None => self.path(&node),
            };
            Some(entry(&node, node.key, value?))
        });
        Some(DeValue::Table(located.collect::<Option<_>>()?))
    }

    /// The table with the absolute path of its file.
    fn with_path<'s>(&self, section: &Section<'s>) -> Option<DeValue<'s>> {
        let mut table = section.table().clone();
        if let (Some(node), Some(file)) = (section.get(DATA_FILE), table.get_mut(DATA_FILE)) {
            *file = Spanned::new(file.span(), self.path(&node)?);
        }
        Some(DeValue::Table(table))
    }

    /// The absolute path of a file that can be opened, or a list of them. The workload reports values of other types.
    fn path<'s>(&self, node: &Node<'s>) -> Option<DeValue<'s>> {
        if node.value.as_array().is_some() {
            let nodes = node.list("[\"a.csv\", \"b.csv\"]")?;
            let paths = nodes
                .iter()
                .map(|node| Some(Spanned::new(node.value_at(), self.path(node)?)));
            return Some(DeValue::Array(paths.collect::<Option<_>>()?));
        }
        let Some(name) = node.value.as_str() else {
            return Some(node.value.clone());
        };
        let path = self.folder.join(name);
        // A dump may be a folder of files.
        let is_folder = node.key == "dump" && path.is_dir();
        let checked = if is_folder {
            Ok(())
        } else {
            input::check_regular(&path)
        };
        let opened = checked.and_then(|()| {
            std::fs::File::open(&path)?;
            Ok(std::path::absolute(&path)?)
        });
        let text = found(node, &path, opened)?.display().to_string();
        let in_place = Value::from(text.as_str()).to_string();
        self.found.borrow_mut().push((node.value_at(), in_place));
        Some(DeValue::String(Cow::Owned(text)))
    }

    /// The settings of a server's own option file, which `settings_file` names, for this build.
    pub(crate) fn settings(&self, node: &Node, build: &BuildSpec) -> Option<Pairs<Setting>> {
        let name = node.text("settings_file = \"my.cnf\"")?;
        let path = self.folder.join(name);
        let text = found(node, &path, input::read_text(&path))?;
        let file = ServerFile::read(&text, matches!(build, BuildSpec::Mysql(_)));
        if !file.passed_over.is_empty() {
            let names = file.passed_over.join(", ");
            self.remarks.borrow_mut().push(format!(
                "{name}: ignored: {names}; prony sets them itself, they lead out of the server's folder, they are there several times, or they depend on the server"
            ));
        }
        if file.settings.is_empty() {
            node.note(
                format!("{} has no setting of a server", path.display()),
                "in this file",
                "write the settings below [mysqld]; a file that it includes is not read: name the one that has them",
            );
            return None;
        }
        let pairs = file.settings.iter();
        let pairs = pairs.map(|(name, value)| (name.as_str(), value.clone()));
        self.put_in_place(node, "settings", pairs);
        let read = |(name, value): &(String, String)| {
            let wrong = |error| {
                let says = format!("{}: {name}: {error}", path.display());
                node.note(says, "in this file", "correct the value in the file");
            };
            Some((name.clone(), Setting::from_text(value).map_err(wrong).ok()?))
        };
        let settings: Vec<_> = file.settings.iter().map(read).collect();
        settings.into_iter().collect()
    }

    /// What was passed over in files, as sentences.
    pub(crate) fn remarks(&self) -> Vec<String> {
        self.remarks.borrow().clone()
    }

    /// The texts that replace the file names in the record.
    pub(crate) fn in_place(self) -> Vec<(Span, String)> {
        self.found.into_inner()
    }
}

/// A key with its value.
type Entry<'s> = (Spanned<Cow<'s, str>>, Spanned<DeValue<'s>>);

/// At the place of the node, which may have another key and another value.
fn entry<'s>(node: &Node, key: &'s str, value: DeValue<'s>) -> Entry<'s> {
    (
        Spanned::new(node.key_at.clone(), Cow::Borrowed(key)),
        Spanned::new(node.value_at(), value),
    )
}

/// A text with the name of its file, as [`Node::written`] reads it.
fn named_text<'s>(parts: Vec<(&str, String)>, at: Span) -> DeValue<'s> {
    let pairs = parts.into_iter().map(|(key, value)| {
        let value = DeValue::String(Cow::Owned(value));
        let key = Spanned::new(at.clone(), Cow::Owned(key.to_string()));
        (key, Spanned::new(at.clone(), value))
    });
    DeValue::Table(pairs.collect())
}

/// The key whose text may read files beside its own.
const SETUP: &str = "setup";

/// Whether the text reads files: `source`, `\.`, LOAD DATA LOCAL INFILE. A text with one of the words is taken for one.
fn reads_files(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("infile") || lower.contains("source") || lower.contains("\\.")
}

fn folder_of(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    Some(path.parent()?.display().to_string())
}

/// A table on one line, since it may replace a value in an inline table.
fn inline(table: &Table) -> String {
    let pairs: Vec<String> = table
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// What was read of a file; None for a mistake, which is noted.
fn found<T>(node: &Node, path: &Path, read: Result<T, InputError>) -> Option<T> {
    let wrong = |error: InputError| {
        let help = match error {
            InputError::NotUtf8 { .. } | InputError::Compressed(_) if node.key == "setup_file" => {
                "or give the file as dump, which may be compressed and in any character set (SET NAMES)"
            }
            _ => "give the path of a file, relative to the experiment's folder",
        };
        let says = format!("cannot read {}: {error}", path.display());
        node.note(says, "not read", help);
    };
    read.map_err(wrong).ok()
}

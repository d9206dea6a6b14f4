//! Texts of a workload's section in external files: `operations_file = "accounts.sql"` instead of
//! `operations = "..."`, for every key.
//!
//! Purpose: a workload sees texts, never paths. The record stores the texts too, so that a run can be resumed and repeated
//! from the record alone. Boundaries: the workload interprets the texts.

use super::mistake::Span;
use super::read::{Node, Section};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

const FILE: &str = "_file";

/// The texts, and the spans of the file names.
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

    /// The section with each file name replaced by its text; None if a file cannot be read, which is noted.
    pub(crate) fn table<'s>(&self, section: &Section<'s>) -> Option<DeTable<'s>> {
        let mut table = DeTable::new();
        let mut is_whole = true;
        for (key, value) in section.table() {
            let (name, named) = (key.get_ref(), section.get(key.get_ref()));
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
                let text = DeValue::String(Cow::Owned(text));
                table.insert(key, Spanned::new(value.span(), text));
            } else {
                is_whole = false;
            }
        }
        is_whole.then_some(table)
    }

    fn read(&self, node: &Node, key: &str) -> Option<String> {
        let path = node.text(&format!("{} = \"{key}.sql\"", node.key))?;
        let path = self.folder.join(path);
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let in_place = format!("{key} = {}", Value::from(text.as_str()));
                let at = node.key_at.start..node.value_at().end;
                self.found.borrow_mut().push((at, in_place));
                Some(text)
            }
            Err(error) => {
                node.note(
                    format!("cannot read {}: {error}", path.display()),
                    "not read",
                    "give the path of a text file, relative to the experiment's folder",
                );
                None
            }
        }
    }

    /// The texts that replace the file names in the record.
    pub(crate) fn in_place(self) -> Vec<(Span, String)> {
        self.found.into_inner()
    }
}

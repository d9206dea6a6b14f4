//! Reads TOML sections; every key and value has its span in the file.
//!
//! Purpose: each accessor notes a mistake with its span and returns None, and reading continues, so one error lists all
//! mistakes of a file. (serde stops at the first mistake and loses the spans of keys in maps, so this module reads the tree
//! of the `toml` crate directly.) Boundaries: the other modules of `spec` and the workloads define the keys.

use super::mistake::{Mistake, Notes, Span};
use crate::text::setting::plain;
use crate::text::unit;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// Lifts what the file's top level or an earlier factor has set.
pub(crate) const NONE: &str = "none";

/// A table of the file.
#[derive(Clone)]
pub struct Section<'s> {
    /// Collects the mistakes.
    pub notes: &'s Notes,
    table: &'s DeTable<'s>,
    /// The key that names it.
    pub at: Span,
}

/// Mistakes in a section without a file: that of a planned trial, which the command line may have changed.
#[derive(Clone, Debug)]
pub struct SectionError {
    source: String,
    mistakes: Vec<Mistake>,
}

/// All mistakes on one line, each with its fix.
impl fmt::Display for SectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentences: Vec<String> = self.mistakes.iter().map(Mistake::sentence).collect();
        f.write_str(&sentences.join("; "))
    }
}

impl std::error::Error for SectionError {}

impl SectionError {
    /// The underlined text of each mistake, and its message with the fix.
    pub fn underlined(&self) -> impl Iterator<Item = (&str, String)> {
        let place = |mistake: &Mistake| self.source.get(mistake.at()).unwrap_or_default();
        let mistakes = self.mistakes.iter();
        mistakes.map(move |mistake| (place(mistake), mistake.sentence()))
    }
}

/// Reads a section from its own TOML text.
///
/// # Errors
/// Lists every mistake that `read` notes, or the syntax mistakes of the TOML text.
pub fn read_text<T>(
    source: &str,
    read: impl FnOnce(&Section) -> Option<T>,
) -> Result<T, SectionError> {
    let wrong = |mistakes| SectionError {
        source: source.to_string(),
        mistakes,
    };
    let tree = DeTable::parse(source).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        wrong(vec![Mistake::new(at, error.message(), "here", "")])
    })?;
    let notes = Notes::default();
    let value = read(&Section::file(&notes, tree.get_ref()));
    let mistakes = notes.into_vec();
    value
        .filter(|_| mistakes.is_empty())
        .ok_or_else(|| wrong(mistakes))
}

/// Reads a section without a file.
///
/// # Errors
/// As for `read_text`.
pub fn read_table<T>(
    table: &toml::Table,
    read: impl FnOnce(&Section) -> Option<T>,
) -> Result<T, SectionError> {
    read_text(&table.to_string(), read)
}

/// A key with its value, or an element of a list (then the key is empty).
#[derive(Clone)]
pub struct Node<'s> {
    pub notes: &'s Notes,
    pub key: &'s str,
    pub key_at: Span,
    pub value: &'s DeValue<'s>,
    value_at: Span,
}

/// A text, and the file that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written<'s> {
    pub text: &'s str,
    /// As the experiment names it; None: the text is in the experiment file.
    pub file: Option<&'s str>,
    /// The absolute path of the file's folder, if the text reads files that lie there.
    pub folder: Option<&'s str>,
}

fn from_file<'s>(table: &'s DeTable<'s>) -> Option<Written<'s>> {
    let text = |key: &str| table.get(key)?.get_ref().as_str();
    let folder = text("folder");
    (table.len() == 2 + usize::from(folder.is_some())).then_some(())?;
    Some(Written {
        text: text("text")?,
        file: Some(text("file")?),
        folder,
    })
}

impl<'s> Section<'s> {
    /// The whole file.
    pub fn file(notes: &'s Notes, table: &'s DeTable<'s>) -> Section<'s> {
        Section::new(notes, table, 0..0)
    }

    pub(crate) fn new(notes: &'s Notes, table: &'s DeTable<'s>, at: Span) -> Section<'s> {
        Section { notes, table, at }
    }

    pub(crate) fn table(&self) -> &'s DeTable<'s> {
        self.table
    }

    /// Its keys in file order.
    pub fn entries(&self) -> impl Iterator<Item = Node<'s>> + use<'s> {
        let notes = self.notes;
        let entries = self.table.iter();
        entries.map(move |(key, value)| Node::new(notes, key, value))
    }

    /// One key.
    pub fn get(&self, key: &str) -> Option<Node<'s>> {
        let (key, value) = self.table.get_key_value(key)?;
        Some(Node::new(self.notes, key, value))
    }

    /// The value of a key. None without it, and for a mistake, which `read` notes.
    pub fn read<T>(&self, key: &str, read: impl FnOnce(&Node<'s>) -> Option<T>) -> Option<T> {
        read(&self.get(key)?)
    }

    /// The value of a key, or the default without it. None for a mistake, which `read` notes.
    pub fn get_or<T>(
        &self,
        key: &str,
        default: T,
        read: impl FnOnce(&Node<'s>) -> Option<T>,
    ) -> Option<T> {
        self.get(key).map_or(Some(default), |node| read(&node))
    }

    /// The value of a key that `"none"`, read as Some(None), lifts.
    pub(crate) fn read_or_none<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Node<'s>) -> Option<T>,
    ) -> Option<Option<T>> {
        let node = self.get(key)?;
        match node.value.as_str() {
            Some(NONE) => Some(None),
            _ => read(&node).map(Some),
        }
    }

    /// Notes every key that is not among these; `name` is how messages call the section.
    pub fn allow(&self, name: &str, keys: &[&str]) {
        self.allow_besides(name, keys, &[]);
    }

    /// Like `allow`, but ignores the keys in `noted`, which were reported already.
    pub(crate) fn allow_besides(&self, name: &str, keys: &[&str], noted: &[&str]) {
        let is_unknown = |node: &Node| !keys.contains(&node.key) && !noted.contains(&node.key);
        for node in self.entries().filter(is_unknown) {
            self.unknown_key(name, &node, keys);
        }
    }

    /// Notes an unknown key, with the allowed ones and the most similar one.
    pub fn unknown_key(&self, name: &str, node: &Node, keys: &[&str]) {
        let says = format!("unknown key \"{}\" in {name}", node.key);
        let help = self.notes.suggestion(node.key, keys);
        let at = node.key_at.clone();
        self.notes.note(at, says, "unknown key", help);
    }

    /// A required key; notes a mistake if it is missing.
    pub fn require(&self, name: &str, key: &str, example: &str) -> Option<Node<'s>> {
        let node = self.get(key);
        if node.is_none() {
            let label = format!("lacks \"{key}\"");
            let (says, help) = (format!("{name} {label}"), format!("write {example}"));
            self.notes.note(self.at.clone(), says, label, help);
        }
        node
    }

    /// The tables of a table: `[server.X]`, `[variant.X]`, ...
    pub fn sections(&self, example: &str) -> Vec<(Node<'s>, Section<'s>)> {
        self.entries()
            .filter_map(|node| node.section(example).map(|section| (node, section)))
            .collect()
    }

    /// Follows a path: tables by key, lists by index. Returns the last node that exists, if any.
    pub fn follow(&self, path: &[String]) -> Option<Node<'s>> {
        let (first, rest) = path.split_first()?;
        let node = entry(self, first)?;
        let mut place = node.clone();
        let mut here = node;
        for step in rest {
            let next = match here.value {
                DeValue::Table(table) => {
                    let at = here.key_at.clone();
                    entry(&Section::new(self.notes, table, at), step)
                }
                DeValue::Array(_) => step
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| here.elements().into_iter().nth(index)),
                _ => None,
            };
            let Some(next) = next else { break };
            // A table in a list has no key, and its span is too large to underline.
            if !matches!((next.key, next.value), ("", DeValue::Table(_))) {
                place = next.clone();
            }
            here = next;
        }
        Some(place)
    }
}

/// The same key, or the same setting in another spelling.
pub(crate) fn same_key(a: &str, b: &str) -> bool {
    a == b || plain(a) == plain(b)
}

/// Two levels may differ only in spelling, so the exact key has priority.
fn entry<'s>(section: &Section<'s>, key: &str) -> Option<Node<'s>> {
    let alike = || section.entries().find(|node| same_key(node.key, key));
    section.get(key).or_else(alike)
}

impl<'s> Node<'s> {
    fn new(
        notes: &'s Notes,
        key: &'s Spanned<DeString<'s>>,
        value: &'s Spanned<DeValue<'s>>,
    ) -> Node<'s> {
        Node {
            notes,
            key: key.get_ref(),
            key_at: key.span(),
            value: value.get_ref(),
            value_at: value.span(),
        }
    }

    /// The span of the key and its value if they are adjacent, else of the key; of the value for an element of a list.
    pub fn at(&self) -> Span {
        match self.value {
            _ if self.key.is_empty() => self.value_at.clone(),
            DeValue::Table(table) if from_file(table).is_some() => {
                self.key_at.start..self.value_at.end.max(self.key_at.end)
            }
            DeValue::Table(_) | DeValue::Array(_) => self.key_at.clone(),
            _ => self.key_at.start..self.value_at.end.max(self.key_at.end),
        }
    }

    /// The span of the value.
    pub(crate) fn value_at(&self) -> Span {
        self.value_at.clone()
    }

    /// Notes a mistake at this node.
    pub fn note(&self, says: impl Into<String>, label: impl Into<String>, help: impl Into<String>) {
        self.notes.note(self.at(), says, label, help);
    }

    /// The value, or None and the error as a mistake at this node.
    pub(crate) fn noted<T>(
        &self,
        parsed: Result<T, impl fmt::Display>,
        label: &str,
        help: impl Into<String>,
    ) -> Option<T> {
        parsed
            .map_err(|error| self.note(error.to_string(), label, help))
            .ok()
    }

    fn wrong_type(&self, wanted: &str, example: &str) {
        let found = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.note(
            format!("{} must be {wanted}, not {found}", self.called("this")),
            found,
            format!("write {example}"),
        );
    }

    /// The value if it has this type.
    fn typed<T>(&self, value: Option<T>, wanted: &str, example: &str) -> Option<T> {
        if value.is_none() {
            self.wrong_type(wanted, example);
        }
        value
    }

    /// A string; `example` is the fix that a mistake suggests.
    pub fn text(&self, example: &str) -> Option<&'s str> {
        self.typed(self.value.as_str(), "a string", example)
    }

    /// A text that may come from a file of its own: a string, or `{ file = "q.sql", text = "..." }`, which is what
    /// `KEY_file = "q.sql"` becomes.
    pub fn written(&self, example: &str) -> Option<Written<'s>> {
        match self.value {
            DeValue::Table(table) if from_file(table).is_some() => from_file(table),
            _ => Some(Written {
                text: self.text(example)?,
                file: None,
                folder: None,
            }),
        }
    }

    /// A string that is not empty.
    pub fn words(&self, example: &str) -> Option<String> {
        let text = self.text(example)?.trim();
        if text.is_empty() {
            self.note(
                format!("\"{}\" is empty", self.key),
                "empty",
                format!("write {example}"),
            );
        }
        Some(text.to_string())
    }

    /// A name may be written as a number too: `clients = 8`, `server = 5.6`.
    pub fn name(&self, example: &str) -> Option<String> {
        match self.value {
            DeValue::Integer(number) => Some(number.to_string()),
            DeValue::Float(number) => Some(number.to_string()),
            _ => self.text(example).map(str::to_string),
        }
    }

    /// `true` or `false`.
    pub fn truth(&self, example: &str) -> Option<bool> {
        self.typed(self.value.as_bool(), "true or false", example)
    }

    /// A whole number of at least 1.
    pub fn count(&self, example: &str) -> Option<u32> {
        let number = self.typed(self.value.as_integer(), "a whole number", example)?;
        let count = u32::from_str_radix(number.as_str(), number.radix())
            .ok()
            .filter(|count| *count > 0);
        if count.is_none() {
            let wrong = match number.as_str().len() > 9 {
                true => "is too large",
                false => "must be at least 1",
            };
            let says = format!("{} {wrong}", self.called("this number"));
            self.note(says, "out of range", format!("write {example}"));
        }
        count
    }

    /// A whole number in a range.
    pub fn whole(&self, range: RangeInclusive<i64>, example: &str) -> Option<i64> {
        let number = self.typed(self.value.as_integer(), "a whole number", example)?;
        let whole = i64::from_str_radix(number.as_str(), number.radix()).ok();
        let whole = whole.filter(|whole| range.contains(whole));
        if whole.is_none() {
            self.out_of_range(
                &format!("from {} to {}", range.start(), range.end()),
                example,
            );
        }
        whole
    }

    /// A number above 0.
    pub fn positive(&self, example: &str) -> Option<f64> {
        self.number("above 0", |number| number > 0.0, example)
    }

    /// A number that `fits`; messages call the allowed numbers `range`.
    pub fn number(&self, range: &str, fits: impl Fn(f64) -> bool, example: &str) -> Option<f64> {
        let number = match self.value {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .ok()
                .map(|number| number as f64),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => {
                self.wrong_type("a number", example);
                return None;
            }
        };
        let number = number.filter(|number: &f64| number.is_finite() && fits(*number));
        if number.is_none() {
            self.out_of_range(range, example);
        }
        number
    }

    fn out_of_range(&self, range: &str, example: &str) {
        self.note(
            format!("{} must be {range}", self.called("this number")),
            "out of range",
            format!("write {example}"),
        );
    }

    /// One of these names.
    pub fn choice<T: Clone>(&self, choices: &[(&str, T)]) -> Option<T> {
        let (first, _) = choices.first()?;
        let text = self.text(&format!("{} = \"{first}\"", self.key))?;
        named(text, choices, |names| {
            self.note(
                format!("{} cannot be \"{text}\"", self.called("this")),
                "not known",
                self.notes.suggestion(text, names),
            );
        })
    }

    /// One of these names; mistakes call the key `what`.
    pub fn one_of<T: Clone>(&self, what: &str, example: &str, all: &[(&str, T)]) -> Option<T> {
        let text = self.text(example)?;
        named(text, all, |names| {
            self.notes.unknown(self.at(), what, text, names);
        })
    }

    /// A size in bytes: `"16K"`, `"1G"`.
    pub fn size(&self, example: &str) -> Option<u64> {
        let text = self.text(example)?;
        let help = format!("write {example}");
        self.noted(unit::size_bytes(text), "wrong unit", help)
    }

    /// A duration above 0.
    pub fn duration(&self, example: &str) -> Option<Duration> {
        let duration = self.time(example)?;
        if duration.is_zero() {
            self.note(
                format!("{} must be above 0", self.called("this duration")),
                "zero",
                format!("write {example}"),
            );
        }
        Some(duration).filter(|duration| !duration.is_zero())
    }

    /// A duration that may be 0.
    pub fn time(&self, example: &str) -> Option<Duration> {
        let text = self.text(example)?;
        let help = format!("write {example}");
        self.noted(unit::duration(text), "wrong unit", help)
    }

    /// The elements of a list that is not empty.
    pub fn list(&self, example: &str) -> Option<Vec<Node<'s>>> {
        self.typed(self.value.as_array(), "a list", example)?;
        let elements = self.elements();
        if elements.is_empty() {
            self.note(
                format!("\"{}\" is empty", self.key),
                "an empty list",
                format!("write {example}, or omit the key"),
            );
        }
        Some(elements)
    }

    /// A list, or a single value as a list of one.
    pub fn one_or_more(&self, example: &str) -> Vec<Node<'s>> {
        match self.value {
            DeValue::Array(_) => self.list(example).unwrap_or_default(),
            _ => vec![self.clone()],
        }
    }

    /// The table that the key holds, if it holds one.
    pub fn section_if_table(&self) -> Option<Section<'s>> {
        let is_table = matches!(self.value, DeValue::Table(_));
        is_table.then(|| self.section(""))?
    }

    /// The table that the key holds.
    pub fn section(&self, example: &str) -> Option<Section<'s>> {
        let table = self.typed(self.value.as_table(), "a table", example)?;
        let at = match self.key {
            "" => &self.value_at,
            _ => &self.key_at,
        };
        Some(Section::new(self.notes, table, at.clone()))
    }

    fn elements(&self) -> Vec<Node<'s>> {
        let DeValue::Array(elements) = self.value else {
            return Vec::new();
        };
        let element = |value: &'s Spanned<DeValue<'s>>| Node {
            notes: self.notes,
            key: "",
            key_at: self.key_at.clone(),
            value: value.get_ref(),
            value_at: value.span(),
        };
        elements.iter().map(element).collect()
    }

    fn called(&self, otherwise: &str) -> String {
        match self.key {
            "" => otherwise.to_string(),
            key => format!("\"{key}\""),
        }
    }
}

/// The value of this name. Without one, `unknown` notes the mistake; it gets all names.
fn named<T: Clone>(text: &str, all: &[(&str, T)], unknown: impl FnOnce(&[&str])) -> Option<T> {
    let found = all.iter().find(|(name, _)| *name == text);
    if found.is_none() {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        unknown(&names);
    }
    found.map(|(_, value)| value.clone())
}

/// The table without spans.
pub(crate) fn to_table(table: &DeTable) -> toml::Table {
    table
        .iter()
        .map(|(key, value)| (key.get_ref().to_string(), to_value(value.get_ref())))
        .collect()
}

fn to_value(value: &DeValue) -> toml::Value {
    match value {
        DeValue::String(text) => toml::Value::String(text.to_string()),
        // A number beyond i64 becomes a float, so that range checks still find it too large.
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => toml::Value::Integer(number),
            Err(_) => toml::Value::Float(f64::INFINITY),
        },
        DeValue::Float(number) => toml::Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(truth) => toml::Value::Boolean(*truth),
        DeValue::Datetime(date) => toml::Value::Datetime(*date),
        DeValue::Array(elements) => {
            let elements = elements.iter();
            toml::Value::Array(elements.map(|one| to_value(one.get_ref())).collect())
        }
        DeValue::Table(table) => toml::Value::Table(to_table(table)),
    }
}

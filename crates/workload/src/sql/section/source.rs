//! The keys of `[workload.sql]` that say where the tables come from.
//!
//! Boundaries: `spec` has made the paths absolute; `created_tables` and `existing_tables` use them.

use crate::keys::truth;
use crate::oltp;
use crate::sql::sources::{Charset, Creation, Sources};
use crate::sql::table_file::TableFile;
use spec::{Node, Section, Written};
use std::path::PathBuf;
use std::sync::Arc;

const SETUP: &str = "setup = \"create table ...; insert ...\" or setup_file = \"tables.sql\"";
const LOAD: &str =
    "load = { orders = \"orders.csv\" }, with several files for a table as [\"a.csv\", \"b.csv\"]";
const CHARSET: &str = "charset = \"utf8mb4\", or \"server\" for the server's own default";
const REPLACE: &str = "replace = { utf8mb4_0900_ai_ci = \"utf8mb4_general_ci\" }";
const SCHEMA: &str = "schema = \"shop\"";

/// The source of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// prony creates them from the user's SQL and files.
    Created(Sources),
    /// Those of the workload `oltp`.
    Oltp(oltp::Data),
    /// An external server has them in this schema.
    Schema(String),
}

impl Source {
    /// The number of numbered tables; None if the tables are not numbered.
    pub(super) fn numbered(&self) -> Option<u32> {
        match self {
            Source::Created(_) | Source::Schema(_) => None,
            Source::Oltp(data) => Some(data.tables),
        }
    }
}

pub(super) fn read(section: &Section) -> Option<Source> {
    let help = "tables have one source: keep one of the keys";
    let named = either(section, &["setup", "dump", "schema", "oltp"], help);
    let files = files(section, named.as_ref());
    let replace = replace(section, named.as_ref());
    let accept_warnings = truth(section, "accept_warnings", false);
    let reload = truth(section, "reload", false);
    let charset = charset(section, named.as_ref());
    let created = |creation| -> Option<Source> {
        Some(Source::Created(Sources {
            creation,
            files: files?,
            replace: replace?,
            accept_warnings,
            reload,
            charset: charset?,
        }))
    };
    let Some(node) = named else {
        return created(Creation::Setup {
            sql: String::new(),
            file: None,
            folder: None,
        });
    };
    match node.key {
        "setup" => created(setup(&node)?),
        "dump" => {
            let path = node.text("dump = \"shop.sql\"")?;
            created(Creation::Dump(path.into()))
        }
        "schema" => {
            not_created(section, &["accept_warnings", "reload"]);
            schema(&node).map(Source::Schema)
        }
        _ => {
            not_created(section, &["accept_warnings"]);
            let data = node.section("oltp = { rows = 100000 }")?;
            data.allow("[workload.sql.oltp]", &oltp::Data::KEYS);
            let mut data = oltp::Data::read(&data);
            data.reload |= reload;
            Some(Source::Oltp(data))
        }
    }
}

/// Notes keys without effect on tables that come from no setup, dump or file of the user.
fn not_created(section: &Section, keys: &[&str]) {
    for node in keys.iter().filter_map(|key| section.get(key)) {
        let says = format!("{} is for tables that a setup or a dump creates", node.key);
        node.note(says, "no effect", "remove it");
    }
}

/// Returns the one of exclusive keys that is set.
pub(super) fn either<'s>(section: &Section<'s>, keys: &[&str], help: &str) -> Option<Node<'s>> {
    let mut set = keys.iter().filter_map(|key| section.get(key));
    let first = set.next()?;
    for other in set {
        let says = format!("{} and {} at once", first.key, other.key);
        other.note(says, "a second one", help);
    }
    Some(first)
}

/// Reads a text, or that of the file which `KEY_file` names. A text that is nothing but the name of a file is refused.
pub(super) fn written<'s>(node: &Node<'s>, example: &str) -> Option<Written<'s>> {
    let written = node.written(example)?;
    let name = written.text.trim();
    let is_word = !name.contains(char::is_whitespace);
    if written.file.is_none() && is_word && name.to_ascii_lowercase().ends_with(".sql") {
        let key = node.key;
        let says = format!("{key} holds the text itself, and this is the name of a file");
        node.note(says, "a file", format!("write {key}_file = \"{name}\""));
        return None;
    }
    Some(written)
}

fn setup(node: &Node) -> Option<Creation> {
    let Written { text, file, folder } = written(node, SETUP)?;
    let creation = Creation::Setup {
        sql: text.to_owned(),
        file: file.map(String::from),
        folder: folder.map(PathBuf::from),
    };
    match first_mistake(&creation) {
        None => Some(creation),
        Some(says) => {
            node.note(says, "in this text", format!("write {SETUP}"));
            None
        }
    }
}

/// What is wrong with the statements, as far as no server is needed to say it.
fn first_mistake(creation: &Creation) -> Option<String> {
    let mut statements = creation.statements(&Arc::default()).ok()?;
    let mut is_empty = true;
    loop {
        match statements.next() {
            Ok(Some(_)) => is_empty = false,
            Ok(None) if is_empty => return Some("there is no statement".into()),
            Ok(None) => return None,
            Err(cut) => return Some(format!("{}:{}: {cut}", cut.file, cut.line)),
        }
    }
}

/// The character set of the schema.
fn charset(section: &Section, named: Option<&Node>) -> Option<Charset> {
    let Some(node) = section.get("charset") else {
        return Some(Charset::OfDump);
    };
    if !named.is_some_and(|source| matches!(source.key, "setup" | "dump")) {
        node.note(
            "charset is that of tables that prony creates, and nothing creates them",
            "no tables",
            format!("write {SETUP}"),
        );
        return None;
    }
    let name = node.words(CHARSET)?;
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match name.as_str() {
        "server" => Some(Charset::OfServer),
        _ if is_name && !name.is_empty() => Some(Charset::Named(name.to_ascii_lowercase())),
        _ => {
            let says = format!("{name:?} is not the name of a character set");
            node.note(says, "not a name", format!("write {CHARSET}"));
            None
        }
    }
}

/// Names go into statements of information_schema as text.
fn schema(node: &Node) -> Option<String> {
    let name = node.words(SCHEMA)?;
    if name.contains(['\'', '\\', '`', '"']) {
        let says = format!("{name:?} has a quote or a backslash");
        node.note(says, "not a name", format!("write {SCHEMA}"));
        return None;
    }
    Some(name)
}

fn files(section: &Section, named: Option<&Node>) -> Option<Vec<TableFile>> {
    let Some(node) = section.get("load") else {
        return Some(Vec::new());
    };
    if !named.is_some_and(|source| matches!(source.key, "setup" | "dump")) {
        node.note(
            "load fills tables, and nothing creates them",
            "no tables",
            format!("write {SETUP}"),
        );
        return None;
    }
    let tables = node.section(LOAD)?;
    let files: Option<Vec<Vec<TableFile>>> =
        tables.entries().map(|entry| of_table(&entry)).collect();
    Some(files?.concat())
}

/// The files of a table, in order.
fn of_table(node: &Node) -> Option<Vec<TableFile>> {
    const KEYS: [&str; 5] = ["file", "options", "header", "null", "separator"];
    if node.key.contains(['\'', '\\']) {
        let says = format!("{:?} has a quote or a backslash", node.key);
        node.note(says, "not a table", format!("write {LOAD}"));
        return None;
    }
    let mut one = TableFile {
        table: node.key.to_string(),
        ..TableFile::default()
    };
    let paths = match node.section_if_table() {
        None => paths(node)?,
        Some(section) => {
            let name = format!("load.{}", node.key);
            section.allow(&name, &KEYS);
            let example = "options = \"FIELDS TERMINATED BY ';'\"";
            let get = |key| section.get(key);
            one.options = get("options").and_then(|node| node.words(example));
            one.header = get("header").and_then(|node| node.truth("header = false"));
            let null = get("null").and_then(|node| node.text("null = \"\""));
            one.null = null.map(String::from);
            if let Some(node) = get("separator") {
                one.separator = Some(separator(&node)?);
            }
            only_one(&section, &one)?;
            paths(&section.require(&name, "file", "file = \"orders.csv\"")?)?
        }
    };
    let with = |path| TableFile {
        path,
        ..one.clone()
    };
    Some(paths.into_iter().map(with).collect())
}

/// With `options` the server reads the file, so what prony would read of it means nothing.
fn only_one(section: &Section, file: &TableFile) -> Option<()> {
    let keys = ["header", "null", "separator"];
    let other = keys.iter().find_map(|key| section.get(key));
    match other.filter(|_| file.options.is_some()) {
        None => Some(()),
        Some(node) => {
            node.note(
                format!(
                    "with options the server reads the file, and {} is prony's",
                    node.key
                ),
                "not with options",
                "write IGNORE 1 LINES into options, or remove them",
            );
            None
        }
    }
}

/// One sign that is in no number and no quote.
fn separator(node: &Node) -> Option<u8> {
    const SEPARATOR: &str = "separator = \";\"";
    let text = node.text(SEPARATOR)?;
    match text.as_bytes() {
        [sign] if !sign.is_ascii_alphanumeric() && !b"\"\\\r\n-+.".contains(sign) => Some(*sign),
        _ => {
            let says = format!("{text:?} cannot separate the fields of a file");
            node.note(
                says,
                "not one sign",
                format!("write {SEPARATOR}, or \"\\t\" for tabs"),
            );
            None
        }
    }
}

/// One path, or a list of paths.
fn paths(node: &Node) -> Option<Vec<PathBuf>> {
    let nodes = node.one_or_more(LOAD);
    let paths: Option<Vec<PathBuf>> = nodes
        .iter()
        .map(|node| Some(PathBuf::from(node.text(LOAD)?)))
        .collect();
    paths.filter(|paths| !paths.is_empty())
}

fn replace(section: &Section, named: Option<&Node>) -> Option<Vec<(String, String)>> {
    let Some(node) = section.get("replace") else {
        return Some(Vec::new());
    };
    if named.is_none_or(|source| source.key != "dump") {
        let says = "replace changes the statements of a dump, and the section has no dump";
        node.note(says, "no dump", "remove it, or write dump = \"shop.sql\"");
        return None;
    }
    let pairs = node.section(REPLACE)?;
    let pair = |entry: Node| {
        if entry.value.as_array().is_some() {
            let says = format!("{:?} is replaced by two texts", entry.key);
            entry.note(says, "more than one", "keep one of them");
            return None;
        }
        Some((entry.key.to_string(), entry.text(REPLACE)?.to_string()))
    };
    pairs.entries().map(pair).collect()
}

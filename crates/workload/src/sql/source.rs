//! The keys of `[workload.sql]` that say where the tables come from.
//!
//! Boundaries: `spec` has made the paths absolute; `tables` and `theirs` use them.

use super::files::TableFile;
use super::queries::in_file;
use super::tables::{Creation, Sources};
use crate::keys::truth;
use crate::oltp;
use crate::script::statements;
use spec::{Node, Section, Written};

const SETUP: &str = "setup = \"create table ...; insert ...\" or setup_file = \"tables.sql\"";
const LOAD: &str = "load = { orders = \"orders.csv\" }";
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
    let created = |creation| -> Option<Source> {
        Some(Source::Created(Sources {
            creation,
            files: files?,
            replace: replace?,
            accept_warnings,
            reload,
        }))
    };
    let Some(node) = named else {
        return created(Creation::Setup {
            sql: String::new(),
            file: None,
        });
    };
    match node.key {
        "setup" => created(setup(&node)?),
        "dump" => {
            let path = node.text("dump = \"shop.sql\"")?;
            created(Creation::Dump(path.into()))
        }
        "schema" => schema(&node).map(Source::Schema),
        _ => {
            let data = node.section("oltp = { rows = 100000 }")?;
            data.allow("[workload.sql.oltp]", &oltp::Data::KEYS);
            Some(Source::Oltp(oltp::Data::read(&data)))
        }
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

fn setup(node: &Node) -> Option<Creation> {
    let Written { text, file } = node.written(SETUP)?;
    match statements(text) {
        Ok(_) => Some(Creation::Setup {
            sql: text.to_owned(),
            file: file.map(String::from),
        }),
        Err(wrong) => {
            let says = in_file(file, &wrong);
            node.note(says, "in this text", format!("write {SETUP}"));
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
    let files = node.section(LOAD)?;
    files.entries().map(|entry| file(&entry)).collect()
}

fn file(node: &Node) -> Option<TableFile> {
    let (file, options) = match node.section_if_table() {
        None => (node.text(LOAD)?, None),
        Some(section) => {
            let name = format!("load.{}", node.key);
            section.allow(&name, &["file", "options"]);
            let file = section.require(&name, "file", "file = \"orders.csv\"")?;
            let options = section.get("options");
            let example = "options = \"FIELDS TERMINATED BY ';'\"";
            let options = options.map(|node| node.words(example));
            (file.text(LOAD)?, options.flatten())
        }
    };
    if node.key.contains(['\'', '\\']) {
        let says = format!("{:?} has a quote or a backslash", node.key);
        node.note(says, "not a table", format!("write {LOAD}"));
        return None;
    }
    Some(TableFile {
        table: node.key.to_string(),
        path: file.into(),
        options,
    })
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
    let pair = |entry: Node| Some((entry.key.to_string(), entry.text(REPLACE)?.to_string()));
    pairs.entries().map(pair).collect()
}

//! The section `[workload.sql]` of an experiment file.
//!
//! Boundaries: only the server knows whether the SQL is valid.

use super::parameter;
use crate::oltp;
use crate::script::{Builder, Part, Policy, Script, SqlMistake, WEIGHT_MAX, headed, statements};
use spec::Node;

const KEYS: [&str; 7] = [
    "operation",
    "operations",
    "parameter",
    "setup",
    "oltp",
    "on_deadlock",
    "retries_max",
];
const OPERATION: &str = "[workload.sql.operation.transfer] with statements = \"begin; ...; commit\" and, if there are several, weight = 3";
const SETUP: &str = "setup = \"create table ...; insert ...\" or setup_file = \"tables.sql\"";

/// The section, checked.
#[derive(Clone, Debug)]
pub struct Section {
    pub source: Source,
    pub script: Script,
    /// In file order.
    pub names: Vec<String>,
}

/// The source of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Setup statements, run once; None: no tables.
    Setup(String),
    /// Those of the workload `oltp`.
    Oltp(oltp::Data),
}

impl Source {
    /// The number of numbered tables; None if the tables are not numbered.
    fn tables(&self) -> Option<u32> {
        match self {
            Source::Setup(_) => None,
            Source::Oltp(data) => Some(data.tables),
        }
    }
}

/// An operation in the file.
struct Written<'s> {
    /// The span of its statements.
    node: Node<'s>,
    name: String,
    weight: u32,
    sql: &'s str,
}

impl Section {
    /// Reads the section and notes mistakes.
    pub fn read(section: &spec::Section) -> Option<Section> {
        section.allow("[workload.sql]", &KEYS);
        let policy = Policy::read(section);
        let source = source(section);
        let parameters = match section.get("parameter") {
            Some(node) => parameter::all(&node),
            None => Some(Vec::new()),
        };
        let operations = operations(section)?;
        let (source, parameters) = (source?, parameters?);
        let mut builder = Builder::new(source.tables());
        for (name, generator) in parameters {
            builder.parameter(&name, generator);
        }
        for Written {
            node,
            name,
            weight,
            sql,
        } in &operations
        {
            let added = builder.operation(name, *weight, &[Part { times: 1, sql }]);
            added
                .map_err(|wrong| wrong_statements(node, name, wrong))
                .ok()?;
        }
        for name in builder.unused() {
            unused(section, name);
        }
        Some(Section {
            source,
            script: builder.finish(policy),
            names: operations
                .into_iter()
                .map(|operation| operation.name)
                .collect(),
        })
    }
}

fn wrong_statements(node: &Node, name: &str, wrong: SqlMistake) {
    let help = match &wrong {
        SqlMistake::Undefined { name } => {
            format!("define it: [workload.sql.parameter.{name}] with uniform = [1, 1000]")
        }
        SqlMistake::Unnamed => "write :id, and [workload.sql.parameter.id] for its values".into(),
        SqlMistake::Open => "end it in the same operation".into(),
        _ => "statements are separated by semicolons".into(),
    };
    node.note(format!("{name}: {wrong}"), "in these statements", help);
}

fn unused(section: &spec::Section, name: &str) {
    let path = ["parameter".to_string(), name.to_string()];
    let Some(node) = section.follow(&path) else {
        return;
    };
    node.note(
        format!("no statement uses :{name}"),
        "not used",
        format!("write :{name} in a statement, or remove the parameter"),
    );
}

/// Returns the one of two exclusive keys that is set.
fn either<'s>(section: &spec::Section<'s>, keys: [&str; 2], help: &str) -> Option<Node<'s>> {
    let [first, second] = keys.map(|key| section.get(key));
    if let (Some(first), Some(second)) = (&first, &second) {
        let says = format!("{} and {} at once", first.key, second.key);
        second.note(says, "a second one", help);
    }
    first.or(second)
}

/// From `operation.NAME`, or from a text with headings.
fn operations<'s>(section: &spec::Section<'s>) -> Option<Vec<Written<'s>>> {
    let help = "keep one of the two";
    let Some(node) = either(section, ["operation", "operations"], help) else {
        section.notes.note(
            section.at.clone(),
            "[workload.sql] has no operation",
            "has no operation",
            format!("write {OPERATION}"),
        );
        return None;
    };
    let written = match node.key {
        "operation" => from_tables(&node)?,
        _ => from_text(&node)?,
    };
    if written.iter().all(|operation| operation.weight == 0) {
        node.note(
            "every weight is 0",
            "nothing to run",
            "set the weight of one operation to 1 or more",
        );
        return None;
    }
    Some(written)
}

fn from_text<'s>(node: &Node<'s>) -> Option<Vec<Written<'s>>> {
    let text = node.text("operations = \"-- operation: transfer weight 3 ...\"")?;
    let wrong = |says: String, help: &str| node.note(says, "in this text", help);
    let headed = headed(text)
        .map_err(|cause| {
            let help = "begin each operation with a line like -- operation: transfer weight 3";
            wrong(cause.to_string(), help);
        })
        .ok()?;
    let mut written: Vec<Written> = Vec::new();
    for operation in headed {
        if written.iter().any(|known| known.name == operation.name) {
            wrong(
                format!("{} is defined twice", operation.name),
                "give each operation a unique name",
            );
            return None;
        }
        named(node, operation.name)?;
        written.push(Written {
            node: node.clone(),
            name: operation.name.into(),
            weight: operation.weight,
            sql: operation.sql,
        });
    }
    Some(written)
}

fn from_tables<'s>(node: &Node<'s>) -> Option<Vec<Written<'s>>> {
    let section = node.section(OPERATION)?;
    if section.entries().next().is_none() {
        node.note("operation is empty", "empty", format!("write {OPERATION}"));
        return None;
    }
    let written: Vec<_> = section.entries().map(|node| from_table(&node)).collect();
    written.into_iter().collect()
}

fn from_table<'s>(node: &Node<'s>) -> Option<Written<'s>> {
    let name = node.key;
    named(node, name)?;
    let section = node.section(OPERATION)?;
    let called = format!("[workload.sql.operation.{name}]");
    section.allow(&called, &["statements", "weight"]);
    let weight = match section.get("weight") {
        Some(node) => node.whole(0..=WEIGHT_MAX, "weight = 3"),
        None => Some(1),
    };
    let statements = section.require(&called, "statements", OPERATION)?;
    Some(Written {
        sql: statements.text(OPERATION)?,
        node: statements,
        name: name.into(),
        weight: weight? as u32,
    })
}

/// Checks a name, which appears in tables, claims and headings.
fn named(node: &Node, name: &str) -> Option<()> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_part) {
        return Some(());
    }
    node.note(
        format!("{name:?} cannot be the name of an operation"),
        "not a name",
        "write letters, digits, - and _",
    );
    None
}

fn source(section: &spec::Section) -> Option<Source> {
    let help = "keep one of the two";
    let Some(node) = either(section, ["setup", "oltp"], help) else {
        return Some(Source::Setup(String::new()));
    };
    match node.key {
        "setup" => setup(&node),
        _ => {
            let data = node.section("oltp = { rows = 100000 }")?;
            data.allow("[workload.sql.oltp]", &oltp::Data::KEYS);
            Some(Source::Oltp(oltp::Data::read(&data)))
        }
    }
}

fn setup(node: &Node) -> Option<Source> {
    let sql = node.text(SETUP)?;
    match statements(sql) {
        Ok(_) => Some(Source::Setup(sql.to_owned())),
        Err(wrong) => {
            node.note(wrong.to_string(), "in this text", format!("write {SETUP}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;
    use toml::Value;

    fn read(text: &str) -> Section {
        spec::read_text(text, Section::read).unwrap()
    }

    const TRANSFER: &str = r#"
        setup = "create table accounts (id int primary key, balance int)"
        [operation.transfer]
        weight = 3
        statements = "begin; update accounts set balance = balance - :amount where id = :from; commit"
        [operation.look]
        statements = "select balance from accounts where id = :from"
        [parameter.from]
        uniform = [1, 100000]
        [parameter.amount]
        one_of = [1, 2.5, "3"]
    "#;

    #[test]
    fn operations_and_parameters_become_a_script() {
        let section = read(TRANSFER);
        assert_eq!(section.names, ["transfer", "look"]);
        assert_eq!(section.script.prepared_per_session(), 2);
        assert!(matches!(section.source, Source::Setup(sql) if sql.starts_with("create table")));
    }

    #[test]
    fn operations_may_come_from_a_text_with_headings() {
        let sql = "-- operation: a weight 2\nselect 1;\n-- operation: b\nselect 2;\n";
        let text = format!("operations = {}", Value::from(sql));
        assert_eq!(read(&text).names, ["a", "b"]);
    }

    #[test]
    fn the_tables_may_be_those_of_oltp() {
        let section = read("oltp = { rows = 1000 }\noperation.a.statements = \"select 1\"");
        assert!(
            matches!(section.source, Source::Oltp(data) if data.rows == 1000 && data.tables == 1)
        );
    }

    #[test]
    fn statements_name_the_tables_of_oltp_by_their_number_and_their_own_as_they_are() {
        let operation = "operation.a.statements = \"select c from sbtest{n}\"";
        let on_oltp = read(&format!("oltp = {{ tables = 4 }}\n{operation}"));
        assert_eq!(on_oltp.script.prepared_per_session(), 4);
        let on_own = read(operation);
        assert_eq!(on_own.script.prepared_per_session(), 1);
    }

    #[test]
    fn a_mistake_names_its_key() {
        let ok = "operation.a.statements = \"select :p\"\nparameter.p.uniform = [1, 2]\n";
        for (text, key) in [
            ("", ""),
            ("operation = {}", "operation"),
            ("operation.a = 1", "operation.a"),
            ("operation.a = {}", "operation.a"),
            (
                "operation.\"a b\".statements = \"select 1\"",
                "operation.a b",
            ),
            ("operation.a.statements = \"\"", "operation.a.statements"),
            (
                "operation.a.statements = \"select 1;; select 2\"",
                "operation.a.statements",
            ),
            (
                "operation.a.statements = \"select ?\"",
                "operation.a.statements",
            ),
            (
                "operation.a.statements = \"select 'x\"",
                "operation.a.statements",
            ),
            (
                "operation.a.statements = \"begin; select 1\"",
                "operation.a.statements",
            ),
            (
                "operation.a.statements = \"select :p\"",
                "operation.a.statements",
            ),
            (
                "operation.a = { statements = \"select 1\", weight = -1 }",
                "operation.a.weight",
            ),
            (
                "operation.a = { statements = \"select 1\", weight = 0 }",
                "operation",
            ),
            (
                "operation.a = { statements = \"select 1\", wait = 0 }",
                "operation.a.wait",
            ),
            ("operations = \"select 1\"", "operations"),
            (
                "operations = \"-- operation: a\\nselect 1; -- operation: a\\nselect 1\"",
                "operations",
            ),
            (&format!("{ok}operations = \"\""), "operations"),
            (&format!("{ok}setup = \"a;;b\""), "setup"),
            (&format!("{ok}setup = \"a\"\noltp = {{}}"), "oltp"),
            (&format!("{ok}oltp = {{ rows = 0 }}"), "oltp.rows"),
            (&format!("{ok}oltp = {{ row = 1 }}"), "oltp.row"),
            (&format!("{ok}on_deadlock = \"ignore\""), "on_deadlock"),
            (&format!("{ok}retries_max = 0"), "retries_max"),
            (&format!("{ok}scale = 1"), "scale"),
            (&format!("{ok}parameter.q.uniform = [1, 2]"), "parameter.q"),
            (
                &format!("{ok}parameter.q.uniform = [2, 1]"),
                "parameter.q.uniform",
            ),
        ] {
            assert_mistake_at(text, key, Section::read);
        }
    }

    #[test]
    fn the_error_for_an_undefined_parameter_shows_how_to_define_it() {
        let text = "operation.a.statements = \"select :p\"";
        let says = assert_mistake_at(text, "operation.a.statements", Section::read);
        assert!(
            says.starts_with("a: the parameter :p is not defined"),
            "{says}"
        );
        assert!(says.contains("[workload.sql.parameter.p]"), "{says}");
    }
}

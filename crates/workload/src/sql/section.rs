//! The section `[workload.sql]` of an experiment file.
//!
//! Goal: statements, parameters and their mistakes, each by its key. Non-goal: whether a server understands the SQL.

use super::parameter;
use crate::KeyMistake;
use crate::keys::{mistake, text, whole};
use crate::oltp;
use crate::script::{Builder, Part, Policy, Script, SqlMistake, WEIGHT_MAX, headed, statements};
use toml::{Table, Value};

const KEYS: &str =
    "the keys are: operation, operations, parameter, setup, oltp, on_deadlock, retries_max";
const OPERATION: &str = "[workload.sql.operation.transfer] with statements = \"begin; ...; commit\" and, if there are several, weight = 3";
const SETUP: &str = "setup = \"create table ...; insert ...\" or setup_file = \"tables.sql\"";

/// The section, checked.
#[derive(Clone, Debug)]
pub struct Section {
    pub source: Source,
    pub script: Script,
    /// In the file's order.
    pub names: Vec<String>,
}

/// Where the tables come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Statements that are run once; without any there are no tables.
    Setup(String),
    /// Those of the workload `oltp`.
    Oltp(oltp::Data),
}

impl Source {
    /// How many numbered tables there are; None where the tables have names of their own.
    fn tables(&self) -> Option<u32> {
        match self {
            Source::Setup(_) => None,
            Source::Oltp(data) => Some(data.tables),
        }
    }
}

/// An operation as it is written, and the key that it is under.
struct Written {
    key: String,
    name: String,
    weight: u32,
    sql: String,
}

impl Section {
    pub fn read(table: &Table) -> Result<Section, KeyMistake> {
        let unknown = table.keys().find(|key| !is_key(key));
        if let Some(key) = unknown {
            return Err(mistake(key, format!("sql has no key {key:?}"), KEYS));
        }
        let operations = operations(table)?;
        let source = source(table)?;
        let mut builder = Builder::new(source.tables());
        let parameters = match table.get("parameter") {
            Some(value) => parameter::all(value)?,
            None => Vec::new(),
        };
        for (name, generator) in parameters {
            builder.parameter(&name, generator);
        }
        for operation in &operations {
            let part = Part {
                times: 1,
                sql: &operation.sql,
            };
            builder
                .operation(&operation.name, operation.weight, &[part])
                .map_err(|wrong| wrong_statements(&operation.key, &operation.name, wrong))?;
        }
        if let Some(name) = builder.unused().next() {
            return Err(mistake(
                &format!("parameter.{name}"),
                format!("no statement uses :{name}"),
                format!("write :{name} in a statement, or take the parameter out"),
            ));
        }
        let script = builder.finish(Policy::read(table)?);
        Ok(Section {
            source,
            script,
            names: operations
                .into_iter()
                .map(|operation| operation.name)
                .collect(),
        })
    }
}

fn is_key(key: &str) -> bool {
    let keys = KEYS.strip_prefix("the keys are: ").unwrap_or(KEYS);
    keys.split(", ").any(|known| known == key)
}

fn wrong_statements(key: &str, name: &str, wrong: SqlMistake) -> KeyMistake {
    let help = match &wrong {
        SqlMistake::Undefined { name } => {
            format!("define it: [workload.sql.parameter.{name}] with uniform = [1, 1000]")
        }
        SqlMistake::Unnamed => "write :id, and [workload.sql.parameter.id] for its values".into(),
        SqlMistake::Open => "end it in the same operation".into(),
        _ => "statements are separated by semicolons".into(),
    };
    mistake(key, format!("{name}: {wrong}"), help)
}

/// From `operation.NAME`, or from a text with headings.
fn operations(table: &Table) -> Result<Vec<Written>, KeyMistake> {
    let given: Vec<&str> = ["operation", "operations"]
        .into_iter()
        .filter(|key| table.contains_key(*key))
        .collect();
    match given[..] {
        ["operation"] => from_tables(&table["operation"]),
        ["operations"] => from_text(
            "operations",
            text("operations", &table["operations"], HEADED)?,
        ),
        [] => Err(mistake("", "sql has no operation", OPERATION)),
        _ => {
            let says = format!("{} and {} at once", given[0], given[1]);
            Err(mistake(given[1], says, "write the operations in one place"))
        }
    }
}

const HEADED: &str = "-- operation: transfer weight 3\nbegin; ...; commit;";

fn from_text(key: &str, text: &str) -> Result<Vec<Written>, KeyMistake> {
    let headed = headed(text).map_err(|wrong| {
        let help = "each operation begins with a line like -- operation: transfer weight 3";
        mistake(key, wrong.to_string(), help)
    })?;
    let mut written: Vec<Written> = Vec::new();
    for operation in headed {
        if written.iter().any(|known| known.name == operation.name) {
            let says = format!("{} stands twice", operation.name);
            return Err(mistake(key, says, "give each operation a name of its own"));
        }
        named(key, operation.name)?;
        written.push(Written {
            key: key.into(),
            name: operation.name.into(),
            weight: operation.weight,
            sql: operation.sql.into(),
        });
    }
    some_weight(key, &written)?;
    Ok(written)
}

fn from_tables(value: &Value) -> Result<Vec<Written>, KeyMistake> {
    let tables = value
        .as_table()
        .filter(|tables| !tables.is_empty())
        .ok_or_else(|| mistake("operation", "operation is a table of operations", OPERATION))?;
    let mut written = Vec::new();
    for (name, value) in tables {
        written.push(from_table(name, value)?);
    }
    some_weight("operation", &written)?;
    Ok(written)
}

fn from_table(name: &str, value: &Value) -> Result<Written, KeyMistake> {
    let key = format!("operation.{name}");
    named(&key, name)?;
    let table = value
        .as_table()
        .ok_or_else(|| mistake(&key, format!("{name} is a table"), OPERATION))?;
    let (mut weight, mut sql) = (1, None);
    for (part, value) in table {
        let key = format!("{key}.{part}");
        match part.as_str() {
            "weight" => weight = whole(&key, value, 0..=WEIGHT_MAX)? as u32,
            "statements" => sql = Some(text(&key, value, OPERATION)?.to_owned()),
            other => {
                let says = format!("an operation has no key {other:?}");
                return Err(mistake(&key, says, "the keys are: statements, weight"));
            }
        }
    }
    let sql = sql.ok_or_else(|| mistake(&key, format!("{name} has no statements"), OPERATION))?;
    Ok(Written {
        key: format!("{key}.statements"),
        name: name.into(),
        weight,
        sql,
    })
}

/// Names stand in tables, in claims and in headings.
fn named(key: &str, name: &str) -> Result<(), KeyMistake> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_part) {
        return Ok(());
    }
    let says = format!("{name:?} is no name of an operation");
    Err(mistake(key, says, "letters, digits, - and _"))
}

fn some_weight(key: &str, written: &[Written]) -> Result<(), KeyMistake> {
    if written.iter().any(|operation| operation.weight > 0) {
        return Ok(());
    }
    Err(mistake(
        key,
        "every weight is 0",
        "give one operation a weight of 1 or more",
    ))
}

fn source(table: &Table) -> Result<Source, KeyMistake> {
    let given: Vec<&str> = ["setup", "oltp"]
        .into_iter()
        .filter(|key| table.contains_key(*key))
        .collect();
    match given[..] {
        [] => Ok(Source::Setup(String::new())),
        ["setup"] => setup(text("setup", &table["setup"], SETUP)?),
        ["oltp"] => Ok(Source::Oltp(data(&table["oltp"])?)),
        _ => {
            let says = format!("{} and {} at once", given[0], given[1]);
            Err(mistake(given[1], says, "the tables come from one of them"))
        }
    }
}

fn data(value: &Value) -> Result<oltp::Data, KeyMistake> {
    const HELP: &str = "the keys are: tables, rows, engine, secondary_index";
    let table = value.as_table().ok_or_else(|| {
        mistake(
            "oltp",
            "oltp is a table",
            "[workload.sql.oltp] with rows = 100000",
        )
    })?;
    let mut data = oltp::Data::default();
    for (key, value) in table {
        if !data.take("oltp.", key, value)? {
            let says = format!("the tables of oltp have no key {key:?}");
            return Err(mistake(&format!("oltp.{key}"), says, HELP));
        }
    }
    Ok(data)
}

fn setup(sql: &str) -> Result<Source, KeyMistake> {
    statements(sql).map_err(|wrong| mistake("setup", wrong.to_string(), SETUP))?;
    Ok(Source::Setup(sql.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Section, KeyMistake> {
        Section::read(&text.parse().unwrap())
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
        let section = read(TRANSFER).unwrap();
        assert_eq!(section.names, ["transfer", "look"]);
        assert_eq!(section.script.prepared_per_session(), 2);
        assert!(matches!(section.source, Source::Setup(sql) if sql.starts_with("create table")));
    }

    #[test]
    fn operations_may_come_from_a_text_with_headings() {
        let sql = "-- operation: a weight 2\nselect 1;\n-- operation: b\nselect 2;\n";
        let text = format!("operations = {}", Value::from(sql));
        assert_eq!(read(&text).unwrap().names, ["a", "b"]);
    }

    #[test]
    fn the_tables_may_be_those_of_oltp() {
        let section =
            read("oltp = { rows = 1000 }\noperation.a.statements = \"select 1\"").unwrap();
        assert!(
            matches!(section.source, Source::Oltp(data) if data.rows == 1000 && data.tables == 1)
        );
    }

    #[test]
    fn statements_name_the_tables_of_oltp_by_their_number_and_their_own_as_they_are() {
        let operation = "operation.a.statements = \"select c from sbtest{n}\"";
        let on_oltp = read(&format!("oltp = {{ tables = 4 }}\n{operation}")).unwrap();
        assert_eq!(on_oltp.script.prepared_per_session(), 4);
        let on_own = read(operation).unwrap();
        assert_eq!(on_own.script.prepared_per_session(), 1);
    }

    fn mistake_of(lines: &str) -> KeyMistake {
        read(lines).unwrap_err()
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
            assert_eq!(mistake_of(text).key, key, "{text}");
        }
    }

    #[test]
    fn an_undefined_parameter_is_answered_with_how_to_define_it() {
        let mistake = mistake_of("operation.a.statements = \"select :p\"");
        assert_eq!(mistake.says, "a: the parameter :p is not defined");
        assert!(
            mistake.help.contains("[workload.sql.parameter.p]"),
            "{}",
            mistake.help
        );
    }
}

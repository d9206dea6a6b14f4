//! The section `[workload.sql]` of an experiment file.
//!
//! Boundaries: `source` reads where the tables come from; only the server knows whether the SQL is valid.

mod carried;
mod parameter;
pub(super) mod source;

use super::queries::{Query, queries};
use crate::script::{Builder, Policy, Script, StatementGroup, WEIGHT_MAX};
use crate::sql_text::lexer::{reading, tokens_of};
use crate::sql_text::{SqlMistake, headed, is_name};
use source::Source;
use spec::{Node, Written as Text};

const KEYS: [&str; 15] = [
    "queries",
    "operation",
    "operations",
    "parameter",
    "setup",
    "load",
    "dump",
    "charset",
    "replace",
    "accept_warnings",
    "reload",
    "schema",
    "oltp",
    "on_deadlock",
    "retries_max",
];
/// Keys that only a timed load has.
const OF_OPERATIONS: [&str; 4] = ["parameter", "on_deadlock", "retries_max", "oltp"];
const OPERATION: &str = "[workload.sql.operation.transfer] with statements = \"begin; ...; commit\" and, if there are several, weight = 3";
const OPERATIONS: &str = "operations = \"-- operation: transfer weight 3 ...\"";
const QUERIES: &str = "queries_file = \"q.sql\", or queries = \"-- name: by_region ...\"";

/// The section, checked.
#[derive(Clone, Debug)]
pub struct Section {
    pub source: Source,
    pub runs: Runs,
}

/// What runs on the tables.
#[derive(Clone, Debug)]
pub enum Runs {
    /// In rounds. `file`: where they come from, if not from the experiment file.
    Queries {
        queries: Vec<Query>,
        file: Option<String>,
    },
    /// In a timed load. The names are in file order.
    Operations { script: Script, names: Vec<String> },
}

/// An operation in the file.
struct Written<'s> {
    /// The span of its statements.
    node: Node<'s>,
    name: String,
    weight: u32,
    sql: &'s str,
    file: Option<&'s str>,
}

impl Section {
    /// Reads the section and notes mistakes.
    pub fn read(section: &spec::Section) -> Option<Section> {
        section.allow("[workload.sql]", &KEYS);
        let source = source::read(section);
        let runs = match section.get("queries") {
            Some(node) => of_rounds(section, &node, source.as_ref()),
            None => of_timed_load(section, source.as_ref().and_then(Source::numbered)),
        };
        let (source, runs) = (source?, runs?);
        if let (Runs::Operations { .. }, Some(node)) = (&runs, section.get("schema")) {
            node.note(
                "schema is measured read-only, and a timed load may write",
                "only with queries",
                format!("write {QUERIES}, or let prony create the tables from a setup or a dump"),
            );
        }
        Some(Section { source, runs })
    }
}

fn of_rounds(section: &spec::Section, node: &Node, source: Option<&Source>) -> Option<Runs> {
    let others = ["operation", "operations"].into_iter().chain(OF_OPERATIONS);
    for other in others.filter_map(|key| section.get(key)) {
        other.note(
            format!(
                "queries run in rounds, and {} belongs to a timed load",
                other.key
            ),
            "not with queries",
            "keep one of the two",
        );
    }
    let Text { text, file, .. } = source::written(node, QUERIES)?;
    let wrong = |mistake: super::queries::QueryMistake| {
        let says = match (file, mistake.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {mistake}"),
            (Some(file), None) => format!("{file}: {mistake}"),
            (None, Some(line)) => format!("line {line} of queries: {mistake}"),
            (None, None) => mistake.to_string(),
        };
        node.note(says, "in this text", "queries are separated by semicolons");
    };
    let found = queries(text).and_then(|found| match source {
        Some(Source::Schema(schema)) => found.on_their_schema(schema),
        _ => found.on_pronys_schema(),
    });
    Some(Runs::Queries {
        queries: found.map_err(wrong).ok()?,
        file: file.map(String::from),
    })
}

/// `tables`: the number of tables that `{n}` may name.
fn of_timed_load(section: &spec::Section, tables: Option<u32>) -> Option<Runs> {
    let policy = Policy::read(section);
    let parameters = section.get_or("parameter", Vec::new(), parameter::all);
    let operations = operations(section)?;
    if operations.iter().any(is_refused) || carried::is_noted(&operations) {
        return None;
    }
    let mut builder = Builder::new(tables);
    for (name, generator) in parameters? {
        builder.parameter(&name, generator);
    }
    for operation in &operations {
        let Written {
            name, weight, sql, ..
        } = operation;
        let added = builder.operation(name, *weight, &[StatementGroup { times: 1, sql }]);
        added
            .map_err(|wrong| wrong_statements(operation, wrong))
            .ok()?;
    }
    for name in builder.unused() {
        unused(section, name);
    }
    let names = operations.into_iter().map(|operation| operation.name);
    Some(Runs::Operations {
        names: names.collect(),
        script: builder.finish(policy),
    })
}

/// Notes a statement that writes a file on the server, leaves the schema of the tables, or makes the record of the server wrong.
fn is_refused(operation: &Written) -> bool {
    let tokens = tokens_of(operation.sql);
    let mut statements = tokens.split(|token| token.is_sign(b';'));
    let mut others = statements.clone();
    let (says, help) = if reading::writes_file(&tokens) {
        (reading::WRITES_FILE, "remove INTO OUTFILE, INTO DUMPFILE")
    } else if statements.any(|one| one.first().is_some_and(|first| first.is("USE"))) {
        (
            "USE would hold for all later operations of the client, which run in the schema of the tables",
            "remove USE",
        )
    } else if let Some(found) = others.find_map(reading::falsifies) {
        found
    } else {
        return false;
    };
    let says = format!("{}: {says}", operation.name);
    operation.node.note(says, "in these statements", help);
    true
}

fn wrong_statements(operation: &Written, wrong: SqlMistake) {
    let help = match &wrong {
        SqlMistake::Undefined { name } => {
            format!("define it: [workload.sql.parameter.{name}] with uniform = [1, 1000]")
        }
        SqlMistake::Unnamed => "write :id, and [workload.sql.parameter.id] for its values".into(),
        SqlMistake::Open => "end it in the same operation".into(),
        SqlMistake::Locked { missing } => {
            format!("write {missing} at its end: other clients would wait for the next operation")
        }
        SqlMistake::NoAutocommit => {
            "write begin; ...; commit for a transaction of several statements".into()
        }
        _ => "statements are separated by semicolons".into(),
    };
    let name = &operation.name;
    let says = match operation.file {
        Some(file) => format!("{file}: {name}: {wrong}"),
        None => format!("{name}: {wrong}"),
    };
    operation.node.note(says, "in these statements", help);
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

/// From `operation.NAME`, or from a text with headings.
fn operations<'s>(section: &spec::Section<'s>) -> Option<Vec<Written<'s>>> {
    let help = "keep one of the two";
    let Some(node) = source::either(section, &["operation", "operations"], help) else {
        section.notes.note(
            section.at.clone(),
            "[workload.sql] has no queries and no operation",
            "nothing to run",
            format!("for rounds write {QUERIES}; for a timed load {OPERATION}"),
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
    let Text { text, file, .. } = source::written(node, OPERATIONS)?;
    let wrong = |says: String, help: &str| {
        let says = match file {
            Some(file) => format!("{file}: {says}"),
            None => says,
        };
        node.note(says, "in this text", help);
    };
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
            file,
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
    let weight = section.get_or("weight", 1, |node| node.whole(0..=WEIGHT_MAX, "weight = 3"));
    let statements = section.require(&called, "statements", OPERATION)?;
    Some(Written {
        sql: statements.text(OPERATION)?,
        node: statements,
        name: name.into(),
        weight: weight? as u32,
        file: None,
    })
}

fn named(node: &Node, name: &str) -> Option<()> {
    if is_name(name) {
        return Some(());
    }
    node.note(
        format!("{name:?} cannot be the name of an operation"),
        "not a name",
        "write letters, digits, - and _",
    );
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;
    use toml::Value;

    fn read(text: &str) -> Section {
        spec::read_text(text, Section::read).unwrap()
    }

    fn operations(text: &str) -> (Vec<String>, Script) {
        match read(text).runs {
            Runs::Operations { names, script } => (names, script),
            other => panic!("{other:?}"),
        }
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
        let (names, script) = operations(TRANSFER);
        assert_eq!(names, ["transfer", "look"]);
        assert_eq!(script.prepared_per_session(), 2);
        let Source::Created(sources) = read(TRANSFER).source else {
            panic!("tables from the setup");
        };
        assert!(
            matches!(sources.creation, super::super::sources::Creation::Setup { sql, .. } if sql.starts_with("create table"))
        );
    }

    #[test]
    fn operations_may_come_from_a_text_with_headings() {
        let sql = "-- operation: a weight 2\nselect 1;\n-- operation: b\nselect 2;\n";
        let text = format!("operations = {}", Value::from(sql));
        assert_eq!(operations(&text).0, ["a", "b"]);
    }

    #[test]
    fn queries_become_a_round_with_the_lines_of_their_file() {
        let text =
            "queries = { file = \"q.sql\", text = \"select 1;\\n\\n-- name: b\\nselect 2\" }";
        let says = assert_mistake_at(text, "queries", Section::read);
        assert!(says.starts_with("q.sql:1: a statement before"), "{says}");
        let Runs::Queries { queries, file } = read("queries = \"-- name: b\\nselect 2\"").runs
        else {
            panic!("rounds");
        };
        assert_eq!(
            (queries[0].name.as_str(), queries[0].line, file),
            ("b", 2, None)
        );
    }

    #[test]
    fn the_tables_may_come_from_a_dump_files_or_a_schema() {
        let source = |text: &str| read(&format!("queries = \"select 1\"\n{text}")).source;
        let Source::Created(dump) = source("dump = \"/a/shop.sql\"\nreplace = { a = \"b\" }")
        else {
            panic!("a dump");
        };
        assert_eq!(dump.replace, [("a".to_string(), "b".to_string())]);
        let files = "setup = \"create table t (a int)\"\n[load]\nt = \"/a/t.csv\"\nu = { file = \"/a/u\", options = \"LINES STARTING BY 'x'\" }";
        let Source::Created(files) = source(files) else {
            panic!("files");
        };
        let lists = source(
            "setup = \"create table t (a int)\"\n[load]\nt = [\"/a\", \"/b\"]\nu = { file = [\"/c\"], header = false }",
        );
        let Source::Created(lists) = lists else {
            panic!("files");
        };
        let paths: Vec<_> = lists
            .files
            .iter()
            .map(|file| file.path.to_str().unwrap())
            .collect();
        assert_eq!(paths, ["/a", "/b", "/c"]);
        assert_eq!(lists.files[2].header, Some(false));
        let tables: Vec<&str> = files.files.iter().map(|file| file.table.as_str()).collect();
        assert_eq!(tables, ["t", "u"]);
        assert_eq!(
            files.files[1].options.as_deref(),
            Some("LINES STARTING BY 'x'")
        );
        assert!(matches!(source("schema = \"shop\""), Source::Schema(name) if name == "shop"));
    }

    #[test]
    fn the_tables_may_be_those_of_oltp() {
        let section = read("oltp = { rows = 1000 }\noperation.a.statements = \"select 1\"");
        assert!(
            matches!(section.source, Source::Oltp(data) if data.rows == 1000 && data.tables == 1)
        );
        for reload in ["reload = true\noltp = {}", "oltp = { reload = true }"] {
            let section = read(&format!("{reload}\noperation.a.statements = \"select 1\""));
            assert!(matches!(section.source, Source::Oltp(data) if data.reload));
        }
    }

    #[test]
    fn statements_name_the_tables_of_oltp_by_their_number_and_their_own_as_they_are() {
        let operation = "operation.a.statements = \"select c from sbtest{n}\"";
        let (_, on_oltp) = operations(&format!("oltp = {{ tables = 4 }}\n{operation}"));
        assert_eq!(on_oltp.prepared_per_session(), 4);
        let (_, on_own) = operations(operation);
        assert_eq!(on_own.prepared_per_session(), 1);
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
            (&format!("{ok}setup = \"a 'b\""), "setup"),
            (&format!("{ok}setup = \"-- nothing\""), "setup"),
            (&format!("{ok}setup = \"a\"\noltp = {{}}"), "oltp"),
            (&format!("{ok}setup = \"a\"\ndump = \"b\""), "dump"),
            (&format!("{ok}schema = \"shop\""), "schema"),
            (&format!("{ok}load.t = \"t.csv\""), "load"),
            (&format!("{ok}replace.a = \"b\""), "replace"),
            (&format!("{ok}queries = \"select 1\""), "operation"),
            ("queries = \"delete from t\"", "queries"),
            (
                "operation.a.statements = \"select 1 into outfile '/tmp/x'\"",
                "operation.a.statements",
            ),
            (
                "operation.a.statements = \"select 1; use shop; select 2\"",
                "operation.a.statements",
            ),
            (
                "operation.a.statements = \"flush status; select 1\"",
                "operation.a.statements",
            ),
            (
                "operation.a.statements = \"select 1; set global a = 1\"",
                "operation.a.statements",
            ),
            (&format!("{ok}charset = \"utf8mb4\""), "charset"),
            (&format!("{ok}setup = \"a\"\ncharset = \"a b\""), "charset"),
            (
                &format!(
                    "{ok}setup = \"a\"\nload.t = {{ file = \"a\", options = \"x\", null = \"\" }}"
                ),
                "load.t.null",
            ),
            (
                &format!("{ok}dump = \"a.sql\"\nreplace.a = [\"b\", \"c\"]"),
                "replace.a",
            ),
            ("queries = \"\"", "queries"),
            ("queries = \"select 1\"\nschema = \"a'b\"", "schema"),
            (
                "queries = \"select 1\"\nschema = \"shop\"\nreload = true",
                "reload",
            ),
            (
                &format!("{ok}oltp = {{}}\naccept_warnings = true"),
                "accept_warnings",
            ),
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
    fn the_name_of_a_file_in_the_place_of_a_text_is_refused_with_the_key_for_files() {
        let setup = "setup = \"t.sql\"\noperation.a.statements = \"select 1\"";
        for (key, text) in [
            ("setup", setup),
            ("operations", "operations = \"o.SQL\""),
            ("queries", "queries = \" q.sql\""),
        ] {
            let says = assert_mistake_at(text, key, Section::read);
            assert!(says.contains(&format!("write {key}_file = ")), "{says}");
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

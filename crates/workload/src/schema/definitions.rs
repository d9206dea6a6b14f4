//! How tables are defined: one hash for each, of its engine, its columns and its indexes.
//!
//! Purpose: tables that hold the same rows, but are stored or indexed otherwise, or do more when rows change, are other data. Boundaries:
//! only what every server names alike. Display widths, row formats, collations and the texts of views differ between servers that hold the
//! same tables.

use server::{Reply, ServerError, Session, Sha256};
use std::collections::BTreeMap;

/// A view of information_schema, and what a row of it says of its table.
type View = (&'static str, fn(&Reply, usize) -> String);

/// One hash for all of these tables.
pub(crate) fn hash_of(
    session: &mut Session,
    schema: &str,
    tables: &[String],
) -> Result<String, ServerError> {
    let names: Vec<&str> = tables.iter().map(String::as_str).collect();
    Ok(hash(&read(session, schema, &names)?))
}

/// `orders 1f3c22aa`, a line for each of the tables, in the order of their names.
pub(crate) fn read(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
) -> Result<Vec<String>, ServerError> {
    let mut parts: BTreeMap<String, Vec<String>> = tables
        .iter()
        .map(|table| (table.to_string(), Vec::new()))
        .collect();
    let kinds: [View; 3] = [
        ("tables", engine),
        ("columns", column),
        ("statistics", index_column),
    ];
    for (view, part) in kinds {
        let reply = session.query(&format!(
            "SELECT * FROM information_schema.{view} WHERE table_schema = '{schema}'"
        ))?;
        for row in 0..reply.rows.len() {
            if let Some(parts) = parts.get_mut(&text(&reply, row, "table_name")) {
                parts.push(part(&reply, row));
            }
        }
    }
    Ok(parts.into_iter().map(line).collect())
}

/// One hash for what stands beside the tables: their triggers and foreign keys, and the names of views.
pub(crate) fn hash_of_objects(session: &mut Session, schema: &str) -> Result<String, ServerError> {
    let kinds: [(&str, View); 4] = [
        ("trigger_schema", ("triggers", trigger)),
        ("constraint_schema", ("referential_constraints", on_change)),
        ("table_schema", ("key_column_usage", reference)),
        ("table_schema", ("views", view)),
    ];
    let mut parts = Vec::new();
    for (own, (view, part)) in kinds {
        let reply = session.query(&format!(
            "SELECT * FROM information_schema.{view} WHERE {own} = '{schema}'"
        ))?;
        parts.extend((0..reply.rows.len()).map(|row| part(&reply, row)));
    }
    parts.retain(|part| !part.is_empty());
    parts.sort_unstable();
    Ok(hash(&parts))
}

fn hash(lines: &[String]) -> String {
    Sha256::of_parts(lines).hex_of_first(6)
}

fn line((table, mut parts): (String, Vec<String>)) -> String {
    // Servers sort by their own collations.
    parts.sort_unstable();
    format!("{table} {}", Sha256::of_parts(&parts).hex_of_first(4))
}

/// A value by the name of its column, in either case; empty where the server has no such column, and for NULL.
fn text(reply: &Reply, row: usize, name: &str) -> String {
    let mut columns = reply.columns.iter();
    let column = columns.position(|column| column.eq_ignore_ascii_case(name));
    column
        .and_then(|column| reply.text(row, column))
        .unwrap_or_default()
}

/// With what the table was given: `row_format=compressed key_block_size=8`, `partitioned`.
fn engine(reply: &Reply, row: usize) -> String {
    let (engine, options) = (
        text(reply, row, "engine"),
        text(reply, row, "create_options"),
    );
    format!("{engine} {}", options.trim()).to_ascii_lowercase()
}

fn column(reply: &Reply, row: usize) -> String {
    let of = |name| text(reply, row, name);
    let kind = of("data_type").to_ascii_lowercase();
    // MariaDB keeps JSON as a text; the lengths of texts are those of their types.
    let kind = if kind == "json" { "longtext" } else { &kind };
    let has_length = kind.contains("char") || kind.contains("binary");
    let length = if has_length {
        of("character_maximum_length")
    } else {
        String::new()
    };
    let (place, name) = (of("ordinal_position"), of("column_name"));
    let extra = of("extra").to_ascii_uppercase();
    let hidden = if_so(extra.contains("INVISIBLE"), " hidden");
    // Computed by each query that reads it.
    let computed = if_so(extra.contains("VIRTUAL"), " virtual");
    let nullable = of("is_nullable");
    format!("{place} {name} {kind}({length}) {nullable}{hidden}{computed}")
}

fn index_column(reply: &Reply, row: usize) -> String {
    let of = |name| text(reply, row, name);
    let is_hidden = of("is_visible") == "NO" || of("ignored") == "YES";
    // Servers without descending indexes accept the word and build an ascending one.
    let descending = if_so(of("collation") == "D", " descending");
    // A full-text or hash index finds no ranges.
    let kind = match of("index_type").as_str() {
        "" | "BTREE" => String::new(),
        kind => format!(" {}", kind.to_ascii_lowercase()),
    };
    format!(
        "{} {} {}({}) unique {} hidden {is_hidden}{descending}{kind}",
        of("index_name"),
        of("seq_in_index"),
        of("column_name"),
        of("sub_part"),
        of("non_unique") == "0",
    )
}

fn trigger(reply: &Reply, row: usize) -> String {
    let of = |name| text(reply, row, name);
    let body = of("action_statement");
    let body: Vec<&str> = body.split_whitespace().collect();
    format!(
        "{} {} {} {}",
        of("event_object_table"),
        of("action_timing"),
        of("event_manipulation"),
        body.join(" ")
    )
}

/// What a foreign key does when rows of the other table change. Its name may be one that the server has made.
fn on_change(reply: &Reply, row: usize) -> String {
    // InnoDB does the same for both, and servers have another one as the default.
    let rule = |name| text(reply, row, name).replace("NO ACTION", "RESTRICT");
    let of = |name| text(reply, row, name);
    let (table, other) = (of("table_name"), of("referenced_table_name"));
    let (update, delete) = (rule("update_rule"), rule("delete_rule"));
    format!("{table} to {other} update {update} delete {delete}")
}

/// A column of a foreign key; empty for one of another key.
fn reference(reply: &Reply, row: usize) -> String {
    let of = |name| text(reply, row, name);
    let other = of("referenced_table_name");
    if other.is_empty() {
        return String::new();
    }
    let (table, own) = (of("table_name"), of("column_name"));
    let (place, column) = (of("ordinal_position"), of("referenced_column_name"));
    format!("{table} {place} {own} to {other} {column}")
}

fn view(reply: &Reply, row: usize) -> String {
    format!("view {}", text(reply, row, "table_name"))
}

/// What few tables have stands in their hash alone, so that those of other tables are as an older prony took them.
fn if_so(is_so: bool, word: &str) -> &str {
    if is_so { word } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(columns: &[&str], row: &[&str]) -> Reply {
        Reply {
            columns: columns.iter().map(|name| name.to_string()).collect(),
            rows: vec![
                row.iter()
                    .map(|cell| Some(cell.as_bytes().to_vec()))
                    .collect(),
            ],
            ..Reply::default()
        }
    }

    /// The definition of `t`, and of `u`, which the server does not have.
    fn lines(
        engine: &'static str,
        kind: &'static str,
        index: &'static [&'static str],
    ) -> Vec<String> {
        let mut session = Session::Scripted(Box::new(move |sql: &str| {
            Ok(if sql.contains("schema.tables") {
                reply(&["TABLE_NAME", "ENGINE"], &["t", engine])
            } else if sql.contains("schema.columns") {
                let columns = ["table_name", "column_name", "data_type", "extra"];
                let (kind, extra) = kind.split_once(' ').unwrap_or((kind, ""));
                reply(&columns, &["t", "a", kind, extra])
            } else {
                let columns = [
                    "table_name",
                    "index_name",
                    "is_visible",
                    "collation",
                    "index_type",
                ];
                reply(&columns[..1 + index.len()], &[&["t"], index].concat())
            })
        }));
        read(&mut session, "s", &["u", "t"]).unwrap()
    }

    #[test]
    fn another_engine_column_or_index_is_another_definition_of_that_table_alone() {
        let own = lines("InnoDB", "int", &["kb", "YES"]);
        assert!(own[0].starts_with("t ") && own[1].starts_with("u "));
        for other in [
            lines("Aria", "int", &["kb", "YES"]),
            lines("InnoDB", "bigint", &["kb", "YES"]),
            lines("InnoDB", "int INVISIBLE", &["kb", "YES"]),
            lines("InnoDB", "int VIRTUAL GENERATED", &["kb", "YES"]),
            lines("InnoDB", "int", &[]),
            lines("InnoDB", "int", &["kb", "NO"]),
            lines("InnoDB", "int", &["kb", "YES", "D"]),
            lines("InnoDB", "int", &["kb", "YES", "A", "FULLTEXT"]),
        ] {
            assert_ne!(other[0], own[0]);
            assert_eq!(other[1], own[1]);
            assert_ne!(hash(&other), hash(&own));
        }
    }

    /// The hash of a schema with one row in this view.
    fn objects(
        view: &'static str,
        columns: &'static [&'static str],
        row: &'static [&'static str],
    ) -> String {
        let mut session = Session::Scripted(Box::new(move |sql: &str| {
            Ok(match sql.contains(&format!("schema.{view} ")) {
                true => reply(columns, row),
                false => Reply::default(),
            })
        }));
        hash_of_objects(&mut session, "s").unwrap()
    }

    #[test]
    fn another_trigger_or_foreign_key_is_another_schema() {
        let none = objects("nothing", &[], &[]);
        let trigger = |body: &'static [&'static str]| {
            let columns = &["EVENT_OBJECT_TABLE", "ACTION_STATEMENT"];
            objects("triggers", columns, body)
        };
        let set = trigger(&["t", "SET NEW.a = 1"]);
        assert_ne!(set, none);
        assert_ne!(set, trigger(&["t", "SET NEW.a = 2"]));
        assert_eq!(set, trigger(&["t", "SET  NEW.a\n= 1"]));
        let on_delete = |row: &'static [&'static str]| {
            let columns = &["table_name", "delete_rule"];
            objects("referential_constraints", columns, row)
        };
        let restrict = on_delete(&["t", "RESTRICT"]);
        assert_ne!(restrict, none);
        assert_ne!(restrict, on_delete(&["t", "CASCADE"]));
        assert_eq!(restrict, on_delete(&["t", "NO ACTION"]));
        let column = |row: &'static [&'static str]| {
            let columns = &["table_name", "column_name", "referenced_table_name"];
            objects("key_column_usage", columns, row)
        };
        assert_ne!(column(&["t", "a", "u"]), column(&["t", "b", "u"]));
        assert_eq!(column(&["t", "a", ""]), column(&["t", "b", ""]));
        assert_ne!(objects("views", &["table_name"], &["v"]), none);
    }

    #[test]
    fn what_servers_only_name_differently_is_the_same() {
        let own = lines("InnoDB", "longtext", &["kb"]);
        assert_eq!(lines("INNODB", "json", &["kb", "YES"]), own);
        let btree = &["kb", "YES", "A", "BTREE"];
        assert_eq!(lines("InnoDB", "longtext", btree), own);
    }
}

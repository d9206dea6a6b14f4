//! Dumps that are a folder of files: of MySQL Shell and of mydumper.
//!
//! Purpose: such a folder becomes a script that sources its files in order and loads its chunks, so that it is read like any dump.
//! Boundaries: one schema; accounts are left out.
//!
//! Sources: "Instance Dump Utility, Schema Dump Utility, and Table Dump Utility" in MySQL Shell's manual; mydumper's documentation,
//! "Output files".

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// How files end in which mydumper writes triggers, routines and events. It writes no DELIMITER: statements end with `;` and the end of
/// the line, and a space lies between both where they are within a body.
const BODIES: [&str; 2] = ["-schema-triggers", "-schema-post"];
/// How compressed files end.
const COMPRESSED: [&str; 2] = [".zst", ".gz"];
/// What a session that loads a dump sets, as both tools' own loaders do.
const HEAD: &str = "SET NAMES utf8mb4;\nSET foreign_key_checks = 0, unique_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00';\n";

/// The script of a folder.
///
/// # Errors
/// It is no complete dump of one schema, or a file cannot be read.
pub(crate) fn script(folder: &Path) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let has = |name: &str| names.iter().any(|known| known == name);
    match () {
        () if has("@.json") => of_shell(folder, &names),
        () if has("metadata") => of_mydumper(&names),
        () if has("metadata.partial") => Err(refused(
            "the dump is incomplete: mydumper renames metadata.partial to metadata when it is done; write the dump again",
        )),
        () => Err(refused(
            "the folder is not a dump of MySQL Shell (@.json) or of mydumper (metadata); name a file; for mysqldump --tab, join the .sql files into one, and load each .txt file (--load TABLE=TABLE.txt)",
        )),
    }
}

fn refused(says: impl Into<String>) -> io::Error {
    io::Error::other(says.into())
}

fn one_schema(schemas: &BTreeSet<String>) -> io::Result<()> {
    let names: Vec<&str> = schemas.iter().map(String::as_str).collect();
    match names.len() {
        0 => Err(refused("the folder holds no schema")),
        1 => Ok(()),
        _ => Err(refused(format!(
            "the folder holds the schemas {}, and prony loads one; dump only one",
            names.join(", ")
        ))),
    }
}

fn sources<'n>(names: impl Iterator<Item = &'n String>) -> String {
    names.map(|name| format!("source {name}\n")).collect()
}

/// A dump of mydumper: first the schema, then tables, rows, and what refers to them.
fn of_mydumper(names: &[String]) -> io::Result<String> {
    const FIRST: &str = "-schema-create";
    const TABLES: [&str; 2] = ["-schema-sequence", "-schema"];
    const VIEWS: &str = "-schema-view";
    let stems = names.iter().filter_map(|name| Some((name, stem(name)?)));
    let stems: Vec<(&String, &str)> = stems.collect();
    if let Some(name) = names.iter().find(|name| is_packed_otherwise(name)) {
        return Err(refused(format!(
            "{name} has a compression that is not read: unpack it first, or compress it with gzip or zstd"
        )));
    }
    let ending = |end: &'static str| {
        let those = stems.iter().filter(move |(_, stem)| stem.ends_with(end));
        those.map(|(name, _)| *name)
    };
    // The schema and the table may have such a name too: `my-schema.orders.00000`.
    let is_of_schema = |stem: &str| {
        let last = stem.rsplit('.').next();
        last.is_some_and(|last| last.contains("-schema"))
    };
    let schemas: BTreeSet<String> = ending(FIRST)
        .filter_map(|name| Some(name.split_once(FIRST)?.0.to_string()))
        .collect();
    if names
        .iter()
        .any(|name| name.ends_with(".dat") || name.contains(".dat."))
    {
        return Err(refused(
            "the folder has rows for LOAD DATA (mydumper --load-data or --csv); dump it without these",
        ));
    }
    let others = stems.iter().filter(|(_, stem)| !is_of_schema(stem));
    let of_rows: BTreeSet<String> = others
        .clone()
        .filter_map(|(_, stem)| Some(stem.split_once('.')?.0.to_string()))
        .collect();
    one_schema(if schemas.is_empty() {
        &of_rows
    } else {
        &schemas
    })?;
    let mut script = HEAD.to_string();
    for end in [FIRST].into_iter().chain(TABLES) {
        script += &sources(ending(end));
    }
    script += &sources(others.map(|(name, _)| *name));
    for end in [VIEWS].into_iter().chain(BODIES) {
        script += &sources(ending(end));
    }
    Ok(script)
}

/// Whether mydumper writes bodies of triggers and routines into the file of this name.
pub(crate) fn has_bodies(name: &str) -> bool {
    stem(name).is_some_and(|stem| BODIES.iter().any(|end| stem.ends_with(end)))
}

/// Whether it is a file of SQL that another program has compressed (mydumper --exec-per-thread).
fn is_packed_otherwise(name: &str) -> bool {
    name.contains(".sql.") && stem(name).is_none()
}

/// The name of a file of SQL without its endings.
fn stem(name: &str) -> Option<&str> {
    let name = COMPRESSED
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    name.strip_suffix(".sql")
}

/// The rows that mydumper wrote of each table whose definition is in the folder, if its `metadata` says so, as from about 0.14 on.
pub(crate) fn rows(folder: &Path) -> BTreeMap<String, u64> {
    let is_here = |(schema, table): &(&str, &str)| {
        let is_file = |end: &&str| {
            let name = format!("{schema}.{table}-schema.sql{end}");
            folder.join(name).is_file()
        };
        ["", ".gz", ".zst"].iter().any(is_file)
    };
    let text = std::fs::read(folder.join("metadata")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut rows: BTreeMap<String, u64> = BTreeMap::new();
    let mut table = None;
    for line in text.lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match key.trim() {
            _ if line.starts_with('[') => {
                table = group(line).filter(is_here).map(|(_, table)| table);
            }
            "real_table_name" => table = table.and(Some(value.trim())),
            "rows" | "Rows" => {
                rows.extend(table.map(String::from).zip(value.trim().parse().ok()));
            }
            _ => {}
        }
    }
    rows
}

/// The schema and the table of "[`shop`.`orders`]", as names of files have them.
fn group(line: &str) -> Option<(&str, &str)> {
    let named = line.trim().strip_prefix('[')?.strip_suffix(']')?;
    let (schema, table) = named
        .split_once("`.`")
        .or_else(|| named.split_once("\".\""))?;
    let quote = ['`', '"'];
    Some((schema.strip_prefix(quote)?, table.strip_suffix(quote)?))
}

/// A dump of MySQL Shell: the schema with its routines, tables, rows, triggers, views.
fn of_shell(folder: &Path, names: &[String]) -> io::Result<String> {
    let has = |name: &str| names.iter().any(|known| known == name);
    if !has("@.done.json") {
        return Err(refused(
            "the dump is incomplete: MySQL Shell writes @.done.json last, and it is missing",
        ));
    }
    let done = std::fs::read_to_string(folder.join("@.done.json"))?;
    let done: Value = serde_json::from_str(&done).map_err(|_| refused("@.done.json is no JSON"))?;
    for (name, bytes) in done["chunkFileBytes"].as_object().into_iter().flatten() {
        if !has(name) {
            return Err(refused(format!(
                "the dump is incomplete: @.done.json names the file {name}, and it is missing"
            )));
        }
        if let Some(says) = cut(&folder.join(name), name, bytes)? {
            return Err(refused(says));
        }
    }
    // `shop.json` is of a schema, `shop@orders.json` of a table.
    let bases = names.iter().filter_map(|name| name.strip_suffix(".json"));
    let bases = bases.filter(|base| !base.starts_with('@'));
    let (tables, schemas): (Vec<&str>, Vec<&str>) = bases.partition(|base| base.contains('@'));
    one_schema(&schemas.iter().map(|name| name.to_string()).collect())?;
    let all = |end: &str, bases: &[&str]| -> String {
        let files: Vec<String> = bases.iter().map(|base| format!("{base}{end}")).collect();
        sources(files.iter().filter(|name| has(name)))
    };
    let mut script = HEAD.to_string();
    script += &all(".sql", &schemas);
    script += &all(".sql", &tables);
    let views: Vec<&str> = names
        .iter()
        .filter_map(|name| name.strip_suffix(".pre.sql"))
        .collect();
    script += &all(".pre.sql", &views);
    for table in &tables {
        script += &chunks(folder, table, names)?;
    }
    script += &all(".triggers.sql", &tables);
    script += &all(".sql", &views);
    Ok(script)
}

/// That a chunk is shorter than the text that MySQL Shell wrote into it, as a sentence. A compressed one has its own end.
fn cut(path: &Path, name: &str, written: &Value) -> io::Result<Option<String>> {
    let bytes = std::fs::metadata(path)?.len();
    let is_compressed = COMPRESSED.iter().any(|end| name.ends_with(end));
    let written = written.as_u64().filter(|written| *written > bytes);
    Ok(written.filter(|_| !is_compressed).map(|written| {
        format!(
            "the dump is incomplete: @.done.json says that {name} has {written} bytes, and it has {bytes}: copy it again"
        )
    }))
}

/// The statements that load the chunks of a table.
fn chunks(folder: &Path, base: &str, names: &[String]) -> io::Result<String> {
    let path = folder.join(format!("{base}.json"));
    let text = std::fs::read_to_string(&path)?;
    let broken = |_| refused(format!("{} is no JSON", path.display()));
    let note: Value = serde_json::from_str(&text).map_err(broken)?;
    let options = &note["options"];
    let extension = note["extension"].as_str().unwrap_or("tsv.zst");
    // The only file of a table has the extension alone: `shop@orders.old@@0.tsv.zst` is of another table.
    let end = format!(".{extension}");
    let is_chunk = |name: &&String| {
        let rest = name.strip_prefix(base).unwrap_or_default();
        rest == end || (rest.starts_with('@') && rest.ends_with(&end))
    };
    let clauses = clauses(options);
    let table = name(options["table"].as_str().unwrap_or_default());
    let load = |chunk: &String| {
        format!(
            "LOAD DATA LOCAL INFILE {} INTO TABLE {table} {clauses};\n",
            literal(chunk)
        )
    };
    Ok(names.iter().filter(is_chunk).map(load).collect())
}

/// The form of the chunks, and their columns; some are decoded.
fn clauses(options: &Value) -> String {
    let text = |key: &str, default: &'static str| literal(options[key].as_str().unwrap_or(default));
    let columns = options["columns"].as_array().into_iter().flatten();
    let (mut targets, mut sets) = (Vec::new(), Vec::new());
    for (n, column) in columns.filter_map(Value::as_str).enumerate() {
        match options["decodeColumns"][column].as_str() {
            Some(function) => {
                targets.push(format!("@c{n}"));
                sets.push(format!("{} = {function}(@c{n})", name(column)));
            }
            None => targets.push(name(column)),
        }
    }
    let optionally = match options["fieldsOptionallyEnclosed"].as_bool() {
        Some(true) => "OPTIONALLY ",
        _ => "",
    };
    let mut clauses = format!(
        "CHARACTER SET {} FIELDS TERMINATED BY {} {optionally}ENCLOSED BY {} ESCAPED BY {} LINES TERMINATED BY {}",
        text("defaultCharacterSet", "utf8mb4"),
        text("fieldsTerminatedBy", "\t"),
        text("fieldsEnclosedBy", ""),
        text("fieldsEscapedBy", "\\"),
        text("linesTerminatedBy", "\n"),
    );
    if !targets.is_empty() {
        clauses += &format!(" ({})", targets.join(", "));
    }
    if !sets.is_empty() {
        clauses += &format!(" SET {}", sets.join(", "));
    }
    clauses
}

fn name(text: &str) -> String {
    crate::schema::quoted(text)
}

fn literal(text: &str) -> String {
    let text = crate::schema::literal(text);
    text.replace('\t', "\\t").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn lines(folder: &tempfile::TempDir) -> Vec<String> {
        let script = script(folder.path()).unwrap();
        script.lines().skip(2).map(String::from).collect()
    }

    #[test]
    fn a_folder_of_mydumper_is_loaded_in_order() {
        let folder = folder(&[
            ("metadata", ""),
            ("shop-schema-create.sql.zst", ""),
            ("shop.orders-schema.sql.zst", ""),
            ("shop.orders.00000.sql.zst", ""),
            ("shop.orders.00001.sql.zst", ""),
            ("shop.orders-schema-triggers.sql.zst", ""),
            ("shop.totals-schema.sql.zst", ""),
            ("shop.totals-schema-view.sql.zst", ""),
        ]);
        assert_eq!(
            lines(&folder),
            [
                "source shop-schema-create.sql.zst",
                "source shop.orders-schema.sql.zst",
                "source shop.totals-schema.sql.zst",
                "source shop.orders.00000.sql.zst",
                "source shop.orders.00001.sql.zst",
                "source shop.totals-schema-view.sql.zst",
                "source shop.orders-schema-triggers.sql.zst",
            ]
        );
    }

    #[test]
    fn a_schema_of_mydumper_may_be_named_schema() {
        let folder = folder(&[
            ("metadata", ""),
            ("my-schema-schema-create.sql", ""),
            ("my-schema.orders-schema.sql", ""),
            ("my-schema.orders.00000.sql", ""),
        ]);
        assert_eq!(
            lines(&folder),
            [
                "source my-schema-schema-create.sql",
                "source my-schema.orders-schema.sql",
                "source my-schema.orders.00000.sql",
            ]
        );
    }

    #[test]
    fn the_rows_of_a_folder_of_mydumper_are_those_of_the_tables_in_it() {
        let metadata = "# Started dump at: 2026-01-05 10:00:00\n[config]\nquote-character = BACKTICK\n\n[`shop`.`mydumper_0`]\nreal_table_name=my orders\nrows = 1000\ndata_checksum = 9\n\n[`shop`.`items`]\nRows = 7\n\n[`other`.`items`]\nreal_table_name=items\nrows = 9\n\n[`shop`]\nschema_checksum = 1\n";
        let folder = folder(&[
            ("metadata", metadata),
            ("shop.mydumper_0-schema.sql.zst", ""),
            ("shop.items-schema.sql", ""),
        ]);
        let rows: Vec<(String, u64)> = rows(folder.path()).into_iter().collect();
        assert_eq!(
            rows,
            [("items".to_string(), 7), ("my orders".to_string(), 1000)]
        );
    }

    #[test]
    fn triggers_and_routines_of_mydumper_have_bodies() {
        for name in ["shop.t-schema-triggers.sql", "shop-schema-post.sql.zst"] {
            assert!(has_bodies(name), "{name}");
        }
        for name in ["shop.t.00000.sql", "shop.t-schema.sql", "metadata"] {
            assert!(!has_bodies(name), "{name}");
        }
    }

    #[test]
    fn a_folder_of_mysql_shell_is_loaded_in_order() {
        let options = r#"{"options": {"table": "orders", "columns": ["id", "photo"], "decodeColumns": {"photo": "FROM_BASE64"}, "fieldsTerminatedBy": "\t", "fieldsEscapedBy": "\\", "linesTerminatedBy": "\n"}, "extension": "tsv.zst"}"#;
        let folder = folder(&[
            ("@.json", "{}"),
            (
                "@.done.json",
                r#"{"chunkFileBytes": {"shop@orders@0.tsv.zst": 9}}"#,
            ),
            ("@.users.sql", ""),
            ("shop.json", "{}"),
            ("shop.sql", ""),
            ("shop@orders.json", options),
            ("shop@orders.sql", ""),
            ("shop@orders.triggers.sql", ""),
            ("shop@orders@0.tsv.zst", ""),
            ("shop@orders@0.tsv.zst.idx", ""),
            ("shop@orders@@1.tsv.zst", ""),
            ("shop@totals.pre.sql", ""),
            ("shop@totals.sql", ""),
        ]);
        let load = |chunk: &str| {
            format!(
                "LOAD DATA LOCAL INFILE '{chunk}' INTO TABLE `orders` CHARACTER SET 'utf8mb4' FIELDS TERMINATED BY '\\t' ENCLOSED BY '' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' (`id`, @c1) SET `photo` = FROM_BASE64(@c1);"
            )
        };
        assert_eq!(
            lines(&folder),
            [
                "source shop.sql".to_string(),
                "source shop@orders.sql".into(),
                "source shop@totals.pre.sql".into(),
                load("shop@orders@0.tsv.zst"),
                load("shop@orders@@1.tsv.zst"),
                "source shop@orders.triggers.sql".into(),
                "source shop@totals.sql".into(),
            ]
        );
    }

    #[test]
    fn rows_of_a_table_whose_name_goes_on_with_a_dot_are_not_those_of_the_shorter_name() {
        let options = r#"{"options": {"table": "t"}, "extension": "tsv"}"#;
        let of_other = r#"{"options": {"table": "t.old"}, "extension": "tsv"}"#;
        let folder = folder(&[
            ("@.json", "{}"),
            ("@.done.json", "{}"),
            ("shop.json", "{}"),
            ("shop@t.json", options),
            ("shop@t.tsv", ""),
            ("shop@t.old.json", of_other),
            ("shop@t.old@@0.tsv", ""),
        ]);
        let loaded: Vec<String> = lines(&folder)
            .iter()
            .filter_map(|line| Some(line.split_once(" CHARACTER")?.0.to_string()))
            .collect();
        assert_eq!(
            loaded,
            [
                "LOAD DATA LOCAL INFILE 'shop@t.tsv' INTO TABLE `t`",
                "LOAD DATA LOCAL INFILE 'shop@t.old@@0.tsv' INTO TABLE `t.old`",
            ]
        );
    }

    #[test]
    fn what_is_no_complete_dump_of_one_schema_is_refused() {
        for (files, says) in [
            (&[("a.sql", "")][..], "not a dump of MySQL Shell"),
            (&[("@.json", "")], "@.done.json last"),
            (&[("metadata.partial", "")], "metadata when it is done"),
            (
                &[
                    ("@.json", ""),
                    (
                        "@.done.json",
                        r#"{"chunkFileBytes": {"a@t@@0.tsv.zst": 9}}"#,
                    ),
                ],
                "names the file a@t@@0.tsv.zst",
            ),
            (
                &[
                    ("@.json", ""),
                    ("@.done.json", r#"{"chunkFileBytes": {"a@t@@0.tsv": 9}}"#),
                    ("a@t@@0.tsv", "1\n2\n"),
                ],
                "a@t@@0.tsv has 9 bytes, and it has 4",
            ),
            (
                &[
                    ("metadata", ""),
                    ("a-schema-create.sql", ""),
                    ("b-schema-create.sql", ""),
                ],
                "the schemas a, b",
            ),
            (&[("metadata", "")], "no schema"),
            (
                &[
                    ("metadata", ""),
                    ("a-schema-create.sql", ""),
                    ("a.t.00000.sql.lz4", ""),
                ],
                "a.t.00000.sql.lz4 has a compression",
            ),
            (&[("metadata", ""), ("a.t.00000.dat", "")], "--load-data"),
        ] {
            let refused = script(folder(files).path()).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
    }
}

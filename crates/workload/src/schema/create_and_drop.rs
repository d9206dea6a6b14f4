//! Creates, inspects, counts and drops a workload's schema on a server.
//!
//! Purpose: common operations on tables that work on MySQL 5.5 to 9.7, MariaDB and, if supported, SQLite. Boundaries: the
//! workload defines the tables, `loader` loads rows, `indexes` decides when indexes are built.

use super::{engines, indexes, marker};
use crate::{AllowDrop, Dialect, LoadError};
use server::{ServerError, Session};

/// Creates the empty marker, then the empty tables with these statements, and on MySQL the schema if it does not exist. `{engine}` in
/// a statement is replaced by the storage engine.
///
/// # Errors
/// [`LoadError::NoEngine`] if the server lacks the engine or used another one.
pub(crate) fn create<'a>(
    session: &mut Session,
    schema: &str,
    engine: &str,
    statements: impl Iterator<Item = &'a str>,
) -> Result<(), LoadError> {
    let failed = |cause| engines::cannot_create(engine, cause);
    if session.is_mysql() {
        engines::must_have(session, engine)?;
        make(session, schema).map_err(failed)?;
    }
    marker::make(session, schema, engine).map_err(failed)?;
    let mut made = Vec::new();
    for statement in statements {
        session
            .execute(&statement.replace("{engine}", engine))
            .map_err(failed)?;
        made.push(indexes::table(statement));
    }
    if session.is_mysql() {
        engines::must_be_of(session, schema, &made, engine)
    } else {
        Ok(())
    }
}

/// Creates the schema if it does not exist, selects it, and makes the server reject other engines than the requested one.
pub(crate) fn make(session: &mut Session, schema: &str) -> Result<(), ServerError> {
    // 5.5 silently falls back to its default engine if it lacks the requested one.
    session.execute("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'")?;
    if !exists(session, schema)? {
        session.execute(&format!(
            "CREATE DATABASE {schema} DEFAULT CHARACTER SET latin1"
        ))?;
    }
    enter(session, schema)
}

/// An account with access to the schema may lack the privilege to create one.
pub(crate) fn exists(session: &mut Session, schema: &str) -> Result<bool, ServerError> {
    let sql =
        format!("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{schema}'");
    Ok(session.query(&sql)?.first_text().as_deref() != Some("0"))
}

/// Selects the schema in the session. Does nothing in SQLite, where the file is the schema.
pub(crate) fn enter(session: &mut Session, schema: &str) -> Result<(), ServerError> {
    if session.is_mysql() {
        session.control(|session| session.execute(&format!("USE {schema}")))?;
    }
    Ok(())
}

/// Rejects SQLite with the reason (`what`) and the fix (`instead`).
pub(crate) fn refuse_sqlite(
    session: &Session,
    what: &'static str,
    instead: &str,
) -> Result<(), LoadError> {
    match Dialect::of(session) {
        Dialect::MySql => Ok(()),
        Dialect::Sqlite => Err(LoadError::during(what)(ServerError::Unusable(
            instead.into(),
        ))),
    }
}

/// Fails if tables are `present` that may not be dropped: with [`LoadError::Exists`], which calls them `what`, if they have a marker;
/// otherwise they are the user's, and it fails with [`LoadError::Theirs`].
pub(crate) fn may_drop(
    schema: &str,
    present: &[String],
    what: impl Into<String>,
    allow: &AllowDrop,
) -> Result<(), LoadError> {
    let are_pronys = present.iter().any(|name| name == marker::TABLE);
    match are_pronys {
        _ if present.is_empty() => Ok(()),
        true if allow.allows_pronys() => Ok(()),
        true => Err(LoadError::Exists {
            schema: schema.into(),
            what: what.into(),
        }),
        false if present.iter().all(|name| allow.names(name)) => Ok(()),
        false => Err(LoadError::Theirs {
            schema: schema.into(),
            tables: present.to_vec(),
        }),
    }
}

/// Drops these tables of the schema and nothing else. The marker goes last, so that after a kill the others are still known as
/// prony's.
pub(crate) fn drop_tables(
    session: &mut Session,
    schema: &str,
    tables: &[String],
) -> Result<(), LoadError> {
    let mut tables = tables.to_vec();
    tables.sort_by_key(|name| name == marker::TABLE);
    drop(session, schema, "TABLE", &tables)
}

/// Drops these objects of a kind, such as VIEW, and nothing else.
pub(crate) fn drop(
    session: &mut Session,
    schema: &str,
    kind: &str,
    names: &[String],
) -> Result<(), LoadError> {
    let dialect = Dialect::of(session);
    for name in names {
        let name = quoted(name);
        let sql = match dialect {
            Dialect::MySql => format!("DROP {kind} {schema}.{name}"),
            Dialect::Sqlite => format!("DROP {kind} {name}"),
        };
        let failed = LoadError::during("prony's own tables cannot be dropped");
        session.execute(&sql).map_err(failed)?;
    }
    Ok(())
}

/// Quotes a name for use in a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Writes a text into a statement, with its quotes.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Statements for every connection that loads.
pub(crate) fn prepare(dialect: Dialect, schema: &str) -> Vec<String> {
    match dialect {
        // A value that does not fit is an error in INSERT, but a warning in LOAD DATA LOCAL, which the loader checks.
        Dialect::MySql => vec![
            format!("USE {schema}"),
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES'".into(),
        ],
        // An interrupted load starts over, so no crash safety is needed.
        Dialect::Sqlite => vec![
            "PRAGMA synchronous = OFF".into(),
            "PRAGMA cache_size = -65536".into(),
        ],
    }
}

/// Counts the rows of a table.
pub(crate) fn count(session: &mut Session, table: &str) -> Result<u64, ServerError> {
    let reply = session.query(&format!("SELECT COUNT(*) FROM {table}"))?;
    Ok(number(reply.first_text()))
}

/// Bytes of the schema's indexes, as the server reports them: of the secondary ones in InnoDB, whose primary key holds the rows, of
/// all in MyISAM and Aria. None in SQLite, which does not report them separately.
pub fn index_bytes(session: &mut Session, schema: &str) -> Result<Option<u64>, ServerError> {
    if Dialect::of(session) == Dialect::Sqlite {
        return Ok(None);
    }
    ask_anew(session)?;
    let sql = format!(
        "SELECT CAST(SUM(index_length) AS UNSIGNED) FROM information_schema.tables WHERE table_schema = '{schema}'"
    );
    Ok(Some(number(session.query(&sql)?.first_text())))
}

/// Disables cached statistics: 8.0 and later report values up to a day old. Others do not know the variable (1193).
pub(crate) fn ask_anew(session: &mut Session) -> Result<(), ServerError> {
    match session.execute("SET SESSION information_schema_stats_expiry = 0") {
        Ok(_) | Err(ServerError::Refused { .. }) => Ok(()),
        Err(lost) => Err(lost),
    }
}

/// Bytes of the tables with their indexes, as the server reports them.
pub(crate) fn data_bytes(
    session: &mut Session,
    schema: &str,
    tables: &[&str],
) -> Result<u64, ServerError> {
    if Dialect::of(session) == Dialect::Sqlite {
        let pages = number(session.query("PRAGMA page_count")?.first_text());
        return Ok(pages * number(session.query("PRAGMA page_size")?.first_text()));
    }
    ask_anew(session)?;
    let names: Vec<String> = tables.iter().map(|name| literal(name)).collect();
    let sql = format!(
        "SELECT CAST(SUM(data_length + index_length) AS UNSIGNED) FROM information_schema.tables WHERE table_schema = '{schema}' AND table_name IN ({})",
        names.join(", ")
    );
    Ok(number(session.query(&sql)?.first_text()))
}

fn number(text: Option<String>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The statements of a bundled .sql file: each ends with a semicolon at the end of a line.
pub(crate) fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.split(";\n")
        .map(str::trim)
        .filter(|statement| !statement.is_empty())
}

/// A query of a .sql file: the text between the line `-- NAME` and the next semicolon.
pub(crate) fn query<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(&format!("\n-- {name}\n"))?;
    let (statement, _) = after.split_once(';')?;
    Some(statement.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_cut_into_statements_at_semicolons_that_end_a_line() {
        let text = "SELECT ';' AS a;\n\nSELECT 2;\n";
        let cut: Vec<&str> = statements(text).collect();
        assert_eq!(cut, ["SELECT ';' AS a", "SELECT 2"]);
    }

    #[test]
    fn a_query_is_found_by_its_whole_name() {
        let text = "-- notes\n\n-- Q1\nSELECT 1;\n\n-- Q10\nSELECT 10;\n";
        assert_eq!(query(text, "Q1"), Some("SELECT 1"));
        assert_eq!(query(text, "Q10"), Some("SELECT 10"));
        assert_eq!(query(text, "Q2"), None);
    }

    #[test]
    fn tables_are_dropped_only_where_that_is_allowed_and_no_others() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let mut session = Session::Sqlite(connection);
        let make = "create table ours (n); create table prony_dataset (n); create table theirs (n)";
        session.execute(make).unwrap();
        let present = ["ours", marker::TABLE].map(String::from);
        let mut make = |allow| {
            may_drop("s", &present, "a table", &allow)?;
            drop_tables(&mut session, "s", &present)
        };
        let refused = make(AllowDrop::No).unwrap_err().to_string();
        assert!(refused.contains("holds a table"), "{refused}");
        make(AllowDrop::Pronys).unwrap();
        assert!(count(&mut session, "ours").is_err());
        assert_eq!(count(&mut session, "theirs").unwrap(), 0);
    }

    #[test]
    fn tables_without_a_marker_are_dropped_only_by_name() {
        let present = ["part", "supplier"].map(String::from);
        let may = |allow: &AllowDrop| may_drop("s", &present, "tables", allow);
        let named =
            |names: &[&str]| AllowDrop::Named(names.iter().map(|name| name.to_string()).collect());
        for allow in [AllowDrop::No, AllowDrop::Pronys, named(&["part"])] {
            let refused = may(&allow).unwrap_err().to_string();
            assert!(
                refused.contains("part, supplier, which prony did not load")
                    && refused.contains("--allow-drop=part,supplier"),
                "{refused}"
            );
        }
        may(&named(&["supplier", "part", "other"])).unwrap();
    }

    #[test]
    fn tables_with_any_name_can_be_dropped() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let mut session = Session::Sqlite(connection);
        let names = ["order", "my-table", "a`b", "a b"].map(String::from);
        for name in &names {
            let (table, view) = (quoted(name), quoted(&format!("{name} seen")));
            let make = format!("create table {table} (n); create view {view} as select 1");
            session.execute(&make).unwrap();
        }
        let views = names.each_ref().map(|name| format!("{name} seen"));
        drop(&mut session, "s", "VIEW", &views).unwrap();
        drop_tables(&mut session, "s", &names).unwrap();
        assert_eq!(count(&mut session, "sqlite_master").unwrap(), 0);
    }
}

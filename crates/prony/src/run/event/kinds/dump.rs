//! `dump = {}`: what a dump does to a server. Every table is read whole, all as of one moment, with the statements of a dump with
//! `--single-transaction`. The rows are dropped as they come.

use crate::run::event::Action;
use server::{Reply, ServerError, Session};
use spec::{EventKind, Needs, Node};
use std::sync::Arc;

pub(super) const KIND: EventKind<Action> = EventKind {
    name: "dump",
    in_rounds: false,
    needs: Needs::Nothing,
    outage: None,
    read,
};

fn read(node: &Node) -> Option<Action> {
    node.section("dump = {}")?.allow("dump", &[]);
    Some(Arc::new(|happening| {
        if !happening.is_connected() {
            return;
        }
        happening.note("dump", |own| {
            let is_cancelled = own.is_cancelled.clone();
            let goes_on = || !is_cancelled.load(std::sync::atomic::Ordering::SeqCst);
            let read = all_tables(own.session()?, goes_on);
            read.map(|read| format!("{read} in"))
                .map_err(|error| error.to_string())
        });
    }))
}

/// Reads all tables of the session's schema in one transaction, until `goes_on` says no.
fn all_tables(session: &mut Session, goes_on: impl Fn() -> bool) -> Result<String, ServerError> {
    let read = read_all(session, goes_on);
    // Also after a failure, so that the next dump does not find a transaction. A connection that is lost has none.
    let _ = session.execute("ROLLBACK");
    let (tables, rows) = read?;
    Ok(format!("{tables} tables, {rows} rows"))
}

fn read_all(session: &mut Session, goes_on: impl Fn() -> bool) -> Result<(u64, u64), ServerError> {
    for statement in begin(session) {
        session.execute(statement)?;
    }
    let (mut tables, mut rows) = (0, 0);
    for table in names(&session.query(tables_sql(session))?) {
        if !goes_on() {
            return Err(ServerError::Unusable("cancelled".into()));
        }
        rows += session.drain(&format!("SELECT * FROM `{}`", table.replace('`', "``")))?;
        tables += 1;
    }
    Ok((tables, rows))
}

fn begin(session: &Session) -> &'static [&'static str] {
    if session.is_mysql() {
        &[
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        ]
    } else {
        &["BEGIN"]
    }
}

fn tables_sql(session: &Session) -> &'static str {
    if session.is_mysql() {
        "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'"
    } else {
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    }
}

fn names(reply: &Reply) -> Vec<String> {
    let name = |row: &Vec<Option<Vec<u8>>>| {
        Some(String::from_utf8_lossy(row.first()?.as_deref()?).into_owned())
    };
    reply.rows.iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_tables() -> Session {
        let mut session = Session::Sqlite(rusqlite::Connection::open_in_memory().unwrap());
        for statement in [
            "create table a (n)",
            "insert into a values (1), (2)",
            "create table \"b`c\" (n)",
            "insert into \"b`c\" values (3)",
        ] {
            session.execute(statement).unwrap();
        }
        session
    }

    #[test]
    fn every_row_of_every_table_is_read() {
        let mut session = two_tables();
        for _ in 0..2 {
            let read = all_tables(&mut session, || true).unwrap();
            assert_eq!(
                read, "2 tables, 3 rows",
                "a dump leaves no transaction open"
            );
        }
    }

    #[test]
    fn a_dump_ends_between_two_tables() {
        assert!(all_tables(&mut two_tables(), || false).is_err());
    }
}

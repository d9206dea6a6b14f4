//! One query of a workload, as text for each dialect of SQL.

use server::Session;

/// The SQL dialect of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    MySql,
    Sqlite,
}

impl Dialect {
    pub fn of(session: &Session) -> Dialect {
        if session.is_mysql() {
            Dialect::MySql
        } else {
            Dialect::Sqlite
        }
    }
}

/// One query of the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// `Q1.1`
    pub name: String,
    pub mysql: String,
    pub sqlite: String,
    /// The columns of its ORDER BY, from 0. Rows that are equal in all of them may come in any order.
    pub ordered_by: Vec<usize>,
    /// Where the user wrote it: `q.sql:12`. None: it comes with prony.
    pub place: Option<String>,
    /// Statements of the session that run before it, untimed.
    pub before: Vec<String>,
}

impl Operation {
    /// A query with one text for every dialect, and no order that is known.
    pub fn new(name: impl Into<String>, sql: impl Into<String>) -> Operation {
        let sql = sql.into();
        Operation {
            name: name.into(),
            mysql: sql.clone(),
            sqlite: sql,
            ordered_by: Vec::new(),
            place: None,
            before: Vec::new(),
        }
    }

    pub fn sql(&self, dialect: Dialect) -> &str {
        match dialect {
            Dialect::MySql => &self.mysql,
            Dialect::Sqlite => &self.sqlite,
        }
    }
}
